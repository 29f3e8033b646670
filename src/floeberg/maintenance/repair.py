"""Repairs a table by explicit choice: what a check found is dropped, measured anew or restored, in one commit that can be
rolled back. No file is ever deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.commit.commit import commit_operations
from floeberg.commit.filtering import FileIdentity
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.repair import RepairFiles, RestoreSnapshot
from floeberg.commit.table_changes import ChangeStatistics
from floeberg.commit.workspace import Workspace
from floeberg.effects.progress import Progress
from floeberg.errors import FloebergError, InvalidInput
from floeberg.maintenance.check import check_table
from floeberg.maintenance.check_report import CheckReport, Finding, Problem
from floeberg.maintenance.file_work import FileWork
from floeberg.maintenance.measure import FileMeasurer
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot


class RepairAction(StrEnum):
    """What may be done about what a check finds."""

    DROP_DATA = "drop-data"
    DROP_DELETES = "drop-deletes"
    DROP_DUPLICATES = "drop-duplicates"
    RECOMPUTE_METRICS = "recompute-metrics"
    RENUMBER_ROWS = "renumber-rows"
    DROP_STATISTICS = "drop-statistics"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """What to do. `snapshot_id` is the snapshot to restore, the newest whole one by default; `read_rows` reads every row to
    find files that cannot be read."""

    actions: tuple[RepairAction, ...]
    snapshot_id: int | None = None
    branch: str = MAIN_BRANCH
    read_rows: bool = False
    dry_run: bool = False
    engine_summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One thing that was repaired, or would be."""

    action: RepairAction
    location: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """The table after a repair. `snapshot_id_before` is what the branch can be rolled back to; `remaining` is what no chosen
    action repairs."""

    state: TableState
    snapshot_id_before: int | None
    repairs: tuple[Repair, ...] = ()
    remaining: tuple[Finding, ...] = ()
    dry_run: bool = False


_LOST: Final = (Problem.MISSING_FILE, Problem.UNREADABLE)


def repair_actions(names: Iterable[str]) -> tuple[RepairAction, ...]:
    """Raises InvalidInput for none, an unknown one, and `restore` together with a repair of the newest snapshot."""
    known = ", ".join(RepairAction)
    actions: list[RepairAction] = []
    for name in names:
        if name not in list(RepairAction):
            raise InvalidInput(f"{name!r:.60} is no repair; there are {known}")
        actions.append(RepairAction(name))
    if not actions:
        raise InvalidInput(f"a repair is an explicit choice: name one or more of {known}; check says what is wrong")
    if RepairAction.RESTORE in actions and {*actions} - {RepairAction.RESTORE, RepairAction.DROP_STATISTICS}:
        raise InvalidInput("restore leaves the newest snapshot behind; choose it, or repairs of that snapshot")
    return tuple(dict.fromkeys(actions))


def repair_table(
    pointer: TablePointer,
    state: TableState,
    work: FileWork,
    request: RepairRequest,
    *,
    progress: Progress | None = None,
) -> Repaired:
    """Checks the branch's newest snapshot and does what was chosen about what is found. Raises InvalidInput when no snapshot
    to restore is whole, or the one named is not."""
    metadata = state.metadata
    head = metadata.snapshot_for_ref(request.branch)
    if head is None:
        return Repaired(state=state, snapshot_id_before=None, dry_run=request.dry_run)
    report = check_table(
        metadata,
        pointer.store_for,
        name=state.identifier,
        snapshot_ids=[head.snapshot_id],
        read_rows=request.read_rows,
        work=work,
        progress=progress,
    )
    plan = _Plan(pointer, state, head, report, request)
    operations = plan.operations(work)
    if operations and not request.dry_run:
        committed = commit_operations(pointer, state, operations, engine_summary=request.engine_summary)
        state = committed.state
    return Repaired(
        state=state,
        snapshot_id_before=head.snapshot_id,
        repairs=tuple(plan.repairs),
        remaining=tuple(plan.remaining),
        dry_run=request.dry_run,
    )


