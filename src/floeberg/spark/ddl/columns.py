"""Columns as statements define them, as schemas."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from floeberg.errors import ColumnAlreadyExists, InvalidInput
from floeberg.spark.host.execution import Execution
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.types import UNSET, IcebergType, NestedField
from floeberg.sql.ddl.types import schema_from_ddl, type_from_ddl
from floeberg.sql.queries.references import Rewrite, apply_rewrites
from floeberg.sql.statements.statements import ColumnDefinition
from floeberg.sql.text.lexer import Kind, Span, Token, quote_name, quote_string, tokenize

_NTZ = "TIMESTAMP_NTZ"


def schema_of(execution: Execution, columns: Sequence[ColumnDefinition]) -> Schema:
    """The schema of CREATE TABLE; a DEFAULT becomes the write default. Raises InvalidInput."""
    doubled = _doubled([column.path[-1].lower() for column in columns])
    if doubled is not None:
        raise ColumnAlreadyExists(f"column {doubled!r} is defined twice")
    return schema_from_ddl(", ".join(_ddl(execution, column) for column in columns))


def check_names_without_case(schema: Schema, *, what: object) -> None:
    """Raises ColumnAlreadyExists when two names, at any depth, differ in case alone: a session without regard to case, as
    Spark's are, reads neither."""
    doubled = _doubled([name.lower() for _, name in walk_fields(schema.fields)])
    if doubled is not None:
        raise ColumnAlreadyExists(
            f"{what}: two columns are named {doubled!r} without regard to case; rename one, or set spark.sql.caseSensitive",
            column=doubled,
        )


def field_of(execution: Execution, column: ColumnDefinition) -> NestedField:
    """A column of ADD COLUMNS, with the value of its DEFAULT as write default."""
    return schema_from_ddl(_ddl(execution, column)).fields[0]


def type_of(execution: Execution, text: str) -> IcebergType:
    return type_from_ddl(_type_text(execution, text))


def default_value(execution: Execution, data_type: str, span: Span) -> object:
    """The value of a DEFAULT for a column of a type given as text. Raises InvalidInput."""
    found = (
        schema_from_ddl(f"c {data_type} DEFAULT {_default_text(execution, data_type, span)}").fields[0].write_default
    )
    return None if found is UNSET else found


def _ddl(execution: Execution, column: ColumnDefinition) -> str:
    kind = _type_text(execution, column.type_text)
    text = f"{quote_name(column.path[-1])} {kind}"
    if column.required:
        text += " NOT NULL"
    if column.default is not None:
        text += f" DEFAULT {_default_text(execution, kind, column.default)}"
    if column.comment is not None:
        text += f" COMMENT {quote_string(column.comment)}"
    return text


def _default_text(execution: Execution, kind: str, span: Span) -> str:
    """The default as a literal. Spark computes any other expression, once, now."""
    text = span.of(execution.sql)
    try:
        schema_from_ddl(f"c {kind} DEFAULT {text}")
    except InvalidInput as no_literal:
        try:
            value = execution.value(text, within=f"CAST(CAST({{}} AS {kind}) AS STRING)")
        except Exception as error:
            raise no_literal from error
        return "NULL" if value is None else quote_string(value)
    return text


def _type_text(execution: Execution, text: str) -> str:
    """The session's settings decide what `TIMESTAMP` means, at any depth."""
    if execution.session.setting("spark.sql.timestampType", "TIMESTAMP_LTZ") != _NTZ:
        return text
    tokens = tokenize(text)
    rewrites = [
        Rewrite(token.start, token.end, _NTZ)
        for token, after in pairwise(tokens)
        if token.upper == "TIMESTAMP" and _is_bare_type(text, after)
    ]
    return apply_rewrites(text, rewrites)


def _is_bare_type(text: str, after: Token) -> bool:
    """Whether `TIMESTAMP` before a token is a type with no words for its zone: a field of that name has its type behind it."""
    if after.kind is Kind.WORD:
        return after.upper in ("NOT", "COMMENT", "DEFAULT")
    return text[after.start : after.end] != ":"


def _doubled(names: list[str]) -> str | None:
    return next((name for number, name in enumerate(names) if name in names[:number]), None)
