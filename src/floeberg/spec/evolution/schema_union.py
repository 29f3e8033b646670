"""Union by name: the changes that make a table's schema hold every column of another schema."""

from __future__ import annotations

from collections.abc import Iterable

from floeberg.errors import InvalidInput
from floeberg.spec.evolution.schema_draft import ROOT, SchemaDraft
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, IcebergType, ListType, MapType, NestedField, StructType
from floeberg.spec.values.promotion import can_promote


def union_by_name(draft: SchemaDraft, other: Schema, *, case_sensitive: bool = True) -> None:
    """Adds to the draft what `other` has and it has not (as optional fields), and widens types, docs, defaults and
    nullability where `other` asks for it; a narrower type in `other` changes nothing. Raises InvalidInput where the two
    contradict each other."""
    _union_members(draft, ROOT, other.fields, case_sensitive=case_sensitive)


def _union_members(draft: SchemaDraft, struct_id: int, fields: Iterable[NestedField], *, case_sensitive: bool) -> None:
    for field in fields:
        existing = _find_member(draft, struct_id, field.name, case_sensitive=case_sensitive)
        if existing is None:
            _add(draft, struct_id, field)
        else:
            _union_field(draft, existing.field_id, field, case_sensitive=case_sensitive)


def _find_member(draft: SchemaDraft, struct_id: int, name: str, *, case_sensitive: bool) -> NestedField | None:
    members = draft.members(struct_id)
    for member in members:
        if member.name == name:
            return member
    if case_sensitive:
        return None
    found = [member for member in members if member.name.lower() == name.lower()]
    if len(found) > 1:
        raise InvalidInput(f"column {name!r} is ambiguous without regard to case: {', '.join(m.name for m in found)}")
    return found[0] if found else None


def _add(draft: SchemaDraft, struct_id: int, field: NestedField) -> None:
    """Optional whatever `other` says: rows written before have no value, unless an initial default gives one."""
    default = field.initial_default
    if default is UNSET and field.write_default is not None:
        default = field.write_default
    field_id = draft.add(struct_id, field.name, field.type, required=False, doc=field.doc, default=default)
    if field.write_default is not UNSET and field.write_default != default:
        draft.set_write_default(field_id, field.write_default)


def _union_field(draft: SchemaDraft, field_id: int, field: NestedField, *, case_sensitive: bool) -> None:
    existing = draft.field(field_id)
    if field.optional and existing.required:
        draft.set_required(field_id, False)
    if field.doc is not None and field.doc != existing.doc:
        draft.set_doc(field_id, field.doc)
    _union_type(draft, field_id, field.type, case_sensitive=case_sensitive)
    if field.write_default not in (None, UNSET) and field.write_default != draft.field(field_id).write_default:
        draft.set_write_default(field_id, field.write_default)


def _union_type(draft: SchemaDraft, field_id: int, other: IcebergType, *, case_sensitive: bool) -> None:
    current = draft.field(field_id).type
    if isinstance(current, StructType) and isinstance(other, StructType):
        _union_members(draft, field_id, other.members, case_sensitive=case_sensitive)
    elif isinstance(current, ListType) and isinstance(other, ListType):
        _union_field(draft, current.element_id, other.element, case_sensitive=case_sensitive)
    elif isinstance(current, MapType) and isinstance(other, MapType):
        _check_same_key(draft, current, other)
        _union_field(draft, current.value_id, other.value, case_sensitive=case_sensitive)
    elif not can_promote(other, current, draft.facts.format_version):
        draft.set_type(field_id, other)


def _check_same_key(draft: SchemaDraft, current: MapType, other: MapType) -> None:
    """A key may be narrower in `other`, never wider or another."""
    ours, theirs = current.key_type, other.key_type
    if not _key_fits(theirs, ours, draft.facts.format_version):
        raise InvalidInput(
            f"cannot change {draft.name(current.key_id)!r}: map keys cannot change, for two keys might become equal"
        )


def _key_fits(theirs: IcebergType, ours: IcebergType, format_version: int) -> bool:
    if isinstance(theirs, StructType) and isinstance(ours, StructType):
        members = {member.name: member for member in ours.members}
        return all(
            member.name in members and _key_fits(member.type, members[member.name].type, format_version)
            for member in theirs.members
        )
    if isinstance(theirs, ListType) and isinstance(ours, ListType):
        return _key_fits(theirs.element_type, ours.element_type, format_version)
    if isinstance(theirs, MapType) and isinstance(ours, MapType):
        return _key_fits(theirs.key_type, ours.key_type, format_version) and _key_fits(
            theirs.value_type, ours.value_type, format_version
        )
    return can_promote(theirs, ours, format_version)
