"""Which columns may be read from Parquet files under their own names.

Spark matches columns by field id, but pushes filters down by name: a file in which another field has the column's name
would be skipped by that field's statistics, and rows would be lost. So a name is used only where no schema of the table
ever gave it, at the same place, to another field. And where Spark reads only a part of a struct, it forgets field ids of
the struct, and of all within a list: nested columns are read by Spark only if nothing in them was ever renamed.
"""

from __future__ import annotations

from floeberg.spec.metadata import TableMetadata
from floeberg.spec.schema import walk_fields
from floeberg.spec.types import NestedField


def unsafe_ids(metadata: TableMetadata) -> frozenset[int] | None:
    """The ids of top-level columns whose name, or the name of something in them, meant another field at some time. None
    when the table's history of schemas is not whole, so that no name can be trusted."""
    if not _history_is_whole(metadata):
        return None
    meant: dict[str, set[int]] = {}
    for schema in metadata.schemas:
        for field, name in walk_fields(schema.fields):
            # Spark looks names up without regard to case unless it is told otherwise.
            meant.setdefault(name.lower(), set()).add(field.field_id)
    unsafe: set[int] = set()
    for schema in metadata.schemas:
        for top in schema.fields:
            if any(len(meant[name.lower()]) > 1 for _, name in walk_fields([top])):
                unsafe.add(top.field_id)
    return frozenset(unsafe)


def renamed_ids(metadata: TableMetadata) -> frozenset[int]:
    """The ids of fields, at any depth, that had another name or place in some schema of the table."""
    names: dict[int, set[str]] = {}
    for schema in metadata.schemas:
        for field, name in walk_fields(schema.fields):
            names.setdefault(field.field_id, set()).add(name)
    return frozenset(field_id for field_id, known in names.items() if len(known) > 1)


def changed_types(metadata: TableMetadata) -> frozenset[int]:
    """The ids of fields, at any depth, that had another primitive type in some schema of the table."""
    types: dict[int, set[str]] = {}
    for schema in metadata.schemas:
        for field, _ in walk_fields(schema.fields):
            types.setdefault(field.field_id, set()).add(_kind(field))
    return frozenset(field_id for field_id, kinds in types.items() if len(kinds) > 1)


def _kind(field: NestedField) -> str:
    return str(field.type) if field.type.is_primitive else type(field.type).__name__


def _history_is_whole(metadata: TableMetadata) -> bool:
    """Schemas are numbered from 0 on; a number that is missing was removed, and snapshots without a schema id are of
    writers that kept no history."""
    ids = {schema.schema_id for schema in metadata.schemas}
    if ids != set(range(len(ids))):
        return False
    return all(snapshot.schema_id is not None for snapshot in metadata.snapshots)
