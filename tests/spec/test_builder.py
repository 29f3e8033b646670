"""Table metadata changes by updates alone."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature
from floeberg.spec.changes import updates as u
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from floeberg.spec.partitions.sort_orders import UNSORTED
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import IdentityTransform, UnknownTransform, VoidTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.statistics import EncryptedKey, PartitionStatisticsFile, StatisticsFile
from floeberg.spec.types import LONG, TIMESTAMP_NS, NestedField
from strategies.metadata import NOW_MS, ORDER, SCHEMA, SPEC, UUID, committed, new_table, next_snapshot
from strategies.metadata import updates as random_updates

EVOLVED = Schema(*SCHEMA.fields, NestedField(3, "more", LONG))


def apply(base: TableMetadata | None, *updates: u.MetadataUpdate, now_ms: int = NOW_MS) -> TableMetadata:
    return apply_updates(base, updates, now_ms=now_ms, base_metadata_location="v1.metadata.json")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_new_table_is_made_by_updates(version: int) -> None:
    created = u.create_table_updates(
        table_uuid=UUID,
        location="s3://b/t/",
        schema=SCHEMA,
        spec=SPEC,
        sort_order=ORDER,
        properties={"owner": "me"},
        format_version=version,
    )
    metadata = apply(None, *created)
    assert (metadata.format_version, metadata.table_uuid, metadata.location) == (version, UUID, "s3://b/t")
    assert metadata.current_schema.same_columns(SCHEMA)
    assert (metadata.last_column_id, metadata.last_partition_id) == (2, 1000)
    assert metadata.default_spec == SPEC
    assert metadata.default_sort_order == ORDER
    assert metadata.properties == {"owner": "me"}
    assert (metadata.last_sequence_number, metadata.next_row_id) == (0, 0)
    assert metadata.last_updated_ms == NOW_MS
    assert metadata.current_snapshot is None
    assert not metadata.metadata_log
    assert parse_table_metadata(write_table_metadata(metadata)) == metadata


def test_a_format_version_among_the_properties_is_the_version_and_no_property() -> None:
    created = u.create_table_updates(
        table_uuid=UUID, location="s3://b/t", schema=SCHEMA, properties={"format-version": "3"}
    )
    metadata = apply(None, *created)
    assert metadata.format_version == 3
    assert metadata.properties == {}
    assert u.property_updates({"format-version": "3", "a": "b"}, ["c"]) == (
        u.UpgradeFormatVersion(3),
        u.SetProperties({"a": "b"}),
        u.RemoveProperties(("c",)),
    )
    for wrong in ({"format-version": "x"}, {"uuid": "x"}):
        with pytest.raises(InvalidInput):
            u.property_updates(wrong)


@pytest.mark.parametrize("missing", [u.AssignUuid, u.AddSchema, u.AddPartitionSpec, u.AddSortOrder, u.SetLocation,
                                     u.SetCurrentSchema, u.SetDefaultSpec, u.SetDefaultSortOrder])  # fmt: skip
def test_a_new_table_without_one_of_its_parts_is_refused(missing: type[u.MetadataUpdate]) -> None:
    updates = u.create_table_updates(table_uuid=UUID, location="s3://b/t", schema=SCHEMA)
    with pytest.raises(InvalidInput):
        apply(None, *(update for update in updates if type(update) is not missing))


def test_metadata_can_be_sent_to_another_process() -> None:
    metadata = committed(new_table(3), 11)
    sent = pickle.loads(pickle.dumps(metadata))
    assert sent == metadata
    assert sent.current_snapshot == metadata.current_snapshot


def test_updates_that_change_nothing_give_the_base_itself() -> None:
    base = committed(new_table(2, owner="me"), 11)
    updates = (
        u.AssignUuid(UUID.upper()),
        u.UpgradeFormatVersion(2),
        u.AddSchema(SCHEMA.with_id(9)),
        u.SetCurrentSchema(),
        u.SetDefaultSpec(0),
        u.SetDefaultSortOrder(0),
        u.SetSnapshotRef("main", base.ref("main")),
        u.SetLocation("s3://b/t/"),
        u.SetProperties({"owner": "me"}),
        u.RemoveProperties(("gone",)),
        u.RemoveSnapshots((5,)),
        u.RemoveSnapshotRef("gone"),
        u.RemoveStatistics(5),
        u.RemovePartitionStatistics(5),
        u.RemoveSchemas((5,)),
        u.RemovePartitionSpecs((5,)),
        u.RemoveEncryptionKey("gone"),
    )
    assert apply(base, *updates, now_ms=NOW_MS + 9) is base


def test_a_base_is_never_changed() -> None:
    base = committed(new_table(3), 11)
    before = write_table_metadata(base)
    apply(base, u.SetProperties({"a": "b"}), u.AddSchema(EVOLVED), u.SetCurrentSchema(), u.RemoveSnapshotRef("main"))
    committed(base, 12)
    assert write_table_metadata(base) == before


def test_upgrades_go_one_way() -> None:
    one = committed(new_table(1), 11)
    two = apply(one, u.UpgradeFormatVersion(2))
    assert (two.format_version, two.last_sequence_number, two.snapshots[0].sequence_number) == (2, 0, 0)
    assert two.next_sequence_number == 1
    three = apply(committed(two, 12), u.UpgradeFormatVersion(3))
    assert (three.format_version, three.next_row_id) == (3, 0)
    assert three.snapshots[0].first_row_id is None
    after = parse_table_metadata(write_table_metadata(committed(three, 13, rows=5)))
    assert (after.next_row_id, after.last_sequence_number) == (5, 2)
    for lower in (0, 1, 2):
        with pytest.raises(InvalidInput, match="cannot downgrade"):
            apply(three, u.UpgradeFormatVersion(lower))
    with pytest.raises(UnsupportedFeature, match="format version 4"):
        apply(three, u.UpgradeFormatVersion(4))


def test_an_upgrade_needs_a_uuid() -> None:
    value = json.loads(write_table_metadata(new_table(1)))
    del value["table-uuid"]
    nameless = parse_table_metadata(json.dumps(value).encode())
    with pytest.raises(InvalidInput, match="uuid"):
        apply(nameless, u.UpgradeFormatVersion(2))
    assert apply(nameless, u.AssignUuid(UUID), u.UpgradeFormatVersion(2)).table_uuid == UUID


def test_a_uuid_that_is_given_never_changes() -> None:
    with pytest.raises(InvalidInput, match=UUID):
        apply(new_table(), u.AssignUuid("00000000-0000-0000-0000-000000000000"))


def test_schema_ids_are_given_once_and_equal_schemas_share_one() -> None:
    base = new_table()
    evolved = apply(base, u.AddSchema(EVOLVED), u.SetCurrentSchema())
    assert (evolved.current_schema_id, evolved.last_column_id) == (1, 3)
    back = apply(evolved, u.AddSchema(SCHEMA.with_id(17)), u.SetCurrentSchema())
    assert (back.current_schema_id, back.last_column_id, len(back.schemas)) == (0, 3, 2)
    removed = apply(back, u.RemoveSchemas((1,)))
    assert [schema.schema_id for schema in removed.schemas] == [0]
    with pytest.raises(InvalidInput, match="it is the current one"):
        apply(back, u.RemoveSchemas((0,)))
    with pytest.raises(InvalidInput, match="no such schema"):
        apply(back, u.SetCurrentSchema(9))


def test_a_schema_must_fit_the_format_version() -> None:
    schema = Schema(*SCHEMA.fields, NestedField(3, "t", TIMESTAMP_NS))
    with pytest.raises(InvalidInput, match="format version 3"):
        apply(new_table(2), u.AddSchema(schema))
    assert apply(new_table(3), u.AddSchema(schema)).last_column_id == 3


@pytest.mark.parametrize("update", [u.SetCurrentSchema(), u.SetDefaultSpec(), u.SetDefaultSortOrder()])
def test_minus_one_needs_something_added_in_the_same_updates(update: u.MetadataUpdate) -> None:
    with pytest.raises(InvalidInput, match="last added"):
        apply(new_table(), update)


def test_partition_specs_are_numbered_and_shared() -> None:
    base = apply(new_table(), u.AddPartitionSpec(SPEC.with_id(9)), u.SetDefaultSpec())
    assert (base.default_spec_id, base.last_partition_id) == (1, 1000)
    again = apply(base, u.AddPartitionSpec(PartitionSpec(5)), u.SetDefaultSpec())
    assert (again.default_spec_id, again.last_partition_id) == (0, 1000)
    assert len(again.partition_specs) == 2
    assert len(apply(again, u.RemovePartitionSpecs((1,))).partition_specs) == 1
    for wrong in (u.RemovePartitionSpecs((0,)), u.SetDefaultSpec(7)):
        with pytest.raises(InvalidInput):
            apply(again, wrong)


def test_a_spec_must_fit_schema_and_version() -> None:
    gap = PartitionSpec(0, (PartitionField((1,), 1005, "p", IdentityTransform()),))
    with pytest.raises(InvalidInput, match="count from 1000"):
        apply(new_table(1), u.AddPartitionSpec(gap))
    assert apply(new_table(2), u.AddPartitionSpec(gap)).last_partition_id == 1005
    for field in (
        PartitionField((99,), 1000, "p", IdentityTransform()),
        PartitionField((1,), 1000, "p", UnknownTransform("zorder")),
    ):
        with pytest.raises(InvalidInput):
            apply(new_table(2), u.AddPartitionSpec(PartitionSpec(0, (field,))))


def test_a_column_that_the_default_spec_or_order_needs_cannot_leave_the_current_schema() -> None:
    smaller = Schema(SCHEMA.fields[1])
    partitioned = apply(new_table(), u.AddPartitionSpec(SPEC), u.SetDefaultSpec())
    with pytest.raises(InvalidInput, match=r"partition field .* needs column 1"):
        apply(partitioned, u.AddSchema(smaller), u.SetCurrentSchema())
    ordered = apply(new_table(), u.AddSortOrder(ORDER), u.SetDefaultSortOrder())
    with pytest.raises(InvalidInput, match=r"sort field .* needs column 1"):
        apply(ordered, u.AddSchema(smaller), u.SetCurrentSchema())
    void = PartitionSpec(0, (PartitionField((1,), 1000, "p", VoidTransform()),))
    dropped = apply(
        new_table(1), u.AddPartitionSpec(void), u.SetDefaultSpec(), u.AddSchema(smaller), u.SetCurrentSchema()
    )
    assert dropped.current_schema.same_columns(smaller)


def test_sort_orders_count_from_one_and_unsorted_is_zero() -> None:
    ordered = apply(new_table(), u.AddSortOrder(ORDER.with_id(8)), u.SetDefaultSortOrder())
    assert ordered.default_sort_order_id == 1
    back = apply(ordered, u.AddSortOrder(UNSORTED), u.SetDefaultSortOrder())
    assert back.default_sort_order_id == 0
    assert len(back.sort_orders) == 2
    with pytest.raises(InvalidInput, match="no such order"):
        apply(back, u.SetDefaultSortOrder(5))


def test_statistics_replace_those_of_the_same_snapshot_and_go_with_it() -> None:
    def statistics(snapshot_id: int, path: str) -> StatisticsFile:
        return StatisticsFile(
            snapshot_id=snapshot_id, statistics_path=path, file_size_in_bytes=1, file_footer_size_in_bytes=1
        )

    partition = PartitionStatisticsFile(snapshot_id=11, statistics_path="p", file_size_in_bytes=1)
    base = committed(committed(new_table(), 11), 12)
    base = apply(base, u.SetStatistics(statistics(11, "a")), u.SetStatistics(statistics(12, "b")),
                 u.SetStatistics(statistics(11, "c")), u.SetPartitionStatistics(partition))  # fmt: skip
    assert [file.statistics_path for file in base.statistics] == ["b", "c"]
    expired = apply(base, u.RemoveSnapshots((11,)))
    assert [file.snapshot_id for file in expired.statistics] == [12]
    assert not expired.partition_statistics
    assert not apply(base, u.RemovePartitionStatistics(11)).partition_statistics
    assert [file.snapshot_id for file in apply(base, u.RemoveStatistics(12)).statistics] == [11]


def test_encryption_keys_need_v3() -> None:
    key = EncryptedKey(key_id="k", encrypted_key_metadata=b"\x01")
    with pytest.raises(InvalidInput, match="format version 3"):
        apply(new_table(2), u.AddEncryptionKey(key))
    keyed = apply(
        new_table(3), u.AddEncryptionKey(key), u.AddEncryptionKey(EncryptedKey(key_id="k", encrypted_key_metadata=b""))
    )
    assert list(keyed.encryption_keys) == [key]
    assert parse_table_metadata(write_table_metadata(keyed)) == keyed
    assert not apply(keyed, u.RemoveEncryptionKey("k")).encryption_keys


def test_reserved_properties_and_an_empty_location_are_refused() -> None:
    for update in (u.SetProperties({"format-version": "3"}), u.SetProperties({"uuid": "x"}), u.SetLocation("")):
        with pytest.raises(InvalidInput):
            apply(new_table(), update)


def test_an_update_of_a_view_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not an update of a table"):
        apply(new_table(), u.SetCurrentViewVersion(1))


def test_unknown_fields_survive_a_commit() -> None:
    value = json.loads(write_table_metadata(committed(new_table(), 11)))
    value["future"] = {"a": 1}
    value["snapshots"][0]["future"] = 2
    written = json.loads(write_table_metadata(committed(parse_table_metadata(json.dumps(value).encode()), 12)))
    assert written["future"] == {"a": 1}
    assert written["snapshots"][0]["future"] == 2


@settings(max_examples=400)
@given(st.lists(random_updates, max_size=6), st.sampled_from([1, 2, 3]))
def test_whatever_the_updates_the_result_is_valid_metadata_or_a_clear_error(
    updates: list[u.MetadataUpdate], version: int
) -> None:
    base = committed(new_table(version), 11)
    try:
        metadata = apply(base, *updates)
    except FloebergError:
        return
    assert parse_table_metadata(write_table_metadata(metadata)) == metadata


def test_every_table_update_of_the_rest_api_is_applied() -> None:
    base = committed(new_table(3), 11)
    with pytest.raises(InvalidInput, match="not an update of a table"):
        apply(base, u.MetadataUpdate())
    assert len(u.TABLE_UPDATES) == 23
    assert next_snapshot(base, 12).sequence_number == 2
