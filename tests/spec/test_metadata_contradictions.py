"""Metadata that contradicts itself is corrupt, and says what and where; what is not known survives."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from floeberg.errors import (
    InvalidInput,
    LimitExceeded,
    MetadataCorrupt,
    RefNotFound,
    SnapshotNotFound,
    UnsupportedFeature,
)
from floeberg.spec.json.limits import Limits
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from strategies.metadata import NOW_MS, document

Document = dict[str, object]


def parse(value: Document, limits: Limits | None = None) -> TableMetadata:
    return parse_table_metadata(
        json.dumps(value).encode(), location="s3://b/v9.metadata.json", limits=limits or Limits()
    )


def _snapshot(snapshot_id: int, **fields: object) -> Document:
    return {"snapshot-id": snapshot_id, "timestamp-ms": NOW_MS, "manifest-list": "m", **fields}


CONTRADICTIONS: list[tuple[str, Callable[[Document], object], str]] = [
    ("current schema", lambda d: d.update({"current-schema-id": 5}), "current-schema-id 5 is not in schemas"),
    ("default spec", lambda d: d.update({"default-spec-id": 5}), "default-spec-id 5 is not in partition-specs"),
    ("default order", lambda d: d.update({"default-sort-order-id": 5}), "default-sort-order-id 5 is not in sort-orders"),
    ("current snapshot", lambda d: d.update({"current-snapshot-id": 5, "refs": {}}), "current-snapshot-id 5 is not in"),
    ("ref", lambda d: d.update({"refs": {"audit": {"snapshot-id": 5, "type": "tag"}}}), "ref 'audit' points to snapshot 5"),
    ("main elsewhere", lambda d: d.update({"snapshots": [*d["snapshots"], _snapshot(12)], "current-snapshot-id": 12}), "main"),  # type: ignore[misc]
    ("main without current", lambda d: d.update({"current-snapshot-id": -1}), "main points to snapshot 11"),
    ("sequence number", lambda d: d.update({"last-sequence-number": 0}), "snapshot 11 has sequence number 1"),
    ("snapshot id twice", lambda d: d.update({"snapshots": [*d["snapshots"], _snapshot(11)]}), "same snapshot-id"),  # type: ignore[misc]
    ("schema id twice", lambda d: d.update({"schemas": [*d["schemas"], *d["schemas"]]}), "schema-id 0 twice"),  # type: ignore[misc]
    ("spec id twice", lambda d: d.update({"partition-specs": [*d["partition-specs"]] * 2}), "spec-id 0 twice"),  # type: ignore[misc]
    ("order id twice", lambda d: d.update({"sort-orders": [*d["sort-orders"]] * 2}), "order-id 0 twice"),  # type: ignore[misc]
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [c[1:] for c in CONTRADICTIONS], ids=[c[0] for c in CONTRADICTIONS])
@pytest.mark.parametrize("version", [2, 3])
def test_contradictions_are_corrupt(version: int, change: Callable[[Document], object], message: str) -> None:
    value = document(version)
    change(value)
    with pytest.raises(MetadataCorrupt, match=message) as raised:
        parse(value)
    assert str(raised.value).startswith("s3://b/v9.metadata.json")


@pytest.mark.parametrize("version", [4, 42, 2**31 - 1])
def test_a_higher_version_is_unsupported_not_corrupt(version: int) -> None:
    with pytest.raises(UnsupportedFeature, match=f"format-version {version}"):
        parse({"format-version": version})


@pytest.mark.parametrize("none", [-1, None])
@pytest.mark.parametrize(("version", "written"), [(1, -1), (2, -1), (3, None)])
def test_no_current_snapshot_is_minus_one_or_null(none: object, version: int, written: object) -> None:
    metadata = parse({**document(version), "current-snapshot-id": none, "refs": {}})
    assert metadata.current_snapshot is None
    assert metadata.snapshot_for_ref("main") is None
    assert json.loads(write_table_metadata(metadata))["current-snapshot-id"] == written


@pytest.mark.parametrize("refs", [None, {}, "missing"])
def test_main_is_there_whenever_a_snapshot_is_current(refs: object) -> None:
    value = {**document(2), "refs": refs}
    if refs == "missing":
        del value["refs"]
    assert parse(value).ref("main").snapshot_id == 11


def test_the_unsorted_order_need_not_be_listed() -> None:
    order = {
        "order-id": 1,
        "fields": [{"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}],
    }
    metadata = parse({**document(2), "sort-orders": [order]})
    assert metadata.default_sort_order.is_unsorted
    assert len(metadata.sort_orders) == 2


def test_unknown_fields_survive_a_rewrite_at_every_level() -> None:
    value = document(3)
    value["new-table-field"] = {"deep": [1, {"x": None}]}
    value["snapshots"][0] |= {"new-snapshot-field": [1.5]}  # type: ignore[index]
    value["snapshots"][0]["summary"] |= {"operation": "teleport", "new": "x"}  # type: ignore[index]
    value["refs"]["main"] |= {"new-ref-field": True}  # type: ignore[index]
    value["schemas"][0]["fields"][0] |= {"new-column-field": "y"}  # type: ignore[index]
    value["partition-specs"][0] |= {"new-spec-field": 1}  # type: ignore[index]
    value["sort-orders"][0] |= {"new-order-field": 1}  # type: ignore[index]
    value["encryption-keys"][0] |= {"new-key-field": 1}  # type: ignore[index]
    value["snapshot-log"][0] |= {"new-log-field": 1}  # type: ignore[index]
    blob = {"type": "t", "snapshot-id": 11, "sequence-number": 1, "fields": [1], "new-blob-field": 1}
    value["statistics"] = [
        {"snapshot-id": 11, "statistics-path": "p", "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1,
         "blob-metadata": [blob], "new-statistics-field": 1}
    ]  # fmt: skip
    metadata = parse(value)
    assert metadata.snapshots[0].operation == "teleport"
    assert json.loads(write_table_metadata(metadata)) == value


def test_a_slash_at_the_end_of_the_location_is_dropped() -> None:
    assert parse({**document(2), "location": "s3://b/t//"}).location == "s3://b/t"
    assert parse({**document(2), "location": "s3://"}).location == "s3://"


LIMITED = [
    ("snapshots", "snapshots"), ("log_entries", "snapshot-log"), ("log_entries", "metadata-log"), ("schemas", "schemas"),
    ("partition_specs", "partition-specs"), ("sort_orders", "sort-orders"), ("refs", "refs"),
    ("encryption_keys", "encryption-keys"),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "field"), LIMITED)
def test_counts_are_bounded(limit: str, field: str) -> None:
    with pytest.raises(LimitExceeded, match=limit.replace("_", " ")):
        parse(document(3), Limits(**{limit: 0}))  # type: ignore[arg-type]


def test_depth_is_bounded_everywhere() -> None:
    deep: object = 1
    for _ in range(450):
        deep = [deep]
    for place in ("new-field", "snapshots", "snapshot-log", "refs", "schemas"):
        value = document(2)
        if place == "new-field":
            value[place] = deep
        elif place == "refs":
            value["refs"]["main"]["new-field"] = deep  # type: ignore[index]
        else:
            value[place][0]["new-field"] = deep  # type: ignore[index]
        with pytest.raises(LimitExceeded, match="nests deeper"):
            parse(value)


def test_accessors_name_what_is_not_there() -> None:
    metadata = parse(document(2))
    for call, error in (
        (lambda: metadata.snapshot(5), SnapshotNotFound),
        (lambda: metadata.ref("x"), RefNotFound),
        (lambda: metadata.schema(5), InvalidInput),
        (lambda: metadata.spec(5), InvalidInput),
        (lambda: metadata.sort_order(5), InvalidInput),
        (lambda: metadata.snapshot_id_as_of(NOW_MS - 1), SnapshotNotFound),
    ):
        with pytest.raises(error, match="s3://b/t"):
            call()
    assert metadata.snapshot_id_as_of(NOW_MS) == 11
    assert metadata.schema_of_snapshot(metadata.snapshots[0]) is metadata.current_schema


def test_ancestors_end_where_history_was_expired_and_never_loop() -> None:
    value = document(2)
    value["snapshots"] = [_snapshot(11, **{"parent-snapshot-id": 10}), _snapshot(10, **{"parent-snapshot-id": 9})]
    assert list(parse(value).ancestor_ids(11)) == [11, 10]
    value["snapshots"] = [_snapshot(11, **{"parent-snapshot-id": 10}), _snapshot(10, **{"parent-snapshot-id": 11})]
    looped = parse(value)
    assert [snapshot.snapshot_id for snapshot in looped.ancestors(11)] == [11, 10]
    assert looped.is_ancestor(10, of=11)
    assert not looped.is_ancestor(9, of=11)
