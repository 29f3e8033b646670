"""The columns of every metadata table, as the Java runtime has them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from floeberg.api.inspect import TABLES
from golden_collection.golden_tables import WHOLE, open_golden

UTC = pa.timestamp("us", tz="UTC")
COUNTS = pa.map_(pa.int32(), pa.int64())
BOUNDS = pa.map_(pa.int32(), pa.binary())
DATA_FILE_BEFORE = {
    "content": pa.int32(), "file_path": pa.string(), "file_format": pa.string(), "spec_id": pa.int32(),
}  # fmt: skip
DATA_FILE_AFTER = {
    "record_count": pa.int64(), "file_size_in_bytes": pa.int64(), "column_sizes": COUNTS, "value_counts": COUNTS,
    "null_value_counts": COUNTS, "nan_value_counts": COUNTS, "lower_bounds": BOUNDS, "upper_bounds": BOUNDS,
    "key_metadata": pa.binary(), "split_offsets": pa.list_(pa.int64()), "equality_ids": pa.list_(pa.int32()),
    "sort_order_id": pa.int32(), "first_row_id": pa.int64(), "referenced_data_file": pa.string(),
    "content_offset": pa.int64(), "content_size_in_bytes": pa.int64(),
}  # fmt: skip
SUMMARIES = pa.list_(
    pa.struct(
        [("contains_null", pa.bool_()), ("contains_nan", pa.bool_()), ("lower_bound", pa.string()), ("upper_bound", pa.string())]
    )
)  # fmt: skip
MANIFEST = {
    "content": pa.int32(), "path": pa.string(), "length": pa.int64(), "partition_spec_id": pa.int32(),
    "added_snapshot_id": pa.int64(), "added_data_files_count": pa.int32(), "existing_data_files_count": pa.int32(),
    "deleted_data_files_count": pa.int32(), "added_delete_files_count": pa.int32(),
    "existing_delete_files_count": pa.int32(), "deleted_delete_files_count": pa.int32(), "partition_summaries": SUMMARIES,
}  # fmt: skip
PARTITION_COUNTS = {
    "record_count": pa.int64(), "file_count": pa.int32(), "total_data_file_size_in_bytes": pa.int64(),
    "position_delete_record_count": pa.int64(), "position_delete_file_count": pa.int32(),
    "equality_delete_record_count": pa.int64(), "equality_delete_file_count": pa.int32(),
    "last_updated_at": UTC, "last_updated_snapshot_id": pa.int64(),
}  # fmt: skip
FIXED = {
    "history": {
        "made_current_at": UTC, "snapshot_id": pa.int64(), "parent_id": pa.int64(), "is_current_ancestor": pa.bool_(),
    },
    "metadata_log_entries": {
        "timestamp": UTC, "file": pa.string(), "latest_snapshot_id": pa.int64(), "latest_schema_id": pa.int32(),
        "latest_sequence_number": pa.int64(),
    },
    "snapshots": {
        "committed_at": UTC, "snapshot_id": pa.int64(), "parent_id": pa.int64(), "operation": pa.string(),
        "manifest_list": pa.string(), "summary": pa.map_(pa.string(), pa.string()),
    },
    "refs": {
        "name": pa.string(), "type": pa.string(), "snapshot_id": pa.int64(), "max_reference_age_in_ms": pa.int64(),
        "min_snapshots_to_keep": pa.int32(), "max_snapshot_age_in_ms": pa.int64(),
    },
    "manifests": {**MANIFEST, "key_metadata": pa.binary()},
    "all_manifests": {**MANIFEST, "reference_snapshot_id": pa.int64(), "key_metadata": pa.binary()},
}  # fmt: skip
FILES = ("files", "data_files", "delete_files", "all_files", "all_data_files", "all_delete_files")


def plain(data_type: pa.DataType) -> pa.DataType:
    """The type without field ids and nullability, which equality of nested types takes in."""
    if pa.types.is_struct(data_type):
        return pa.struct([(field.name, plain(field.type)) for field in data_type])
    if pa.types.is_map(data_type):
        return pa.map_(plain(data_type.key_type), plain(data_type.item_type))
    if pa.types.is_list(data_type):
        return pa.list_(plain(data_type.value_type))
    return data_type


def columns(table: pa.Table) -> dict[str, pa.DataType]:
    return {field.name: plain(field.type) for field in table.schema}


def metrics(kinds: dict[str, pa.DataType]) -> pa.DataType:
    return pa.struct(
        [
            (
                name,
                pa.struct(
                    [
                        *((count, pa.int64()) for count in ("column_size", "value_count", "null_value_count")),
                        ("nan_value_count", pa.int64()),
                        ("lower_bound", kind),
                        ("upper_bound", kind),
                    ]
                ),
            )
            for name, kind in kinds.items()
        ]
    )


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("golden", ["deletion_vectors", "spark_rename_column", "v1_deprecated"])
def test_tables_whose_columns_are_the_same_for_all(golden: str, name: str) -> None:
    found = columns(getattr(open_golden(golden).inspect, name)())
    assert list(found.items()) == [(key, plain(kind)) for key, kind in FIXED[name].items()]


@pytest.mark.parametrize("name", FILES)
def test_files_of_a_partitioned_table_have_its_partition_struct_and_readable_metrics(name: str) -> None:
    found = columns(getattr(open_golden("spark_rename_column").inspect, name)())
    partition = pa.struct([("id_bucket", pa.int32()), ("date", pa.date32())])
    readable = metrics(
        {
            "active": pa.bool_(),
            "event_date": pa.date32(),
            "id": pa.int32(),
            "name": pa.string(),
            "price": pa.decimal128(10, 2),
        }
    )
    wanted = {**DATA_FILE_BEFORE, "partition": partition, **DATA_FILE_AFTER, "readable_metrics": readable}
    assert list(found.items()) == list(wanted.items())


def test_entries_hold_the_file_as_a_struct() -> None:
    for name in ("entries", "all_entries"):
        found = columns(getattr(open_golden("deletion_vectors").inspect, name)())
        assert list(found) == [
            "status", "snapshot_id", "sequence_number", "file_sequence_number", "data_file", "readable_metrics",
        ]  # fmt: skip
        assert found["data_file"] == pa.struct(list({**DATA_FILE_BEFORE, **DATA_FILE_AFTER}.items()))


def test_an_unpartitioned_table_has_no_partition_columns() -> None:
    inspect = open_golden("deletion_vectors").inspect
    assert "partition" not in inspect.files().column_names
    assert columns(inspect.partitions()) == PARTITION_COUNTS
    assert "partition" not in inspect.position_deletes().column_names


def test_partitions_have_the_tuple_and_the_spec() -> None:
    found = columns(open_golden("partition_evolution").inspect.partitions())
    partition = pa.struct([("c1", pa.int32()), ("c2", pa.date32()), ("c3", pa.float64())])
    assert list(found.items()) == [("partition", partition), ("spec_id", pa.int32()), *PARTITION_COUNTS.items()]


def test_position_deletes_say_where_a_vector_lies_from_v3_on() -> None:
    row = pa.struct([("a", pa.int64()), ("b", pa.int64())])
    base = {
        "file_path": pa.string(),
        "pos": pa.int64(),
        "row": row,
        "spec_id": pa.int32(),
        "delete_file_path": pa.string(),
    }
    assert columns(open_golden("gperov_test").inspect.position_deletes()) == base
    v3 = columns(open_golden("deletion_vectors").inspect.position_deletes())
    assert list(v3)[-2:] == ["content_offset", "content_size_in_bytes"]
    assert {v3["content_offset"], v3["content_size_in_bytes"]} == {pa.int64()}


def test_readable_metrics_name_nested_columns_with_dots_in_the_column_types() -> None:
    table = open_golden("types_all_trino_types")
    readable = columns(table.inspect.files())["readable_metrics"]
    names = [field.name for field in readable]
    assert names == sorted(names)
    assert any(name.endswith(".element") for name in names)
    for field in readable:
        assert [member.name for member in field.type] == [
            "column_size", "value_count", "null_value_count", "nan_value_count", "lower_bound", "upper_bound",
        ]  # fmt: skip


@pytest.mark.parametrize("golden", WHOLE)
def test_every_table_of_every_golden_table_is_valid_arrow(golden: str) -> None:
    inspect = open_golden(golden).inspect
    for name in TABLES:
        getattr(inspect, name)().validate(full=True)
