"""The partition type of a table's spec, also where a source column was dropped since."""

from __future__ import annotations

from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import NestedField, StructType


def partition_type_of(metadata: TableMetadata, spec_id: int) -> StructType:
    """The type of partition tuples of a spec. A source column that the current schema has no more is looked for in the
    older ones: files of old specs stay readable."""
    spec = metadata.spec(spec_id)
    schema = metadata.current_schema
    wanted = {source_id for field in spec.fields for source_id in field.source_ids}
    if wanted <= schema.by_id.keys():
        return spec.partition_type(schema)
    return spec.partition_type(source_schema(metadata, spec_id))


def source_schema(metadata: TableMetadata, spec_id: int) -> Schema:
    """The source columns of a spec, each as the newest schema that has it describes it."""
    wanted = {source_id for field in metadata.spec(spec_id).fields for source_id in field.source_ids}
    found: dict[int, NestedField] = {}
    newest_first = sorted(metadata.schemas, key=lambda schema: schema.schema_id, reverse=True)
    for schema in (metadata.current_schema, *newest_first):
        for source_id in wanted - found.keys():
            if (field := schema.by_id.get(source_id)) is not None:
                found[source_id] = field
    return Schema(*found.values())
