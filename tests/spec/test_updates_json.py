"""Updates, refs, statistics and keys as JSON: round trips, and the reference implementation's own payloads."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.changes import updates as u
from floeberg.spec.changes.updates_json import parse_update, update_from_json, update_to_json, updates_to_json
from floeberg.spec.metadata.view_versions import ViewVersion, view_version_from_json, view_version_to_json
from floeberg.spec.snapshots.refs import RefType, SnapshotRef, ref_from_json, ref_to_json
from floeberg.spec.snapshots.snapshot import snapshot_from_json, snapshot_to_json
from floeberg.spec.snapshots.statistics import (
    EncryptedKey,
    PartitionStatisticsFile,
    StatisticsFile,
    encrypted_key_from_json,
    encrypted_key_to_json,
    partition_statistics_file_from_json,
    partition_statistics_file_to_json,
    statistics_file_from_json,
    statistics_file_to_json,
)
from strategies.metadata import (
    ORDER,
    SCHEMA,
    SPEC,
    encrypted_keys,
    partition_statistics_files,
    refs,
    snapshots,
    statistics_files,
    updates,
    view_versions,
)

PAYLOADS = json.loads((Path(__file__).parent.parent / "golden/metadata/payloads/java_json_payloads.json").read_text())


def payloads(parser: str) -> list[tuple[str, object]]:
    """(test method, JSON) of each literal without a place to fill in."""
    (entries,) = [found for name, found in PAYLOADS["files"].items() if name.endswith(f"/{parser}.java")]
    return [(entry["method"], json.loads(entry["json"])) for entry in entries if "%s" not in entry["json"]]


@settings(max_examples=600)
@given(updates)
def test_every_update_survives_json(update: u.MetadataUpdate) -> None:
    data = msgspec.json.encode(update_to_json(update))
    assert parse_update(data) == update
    assert json.loads(data)["action"] == update.action


@given(snapshots)
def test_snapshots_survive_json(snapshot: object) -> None:
    assert snapshot_from_json(json.loads(json.dumps(snapshot_to_json(snapshot)))) == snapshot  # type: ignore[arg-type]


@given(refs)
def test_refs_survive_json(ref: SnapshotRef) -> None:
    assert ref_from_json(json.loads(json.dumps(ref_to_json(ref)))) == ref


@given(statistics_files, partition_statistics_files, encrypted_keys, view_versions)
def test_statistics_keys_and_view_versions_survive_json(
    file: StatisticsFile, partition_file: PartitionStatisticsFile, key: EncryptedKey, version: ViewVersion
) -> None:
    assert statistics_file_from_json(json.loads(json.dumps(statistics_file_to_json(file)))) == file
    assert partition_statistics_file_from_json(partition_statistics_file_to_json(partition_file)) == partition_file
    assert encrypted_key_from_json(json.loads(json.dumps(encrypted_key_to_json(key)))) == key
    assert view_version_from_json(json.loads(json.dumps(view_version_to_json(version)))) == version


JAVA_UPDATES = [(name, value) for name, value in payloads("TestMetadataUpdateParser") if isinstance(value, dict)]


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, value in JAVA_UPDATES if value.get("action")], ids=lambda x: str(x)[:60]
)
def test_updates_of_the_reference_are_read_and_written_the_same(name: str, value: dict[str, object]) -> None:
    written = update_to_json(update_from_json(value))
    given_fields = {key: one for key, one in value.items() if one is not None}
    given_fields["type"] = str(given_fields["type"]).lower() if "type" in given_fields else None
    assert written == {key: one for key, one in given_fields.items() if one is not None}


@pytest.mark.parametrize(
    "value", [value for _, value in JAVA_UPDATES if "format-version" in value and not value.get("action")]
)
def test_an_update_without_an_action_is_corrupt(value: dict[str, object]) -> None:
    with pytest.raises(MetadataCorrupt, match="action"):
        update_from_json(value)


def test_the_reference_reads_its_own_payload_of_spec_and_properties() -> None:
    found = dict(JAVA_UPDATES)
    for method in ("testAddPartitionSpecFromJsonWithFieldId", "testAddPartitionSpecFromJsonWithoutFieldId"):
        update = update_from_json({"action": "add-spec", "spec": found[method]})
        assert isinstance(update, u.AddPartitionSpec)
        assert [field.field_id for field in update.spec.fields] == [1000, 1001]
    properties = found["testSetPropertiesFromJson"]
    for key in ("updates", "updated"):
        assert update_from_json({"action": "set-properties", key: properties}) == u.SetProperties(properties)
    for key in ("removals", "removed"):
        removal = update_from_json({"action": "remove-properties", key: ["prop1"]})
        assert removal == u.RemoveProperties(("prop1",))
    nulls = found["testSetPropertiesFromJsonFailsWhenDeserializingNullValues"]
    with pytest.raises(MetadataCorrupt, match="prop2"):
        update_from_json({"action": "set-properties", "updates": nulls})


@pytest.mark.parametrize(("method", "value"), payloads("TestSnapshotRefParser"), ids=lambda x: str(x)[:60])
def test_refs_of_the_reference_are_read_or_refused(method: str, value: dict[str, object]) -> None:
    if method.startswith("testFail"):
        with pytest.raises(MetadataCorrupt):
            ref_from_json(value)
    else:
        assert ref_to_json(ref_from_json(value)) == value


def test_a_key_without_metadata_is_refused() -> None:
    for _, value in payloads("TestEncryptedKeyParser"):
        with pytest.raises(MetadataCorrupt, match="encrypted-key-metadata"):
            encrypted_key_from_json(value)


def test_every_update_of_the_rest_api_has_a_json_form() -> None:
    """The discriminator of `BaseUpdate` in the REST catalog's API."""
    actions = {update.action for update in (*u.TABLE_UPDATES, *u.VIEW_UPDATES)}
    assert actions == {
        "assign-uuid", "upgrade-format-version", "add-schema", "set-current-schema", "add-spec", "set-default-spec",
        "add-sort-order", "set-default-sort-order", "add-snapshot", "set-snapshot-ref", "remove-snapshots",
        "remove-snapshot-ref", "set-location", "set-properties", "remove-properties", "add-view-version",
        "set-current-view-version", "set-statistics", "remove-statistics", "set-partition-statistics",
        "remove-partition-statistics", "remove-partition-specs", "remove-schemas", "add-encryption-key",
        "remove-encryption-key",
    }  # fmt: skip
    with pytest.raises(InvalidInput, match="no JSON form"):
        update_to_json(u.MetadataUpdate())


