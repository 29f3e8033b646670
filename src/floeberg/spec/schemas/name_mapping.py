"""Name mapping, the fallback for data files without field ids: https://iceberg.apache.org/spec/#column-projection"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from floeberg.errors import LimitExceeded, MetadataCorrupt
from floeberg.spec.json.fields import INT_MAX
from floeberg.spec.json.strict import decode_strict, json_kind
from floeberg.spec.schemas.schema import MAX_SCHEMA_DEPTH, Schema
from floeberg.spec.types import IcebergType, NestedField, NestedType

NAME_MAPPING_PROPERTY: Final = "schema.name-mapping.default"
_WHERE: Final = f"table property {NAME_MAPPING_PROPERTY}"


@dataclass(frozen=True, slots=True)
class MappedField:
    """The names under which files may hold a field. No id: a column of imported files that the table does not have."""

    field_id: int | None
    names: tuple[str, ...]
    fields: tuple[MappedField, ...] = ()


@dataclass(frozen=True, slots=True)
class NameMapping:
    """Field ids by name, level by level. A name is literal: a dot in it does not separate levels."""

    fields: tuple[MappedField, ...] = ()
    _levels: dict[int, dict[str, MappedField]] = field(
        init=False, repr=False, compare=False, hash=False, default_factory=dict
    )

    def __reduce__(self) -> tuple[object, ...]:
        return (NameMapping, (self.fields,))

    def find(self, path: Sequence[str]) -> MappedField | None:
        """The mapping of the field at a path of literal names, `element`, `key` and `value` included."""
        level: tuple[MappedField, ...] = self.fields
        found: MappedField | None = None
        for name in path:
            found = self._by_name(level).get(name)
            if found is None:
                return None
            level = found.fields
        return found

    def field_id(self, path: Sequence[str]) -> int | None:
        """The field id for a column of a file, or None when the table does not have that column."""
        found = self.find(path)
        return None if found is None else found.field_id

    def by_id(self) -> dict[int, MappedField]:
        """Every mapping that has a field id, by it."""
        return {mapped.field_id: mapped for mapped in _walk(self.fields) if mapped.field_id is not None}

    def _by_name(self, level: tuple[MappedField, ...]) -> dict[str, MappedField]:
        known = self._levels.get(id(level))
        if known is None:
            known = {name: mapped for mapped in level for name in mapped.names}
            self._levels[id(level)] = known
        return known


def parse_name_mapping(text: str) -> NameMapping:
    """The mapping in the table property's JSON text. Raises MetadataCorrupt or LimitExceeded."""
    return name_mapping_from_json(decode_strict(text.encode("utf-8", "surrogatepass"), where=_WHERE))


def name_mapping_from_json(obj: object, *, where: str = _WHERE) -> NameMapping:
    """The mapping of a decoded JSON list. Raises MetadataCorrupt for two fields with one id, or with one name at the
    same level."""
    fields = _read_fields(obj, where=where, depth=0)
    seen: set[int] = set()
    for mapped in _walk(fields):
        if mapped.field_id in seen:
            raise MetadataCorrupt(f"{where}: field id {mapped.field_id} is mapped twice", where=where)
        if mapped.field_id is not None:
            seen.add(mapped.field_id)
    return NameMapping(fields)


def name_mapping_to_json(mapping: NameMapping) -> list[dict[str, object]]:
    """The mapping as JSON builtins."""
    return [_write_field(mapped) for mapped in mapping.fields]


def write_name_mapping(mapping: NameMapping) -> str:
    """The mapping as the JSON text of the table property."""
    return msgspec.json.encode(name_mapping_to_json(mapping)).decode()


def create_name_mapping(schema: Schema) -> NameMapping:
    """Maps each field's id from its present name."""
    return NameMapping(tuple(_mapped(column) for column in schema.fields))


def update_name_mapping(mapping: NameMapping, old: Schema, new: Schema, *, reassign_names: bool = False) -> NameMapping:
    """The mapping after a change of schema: new fields are mapped, renamed ones get their new name beside the old.

    Names stay with the field they first meant, whether or not it was renamed or dropped since: the files that the
    mapping is for still hold its values, and giving the name away would show them in another column. With
    `reassign_names` a name goes to the newest field that has it, as the reference implementation does.
    """
    fields = _update_level(mapping.fields, new.fields, old, reassign_names=reassign_names)
    return NameMapping(fields)


def with_names_of(mapping: NameMapping, other: NameMapping) -> NameMapping:
    """The mapping with the names that another one has for the same fields, except names that are another field's."""
    return NameMapping(_named_level(mapping.fields, other.by_id()))


