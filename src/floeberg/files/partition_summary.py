"""What a manifest list says of the partitions in a manifest: https://iceberg.apache.org/spec/#manifest-lists"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from floeberg.spec.snapshots.manifest_entry import FieldSummary
from floeberg.spec.types import IcebergType, StructType
from floeberg.spec.values.single_value import sort_key, to_bytes


class PartitionSummaries:
    """Gathers the summary of each partition field over the files of a manifest. NaN is no bound."""

    def __init__(self, partition_type: StructType) -> None:
        self._fields = [_Field(member.type) for member in partition_type]

    def add(self, partition: Sequence[object]) -> None:
        """Takes one file's partition tuple, of physical values."""
        for field, value in zip(self._fields, partition, strict=False):
            field.add(value)

    def result(self) -> tuple[FieldSummary, ...]:
        """One summary for each partition field, in the spec's order."""
        return tuple(field.summary() for field in self._fields)


class _Field:
    """The distinct values of one partition field: they are few, whatever the number of files."""

    def __init__(self, kind: IcebergType) -> None:
        self._kind = kind
        self._seen: set[object] = set()
        self._null = self._nan = self._negative_zero = False

    def add(self, value: object) -> None:
        if value is None:
            self._null = True
        elif isinstance(value, float) and (value != value or value == 0.0):
            self._add_odd(value)
        else:
            self._seen.add(value)

    def _add_odd(self, value: float) -> None:
        """NaN, which is no bound, and the zeros, of which a set would keep only one."""
        if value != value:
            self._nan = True
        elif math.copysign(1.0, value) < 0:
            self._negative_zero = True
        else:
            self._seen.add(value)

    def summary(self) -> FieldSummary:
        values: list[Any] = [*self._seen, *([-0.0] if self._negative_zero else [])]
        if not values:
            return FieldSummary(contains_null=self._null, contains_nan=self._nan)
        key: Callable[[object], Any] = partial(sort_key, self._kind)
        return FieldSummary(
            contains_null=self._null,
            contains_nan=self._nan,
            lower_bound=to_bytes(self._kind, min(values, key=key)),
            upper_bound=to_bytes(self._kind, max(values, key=key)),
        )
