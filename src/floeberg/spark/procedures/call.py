"""CALL: finds the procedure, binds its arguments, gives its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floeberg.errors import InvalidInput
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.results import rows
from floeberg.spark.procedures.arguments import bind_arguments
from floeberg.spark.procedures.declared import PROCEDURES, SESSION_PROCEDURES
from floeberg.sql.statements.call_statement import Call
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def call(execution: Execution, statement: Call) -> DataFrame:
    """Runs a procedure. Raises InvalidInput for an unknown procedure or arguments that do not fit."""
    found = execution.session.table_identifier(statement.procedure.parts)
    name = found.name.lower()
    if tuple(level.lower() for level in found.namespace) != ("system",):
        raise InvalidInput(
            f"{statement.procedure} is no procedure; procedures are in {found.catalog}.system",
            condition="ROUTINE_NOT_FOUND",
        )
    if (own := SESSION_PROCEDURES.get(name)) is not None:
        given = bind_arguments(execution, name, own.parameters, statement.arguments)
        found_rows = own.run(execution, lambda table: _table(execution, found.catalog, table), given)
        return rows(execution.spark, own.result, found_rows)
    procedure = PROCEDURES.get(name)
    if procedure is None:
        known = ", ".join(sorted((*PROCEDURES, *SESSION_PROCEDURES)))
        raise InvalidInput(f"{statement.procedure} is no procedure; there are {known}", condition="ROUTINE_NOT_FOUND")
    values = bind_arguments(execution, name, procedure.parameters, statement.arguments)
    table = execution.session.load(_table(execution, found.catalog, values["table"]))
    return rows(execution.spark, procedure.result, procedure.run(execution.spark, table, values))


def _table(execution: Execution, catalog: str, name: str) -> TableIdentifier:
    """A procedure's table: in the procedure's catalog, with or without the catalog's name in front."""
    parts = parse_parts(name)
    state = execution.session.state
    if len(parts) > 1 and parts[0] == catalog:
        return TableIdentifier(catalog, parts[1:])
    if len(parts) > 2 and parts[0] in state.catalogs:
        raise InvalidInput(f"{name} is in another catalog; CALL {parts[0]}.system instead of {catalog}.system")
    if len(parts) == 1 and state.current_catalog == catalog:
        return TableIdentifier(catalog, (*state.current_namespace, *parts))
    return TableIdentifier(catalog, parts)