def _named_level(fields: tuple[MappedField, ...], others: dict[int, MappedField]) -> tuple[MappedField, ...]:
    taken = {name for mapped in fields for name in mapped.names}
    named: list[MappedField] = []
    for mapped in fields:
        other = None if mapped.field_id is None else others.get(mapped.field_id)
        added = tuple(name for name in (() if other is None else other.names) if name not in taken)
        taken.update(added)
        named.append(replace(mapped, names=(*mapped.names, *added), fields=_named_level(mapped.fields, others)))
    return tuple(named)


def _update_level(
    mapped_fields: tuple[MappedField, ...], members: tuple[NestedField, ...], old: Schema, *, reassign_names: bool
) -> tuple[MappedField, ...]:
    by_id = {member.field_id: member for member in members}
    taken = {name for mapped in mapped_fields for name in mapped.names}
    changed = {m.name: m.field_id for m in members if _is_new_name(m, old)}
    result: list[MappedField] = []
    for mapped in mapped_fields:
        member = by_id.get(mapped.field_id) if mapped.field_id is not None else None
        names = mapped.names
        if reassign_names:
            names = tuple(name for name in names if changed.get(name, mapped.field_id) == mapped.field_id)
        nested = mapped.fields
        if member is not None:
            if member.name not in names and (reassign_names or member.name not in taken) and member.name in changed:
                names = (*names, member.name)
            nested = _update_level(nested, _children(member.type), old, reassign_names=reassign_names)
        result.append(replace(mapped, names=names, fields=nested))
    mapped_ids = {mapped.field_id for mapped in mapped_fields}
    for member in members:
        if member.field_id not in mapped_ids and member.field_id not in old.by_id:
            added = _mapped(member)
            free = reassign_names or member.name not in taken
            result.append(added if free else replace(added, names=()))
    return tuple(result)


def _is_new_name(member: NestedField, old: Schema) -> bool:
    before = old.by_id.get(member.field_id)
    return before is None or before.name != member.name


def _children(data_type: IcebergType) -> tuple[NestedField, ...]:
    return data_type.fields if isinstance(data_type, NestedType) else ()


def _mapped(member: NestedField) -> MappedField:
    return MappedField(member.field_id, (member.name,), tuple(_mapped(child) for child in _children(member.type)))


def _walk(fields: tuple[MappedField, ...]) -> Iterator[MappedField]:
    stack = list(reversed(fields))
    while stack:
        mapped = stack.pop()
        yield mapped
        stack.extend(reversed(mapped.fields))


def _read_fields(obj: object, *, where: str, depth: int) -> tuple[MappedField, ...]:
    if not isinstance(obj, list):
        raise MetadataCorrupt(f"{where} must be a list of field mappings, not {json_kind(obj)}", where=where)
    if depth > MAX_SCHEMA_DEPTH:
        raise LimitExceeded(f"{where} nests deeper than {MAX_SCHEMA_DEPTH} levels", where=where)
    fields = tuple(_read_field(item, where=f"{where}[{index}]", depth=depth) for index, item in enumerate(obj))
    seen: set[str] = set()
    for mapped in fields:
        for name in mapped.names:
            if name in seen:
                raise MetadataCorrupt(f"{where}: the name {name[:80]!r} is mapped twice at one level", where=where)
            seen.add(name)
    return fields


def _read_field(obj: object, *, where: str, depth: int) -> MappedField:
    if not isinstance(obj, dict):
        raise MetadataCorrupt(f"{where} must be a field mapping, not {json_kind(obj)}", where=where)
    field_id = obj.get("field-id")
    if field_id is not None and (type(field_id) is not int or not 0 <= field_id <= INT_MAX):
        raise MetadataCorrupt(f"{where}: field-id must be a field id, not {json_kind(field_id)}", where=where)
    # The reference implementation writes and accepts mappings without `names`, meaning none.
    names = obj.get("names", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise MetadataCorrupt(f"{where}: names must be a list of strings", where=where)
    fields = obj.get("fields")
    nested = () if fields is None else _read_fields(fields, where=f"{where}.fields", depth=depth + 1)
    return MappedField(field_id, tuple(dict.fromkeys(names)), nested)


def _write_field(mapped: MappedField) -> dict[str, object]:
    result: dict[str, object] = {} if mapped.field_id is None else {"field-id": mapped.field_id}
    result["names"] = list(mapped.names)
    if mapped.fields:
        result["fields"] = [_write_field(child) for child in mapped.fields]
    return result
