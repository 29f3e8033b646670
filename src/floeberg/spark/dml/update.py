"""UPDATE: rows for which the condition is true, with columns and nested fields set."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import types as st

from floeberg.commit.commit import Committed
from floeberg.spark.dml.assignments import (
    DEFAULT_COLUMN,
    TargetColumns,
    TextValues,
    assigned_fields,
    checked,
    has_default_column,
    row_after,
)
from floeberg.spark.dml.carry_out import FoundChange, carry_out, new_row_columns, removed_on_failure
from floeberg.spark.dml.change_job import (
    FILE,
    KIND,
    POSITION,
    RowKind,
    can_find_and_write_in_one_job,
    find_changes,
    write_changes,
)
from floeberg.spark.dml.run_statement import run_statement
from floeberg.spark.dml.statement_text import StatementText
from floeberg.spark.dml.target import ChangedTable, changed_table, target_condition, value_types
from floeberg.spark.host.calls.evaluated_once import evaluated_once
from floeberg.spark.host.execution import Execution
from floeberg.spark.write.store_assignment import store_rules
from floeberg.spec.schemas.metadata_columns import FILE_PATH, ROW_ID, ROW_POSITION
from floeberg.sql.queries.references import double_braces
from floeberg.sql.statements.dml_statements import Update
from floeberg.sql.text.lexer import quote_name


def update(execution: Execution, statement: Update) -> Committed | None:
    """Sets columns of the rows for which the condition is true. None when there are none.

    Raises TableNotFound, InvalidInput for assignments that do not fit, Spark's own errors for conditions and values,
    ValidationConflict, CommitConflict; nothing is written before all of the statement was checked.
    """
    return run_statement(execution, statement.table.parts, lambda now: _update(now, statement))


def _update(execution: Execution, statement: Update) -> Committed | None:
    target = changed_table(execution, statement.table, verb="update", alias=statement.alias)
    text = StatementText(execution, [(target.identifier, target.alias)])
    columns = TargetColumns(target.schema, target.identifier, target.alias, case_sensitive=target.case_sensitive)
    own = has_default_column(field.name for field in target.schema.fields)
    assigned = assigned_fields(
        columns, statement.assignments, text.expression, default_column=DEFAULT_COLUMN if own else None
    )
    ctes = text.verbatim(statement.ctes)
    alias = target.alias_text
    empty = target.rows([])

    def types_of(values: Sequence[str]) -> Sequence[st.DataType]:
        items = ", ".join(f"{value} AS v{number}" for number, value in enumerate(values))
        found = text.frame(f"{ctes} SELECT {items} FROM {{floeberg_target}} AS {alias}", floeberg_target=empty)
        return value_types(target, found)

    values = TextValues(target.alias, types_of, store_rules(target.spark, by_name=True))
    after = row_after(target.schema, checked(assigned, values, table=target.name), values)
    condition = target_condition(target, text.cursor, statement.where)
    where = "" if statement.where is None else f"WHERE {text.expression(statement.where)}"
    query = f"{ctes} SELECT {_items(target, after)} FROM {{floeberg_target}} AS {alias} {where}"
    tasks = target.plan(condition.weak)
    changes = text.frame(query, floeberg_target=target.rows(tasks) if tasks else empty)
    if not tasks:
        if text.has_row_query():
            changes.collect()  # for its errors: more than one row of such a query needs no row of the table
        return None
    at_once = can_find_and_write_in_one_job(target, tasks)
    if not at_once:
        # Evaluated once: its rows tell which rows are replaced, and by what.
        changes = evaluated_once(changes)
    touched = write_changes(target, changes) if at_once else find_changes(target, changes.select(KIND, FILE, POSITION))
    if not touched.positions:
        return None
    with removed_on_failure(target, touched.written):
        return carry_out(
            target,
            FoundChange(
                tasks=tasks,
                condition=condition.weak,
                positions=touched.positions,
                updated=touched.updated,
                written=touched.written,
                new_rows=None if at_once else changes.drop(KIND, FILE, POSITION),
                expected_rows=touched.updated,
            ),
        )


def _items(target: ChangedTable, after: Sequence[str]) -> str:
    """The select list: the kind of change, file and position of the row, and the columns of its new version."""
    alias = target.alias_text
    values = [*after, *((f"{alias}.{ROW_ID.name}",) if target.has_lineage else ())]
    items = [
        f"{int(RowKind.UPDATE)} AS {KIND}",
        f"{alias}.{FILE_PATH.name} AS {FILE}",
        f"{alias}.{ROW_POSITION.name} AS {POSITION}",
        *(
            f"{value} AS {double_braces(quote_name(name))}"
            for value, name in zip(values, new_row_columns(target), strict=True)
        ),
    ]
    return ", ".join(items)
