"""The partition type over all specs of a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floeberg.errors import MetadataCorrupt
from floeberg.spec.json.documents import Documents
from floeberg.spec.metadata.partition_union import unified_partition_type
from floeberg.spec.metadata.table_metadata import PARTITION_SPECS, TableMetadata
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from golden_collection.golden_tables import open_golden


def of(*specs: PartitionSpec) -> TableMetadata:
    """A table of columns a and b, both long, with these specs."""
    metadata = open_golden("gperov_test").metadata
    return replace(metadata, partition_specs=Documents.of(PARTITION_SPECS, specs))


def field(source: int, field_id: int, name: str, transform: str) -> PartitionField:
    return PartitionField((source,), field_id, name, parse_transform(transform))


def members(metadata: TableMetadata) -> list[str]:
    return [f"{member.field_id} {member.name} {member.type}" for member in unified_partition_type(metadata)]


def test_fields_of_all_specs_come_by_id_under_their_newest_names() -> None:
    old = PartitionSpec(0, (field(1, 1001, "bucket", "bucket[4]"), field(2, 1000, "b", "identity")))
    new = PartitionSpec(1, (field(1, 1001, "a_bucket", "bucket[4]"), field(1, 1002, "a", "truncate[10]")))
    assert members(of(old, new)) == ["1000 b long", "1001 a_bucket int", "1002 a long"]
    assert members(of(PartitionSpec(0))) == []


def test_a_field_made_void_has_the_type_it_had() -> None:
    old = PartitionSpec(0, (field(1, 1000, "a_bucket", "bucket[4]"),))
    new = PartitionSpec(1, (field(1, 1000, "a_gone", "void"),))
    assert members(of(old, new)) == members(of(new, old)) == ["1000 a_gone int"]


def test_dropped_sources_and_unknown_transforms_are_left_out() -> None:
    spec = PartitionSpec(
        0, (field(9, 1000, "x", "identity"), field(1, 1001, "y", "zorder[2]"), field(2, 1002, "b", "identity"))
    )
    assert members(of(spec)) == ["1002 b long"]


def test_one_id_for_two_meanings_is_corrupt() -> None:
    old = PartitionSpec(0, (field(1, 1000, "a", "identity"),))
    for other in (field(2, 1000, "b", "identity"), field(1, 1000, "a", "bucket[4]")):
        with pytest.raises(MetadataCorrupt, match="of two specs have the same id"):
            unified_partition_type(of(old, PartitionSpec(1, (other,))))
