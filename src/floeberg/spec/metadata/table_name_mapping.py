"""A table's name mapping, with the table's ids where its writer gave it others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from floeberg.effects.leniencies import Leniency, tolerate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.name_mapping import NAME_MAPPING_PROPERTY, MappedField, NameMapping, parse_name_mapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import NestedField, NestedType


def table_name_mapping(metadata: TableMetadata) -> NameMapping | None:
    """The name mapping of a table, None without one.

    Migrations by Hive write the mapping before the table numbers its nested columns anew, so that its ids are those of
    other columns: such a mapping gets the ids that the table gives to the same names. Raises MetadataCorrupt.
    """
    text = metadata.properties.get(NAME_MAPPING_PROPERTY)
    if not text:
        return None
    mapping = parse_name_mapping(text)
    if not any(_contradicts(mapping, schema) for schema in metadata.schemas):
        return mapping
    for schema in sorted(metadata.schemas, key=lambda known: known.schema_id):
        fields = _renumbered(mapping.fields, schema.fields)
        if fields is not None:
            tolerate(
                Leniency.MAPPING_OF_OTHER_IDS,
                metadata.location,
                f"table property {NAME_MAPPING_PROPERTY} gives columns the ids of others; their names are taken",
            )
            return NameMapping(fields)
    return mapping


def _contradicts(mapping: NameMapping, schema: Schema) -> bool:
    """Whether some field of the mapping is, by its id, inside another field than in the schema."""
    stack: list[tuple[int | None, MappedField]] = [(None, mapped) for mapped in mapping.fields]
    while stack:
        parent, mapped = stack.pop()
        own = mapped.field_id
        if own is not None and own in schema.by_id and schema.parents.get(own) != parent:
            return True
        stack.extend((own, child) for child in mapped.fields if own is not None)
    return False


def _renumbered(mapped_fields: Sequence[MappedField], members: Sequence[NestedField]) -> tuple[MappedField, ...] | None:
    """The mapping with the ids of a schema's fields of the same names; None if one of them has no such field."""
    out: list[MappedField] = []
    for mapped in mapped_fields:
        if mapped.field_id is None:
            out.append(mapped)
            continue
        found = [member for member in members if member.name in mapped.names]
        if len(found) != 1:
            return None
        kind = found[0].type
        below = _renumbered(mapped.fields, kind.fields if isinstance(kind, NestedType) else ())
        if below is None:
            return None
        out.append(replace(mapped, field_id=found[0].field_id, fields=below))
    return tuple(out)