@pytest.mark.parametrize(
    "value",
    [{"action": "nonsense"}, {"action": 1}, {}, [], {"action": "add-schema"}, {"action": "add-spec", "spec": []},
     {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": [1]}}, {"action": "remove-snapshots"},
     {"action": "set-snapshot-ref", "ref-name": "x", "snapshot-id": 1, "type": "tag", "min-snapshots-to-keep": 1},
     {"action": "upgrade-format-version", "format-version": "3"}],
)  # fmt: skip
def test_a_malformed_update_is_corrupt(value: object) -> None:
    with pytest.raises(MetadataCorrupt):
        update_from_json(value)


def test_specs_and_orders_in_updates_may_lack_their_ids() -> None:
    spec, order = (update_to_json(update) for update in (u.AddPartitionSpec(SPEC), u.AddSortOrder(ORDER)))
    del spec["spec"]["spec-id"], order["sort-order"]["order-id"]  # type: ignore[attr-defined]
    assert update_from_json(spec) == u.AddPartitionSpec(SPEC)
    assert update_from_json(order) == u.AddSortOrder(ORDER)


def test_the_json_of_a_commit_reads_as_the_rest_api_writes_it() -> None:
    ref = SnapshotRef(snapshot_id=1, type=RefType.TAG, max_ref_age_ms=5)
    assert updates_to_json([u.AddSchema(SCHEMA), u.SetCurrentSchema(), u.SetSnapshotRef("v1", ref)]) == [
        {
            "action": "add-schema",
            "schema": {
                "type": "struct",
                "schema-id": 0,
                "fields": [
                    {"id": 1, "name": "id", "required": True, "type": "long"},
                    {"id": 2, "name": "data", "required": False, "type": "string"},
                ],
            },
            "last-column-id": 2,
        },
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "set-snapshot-ref", "ref-name": "v1", "snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5},
    ]
