"""The columns that a file holds, as a tree with field ids, whatever its format: what projection works from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from floeberg.arrow.columns.types import FIELD_ID_KEY, child_fields, field_id_of, storage_type
from floeberg.errors import DataFileCorrupt, InvalidInput
from floeberg.spec.schemas.schema import MAX_SCHEMA_DEPTH
from floeberg.spec.types import ListType, MapType, NestedField, StructType, UnknownType, VariantType

ORC_ID_KEY: Final = b"iceberg.id"


@dataclass(frozen=True, slots=True)
class FileField:
    """A column of a file or a child of one; `leaves` are the ordinals of the primitive columns beneath it."""

    name: str
    field_id: int | None
    type: pa.DataType
    children: tuple[FileField, ...]
    leaves: range
    required: bool = False

    @property
    def is_struct(self) -> bool:
        return bool(pa.types.is_struct(self.type))

    @property
    def is_map(self) -> bool:
        return bool(pa.types.is_map(self.type))


def file_fields(schema: Iterable[pa.Field], *, location: str, id_key: bytes = FIELD_ID_KEY) -> tuple[FileField, ...]:
    """The columns of a file's Arrow schema, with ids where the file has them.

    Raises DataFileCorrupt for duplicate ids, ids that are no numbers, and nesting beyond the limit.
    """
    builder = _Builder(location, id_key)
    fields = builder.build(list(schema), depth=0)
    seen: dict[int, str] = {}
    for field in _found_by_id(fields):
        if field.field_id is None:
            continue
        if field.field_id in seen:
            raise DataFileCorrupt(
                f"{location}: columns {seen[field.field_id]!r} and {field.name!r} have the same field id "
                f"{field.field_id}; the file was not written by a correct writer",
                location=location,
            )
        seen[field.field_id] = field.name
    return fields


def _found_by_id(fields: Iterable[FileField]) -> Iterator[FileField]:
    """The columns and the members of structs: elements, keys and values are found without their ids."""
    for field in fields:
        yield field
        if field.is_struct:
            yield from _found_by_id(field.children)
        else:
            yield from (inner for child in field.children for inner in _found_by_id((child,)) if inner is not child)


class _Builder:
    def __init__(self, location: str, id_key: bytes) -> None:
        self._location = location
        self._id_key = id_key
        self._leaf = 0

    def build(self, fields: Sequence[pa.Field], *, depth: int) -> tuple[FileField, ...]:
        if depth > MAX_SCHEMA_DEPTH:
            raise DataFileCorrupt(f"{self._location}: columns nest deeper than {MAX_SCHEMA_DEPTH} levels")
        return tuple(self._field(field, depth=depth) for field in fields)

    def _field(self, field: pa.Field, *, depth: int) -> FileField:
        try:
            field_id = field_id_of(field, key=self._id_key)
        except InvalidInput as error:
            raise DataFileCorrupt(f"{self._location}: {error}", location=self._location) from error
        first = self._leaf
        data_type = storage_type(field.type)
        children = self.build(child_fields(data_type), depth=depth + 1)
        if not children:
            self._leaf += 1
        if field_id is not None and field_id < 0:
            field_id = None
        return FileField(field.name, field_id, data_type, children, range(first, self._leaf), not field.nullable)


def walk(fields: Iterable[FileField]) -> Iterator[FileField]:
    """Every field at any depth, in the file's order."""
    stack = list(fields)[::-1]
    while stack:
        field = stack.pop()
        yield field
        stack.extend(reversed(field.children))


def has_ids(fields: Iterable[FileField]) -> bool:
    """Whether the file says anything of field ids."""
    return any(field.field_id is not None for field in walk(fields))


def find_child(fields: Sequence[FileField], target: NestedField) -> FileField | None:
    """The field of a struct (or of the file) that has the target's id. A column without an id is not the target's,
    whatever its name."""
    return next((field for field in fields if field.field_id == target.field_id), None)


def select_leaves(fields: Sequence[FileField], targets: Iterable[NestedField]) -> set[int]:
    """The ordinals of the primitive columns to read for the target fields; at least one of each struct, list and map
    that is asked for, since its nulls and lengths are nowhere else."""
    leaves: set[int] = set()
    for target in targets:
        if isinstance(target.type, UnknownType):
            continue
        field = find_child(fields, target)
        if field is not None:
            leaves |= _leaves_of(field, target)
    return leaves


def _leaves_of(field: FileField, target: NestedField) -> set[int]:
    kind = target.type
    if isinstance(kind, VariantType) or not field.children:
        return set(field.leaves)
    if isinstance(kind, StructType) and field.is_struct:
        below = select_leaves(field.children, kind.members)
        return below or {field.leaves[0]}
    if isinstance(kind, MapType) and field.is_map:
        key, value = field.children
        return set(key.leaves) | _leaves_of(value, kind.value)
    if isinstance(kind, ListType) and len(field.children) == 1:
        return _leaves_of(field.children[0], kind.element)
    return set(field.leaves)


def keep_leaves(fields: Iterable[FileField], leaves: set[int]) -> tuple[FileField, ...]:
    """The tree without what is not read, in the order in which a reader of these leaves gives it."""
    kept = []
    for field in fields:
        if not leaves.isdisjoint(field.leaves):
            kept.append(replace(field, children=keep_leaves(field.children, leaves)) if field.children else field)
    return tuple(kept)
