"""Reserved field ids and the metadata columns: https://iceberg.apache.org/spec/#reserved-field-ids"""

from __future__ import annotations

from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, Schema
from floeberg.spec.types import BOOLEAN, INT, LONG, STRING, NestedField, StructType

PARTITION_ID: Final = 2147483642
PARTITION_NAME: Final = "_partition"
DELETE_FILE_ROW_ID: Final = 2147483544
DELETE_FILE_ROW_NAME: Final = "row"

FILE_PATH: Final = NestedField(
    2147483646, "_file", STRING, required=True, doc="Path of the file in which a row is stored"
)
ROW_POSITION: Final = NestedField(
    2147483645, "_pos", LONG, required=True, doc="Ordinal position of a row in the source data file"
)
IS_DELETED: Final = NestedField(2147483644, "_deleted", BOOLEAN, required=True, doc="Whether the row has been deleted")
SPEC_ID: Final = NestedField(
    2147483643, "_spec_id", INT, required=True, doc="Spec ID used to track the file containing a row"
)
DELETE_FILE_PATH: Final = NestedField(
    2147483546, "file_path", STRING, required=True, doc="Path of a file in which a deleted row is stored"
)
DELETE_FILE_POS: Final = NestedField(
    2147483545, "pos", LONG, required=True, doc="Ordinal position of a deleted row in the data file"
)
CHANGE_TYPE: Final = NestedField(2147483543, "_change_type", STRING, required=True, doc="Record type in changelog")
CHANGE_ORDINAL: Final = NestedField(2147483542, "_change_ordinal", INT, doc="Change ordinal in changelog")
COMMIT_SNAPSHOT_ID: Final = NestedField(2147483541, "_commit_snapshot_id", LONG, doc="Commit snapshot ID")
ROW_ID: Final = NestedField(2147483540, "_row_id", LONG, doc="Implicit row ID that is automatically assigned")
LAST_UPDATED_SEQUENCE_NUMBER: Final = NestedField(
    2147483539, "_last_updated_sequence_number", LONG, doc="Sequence number when the row was last updated"
)

CHANGELOG_COLUMNS: Final = (CHANGE_TYPE, CHANGE_ORDINAL, COMMIT_SNAPSHOT_ID)
LINEAGE_COLUMNS: Final = (ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)

_FIXED_COLUMNS: Final[dict[str, NestedField]] = {
    column.name: column
    for column in (FILE_PATH, ROW_POSITION, IS_DELETED, SPEC_ID, *CHANGELOG_COLUMNS, *LINEAGE_COLUMNS)
}

METADATA_COLUMN_NAMES: Final = frozenset((*_FIXED_COLUMNS, PARTITION_NAME))
"""Names that a query may ask of any table, and that no column of a table should have."""


def is_metadata_column(name_or_id: str | int) -> bool:
    """Whether a name or field id is that of a metadata column that queries may ask for."""
    if isinstance(name_or_id, str):
        return name_or_id in METADATA_COLUMN_NAMES
    return name_or_id == PARTITION_ID or any(column.field_id == name_or_id for column in _FIXED_COLUMNS.values())


def is_reserved_id(field_id: int) -> bool:
    """Whether table columns must not use the id."""
    return field_id > MAX_COLUMN_FIELD_ID


def metadata_column(name: str, partition_type: StructType | None = None) -> NestedField:
    """The metadata column of that name; `_partition` needs the table's partition type. Raises InvalidInput."""
    if name == PARTITION_NAME:
        if partition_type is None:
            raise InvalidInput("_partition has no type without the table's partition specs; give its partition type")
        return partition_column(partition_type)
    if name not in _FIXED_COLUMNS:
        known = ", ".join(sorted(METADATA_COLUMN_NAMES))
        raise InvalidInput(f"no metadata column {name!r}; they are {known}", column=name)
    return _FIXED_COLUMNS[name]


def partition_column(partition_type: StructType) -> NestedField:
    """The `_partition` column over all specs of a table."""
    return NestedField(PARTITION_ID, PARTITION_NAME, partition_type, doc="Partition to which a row belongs")


def with_row_lineage(schema: Schema) -> Schema:
    """The schema of a data file that stores row lineage: the table's columns, then those of lineage."""
    added = tuple(column for column in LINEAGE_COLUMNS if column.field_id not in schema.by_id)
    return Schema(*schema.fields, *added, schema_id=schema.schema_id, identifier_field_ids=schema.identifier_field_ids)
