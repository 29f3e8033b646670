"""The functions of `catalog.system`: the partition transforms, run by the code that partitions the data.

They are registered with the session under names of their own when a statement first calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import types as st
from pyspark.sql.functions import arrow_udf

from floeberg.arrow.columns.types import iceberg_type
from floeberg.errors import InvalidInput, NotFound
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.types.spark_types import iceberg_type_of, spark_type
from floeberg.spark.host.views import TextView
from floeberg.spark.workers.functions import bucket, temporal, truncate
from floeberg.spec.types import STRING, IcebergType
from floeberg.sql.ddl.types import type_from_ddl
from floeberg.sql.queries.references import FunctionReference, References
from floeberg.sql.text.lexer import Kind, Token, name_value
from floeberg.sql.text.numbers import number_value
from floeberg.version import VERSION

_TEMPORAL: Final = {
    "year": "year", "years": "year", "month": "month", "months": "month", "day": "day", "days": "day", "hour": "hour",
    "hours": "hour",
}  # fmt: skip
SYSTEM: Final = "system"
NAMES: Final = (*_TEMPORAL, "bucket", "truncate", "iceberg_version")


def function_calls(execution: Execution, references: References) -> dict[int, str]:
    """For each call of ours, by its place, the name under which Spark knows the function."""
    return {use.start: _registered_name(execution, use, references) for use in references.functions}


def _registered_name(execution: Execution, use: FunctionReference, references: References) -> str:
    name = use.identifier.name.lower()
    if tuple(part.lower() for part in use.identifier.namespace) != (SYSTEM,) or name not in NAMES:
        raise InvalidInput(f"{use.identifier} is no function; the functions of system are {', '.join(NAMES)}")
    session = execution.session
    if name == "iceberg_version":
        return _register_version(session)
    if name in _TEMPORAL:
        kind = _TEMPORAL[name]
        result = st.DateType() if kind == "day" else st.IntegerType()
        return _register(session, f"floeberg_{kind}", result, temporal(kind))
    if name == "bucket":
        return _register(session, "floeberg_bucket", st.IntegerType(), bucket)
    data_type = _argument_type(execution, use, references)
    suffix = str(data_type).replace("(", "_").replace(",", "_").replace(")", "").replace(" ", "")
    return _register(session, f"floeberg_truncate_{suffix}", spark_type(data_type), truncate)


def _register(session: AttachedSession, name: str, result: st.DataType, function: Callable[..., Any]) -> str:
    if name not in session.state.functions:
        session.spark.udf.register(name, arrow_udf(function, returnType=result))
        session.state.functions.add(name)
    return name


def _register_version(session: AttachedSession) -> str:
    name, version = "floeberg_iceberg_version", VERSION
    if name not in session.state.functions:
        session.spark.udf.register(name, lambda: version)
        session.state.functions.add(name)
    return name


def _argument_type(execution: Execution, use: FunctionReference, references: References) -> IcebergType:
    """The type of what truncate is given: its result has the same, and Spark wants to know it beforehand. Raises
    InvalidInput when it is neither a literal nor a column of one type in the statement's tables and DataFrames."""
    cursor = references.cursor
    at = next(index for index, token in enumerate(cursor.tokens) if token.start == use.end)
    inside = cursor.tokens[at + 1 : cursor.closing(at)]
    comma = next((index for index, token in enumerate(inside) if token.upper == ","), None)
    value = [] if comma is None else inside[comma + 1 :]
    if len(value) == 1 and value[0].kind is Kind.STRING:
        return STRING
    if len(value) == 1 and value[0].kind is Kind.NUMBER:
        return _number_type(cursor.text(value[0]))
    found = _column_types(execution, references, [_part(cursor.text(token), token) for token in value])
    if not found and value:
        found = _constant_type(execution, execution.sql[value[0].start : value[-1].end])
    if len(found) != 1:
        raise InvalidInput(
            "system.truncate(width, value) takes a literal or a column of one of our tables in the statement; for anything "
            "else make it a column of a subquery first"
        )
    return found.pop()


def _constant_type(execution: Execution, text: str) -> set[IcebergType]:
    """The type that Spark finds for an expression without columns."""
    try:
        found = str(execution.value(text, within="typeof({})"))
    except AnalysisException:
        return set()  # it has columns: the caller reports what is allowed
    try:
        return {type_from_ddl(found)}
    except InvalidInput:
        return set()  # a type that no column of ours has, such as an interval


def _part(text: str, token: Token) -> str:
    return name_value(text) if token.kind in (Kind.WORD, Kind.QUOTED) else text


def _number_type(text: str) -> IcebergType:
    value = number_value(text).value
    kind = pa.scalar(value).type if not isinstance(value, int) else pa.int32() if abs(value) < 2**31 else pa.int64()
    return iceberg_type(kind)


def _column_types(execution: Execution, references: References, value: list[str]) -> set[IcebergType]:
    """The types of the columns that a dotted name can mean: its last parts are a path in some table."""
    parts = value[::2]
    if not parts or any(separator != "." for separator in value[1::2]):
        return set()
    found: set[IcebergType] = set()
    for table in references.tables:
        try:
            resolved = execution.resolve(table.identifier)
        except NotFound:
            continue
        found |= _named_types(resolved, parts)
    frames = [frame for frame in execution.kwargs.values() if hasattr(frame, "schema")]
    return found.union(*(_frame_types(frame.schema, parts) for frame in frames))


def _named_types(resolved: Resolved, parts: list[str]) -> set[IcebergType]:
    """The same for a table or a view."""
    if isinstance(resolved.remembered, TextView):
        return _frame_types(resolved.remembered.columns.schema, parts)
    if resolved.remembered is not None:
        return _frame_types(resolved.remembered.frame.schema, parts)
    holder = resolved.table.state if resolved.table is not None else resolved.view
    if holder is None:
        return set()
    for start in range(len(parts)):
        field = holder.metadata.current_schema.find(".".join(parts[start:]), case_sensitive=False)
        if field is not None:
            return {field.type}
    return set()


def _frame_types(schema: st.StructType, parts: list[str]) -> set[IcebergType]:
    """The type of the column of a DataFrame that a dotted name can mean, if there is one. The rows that a statement changes
    are such a DataFrame."""
    for start in range(len(parts)):
        data_type: st.DataType | None = schema
        for part in parts[start:]:
            members = data_type.fields if isinstance(data_type, st.StructType) else []
            data_type = next((one.dataType for one in members if one.name.lower() == part.lower()), None)
        if data_type is not None:
            return {iceberg_type_of(data_type)}
    return set()
