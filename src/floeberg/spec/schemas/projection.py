"""Schemas made from schemas: fewer columns with the same ids, or the same columns with other ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, MAX_SCHEMA_DEPTH, Schema, type_depth
from floeberg.spec.types import IcebergType, ListType, MapType, NestedField, StructType
from floeberg.spec.values.defaults import retype

IdFor = Callable[[int], int]
"""Gives the new id of the field that has the given id."""


def select(schema: Schema, names: Iterable[str], *, case_sensitive: bool = True) -> Schema:
    """The columns of those full names, whole, in the schema's order; `*` stands for all. Raises InvalidInput."""
    wanted = list(names)
    if "*" in wanted:
        return schema
    return prune_columns(schema, {schema.field(name, case_sensitive=case_sensitive).field_id for name in wanted})


def prune_columns(schema: Schema, field_ids: Iterable[int], *, whole: bool = True) -> Schema:
    """The fields of those ids and what encloses them, ids kept. A chosen struct comes whole, or, when `whole` is false,
    with only those of its fields that are chosen too (perhaps none). Maps keep their whole key."""
    chosen = frozenset(field_ids)
    if missing := chosen - schema.by_id.keys():
        raise InvalidInput(f"no field with id {', '.join(map(str, sorted(missing)))} in schema {schema.schema_id}")
    members = _prune_fields(schema.fields, chosen, whole=whole)
    kept = Schema(*members, schema_id=schema.schema_id)
    identifiers = tuple(i for i in schema.identifier_field_ids if i in kept.by_id)
    return Schema(*members, schema_id=schema.schema_id, identifier_field_ids=identifiers)


def _prune_fields(fields: tuple[NestedField, ...], chosen: frozenset[int], *, whole: bool) -> list[NestedField]:
    result = []
    for field in fields:
        pruned = _prune_type(field, chosen, whole=whole)
        if pruned is not None:
            result.append(field if pruned is field.type else retype(field, pruned))
    return result


def _prune_type(field: NestedField, chosen: frozenset[int], *, whole: bool) -> IcebergType | None:
    """What remains of a field's type, or None when nothing in it is chosen."""
    here = field.field_id in chosen
    if here and (whole or not field.type.is_nested):
        return field.type
    if isinstance(field.type, StructType):
        members = _prune_fields(field.type.members, chosen, whole=whole)
        if not members and not here:
            return None
        return field.type if tuple(members) == field.type.members else StructType(tuple(members))
    if isinstance(field.type, ListType):
        element = _prune_type(field.type.element, chosen, whole=whole)
        if element is None:
            return field.type if here else None
        return field.type if element is field.type.element_type else replace(field.type, element_type=element)
    if isinstance(field.type, MapType):
        value = _prune_type(field.type.value, chosen, whole=whole)
        if value is None:
            keyed = _prune_type(field.type.key, chosen, whole=whole) is not None
            return field.type if keyed or here else None
        return field.type if value is field.type.value_type else replace(field.type, value_type=value)
    return None


def assign_fresh_ids(schema: Schema, *, base: Schema | None = None, last_column_id: int = 0) -> Schema:
    """The schema with ids counted from `last_column_id` + 1, the fields of each struct before their children, as the
    reference implementation counts. With `base`, a field whose full name is there keeps the id it has there.
    Raises InvalidInput when ids run out."""
    ids = IdCounter(max(last_column_id, base.highest_field_id if base else 0))

    def id_for(old_id: int) -> int:
        known = base.ids.get(schema.names[old_id]) if base else None
        return ids.next_id() if known is None else known

    return map_ids(schema, id_for)


def map_ids(schema: Schema, id_for: IdFor) -> Schema:
    """The schema with other ids, identifier fields following theirs; duplicate old ids are refused."""
    _check_depth(schema.as_struct)
    new_ids: dict[int, int] = {}

    def remember(old_id: int) -> int:
        if old_id in new_ids:
            raise InvalidInput(f"field id {old_id} is used twice in the schema; give each field its own id")
        new_ids[old_id] = id_for(old_id)
        return new_ids[old_id]

    struct = _map_type(schema.as_struct, remember)
    assert isinstance(struct, StructType)
    if missing := [i for i in schema.identifier_field_ids if i not in new_ids]:
        raise InvalidInput(f"identifier field {missing[0]} is not in the schema")
    identifiers = [new_ids[i] for i in schema.identifier_field_ids]
    return Schema(*struct.members, schema_id=schema.schema_id, identifier_field_ids=identifiers)


def assign_fresh_type_ids(data_type: IcebergType, next_id: Callable[[], int]) -> IcebergType:
    """The type with fresh ids for all its fields, whatever ids (also equal ones) it has now."""
    _check_depth(data_type)
    return _map_type(data_type, lambda _: next_id())


class IdCounter:
    """Hands out column ids above the last one assigned."""

    def __init__(self, last_column_id: int) -> None:
        self.last_column_id = last_column_id

    def next_id(self) -> int:
        if self.last_column_id >= MAX_COLUMN_FIELD_ID:
            raise InvalidInput(f"no column id is left: ids above {MAX_COLUMN_FIELD_ID} are reserved")
        self.last_column_id += 1
        return self.last_column_id


def _check_depth(data_type: IcebergType) -> None:
    if type_depth(data_type) > MAX_SCHEMA_DEPTH:
        raise InvalidInput(f"the type nests deeper than {MAX_SCHEMA_DEPTH} levels; flatten it")


def _map_type(data_type: IcebergType, id_for: IdFor) -> IcebergType:
    if isinstance(data_type, StructType):
        ids = [id_for(member.field_id) for member in data_type.members]
        return StructType(
            tuple(
                replace(member, field_id=new_id, type=_map_type(member.type, id_for))
                for member, new_id in zip(data_type.members, ids, strict=True)
            )
        )
    if isinstance(data_type, ListType):
        element_id = id_for(data_type.element_id)
        return replace(data_type, element_id=element_id, element_type=_map_type(data_type.element_type, id_for))
    if isinstance(data_type, MapType):
        key_id, value_id = id_for(data_type.key_id), id_for(data_type.value_id)
        return replace(
            data_type,
            key_id=key_id,
            key_type=_map_type(data_type.key_type, id_for),
            value_id=value_id,
            value_type=_map_type(data_type.value_type, id_for),
        )
    return data_type
