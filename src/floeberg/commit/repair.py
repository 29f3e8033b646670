"""Repairs of a branch's snapshot: entries that are wrong are left out or written anew. No file is touched, and the snapshot
before stays the parent, so that a repair can be rolled back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from floeberg.commit.delete_scope import single_referenced_path
from floeberg.commit.filtering import FileIdentity
from floeberg.commit.history import OVERWRITE, REPLACE
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import branch_head, snapshot_updates
from floeberg.commit.snapshot_writer import write_snapshot
from floeberg.commit.summary import TOTALS, SummaryBuilder
from floeberg.commit.workspace import Workspace
from floeberg.errors import ValidationConflict
from floeberg.spec.changes.updates import MetadataUpdate, SetSnapshotRef
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import (
    DataFile,
    EntryStatus,
    FileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from floeberg.spec.snapshots.refs import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepairFiles:
    """Writes a snapshot of the branch's live files without the dropped ones, and with what was measured of others.

    `manifests` are manifests that their list describes wrongly: they are written anew. `renumber_rows` gives new row ids to
    files whose ids other files have, or that the table would give again.
    """

    dropped: frozenset[FileIdentity] = frozenset()
    measured: Mapping[FileIdentity, DataFile] = field(default_factory=dict)
    manifests: frozenset[str] = frozenset()
    drop_duplicates: bool = False
    renumber_rows: bool = False
    recount: bool = False
    """Whether a snapshot is written for its totals alone."""
    target: SnapshotTarget = SnapshotTarget()

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        head = branch_head(base, self.target.branch, workspace)
        if head is None:
            return []
        snapshot_id = workspace.snapshot_id(self, base)
        before = [(one, workspace.live_entries(one, base)) for one in workspace.manifests(head, base)]
        repair = _Repair(self, base, _clashing(before, base) if self.renumber_rows else frozenset())
        after: list[ManifestFile] = []
        for manifest, live in before:
            entries = repair.repaired(live, snapshot_id)
            if entries is None and manifest.manifest_path not in self.manifests:
                after.append(manifest)
                continue
            entries = [_existing(entry) for entry in live] if entries is None else entries
            # Entries without a row id inherit theirs from the manifest: they go into one of their own.
            without = [entry for entry in entries if entry.data_file.file_path in repair.clashing]
            with_ids = [entry for entry in entries if entry.data_file.file_path not in repair.clashing]
            after += [
                workspace.put_manifest(
                    part,
                    spec_id=manifest.partition_spec_id,
                    content=manifest.content,
                    metadata=base,
                    snapshot_id=snapshot_id,
                )
                for part in (with_ids, without)
                if part
            ]
        if not (repair.changed or self.manifests or self.recount):
            return []
        after.sort(key=lambda manifest: manifest.content is not ManifestContent.DATA)
        snapshot = write_snapshot(
            base,
            workspace,
            snapshot_id=snapshot_id,
            parent=head,
            manifests=after,
            operation=OVERWRITE if repair.changes_rows else REPLACE,
            summary=repair.summary({**workspace.engine_summary, **self.target.summary}),
        )
        return snapshot_updates(base, snapshot, self.target)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RestoreSnapshot:
    """Points a branch at an older snapshot, unless another commit came after `expected_snapshot_id`."""

    snapshot_id: int
    expected_snapshot_id: int
    branch: str = MAIN_BRANCH

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        head = branch_head(base, self.branch, workspace)
        if head is None or head.snapshot_id != self.expected_snapshot_id:
            raise ValidationConflict(
                f"table {workspace.identifier}: branch {self.branch} has changed since it was checked; to restore snapshot "
                f"{self.snapshot_id} would undo a commit that nobody looked at. Check the table again.",
                table=workspace.identifier,
                retry_can_help=True,
            )
        return [SetSnapshotRef(self.branch, base.refs[self.branch].at(base.snapshot(self.snapshot_id).snapshot_id))]


class _Repair:
    """The entries of one snapshot after a repair, and what has changed."""

    def __init__(self, wanted: RepairFiles, base: TableMetadata, clashing: frozenset[str]) -> None:
        self.clashing = clashing
        self.changed = False
        self.changes_rows = False
        self._wanted = wanted
        self._seen: set[FileIdentity] = set()
        self._removed = SummaryBuilder(base)
        self._live = SummaryBuilder(base)

    def repaired(self, live: Sequence[ManifestEntry], snapshot_id: int) -> list[ManifestEntry] | None:
        """The entries of a manifest; None when they are as they were."""
        entries: list[ManifestEntry] = []
        changed = False
        for entry in live:
            file = entry.data_file
            twice = file.identity in self._seen
            if self._is_dropped(file):
                changed = self.changes_rows = True
                if not twice:
                    gone = structs.replace(entry, status=EntryStatus.DELETED, snapshot_id=snapshot_id)
                    entries.append(gone)
                    self._removed.removed(file)
            elif twice and self._wanted.drop_duplicates:
                # Not as a deleted entry: the file is live, and expiry of this snapshot by other engines would delete it.
                changed = self.changes_rows = True
                self._removed.duplicates += 1
            else:
                now = self._mended(file)
                changed = changed or now is not file
                entries.append(structs.replace(entry, status=EntryStatus.EXISTING, data_file=now))
                self._live.added(now)
            self._seen.add(file.identity)
        self.changed = self.changed or changed
        return entries if changed else None

    def _is_dropped(self, file: DataFile) -> bool:
        if file.identity in self._wanted.dropped:
            return True
        # https://iceberg.apache.org/spec/#row-level-deletes: a deletion vector goes with its data file.
        only_for = None if file.content is FileContent.DATA else single_referenced_path(file)
        return only_for is not None and (only_for, None) in self._wanted.dropped

    def _mended(self, file: DataFile) -> DataFile:
        now = self._wanted.measured.get(file.identity)
        if now is None or now == file:
            now = file
        return structs.replace(now, first_row_id=None) if file.file_path in self.clashing else now

    def summary(self, extra: Mapping[str, str]) -> dict[str, str]:
        """What was removed, and totals that are counted anew."""
        totals = {total: str(self._live.counts.get(plus, 0)) for total, plus, _ in TOTALS}
        return self._removed.build(None, {**totals, **extra})


def _existing(entry: ManifestEntry) -> ManifestEntry:
    return structs.replace(entry, status=EntryStatus.EXISTING)


def _clashing(manifests: Iterable[tuple[ManifestFile, Sequence[ManifestEntry]]], base: TableMetadata) -> frozenset[str]:
    """The data files whose row ids a file before them has, or that the table would give again."""
    ranges = sorted(
        (entry.data_file.first_row_id, entry.data_file.record_count, entry.data_file.file_path)
        for manifest, live in manifests
        if manifest.content is ManifestContent.DATA
        for entry in live
        if entry.data_file.first_row_id is not None and entry.data_file.record_count > 0
    )
    found: set[str] = set()
    taken = 0
    for first, count, path in ranges:
        if first < taken or first + count > base.next_row_id:
            found.add(path)
        else:
            taken = first + count
    return frozenset(found)
