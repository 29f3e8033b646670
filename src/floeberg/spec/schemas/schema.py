"""Schemas: named, typed fields with ids that never change: https://iceberg.apache.org/spec/#schemas"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from floeberg.errors import ColumnNotFound, InvalidInput
from floeberg.spec.types import IcebergType, ListType, MapType, NestedField, NestedType, StructType

MAX_COLUMN_FIELD_ID: Final = 2147483447
"""Table columns must not use greater ids; those above are reserved for metadata columns."""

MAX_SCHEMA_DEPTH: Final = 100
"""Deeper nesting than this is refused when metadata is read, so that no walk over a type can run out of stack."""


@dataclass(frozen=True)
class Schema:
    """A table's columns at one time. Two schemas are equal when their fields and identifier fields are."""

    fields: tuple[NestedField, ...]
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    def __init__(self, *fields: NestedField, schema_id: int = 0, identifier_field_ids: Iterable[int] = ()) -> None:
        object.__setattr__(self, "fields", tuple(fields))
        object.__setattr__(self, "schema_id", schema_id)
        object.__setattr__(self, "identifier_field_ids", tuple(identifier_field_ids))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.fields, self.schema_id, self.identifier_field_ids))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self.same_columns(other) and self.schema_id == other.schema_id

    def __hash__(self) -> int:
        return hash((self.fields_key, self.schema_id))

    def __str__(self) -> str:
        return "table {\n" + "".join(f"  {field}\n" for field in self.fields) + "}"

    def __iter__(self) -> Iterator[NestedField]:
        return iter(self.fields)

    @cached_property
    def fields_key(self) -> str:
        """A text that is equal exactly when the fields are (defaults may be unhashable)."""
        return repr(self.fields)

    def same_columns(self, other: Schema) -> bool:
        """Equal but for the schema id."""
        return self.fields == other.fields and set(self.identifier_field_ids) == set(other.identifier_field_ids)

    @cached_property
    def as_struct(self) -> StructType:
        return StructType(self.fields)

    @cached_property
    def by_id(self) -> dict[int, NestedField]:
        """Every field at any depth, by id."""
        return {field.field_id: field for field, _ in walk_fields(self.fields)}

    @cached_property
    def names(self) -> dict[int, str]:
        """Full dotted name by id, with `element`, `key` and `value` for the children of lists and maps."""
        return {field.field_id: name for field, name in walk_fields(self.fields)}

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id by full name. `list.element.x` and `map.value.x` may also be written `list.x` and `map.x`, when that is no
        other field's name."""
        full = {name: field_id for field_id, name in self.names.items()}
        short: dict[str, int] = {}
        for field, name in walk_fields(self.fields, short_names=True):
            short.setdefault(name, field.field_id)
        return {**short, **full}

    @cached_property
    def _ids_lower(self) -> dict[str, list[int]]:
        lower: dict[str, list[int]] = {}
        for name, field_id in self.ids.items():
            entry = lower.setdefault(name.lower(), [])
            if field_id not in entry:
                entry.append(field_id)
        return lower

    @cached_property
    def parents(self) -> dict[int, int]:
        """Id of the enclosing field, for every nested field."""
        return {
            child.field_id: field.field_id
            for field, _ in walk_fields(self.fields)
            if isinstance(field.type, NestedType)
            for child in field.type.fields
        }

    @cached_property
    def highest_field_id(self) -> int:
        return max(self.by_id, default=0)

    def find(self, name_or_id: str | int, *, case_sensitive: bool = True) -> NestedField | None:
        """The field of that id or full name, at any depth. Raises InvalidInput when a case-insensitive name is
        ambiguous."""
        if isinstance(name_or_id, int):
            return self.by_id.get(name_or_id)
        if case_sensitive:
            found = self.ids.get(name_or_id)
            return None if found is None else self.by_id[found]
        candidates = self._ids_lower.get(name_or_id.lower(), [])
        if len(candidates) > 1:
            listed = ", ".join(self.names[i] for i in candidates)
            raise InvalidInput(f"column {name_or_id!r} is ambiguous without regard to case: {listed}")
        return self.by_id[candidates[0]] if candidates else None

    def field(self, name_or_id: str | int, *, case_sensitive: bool = True) -> NestedField:
        """As `find`, but raises ColumnNotFound when there is no such field."""
        found = self.find(name_or_id, case_sensitive=case_sensitive)
        if found is None:
            known = ", ".join(field.name for field in self.fields[:30])
            raise ColumnNotFound(f"no column {name_or_id!r}; the columns are: {known}", column=name_or_id)
        return found

    def path_to(self, field_id: int) -> tuple[int, ...]:
        """Field ids from the top-level column down to the field, both included."""
        path = [field_id]
        while (parent := self.parents.get(path[-1])) is not None:
            path.append(parent)
        return tuple(reversed(path))

    def with_id(self, schema_id: int) -> Schema:
        return Schema(*self.fields, schema_id=schema_id, identifier_field_ids=self.identifier_field_ids)


def _rebuild(fields: tuple[NestedField, ...], schema_id: int, identifier_field_ids: tuple[int, ...]) -> Schema:
    return Schema(*fields, schema_id=schema_id, identifier_field_ids=identifier_field_ids)


def walk_fields(
    fields: Iterable[NestedField], *, prefix: str = "", short_names: bool = False
) -> Iterator[tuple[NestedField, str]]:
    """Every field at any depth with its full name, parents before children, in schema order; without recursion."""
    stack = [(field, prefix + field.name) for field in reversed(tuple(fields))]
    while stack:
        field, name = stack.pop()
        yield field, name
        if not isinstance(field.type, NestedType):
            continue
        for child in reversed(field.type.fields):
            hidden = (
                short_names
                and isinstance(child.type, StructType)
                and (isinstance(field.type, ListType) or (isinstance(field.type, MapType) and child.name == "value"))
            )
            stack.append((child, name if hidden else f"{name}.{child.name}"))


def type_depth(data_type: IcebergType) -> int:
    """How deep a type nests; a primitive has depth 0."""
    deepest = 0
    stack: list[tuple[IcebergType, int]] = [(data_type, 0)]
    while stack:
        current, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(current, NestedType):
            stack.extend((child.type, depth + 1) for child in current.fields)
    return deepest