class _Plan:
    """Which of the findings are repaired, and by which operations of one commit."""

    def __init__(
        self, pointer: TablePointer, state: TableState, head: Snapshot, report: CheckReport, request: RepairRequest
    ) -> None:
        self._pointer = pointer
        self._metadata = state.metadata
        self._head = head
        self._request = request
        self._report = report
        self._target = SnapshotTarget(branch=request.branch)
        self.repairs: list[Repair] = []
        self.remaining: list[Finding] = []

    def operations(self, work: FileWork) -> list[Operation]:
        found: dict[RepairAction, list[Finding]] = {}
        contents = _Contents.of(self._pointer, self._metadata, self._head)
        unreadable = {(one.location, one.content_offset) for one in self._report.findings if one.problem in _LOST}
        miscounted = any(
            finding.problem is Problem.WRONG_COUNT and contents.is_data(finding) for finding in self._report.findings
        )
        for finding in self._report.findings:
            action = contents.action_for(finding, unreadable=unreadable, miscounted=miscounted)
            if action not in self._request.actions:
                self.remaining.append(finding)
                continue
            found.setdefault(action, []).append(finding)
            if action is not RepairAction.RESTORE:
                reason = f"{finding.problem}: {finding.message}"
                self.repairs.append(Repair(action=action, location=finding.location, reason=reason))
        if RepairAction.RESTORE in self._request.actions:
            return [*self._statistics(found), *self._restore(work)]
        return [*self._statistics(found), *self._files(found, contents, work)]

    def _files(
        self, found: Mapping[RepairAction, Sequence[Finding]], contents: _Contents, work: FileWork
    ) -> list[Operation]:
        dropped = [*found.get(RepairAction.DROP_DATA, ()), *found.get(RepairAction.DROP_DELETES, ())]
        recomputed = found.get(RepairAction.RECOMPUTE_METRICS, ())
        if not {*found} - {RepairAction.DROP_STATISTICS}:
            return []
        if contents.lost:
            raise InvalidInput(
                f"{contents.lost} cannot be read, so the files of snapshot {self._head.snapshot_id} are not known; choose "
                f"{RepairAction.RESTORE} to go back to a snapshot that is whole"
            )
        measured = [file for one in recomputed if (file := contents.file(one)) is not None]
        schema = self._metadata.current_schema
        measurer = FileMeasurer(schema, metrics_config(schema, self._metadata.properties))
        distinct = list({file.identity: file for file in measured}.values())
        now = {} if self._request.dry_run else {
            file.identity: file for file in work.each_read(measurer.measure, distinct, self._metadata, schema)
        }  # fmt: skip
        return [
            RepairFiles(
                dropped=frozenset((one.location, one.content_offset) for one in dropped),
                measured=now,
                manifests=frozenset(one.location for one in recomputed if one.location in contents.manifests),
                drop_duplicates=RepairAction.DROP_DUPLICATES in found,
                renumber_rows=RepairAction.RENUMBER_ROWS in found,
                recount=bool(recomputed),
                target=self._target,
            )
        ]

    def _statistics(self, found: Mapping[RepairAction, Sequence[Finding]]) -> list[Operation]:
        paths = {one.location for one in found.get(RepairAction.DROP_STATISTICS, ())}
        tables = [one.snapshot_id for one in self._metadata.statistics if one.statistics_path in paths]
        partitions = [one.snapshot_id for one in self._metadata.partition_statistics if one.statistics_path in paths]
        return [ChangeStatistics(remove=tables, remove_partition=partitions)] if paths else []

    def _restore(self, work: FileWork) -> list[Operation]:
        """Goes back to the newest ancestor that is whole, when the newest snapshot is not."""
        asked, metadata = self._request.snapshot_id, self._metadata
        if asked is None and self._report.ok:
            return []
        older = [one for one in metadata.ancestors(self._head.snapshot_id) if one is not self._head]
        for snapshot in older if asked is None else [metadata.snapshot(asked)]:
            report = check_table(
                metadata,
                self._pointer.store_for,
                snapshot_ids=[snapshot.snapshot_id],
                read_rows=self._request.read_rows,
                work=work,
            )
            if report.ok:
                reason = (
                    f"snapshot {snapshot.snapshot_id} is whole, {self._head.snapshot_id} has {len(self._report.errors)} "
                    "errors; commits after it are left out"
                )
                where = snapshot.manifest_list or metadata.location
                self.repairs.append(Repair(action=RepairAction.RESTORE, location=where, reason=reason))
                return [
                    RestoreSnapshot(
                        snapshot_id=snapshot.snapshot_id,
                        expected_snapshot_id=self._head.snapshot_id,
                        branch=self._request.branch,
                    )
                ]
        which = "no older snapshot of the branch is" if asked is None else f"snapshot {asked} is not"
        raise InvalidInput(f"table {self._pointer.identifier}: {which} whole; nothing was changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """What a snapshot and its table refer to, to tell what a finding is about. `lost` is a list or manifest that cannot be
    read."""

    files: Mapping[FileIdentity, DataFile]
    manifests: frozenset[str]
    manifest_list: str
    statistics: frozenset[str]
    lost: str | None

    @classmethod
    def of(cls, pointer: TablePointer, metadata: TableMetadata, head: Snapshot) -> _Contents:
        workspace, files, lost = Workspace(pointer), {}, None
        where = head.manifest_list or metadata.location
        try:
            manifests = workspace.manifests(head, metadata)
        except FloebergError:
            manifests, lost = [], where
        for manifest in manifests:
            try:
                live = workspace.live_entries(manifest, metadata)
            except FloebergError:
                lost = manifest.manifest_path
                continue
            files.update({entry.data_file.identity: entry.data_file for entry in live})
        return cls(
            files=files,
            manifests=frozenset(manifest.manifest_path for manifest in manifests),
            manifest_list=where,
            statistics=frozenset(
                (
                    *(file.statistics_path for file in metadata.statistics),
                    *(file.statistics_path for file in metadata.partition_statistics),
                )
            ),
            lost=lost,
        )

    def file(self, finding: Finding) -> DataFile | None:
        return self.files.get((finding.location, finding.content_offset))

    def is_data(self, finding: Finding) -> bool:
        file = self.file(finding)
        return file is not None and file.content is FileContent.DATA

    def action_for(
        self, finding: Finding, *, unreadable: Collection[FileIdentity], miscounted: bool
    ) -> RepairAction | None:
        """What repairs a finding. A delete beyond the end of a file is not dropped while rows of files are counted wrong:
        the count may be what is wrong."""
        file = self.file(finding)
        if file is None:
            return self._of_metadata(finding)
        drop = RepairAction.DROP_DATA if file.content is FileContent.DATA else RepairAction.DROP_DELETES
        match finding.problem:
            case Problem.MISSING_FILE | Problem.UNREADABLE:
                return drop
            case Problem.WRONG_SIZE | Problem.WRONG_COUNT | Problem.WRONG_BOUNDS:
                return drop if file.identity in unreadable else RepairAction.RECOMPUTE_METRICS
            case Problem.DUPLICATE_FILE:
                return RepairAction.DROP_DUPLICATES
            case Problem.DUPLICATE_ROW_IDS:
                return RepairAction.RENUMBER_ROWS
            case Problem.DANGLING_DELETE:
                return RepairAction.DROP_DELETES
            case Problem.BAD_DELETE:
                return None if miscounted else RepairAction.DROP_DELETES
        return None

    def _of_metadata(self, finding: Finding) -> RepairAction | None:
        if finding.location in self.statistics:
            return RepairAction.DROP_STATISTICS
        if finding.location in self.manifests or finding.location == self.manifest_list:
            if finding.problem in (Problem.WRONG_SIZE, Problem.WRONG_COUNT):
                return RepairAction.RECOMPUTE_METRICS
            return RepairAction.RESTORE if finding.problem in _LOST else None
        return None
