"""Assignments: each column of the new version of a row, with nested fields and defaults, checked before anything runs.

Values are text or Columns; both are handled in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from pyspark.sql import types as st

from floeberg.errors import ColumnNotFound, InvalidInput
from floeberg.spark.host.types.exact_types import exact_name
from floeberg.spark.host.types.spark_types import geo_type_of, spark_type
from floeberg.spark.host.types.type_text import type_text
from floeberg.spark.write.exact_values import exact_text, refuse_cut_default
from floeberg.spark.write.geo_values import TO_WKB, refuse_other_crs
from floeberg.spark.write.store_assignment import StoreRules, assignment_problem
from floeberg.spark.write.store_cast import stored_text
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, IcebergType, NestedField, StructType, TimeType
from floeberg.sql.ddl.default_values import literal_text
from floeberg.sql.queries.references import double_braces
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import TableIdentifier

Path = tuple[str, ...]
TypesOf = Callable[[Sequence[str]], Sequence[st.DataType]]
"""The types that Spark gives to expressions where they stand."""


V = TypeVar("V")
G = TypeVar("G")
G_co = TypeVar("G_co", covariant=True)


class Values(Protocol[V]):
    """How values of one kind (text or Columns) are built and inspected."""

    @property
    def rules(self) -> StoreRules:
        """How values are stored."""

    def types(self, values: Sequence[V]) -> Sequence[st.DataType]:
        """Their types where they stand."""

    def stored(self, value: V, given: st.DataType, wanted: st.DataType) -> V:
        """The value in another type."""

    def constant(self, text: str, wanted: st.DataType) -> V:
        """An SQL constant in a type."""

    def own(self, path: Path) -> V:
        """A column of the row that is changed, or a field in it."""

    def struct(self, members: Sequence[tuple[str, V]]) -> V: ...

    def called(self, function: str, value: V) -> V:
        """What a function of Spark's gives for the value."""

    def exact(self, value: V, data_type: IcebergType) -> V:
        """A value that users gave, in the form that keeps nanoseconds."""


@dataclass(frozen=True, slots=True)
class TextValues:
    """Values that are text, parts of a template."""

    alias: str
    types: TypesOf
    rules: StoreRules

    def stored(self, value: str, given: st.DataType, wanted: st.DataType) -> str:
        mark = "floeberg_assigned_value"  # the value is part of a template already, what is put around it is not
        return double_braces(stored_text(mark, given, wanted, self.rules)).replace(mark, value)

    def constant(self, text: str, wanted: st.DataType) -> str:
        return cast_text(double_braces(text), wanted)

    def own(self, path: Path) -> str:
        return double_braces(".".join(quote_name(part) for part in (self.alias, *path)))

    def struct(self, members: Sequence[tuple[str, str]]) -> str:
        return f"struct({', '.join(f'{value} AS {double_braces(quote_name(name))}' for name, value in members)})"

    def called(self, function: str, value: str) -> str:
        return f"{function}({value})"

    def exact(self, value: str, data_type: IcebergType) -> str:
        mark = "floeberg_assigned_value"
        return double_braces(exact_text(mark, data_type)).replace(mark, value)


class Given(Protocol[G_co]):
    """`column = value` as it was given; a value of None is DEFAULT."""

    @property
    def column(self) -> Path: ...
    @property
    def value(self) -> G_co | None: ...


@dataclass(frozen=True, slots=True)
class Assigned(Generic[V]):
    """A field that is set: its path of exact names, and its value; None is DEFAULT."""

    path: Path
    field: NestedField
    value: V | None


class TargetColumns:
    """The columns of the table that is changed, as assignments name them."""

    def __init__(self, schema: Schema, identifier: TableIdentifier, alias: str, *, case_sensitive: bool) -> None:
        self.schema = schema
        self.alias = alias
        self._case_sensitive = case_sensitive
        qualified = identifier.qualified
        self._qualifiers = [(alias,), *(qualified[start:] for start in range(len(qualified)))]

    def resolve(self, column: Path) -> tuple[Path, NestedField]:
        """A column or a field of a struct. Raises ColumnNotFound when there is none. As in Spark, `t.id` is the column `id`
        of the table `t` before it is the field `id` of a column `t`."""
        found: tuple[Path, NestedField] | None = None
        for qualifier in self._qualifiers:
            if found is None and len(column) > len(qualifier) and self._same_path(column[: len(qualifier)], qualifier):
                found = self._find(column[len(qualifier) :])
        found = self._find(column) if found is None else found
        if found is None:
            known = ", ".join(field.name for field in self.schema.fields[:30])
            raise ColumnNotFound(
                f"the table has no column {'.'.join(column)!r}; it has {known}", column=".".join(column)
            )
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
        return self.key(one) == self.key(other)

    def key(self, name: str) -> str:
        """A name as it is compared with others."""
        return name if self._case_sensitive else name.lower()


