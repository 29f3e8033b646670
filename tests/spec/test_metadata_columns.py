"""Reserved field ids: https://iceberg.apache.org/spec/#reserved-field-ids"""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput
from floeberg.spec.schemas import metadata_columns as m
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import INT, NestedField, StructType

TABLE_OF_THE_SPECIFICATION = [
    (2147483646, "_file", "string", m.FILE_PATH), (2147483645, "_pos", "long", m.ROW_POSITION),
    (2147483644, "_deleted", "boolean", m.IS_DELETED), (2147483643, "_spec_id", "int", m.SPEC_ID),
    (2147483546, "file_path", "string", m.DELETE_FILE_PATH), (2147483545, "pos", "long", m.DELETE_FILE_POS),
    (2147483543, "_change_type", "string", m.CHANGE_TYPE), (2147483542, "_change_ordinal", "int", m.CHANGE_ORDINAL),
    (2147483541, "_commit_snapshot_id", "long", m.COMMIT_SNAPSHOT_ID), (2147483540, "_row_id", "long", m.ROW_ID),
    (2147483539, "_last_updated_sequence_number", "long", m.LAST_UPDATED_SEQUENCE_NUMBER),
]  # fmt: skip


@pytest.mark.parametrize(("field_id", "name", "type_name", "column"), TABLE_OF_THE_SPECIFICATION)
def test_each_metadata_column_has_the_id_name_and_type_of_the_specification(field_id, name, type_name, column):
    assert (column.field_id, column.name, str(column.type)) == (field_id, name, type_name)
    assert m.is_reserved_id(field_id)


def test_the_columns_without_a_fixed_type_have_their_ids():
    assert (m.PARTITION_ID, m.PARTITION_NAME) == (2147483642, "_partition")
    assert (m.DELETE_FILE_ROW_ID, m.DELETE_FILE_ROW_NAME) == (2147483544, "row")


def test_the_partition_column_needs_the_partition_type():
    with pytest.raises(InvalidInput, match="partition type"):
        m.metadata_column("_partition")
    column = m.metadata_column("_partition", StructType(()))
    assert column.field_id == m.PARTITION_ID
    assert m.is_metadata_column(column.field_id)


def test_an_unknown_metadata_column_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="_file, _last_updated"):
        m.metadata_column("_nope")


def test_columns_of_delete_files_are_ordinary_names_in_tables():
    assert not m.is_metadata_column("pos")
    assert not m.is_metadata_column(m.DELETE_FILE_POS.field_id)
    assert m.is_metadata_column("_row_id")


def test_row_lineage_is_added_once():
    schema = Schema(NestedField(1, "a", INT))
    once = m.with_row_lineage(schema)
    assert [column.name for column in once] == ["a", "_row_id", "_last_updated_sequence_number"]
    assert m.with_row_lineage(once) == once
