"""What is worth doing for a table now: decided from its metadata and the manifest list alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.arrow.formats.write_properties import write_properties
from floeberg.commit.merging import MergePolicy
from floeberg.errors import InvalidInput
from floeberg.maintenance.expire import GC_ENABLED, Expiry, expired_ids
from floeberg.maintenance.last_look import Added
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.snapshots.manifest_entry import ManifestContent, ManifestFile

SMALL_FILES: Final = "maintain.min-small-files"
DELETE_RATIO: Final = "maintain.delete-ratio"
DELETE_FILES: Final = "maintain.max-delete-files"
MANIFESTS: Final = "maintain.max-manifests"
_SMALL_RATIO: Final = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a table's branch `main` holds, as its summary and manifest list say; None where they do not say."""

    snapshots: int
    manifests: int
    spare_manifests: int
    """How many a rewrite of the current spec's manifests would leave out."""
    data_files: int | None
    bytes: int | None
    records: int | None
    delete_files: int | None
    equality_deletes: int | None
    position_deletes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When a table needs maintenance, from its properties."""

    target_file_bytes: int
    min_small_files: int = 10
    delete_ratio: float = 0.1
    max_delete_files: int = 20
    max_manifests: int = 100

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Policy:
        """Raises InvalidInput for a value that makes no sense."""
        try:
            ratio = float(properties.get(DELETE_RATIO, "0.1"))
        except ValueError:
            ratio = 0.0
        if not 0 < ratio <= 1:
            raise InvalidInput(f"table property {DELETE_RATIO} is more than 0 and at most 1")
        return cls(
            target_file_bytes=write_properties(properties).target_file_bytes,
            min_small_files=integer_property(properties, SMALL_FILES, 10),
            delete_ratio=ratio,
            max_delete_files=integer_property(properties, DELETE_FILES, 20),
            max_manifests=integer_property(properties, MANIFESTS, 100),
        )


def figures(metadata: TableMetadata, manifests: list[ManifestFile]) -> Figures:
    """The figures of a table's current snapshot."""
    summary = {} if metadata.current_snapshot is None else metadata.current_snapshot.summary

    def total(name: str) -> int | None:
        text = summary.get(f"total-{name}")
        return int(text) if text is not None and text.isdigit() else None

    def listed(content: ManifestContent, what: str) -> int | None:
        """What the manifest list says, where the summary of another writer does not."""
        own = [one for one in manifests if one.content is content]
        counts = [getattr(one, f"{status}_{what}_count") for one in own for status in ("added", "existing")]
        return None if None in counts else sum(counts)

    def known(name: str, content: ManifestContent, what: str) -> int | None:
        stated = total(name)
        return listed(content, what) if stated is None else stated

    return Figures(
        snapshots=len(metadata.snapshots),
        manifests=len(manifests),
        spare_manifests=_spare_manifests(metadata, manifests),
        data_files=known("data-files", ManifestContent.DATA, "files"),
        bytes=total("files-size"),
        records=known("records", ManifestContent.DATA, "rows"),
        delete_files=known("delete-files", ManifestContent.DELETES, "files"),
        equality_deletes=total("equality-deletes"),
        position_deletes=total("position-deletes"),
    )


def _spare_manifests(metadata: TableMetadata, manifests: list[ManifestFile]) -> int:
    target_bytes = MergePolicy.from_properties(metadata.properties).target_size_bytes
    own = [one for one in manifests if one.partition_spec_id == metadata.default_spec_id]
    by_content = [[one.manifest_length for one in own if one.content is content] for content in ManifestContent]
    return sum(len(lengths) - math.ceil(sum(lengths) / target_bytes) for lengths in by_content)


def reason_to_compact(found: Figures, policy: Policy, added: Added | None = None) -> str | None:
    """Why data files should be rewritten: they are many and small, or many of their rows are deleted; and enough of that came
    since the last look found nothing."""
    deleted = (found.equality_deletes or 0) + (found.position_deletes or 0)
    new = deleted if added is None else added.equality_deletes + added.position_deletes
    if found.records and min(deleted, new) / found.records >= policy.delete_ratio:
        return f"{deleted} deletes for {found.records} rows, {policy.delete_ratio:.0%} or more"
    if found.data_files is None or found.bytes is None or found.data_files < policy.min_small_files:
        return None
    if added is not None and added.data_files < policy.min_small_files:
        return None
    average = found.bytes // found.data_files
    if average < policy.target_file_bytes * _SMALL_RATIO:
        return (
            f"{found.data_files} data files of {average} bytes on average, for a target of {policy.target_file_bytes}"
        )
    return None


def reason_to_rewrite_deletes(found: Figures, policy: Policy, added: Added | None = None) -> str | None:
    """Why delete files should be rewritten: equality deletes cost every reader, and many files cost planning; and enough of
    them came since the last look found nothing."""
    if found.equality_deletes and (added is None or added.equality_deletes):
        return f"{found.equality_deletes} equality deletes"
    new = found.delete_files if added is None else added.delete_files
    if min(found.delete_files or 0, new or 0) > policy.max_delete_files:
        return f"{found.delete_files} delete files, more than {policy.max_delete_files}"
    return None


def reason_to_rewrite_manifests(found: Figures, policy: Policy) -> str | None:
    """Why manifests should be rewritten: they are many, and half of them or more would go."""
    if found.manifests > policy.max_manifests and 2 * found.spare_manifests >= found.manifests:
        return f"{found.manifests} manifests, more than {policy.max_manifests}"
    return None


def reason_to_expire(metadata: TableMetadata, *, now_ms: int) -> str | None:
    """Why snapshots should expire: some are older than the table's `history.expire.*` keep."""
    if metadata.properties.get(GC_ENABLED, "true").lower() == "false":
        return None
    gone = expired_ids(metadata, Expiry(), now_ms=now_ms)
    return f"{len(gone)} of {len(metadata.snapshots)} snapshots are past their time" if gone else None
