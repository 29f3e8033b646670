"""Assignments as text: each column of a row as it will be, with nested fields and defaults, checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import types as st

from floeberg.errors import InvalidInput
from floeberg.spark.dml.statement_text import literal_name
from floeberg.spark.sql.dml_statements import Assignment
from floeberg.spark.sql.lexer import quote_name
from floeberg.spark.sql.names import TableIdentifier
from floeberg.spark.sql.references import double_braces
from floeberg.spark.types import spark_type
from floeberg.spark.write.align import assignment_problem
from floeberg.spark.write.type_text import type_text
from floeberg.spec.schema import Schema
from floeberg.spec.spark_literals import literal_text
from floeberg.spec.types import UNSET, NestedField, StructType, TimeType

Path = tuple[str, ...]
TypesOf = Callable[[Sequence[str]], Sequence[st.DataType]]
"""The types that Spark gives to expressions where they stand."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """A field that is set: its path of exact names, and the text of its value; None is DEFAULT."""

    path: Path
    field: NestedField
    value: str | None


class TargetColumns:
    """The columns of the table that is changed, as assignments name them."""

    def __init__(self, schema: Schema, identifier: TableIdentifier, alias: str, *, case_sensitive: bool) -> None:
        self.schema = schema
        self.alias = alias
        self._case_sensitive = case_sensitive
        qualified = identifier.qualified
        self._qualifiers = [(alias,), *(qualified[start:] for start in range(len(qualified)))]

    def resolve(self, column: Path) -> tuple[Path, NestedField]:
        """A column or a field of a struct. Raises InvalidInput when there is none."""
        found = self._find(column)
        for qualifier in self._qualifiers:
            if found is None and len(column) > len(qualifier) and self._same_path(column[: len(qualifier)], qualifier):
                found = self._find(column[len(qualifier) :])
        if found is None:
            known = ", ".join(field.name for field in self.schema.fields[:30])
            raise InvalidInput(f"the table has no column {'.'.join(column)!r}; it has {known}", column=".".join(column))
        return found

    def _find(self, column: Path) -> tuple[Path, NestedField] | None:
        members: Sequence[NestedField] = self.schema.fields
        path: list[str] = []
        found: NestedField | None = None
        for part in column:
            found = next((member for member in members if self._same(member.name, part)), None)
            if found is None:
                return None
            path.append(found.name)
            members = found.type.members if isinstance(found.type, StructType) else ()
        return None if found is None else (tuple(path), found)

    def _same_path(self, one: Path, other: Path) -> bool:
        return len(one) == len(other) and all(self._same(a, b) for a, b in zip(one, other, strict=True))

    def _same(self, one: str, other: str) -> bool:
        return one == other if self._case_sensitive else one.lower() == other.lower()


def assigned_fields(
    columns: TargetColumns, assignments: Sequence[Assignment], render: Callable[[object], str]
) -> list[Assigned]:
    """The assignments, resolved. Raises InvalidInput for unknown columns and for fields that are set twice."""
    found: list[Assigned] = []
    for assignment in assignments:
        path, field = columns.resolve(assignment.column)
        for other in found:
            shorter = min(len(path), len(other.path))
            if path[:shorter] == other.path[:shorter]:
                raise InvalidInput(f"column {'.'.join(path)!r} is set twice", column=".".join(path))
        found.append(Assigned(path, field, None if assignment.value is None else render(assignment.value)))
    return found


def checked(assigned: Sequence[Assigned], types_of: TypesOf, *, table: str) -> list[Assigned]:
    """The assignments with their values cast as store assignment does. Raises InvalidInput for a value that cannot be
    stored, and for a null constant in a required column."""
    values = [each.value for each in assigned if each.value is not None]
    types = iter(types_of(values) if values else ())
    result: list[Assigned] = []
    for each in assigned:
        if each.value is None:
            result.append(Assigned(each.path, each.field, default_text(each.field, path=each.path, table=table)))
            continue
        given, wanted = next(types), spark_type(each.field.type)
        problem = assignment_problem(given, wanted, path=".".join(each.path))
        if problem is None and each.field.required and isinstance(given, st.NullType):
            problem = f"column {'.'.join(each.path)!r} is required and cannot be set to null"
        if problem is not None:
            raise InvalidInput(f"table {table}: {problem}", table=table, column=".".join(each.path))
        result.append(Assigned(each.path, each.field, cast_text(each.value, wanted)))
    return result


def cast_text(value: str, wanted: st.DataType) -> str:
    return f"CAST({value} AS {double_braces(type_text(wanted))})"


def default_text(field: NestedField, *, path: Path, table: str) -> str:
    """DEFAULT: the write default, or null. Raises InvalidInput for a required column without one."""
    wanted = spark_type(field.type)
    if field.write_default is UNSET or field.write_default is None:
        if field.required:
            raise InvalidInput(f"table {table}: column {'.'.join(path)!r} is required and has no default")
        return cast_text("NULL", wanted)
    if isinstance(field.type, TimeType):
        return cast_text(str(field.write_default), wanted)
    return cast_text(double_braces(literal_text(field.type, field.write_default)), wanted)


def row_after(schema: Schema, assigned: Sequence[Assigned], alias: str) -> list[str]:
    """Each top-level column of a row after the assignments; the others are the row's own, under the alias."""
    values = {each.path: each.value for each in assigned if each.value is not None}
    return [_value(field, (field.name,), values, alias) for field in schema.fields]


def _value(field: NestedField, path: Path, values: dict[Path, str], alias: str) -> str:
    if path in values:
        return values[path]
    own = double_braces(".".join(quote_name(part) for part in (alias, *path)))
    if not any(other[: len(path)] == path for other in values) or not isinstance(field.type, StructType):
        return own
    members = ", ".join(
        f"{literal_name(member.name)}, {_value(member, (*path, member.name), values, alias)}"
        for member in field.type.members
    )
    return f"named_struct({members})"


def new_row(schema: Schema, assigned: Sequence[Assigned], *, table: str) -> list[str]:
    """Each column of an inserted row: as assigned, else its default. Raises InvalidInput for nested columns, and for
    required ones that are left out."""
    values = {}
    for each in assigned:
        if len(each.path) > 1:
            raise InvalidInput(f"table {table}: an insert sets whole columns, not {'.'.join(each.path)!r}")
        values[each.path[0]] = each.value
    return [values.get(field.name) or default_text(field, path=(field.name,), table=table) for field in schema.fields]
