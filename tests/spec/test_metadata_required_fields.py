"""https://iceberg.apache.org/spec/#table-metadata-fields and #snapshots: what is required, by version."""

from __future__ import annotations

import json

import pytest

from floeberg.errors import MetadataCorrupt
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata
from strategies.metadata import document

R, O, N = "required", "optional", ""  # noqa: E741
TABLE_FIELDS = [
    ("format-version", R, R, R),
    ("table-uuid", O, R, R),
    ("location", R, R, R),
    ("last-sequence-number", N, R, R),
    ("last-updated-ms", R, R, R),
    ("last-column-id", R, R, R),
    ("schema", R, N, N),
    ("schemas", O, R, R),
    ("current-schema-id", O, R, R),
    ("partition-spec", R, N, N),
    ("partition-specs", O, R, R),
    ("default-spec-id", O, R, R),
    ("last-partition-id", O, R, R),
    ("properties", O, O, O),
    ("current-snapshot-id", O, O, O),
    ("snapshots", O, O, O),
    ("snapshot-log", O, O, O),
    ("metadata-log", O, O, O),
    ("sort-orders", O, R, R),
    ("default-sort-order-id", O, R, R),
    ("refs", N, O, O),
    ("statistics", O, O, O),
    ("partition-statistics", O, O, O),
    ("next-row-id", N, N, R),
    ("encryption-keys", N, N, O),
]
TOGETHER = {
    "schemas": ["schemas", "current-schema-id"],
    "current-schema-id": ["schemas", "current-schema-id"],
    "partition-specs": ["partition-specs", "default-spec-id"],
    "default-spec-id": ["partition-specs", "default-spec-id"],
    "sort-orders": ["sort-orders", "default-sort-order-id"],
    "default-sort-order-id": ["sort-orders", "default-sort-order-id"],
    "current-snapshot-id": ["current-snapshot-id", "refs"],
    "snapshots": ["current-snapshot-id", "refs", "snapshots"],
}
"""A list and the id that points into it are left out together, as v1 writers did."""

CASES = [(field, version, row[version - 1]) for field, *row in TABLE_FIELDS for version in (1, 2, 3)]


def parse(value: dict[str, object]) -> TableMetadata:
    return parse_table_metadata(json.dumps(value).encode())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_metadata_with_every_field_parses(version: int) -> None:
    assert parse(document(version)).format_version == version


@pytest.mark.parametrize(("field", "version"), [(f, v) for f, v, need in CASES if need == R])
@pytest.mark.parametrize("absence", ["missing", "null"])
def test_a_required_field_must_be_there(field: str, version: int, absence: str) -> None:
    value = document(version)
    if absence == "null":
        value[field] = None
    else:
        del value[field]
    with pytest.raises(MetadataCorrupt, match=field):
        parse(value)


@pytest.mark.parametrize(("field", "version"), [(f, v) for f, v, need in CASES if need == O])
def test_an_optional_field_may_be_missing(field: str, version: int) -> None:
    value = document(version)
    for one in TOGETHER.get(field, [field]) if version == 1 or "snapshot" in field else [field]:
        value.pop(one, None)
    assert parse(value).format_version == version


@pytest.mark.parametrize("version", [2, 3])
def test_deprecated_fields_of_v1_are_ignored_and_not_written(version: int) -> None:
    metadata = parse({**document(version), "schema": {"type": "nonsense"}, "partition-spec": "nonsense"})
    assert metadata == parse(document(version))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("field", ["snapshot-id", "timestamp-ms"])
def test_a_snapshot_needs_its_id_and_time(version: int, field: str) -> None:
    value = document(version)
    del value["snapshots"][0][field]  # type: ignore[index]
    with pytest.raises(MetadataCorrupt, match=rf"snapshots\[0\].*{field}"):
        parse(value)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_snapshot_needs_a_manifest_list_or_manifests(version: int) -> None:
    value = document(version)
    del value["snapshots"][0]["manifest-list"]  # type: ignore[index]
    with pytest.raises(MetadataCorrupt, match="neither manifest-list nor manifests"):
        parse(value)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("field", ["sequence-number", "summary", "schema-id", "first-row-id", "added-rows"])
def test_snapshots_from_before_an_upgrade_keep_to_what_v1_required(version: int, field: str) -> None:
    value = document(version)
    value["snapshots"][0].pop(field, None)  # type: ignore[index]
    (snapshot,) = parse(value).snapshots
    assert snapshot.snapshot_id == 11
    assert snapshot.sequence_number == (0 if field == "sequence-number" else 1)


def test_a_summary_without_an_operation_is_read_as_an_overwrite() -> None:
    value = document(2)
    value["snapshots"][0]["summary"] = {"added-records": "3"}  # type: ignore[index]
    assert parse(value).snapshots[0].operation == "overwrite"


WRONG_TYPES = [
    ("format-version", "2"), ("format-version", 2.0), ("format-version", True), ("format-version", 0),
    ("format-version", -1), ("table-uuid", 7), ("location", []), ("last-sequence-number", "1"),
    ("last-sequence-number", 2**63), ("last-updated-ms", 1.5), ("last-updated-ms", -(2**70)), ("last-column-id", 2**31),
    ("schemas", {}), ("schemas", [1]), ("current-schema-id", "0"), ("partition-specs", [[]]), ("default-spec-id", None),
    ("last-partition-id", "x"), ("properties", []), ("properties", {"a": 1}), ("properties", {"a": None}),
    ("current-snapshot-id", "11"), ("snapshots", {}), ("snapshots", [None]), ("snapshot-log", [1]),
    ("snapshot-log", [{"timestamp-ms": "1", "snapshot-id": 1}]), ("metadata-log", [{"timestamp-ms": 1}]),
    ("metadata-log", "x"), ("sort-orders", [{}]), ("refs", []), ("refs", {"main": 1}),
    ("refs", {"main": {"snapshot-id": 11, "type": "twig"}}),
    ("refs", {"main": {"snapshot-id": 11, "type": "branch", "min-snapshots-to-keep": 0}}),
    ("refs", {"t": {"snapshot-id": 11, "type": "tag", "min-snapshots-to-keep": 1}}),
    ("statistics", [{}]), ("partition-statistics", [{"snapshot-id": 1}]), ("next-row-id", -1), ("next-row-id", "0"),
    ("encryption-keys", [{"key-id": "a"}]), ("encryption-keys", [{"key-id": "a", "encrypted-key-metadata": "%"}]),
]  # fmt: skip


@pytest.mark.parametrize(("field", "wrong"), WRONG_TYPES)
def test_a_field_of_another_type_is_corrupt_and_named(field: str, wrong: object) -> None:
    with pytest.raises(MetadataCorrupt, match=field):
        parse({**document(3), field: wrong})


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("snapshot-id", "x"), ("snapshot-id", 2**63), ("timestamp-ms", None), ("timestamp-ms", 2**64),
     ("sequence-number", "1"), ("parent-snapshot-id", []), ("summary", []), ("summary", {"operation": 1}),
     ("summary", "x"), ("schema-id", 2**31), ("manifest-list", 1), ("first-row-id", 2**63), ("added-rows", "3"),
     ("key-id", 1)],
)  # fmt: skip
def test_a_snapshot_field_of_another_type_is_corrupt_and_named(field: str, wrong: object) -> None:
    value = document(3)
    value["snapshots"][0][field] = wrong  # type: ignore[index]
    with pytest.raises(MetadataCorrupt, match=rf"snapshots\[0\].*{field}"):
        parse(value)
