"""Merges small manifests into larger ones at commit, so that a table of many small commits stays fast to plan.

Manifests are grouped by partition spec and packed, from the oldest, into bins of `commit.manifest.target-size-bytes`; the bin
with the newest manifest is left alone until it has `commit.manifest.min-count-to-merge` manifests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.snapshots.manifest_entry import ManifestFile

Join = Callable[[Sequence[ManifestFile]], ManifestFile]


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """When manifests are merged, from the table's properties."""

    enabled: bool = True
    target_size_bytes: int = 8 * 1024 * 1024
    min_count_to_merge: int = 100

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> MergePolicy:
        """Raises InvalidInput for a value that is no number."""
        default = cls()
        return cls(
            enabled=properties.get("commit.manifest-merge.enabled", "true").lower() == "true",
            target_size_bytes=integer_property(
                properties, "commit.manifest.target-size-bytes", default.target_size_bytes
            ),
            min_count_to_merge=integer_property(
                properties, "commit.manifest.min-count-to-merge", default.min_count_to_merge
            ),
        )


def merge_manifests(manifests: Sequence[ManifestFile], policy: MergePolicy, join: Join) -> list[ManifestFile]:
    """The manifests after merging; newest first in each spec, newer specs first. `join` merges several into one."""
    if not policy.enabled or not manifests:
        return list(manifests)
    newest = manifests[0]
    by_spec: dict[int, list[ManifestFile]] = {}
    for manifest in manifests:
        by_spec.setdefault(manifest.partition_spec_id, []).append(manifest)
    merged: list[ManifestFile] = []
    for spec_id in sorted(by_spec, reverse=True):
        for bin_ in pack_from_end(by_spec[spec_id], policy.target_size_bytes):
            has_newest = bin_[0] is newest
            if len(bin_) == 1 or (has_newest and len(bin_) < policy.min_count_to_merge):
                merged.extend(bin_)
            else:
                merged.append(join(bin_))
    return merged


def pack_from_end(manifests: Sequence[ManifestFile], target_size_bytes: int) -> list[list[ManifestFile]]:
    """Bins of neighbours no larger than the target, filled from the end so that the first (newest) bin is the one left
    short; the order of manifests is kept."""
    bins: list[list[ManifestFile]] = []
    current: list[ManifestFile] = []
    size_bytes = 0
    for manifest in reversed(manifests):
        if current and size_bytes + manifest.manifest_length > target_size_bytes:
            bins.append(current[::-1])
            current, size_bytes = [], 0
        current.append(manifest)
        size_bytes += manifest.manifest_length
    if current:
        bins.append(current[::-1])
    return bins[::-1]
