"""What we write has the ids, names and shape that other implementations write."""

from __future__ import annotations

import json

import pytest

from floeberg.errors import InvalidInput
from floeberg.files.avro_container import read_header
from floeberg.files.avro_schemas import (
    avro_field_name,
    decimal_required_bytes,
    manifest_entry_schema,
    manifest_list_schema,
    partition_schema,
)
from floeberg.files.manifest_frame import stored_partition_type
from floeberg.spec.types import DATE, STRING, UUID, DecimalType, NestedField, StructType
from golden_collection.golden_files import GOLDEN


def _golden(name: str) -> dict[str, object]:
    return json.loads((GOLDEN / "avro_schemas" / name).read_text())


@pytest.mark.parametrize(
    ("name", "format_version"),
    [
        ("duckdb_iceberg_iceberg_v1_deprecated", 1),
        ("iceberg_cxx_partitioning_with_null_value", 2),
        ("presto_geometry_array", 3),
    ],
)
def test_a_manifest_lists_schema_is_the_text_that_the_reference_implementation_writes(name, format_version) -> None:
    data = (GOLDEN / "manifests" / "lists" / f"{name}.avro").read_bytes()
    found = json.loads(read_header(data).metadata["avro.schema"])
    assert json.dumps(manifest_list_schema(format_version)) == json.dumps(found)


@pytest.mark.parametrize(
    ("name", "format_version"),
    [
        ("icelake_partition_table", 1),
        ("impala_iceberg_with_puffin_stats", 1),
        ("trino_invalid_codec_none_avro", 2),
        ("trino_conflict_truncate", 2),
        ("presto_geometry_array", 3),
    ],
)
def test_a_manifests_schema_is_the_text_that_the_reference_implementation_writes(name, format_version) -> None:
    data = (GOLDEN / "manifests" / "manifests" / f"{name}.avro").read_bytes()
    found = json.loads(read_header(data).metadata["avro.schema"])
    assert json.dumps(manifest_entry_schema(stored_partition_type(data), format_version)) == json.dumps(found)


@pytest.mark.parametrize("format_version", [1, 2])
def test_manifest_list_schemas_equal_those_of_iceberg_rust(format_version: int) -> None:
    theirs = _golden(f"avro_schema_manifest_file_v{format_version}.json")
    ours = {field["name"]: field for field in manifest_list_schema(format_version)["fields"]}
    for field in theirs["fields"]:
        name = field["name"].replace("_data_files_count", "_files_count")
        assert ours[name]["field-id"] == field["field-id"], name
        assert (ours[name]["type"] == "string") == (field["type"] == "string"), name


def test_manifest_entries_have_the_field_ids_of_iceberg_rust() -> None:
    theirs = _golden("avro_schema_manifest_entry.json")
    ours = manifest_entry_schema(StructType(()), 2)

    def ids(schema: dict[str, object]) -> dict[str, int]:
        data_file = next(field["type"] for field in schema["fields"] if field["name"] == "data_file")
        return {field["name"]: field["field-id"] for field in (*schema["fields"], *data_file["fields"])}

    found, expected = ids(ours), ids(theirs)
    assert {name: found[name] for name in expected if name in found} == {
        name: number for name, number in expected.items() if name in found
    }
    assert set(expected) - set(found) <= {"distinct_counts", "block_size_in_bytes"}


def test_a_named_type_is_defined_once_and_then_referred_to() -> None:
    kinds = [DecimalType(9, 2), DecimalType(9, 2), UUID, UUID]
    schema = partition_schema(StructType(tuple(NestedField(1000 + i, f"p{i}", kind) for i, kind in enumerate(kinds))))
    assert [field["type"][1] for field in schema["fields"]][1::2] == ["decimal_9_2", "uuid_fixed"]


def test_names_that_avro_forbids_are_replaced_and_kept_beside() -> None:
    assert [avro_field_name(name) for name in ("a b", "1st", "x.y", "ok_1", "😀")] == [
        "a_x20b",
        "_1st",
        "x_x2Ey",
        "ok_1",
        "_xD83D_xDE00",
    ]
    clash = StructType((NestedField(1000, "a b", STRING), NestedField(1001, "a_x20b", DATE)))
    fields = partition_schema(clash)["fields"]
    assert [field["name"] for field in fields] == ["a_x20b", "a_x20b_1001"]
    assert fields[0]["iceberg-field-name"] == "a b"


def test_decimals_take_the_fewest_bytes_that_hold_their_precision() -> None:
    for precision in range(1, 39):
        size = decimal_required_bytes(precision)
        assert 10**precision - 1 <= 2 ** (8 * size - 1) - 1
        assert size == 1 or 10**precision - 1 > 2 ** (8 * (size - 1) - 1) - 1


@pytest.mark.parametrize("make", [lambda: manifest_list_schema(4), lambda: manifest_entry_schema(StructType(()), 0)])
def test_an_unknown_format_version_is_refused(make) -> None:
    with pytest.raises(InvalidInput, match="use 1, 2 or 3"):
        make()