DEFAULT_COLUMN: Final = "(`default`)"
"""What DEFAULT is where a column in sight has that name."""


def has_default_column(names: Iterable[str]) -> bool:
    return any(name.lower() == "default" for name in names)


def assigned_fields(
    columns: TargetColumns,
    assignments: Sequence[Given[G]],
    render: Callable[[G], V],
    *,
    default_column: V | None = None,
) -> list[Assigned[V]]:
    """The assignments, resolved; `default_column` is the value of DEFAULT where that is a column in sight. Raises
    InvalidInput for unknown columns and for fields that are set twice."""
    found: list[Assigned[V]] = []
    for assignment in assignments:
        path, field = columns.resolve(assignment.column)
        for other in found:
            shorter = min(len(path), len(other.path))
            if path[:shorter] == other.path[:shorter]:
                raise InvalidInput(f"column {'.'.join(path)!r} is set twice", column=".".join(path))
        value = default_column if assignment.value is None else render(assignment.value)
        found.append(Assigned(path, field, value))
    return found


def checked(assigned: Sequence[Assigned[V]], values: Values[V], *, table: str) -> list[Assigned[V]]:
    """The assignments with their values cast as store assignment does. Raises InvalidInput for a value that cannot be
    stored, and for a null constant in a required column."""
    given_values = [each.value for each in assigned if each.value is not None]
    types = iter(values.types(given_values) if given_values else ())
    result: list[Assigned[V]] = []
    for each in assigned:
        name = ".".join(each.path)
        if each.value is None:
            result.append(
                Assigned(each.path, each.field, default_value(each.field, values, path=each.path, table=table))
            )
            continue
        value, given, wanted = each.value, next(types), spark_type(each.field.type)
        if geo_type_of(given) is not None:
            refuse_other_crs(given, each.field.type, column=name, table=table)
            value, given = values.called(TO_WKB, value), st.BinaryType()
        problem = assignment_problem(given, wanted, values.rules, path=name)
        if problem is None and each.field.required and isinstance(given, st.NullType):
            problem = f"column {name!r} is required and cannot be set to null"
        if problem is not None:
            condition = "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
            raise InvalidInput(f"table {table}: {problem}", table=table, column=name, condition=condition)
        result.append(Assigned(each.path, each.field, values.stored(value, given, wanted)))
    return result


def cast_text(value: str, wanted: st.DataType) -> str:
    return f"CAST({value} AS {double_braces(type_text(wanted))})"


def default_value(field: NestedField, values: Values[V], *, path: Path, table: str) -> V:
    """The value of DEFAULT: the write default, or null. Raises InvalidInput for a required column without one."""
    wanted = spark_type(field.type)
    if field.write_default is UNSET or field.write_default is None:
        if field.required:
            raise InvalidInput(f"table {table}: column {'.'.join(path)!r} is required and has no default")
        return values.constant("NULL", wanted)
    refuse_cut_default(field, table=table)
    if isinstance(field.type, TimeType):
        return values.constant(str(field.write_default), wanted)
    return values.constant(literal_text(field.type, field.write_default), wanted)


def row_after(schema: Schema, assigned: Sequence[Assigned[V]], values: Values[V]) -> list[V]:
    """Each top-level column of a row after the assignments, in its exact form; the others are the row's own."""
    given = {each.path: each.value for each in assigned if each.value is not None}
    return [_value(field, (field.name,), given, values, own=(exact_name(field),)) for field in schema.fields]


def _value(field: NestedField, path: Path, given: Mapping[Path, V], values: Values[V], *, own: Path) -> V:
    if path in given:
        return values.exact(given[path], field.type)
    if not any(other[: len(path)] == path for other in given) or not isinstance(field.type, StructType):
        return values.own(own)
    return values.struct(
        [
            (member.name, _value(member, (*path, member.name), given, values, own=(*own, member.name)))
            for member in field.type.members
        ]
    )


def new_row(schema: Schema, assigned: Sequence[Assigned[V]], values: Values[V], *, table: str) -> list[V]:
    """Each column of an inserted row, in its exact form: as assigned, else its default. Raises InvalidInput for nested
    columns, and for required ones that are left out."""
    given: dict[str, V | None] = {}
    for each in assigned:
        if len(each.path) > 1:
            raise InvalidInput(f"table {table}: an insert sets whole columns, not {'.'.join(each.path)!r}")
        given[each.path[0]] = each.value
    row = []
    for field in schema.fields:
        value = given.get(field.name)
        if value is None:
            value = default_value(field, values, path=(field.name,), table=table)
        row.append(values.exact(value, field.type))
    return row
