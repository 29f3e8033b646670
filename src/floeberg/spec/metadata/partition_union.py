"""The partition type of a whole table: one struct that holds the tuples of all its specs."""

from __future__ import annotations

from floeberg.errors import MetadataCorrupt
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionField
from floeberg.spec.partitions.transforms import UnknownTransform, VoidTransform
from floeberg.spec.types import NestedField, StructType


def unified_partition_type(metadata: TableMetadata) -> StructType:
    """Every partition field that any spec has, by field id, named as the newest spec names it.

    As in the reference implementation, a field whose source column was dropped from the schema is left out; so is one of
    a transform that is not known here, whose type nobody can tell. Raises MetadataCorrupt when two specs of a v1 table
    mean different things by one field id.
    """
    schema = metadata.current_schema
    chosen: dict[int, PartitionField] = {}
    members: dict[int, NestedField] = {}
    for spec in sorted(metadata.partition_specs, key=lambda spec: spec.spec_id, reverse=True):
        types = {member.field_id: member for member in partition_type_of(metadata, spec.spec_id)}
        for field in spec.fields:
            if isinstance(field.transform, UnknownTransform) or not _has_sources(field, schema.by_id):
                continue
            found = chosen.get(field.field_id)
            if found is None:
                chosen[field.field_id] = field
                members[field.field_id] = types[field.field_id]
            elif not _compatible(field, found):
                raise MetadataCorrupt(
                    f"table {metadata.location}: the partition fields {field} and {found} of two specs have the same id",
                    field_id=field.field_id,
                )
            elif isinstance(found.transform, VoidTransform) and not isinstance(field.transform, VoidTransform):
                chosen[field.field_id] = field
                name = members[field.field_id].name
                members[field.field_id] = NestedField(field.field_id, name, types[field.field_id].type)
    return StructType(tuple(members[field_id] for field_id in sorted(members)))


def _has_sources(field: PartitionField, known: dict[int, NestedField]) -> bool:
    return all(source_id in known for source_id in field.source_ids)


def _compatible(field: PartitionField, other: PartitionField) -> bool:
    """Equal but for the name; a void field stands for one that was dropped."""
    either_void = isinstance(field.transform, VoidTransform) or isinstance(other.transform, VoidTransform)
    return field.source_ids == other.source_ids and (field.transform == other.transform or either_void)
