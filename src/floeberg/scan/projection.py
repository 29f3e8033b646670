"""Which columns a scan gives, and in which order: those of the table, whole or some members of structs, and metadata
columns."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.errors import InvalidInput
from floeberg.spec.metadata.partition_union import unified_partition_type
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import (
    CHANGELOG_COLUMNS,
    FILE_PATH,
    LINEAGE_COLUMNS,
    METADATA_COLUMN_NAMES,
    PARTITION_NAME,
    ROW_POSITION,
    SPEC_ID,
    metadata_column,
)
from floeberg.spec.schemas.projection import prune_columns
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION
from floeberg.spec.types import NestedField

_CHANGELOG_NAMES = frozenset(column.name for column in CHANGELOG_COLUMNS)


def projected_schema(
    metadata: TableMetadata,
    schema: Schema,
    *,
    select: Sequence[str] | None = None,
    metadata_columns: bool | Sequence[str] = False,
    case_sensitive: bool = True,
) -> Schema:
    """The columns of `select` in its order (None and `*`: all), then `metadata_columns`; True stands for `_file`, `_pos`,
    `_spec_id`, `_partition` and, from format version 3 on, those of lineage. Raises InvalidInput for unknown names."""
    if isinstance(select, str):
        raise InvalidInput(f"select takes a list of names: select=[{select!r}]")
    names = ["*"] if select is None else list(select)
    if metadata_columns is True:
        names += default_metadata_columns(metadata)
    elif metadata_columns:
        names += list(metadata_columns)
    wanted = {name: _ids(name, metadata, schema, case_sensitive=case_sensitive) for name in names}
    pruned = prune_columns(schema, {field_id for ids in wanted.values() for field_id in ids})
    tops = {field.field_id: field for field in pruned.fields}
    chosen: dict[int, NestedField] = {}
    for name, ids in wanted.items():
        if not ids and name != "*":
            column = _metadata_column(name, metadata)
            chosen.setdefault(column.field_id, column)
        for field_id in ids:
            top = schema.path_to(field_id)[0]
            chosen.setdefault(top, tops[top])
    return Schema(*chosen.values(), schema_id=schema.schema_id)


def default_metadata_columns(metadata: TableMetadata) -> list[str]:
    """The columns of `metadata_columns=True`; not `_deleted`, which would include deleted rows."""
    lineage = LINEAGE_COLUMNS if metadata.format_version >= ROW_LINEAGE_VERSION else ()
    return [FILE_PATH.name, ROW_POSITION.name, SPEC_ID.name, PARTITION_NAME, *(column.name for column in lineage)]


def _ids(name: str, metadata: TableMetadata, schema: Schema, *, case_sensitive: bool) -> tuple[int, ...]:
    """The ids of the table's columns that a name stands for; none for a metadata column."""
    if not isinstance(name, str):
        raise InvalidInput(f"select takes names of columns, not {name!r:.60}")
    if name == "*":
        return tuple(field.field_id for field in schema.fields)
    found = schema.find(name, case_sensitive=case_sensitive)
    if found is None and name in METADATA_COLUMN_NAMES - _CHANGELOG_NAMES:
        return ()
    return (schema.field(name, case_sensitive=case_sensitive).field_id,)


def _metadata_column(name: str, metadata: TableMetadata) -> NestedField:
    partition_type = unified_partition_type(metadata) if name == PARTITION_NAME else None
    return metadata_column(name, partition_type)
