"""Partitions as keys, sets of them, and which manifests can hold files of a set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from floeberg.errors import MetadataCorrupt
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FieldSummary, ManifestFile
from floeberg.spec.types import IcebergType
from floeberg.spec.values.single_value import from_bytes, sort_key

PartitionKey = tuple[int, tuple[object, ...]]
"""(spec id, partition tuple); all NaN values are one partition, -0.0 and 0.0 are two."""

_NAN = ("NaN",)  # equal to itself, and to no other partition value
_MINUS_ZERO = ("-0.0",)  # in Python -0.0 == 0.0, but they are different partitions
_MOST_COMPARED = 200


def partition_key(file: DataFile) -> PartitionKey:
    """The partition of a file, comparable with others'."""
    return (file.spec_id, tuple(_comparable(value) for value in file.partition))


def _comparable(value: object) -> object:
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return _NAN
    return _MINUS_ZERO if value == 0 and math.copysign(1, value) < 0 else value


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """Partitions of any specs of one table."""

    keys: frozenset[PartitionKey] = frozenset()

    @classmethod
    def of(cls, files: Iterable[DataFile]) -> PartitionSet:
        return cls(frozenset(partition_key(file) for file in files))

    def __bool__(self) -> bool:
        return bool(self.keys)

    def holds(self, file: DataFile) -> bool:
        """Whether the file lies in one of the partitions."""
        return partition_key(file) in self.keys

    def may_be_in(self, manifest: ManifestFile, metadata: TableMetadata) -> bool:
        """False only when the manifest's spec or its partition summaries prove that no file of it lies in the set."""
        keys = [values for spec_id, values in self.keys if spec_id == manifest.partition_spec_id]
        if not keys:
            return False
        if not manifest.partitions or len(keys) > _MOST_COMPARED:
            return True
        types = [field.type for field in partition_type_of(metadata, manifest.partition_spec_id).fields]
        if len(types) != len(manifest.partitions):
            return True
        summaries = manifest.partitions
        return any(_may_cover(summaries, types, values) for values in keys)


def _may_cover(summaries: Sequence[FieldSummary], types: Sequence[IcebergType], values: Sequence[object]) -> bool:
    return all(_may_hold(*each) for each in zip(summaries, types, values, strict=True))


def _may_hold(summary: FieldSummary, data_type: IcebergType, value: object) -> bool:
    if value is None:
        return summary.contains_null
    if value == _NAN:
        return summary.contains_nan is not False
    try:
        key = sort_key(data_type, -0.0 if value == _MINUS_ZERO else value)
        low = None if summary.lower_bound is None else sort_key(data_type, from_bytes(data_type, summary.lower_bound))
        high = None if summary.upper_bound is None else sort_key(data_type, from_bytes(data_type, summary.upper_bound))
        return not ((low is not None and key < low) or (high is not None and key > high))  # type: ignore[operator]
    except (MetadataCorrupt, ValueError, TypeError):
        return True  # bounds that cannot be read or compared prove nothing
