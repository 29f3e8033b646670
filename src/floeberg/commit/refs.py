"""Branches and tags, and moving a branch: https://iceberg.apache.org/spec/#snapshot-references"""

from __future__ import annotations

from dataclasses import dataclass, replace

from floeberg.commit.history import APPEND
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.producer import SnapshotChange, produce_snapshot
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput, RefAlreadyExists, RefNotFound, SnapshotNotFound, ValidationConflict
from floeberg.spec.changes.updates import AddSnapshot, MetadataUpdate, RemoveSnapshotRef, SetSnapshotRef
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH, RefType, SnapshotRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long a reference and its snapshots are kept; None leaves it to the table's properties."""

    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CreateRef:
    """Makes a branch or tag at a snapshot (the current one by default). With `replace`, moves one that is there; with
    `if_not_exists`, leaves it. A branch of a table without snapshots begins with an empty one, which `main` does not see."""

    name: str
    type: RefType
    snapshot_id: int | None = None
    retention: Retention | None = None
    replace: bool = False
    must_exist: bool = False
    if_not_exists: bool = False

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        existing = base.refs.get(self.name)
        if existing is None and self.must_exist:
            raise _no_ref(workspace, self.name)
        if existing is not None:
            if self.if_not_exists:
                return []
            if not self.replace:
                raise RefAlreadyExists(
                    f"table {workspace.identifier}: {existing.type} {self.name!r} is there already; replace it or choose "
                    "another name",
                    table=workspace.identifier,
                    ref=self.name,
                )
            if existing.type != self.type:
                raise InvalidInput(
                    f"table {workspace.identifier}: {self.name!r} is a {existing.type}, not a {self.type}"
                )
        snapshot_id = self.snapshot_id if self.snapshot_id is not None else base.current_snapshot_id
        begun: list[MetadataUpdate] = []
        if snapshot_id is None:
            if existing is not None or self.type is RefType.TAG:
                raise InvalidInput(
                    f"table {workspace.identifier}: no snapshot for {self.type} {self.name!r}, the table has none yet"
                )
            empty = produce_snapshot(
                base,
                workspace,
                key=self,
                target=SnapshotTarget(stage_only=True),
                change=SnapshotChange(operation=APPEND),
            )
            begun, snapshot_id = [*empty], _added_id(empty)
        else:
            base.snapshot(snapshot_id)
        kept = self.retention or Retention()
        if self.type is RefType.TAG and (
            kept.min_snapshots_to_keep is not None or kept.max_snapshot_age_ms is not None
        ):
            raise InvalidInput(f"table {workspace.identifier}: a tag keeps one snapshot; only RETAIN applies to it")
        ref = _retained(existing or SnapshotRef(snapshot_id=snapshot_id, type=self.type), kept)
        return [*begun, SetSnapshotRef(self.name, replace(ref, snapshot_id=snapshot_id))]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BeginBranch:
    """Makes a branch where `main` stands, unless it is there. While `main` has no snapshot, the change that comes after makes
    it (`SnapshotTarget.begins_branch`)."""

    name: str

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        if base.refs.get(self.name) is not None or base.current_snapshot_id is None:
            return []
        return [SetSnapshotRef(self.name, SnapshotRef(snapshot_id=base.current_snapshot_id, type=RefType.BRANCH))]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetRetention:
    """Changes how long a reference is kept."""

    name: str
    retention: Retention

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        existing = base.refs.get(self.name)
        if existing is None:
            raise _no_ref(workspace, self.name)
        return [SetSnapshotRef(self.name, _retained(existing, self.retention))]


def _retained(ref: SnapshotRef, retention: Retention) -> SnapshotRef:
    """The reference with what the retention says; what it does not mention stays."""
    changes = {
        key: value
        for key, value in (
            ("min_snapshots_to_keep", retention.min_snapshots_to_keep),
            ("max_snapshot_age_ms", retention.max_snapshot_age_ms),
            ("max_ref_age_ms", retention.max_ref_age_ms),
        )
        if value is not None
    }
    return replace(ref, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveRef:
    """Removes a branch or tag; main cannot be removed."""

    name: str
    type: RefType | None = None
    if_exists: bool = False

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        if self.name == MAIN_BRANCH:
            raise InvalidInput(f"table {workspace.identifier}: the main branch cannot be removed")
        existing = base.refs.get(self.name)
        if existing is None:
            if self.if_exists:
                return []
            raise _no_ref(workspace, self.name)
        if self.type is not None and existing.type != self.type:
            raise InvalidInput(f"table {workspace.identifier}: {self.name!r} is a {existing.type}, not a {self.type}")
        return [RemoveSnapshotRef(self.name)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenameBranch:
    """Gives a branch another name."""

    name: str
    to: str

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        if self.name == MAIN_BRANCH:
            raise InvalidInput(f"table {workspace.identifier}: the main branch cannot be renamed")
        existing = base.refs.get(self.name)
        if existing is None or existing.is_tag:
            raise _no_ref(workspace, self.name)
        if self.to in base.refs:
            raise RefAlreadyExists(f"table {workspace.identifier}: {self.to!r} is there already")
        return [RemoveSnapshotRef(self.name), SetSnapshotRef(self.to, existing)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FastForward:
    """Moves a branch forward to where another reference is; it must be in that one's history."""

    branch: str
    to: str

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        goal = base.refs.get(self.to)
        if goal is None:
            raise _no_ref(workspace, self.to)
        existing = base.refs.get(self.branch)
        if existing is None:
            return [SetSnapshotRef(self.branch, SnapshotRef(snapshot_id=goal.snapshot_id, type=RefType.BRANCH))]
        if existing.is_tag:
            raise InvalidInput(f"table {workspace.identifier}: {self.branch!r} is a tag and does not move")
        if existing.snapshot_id == goal.snapshot_id:
            return []
        if not base.is_ancestor(existing.snapshot_id, of=goal.snapshot_id):
            raise ValidationConflict(
                f"table {workspace.identifier}: cannot fast-forward {self.branch} to {self.to}: they have diverged; "
                "cherry-pick the commits, or replace the branch",
                table=workspace.identifier,
                retry_can_help=False,
            )
        return [SetSnapshotRef(self.branch, replace(existing, snapshot_id=goal.snapshot_id))]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetBranchSnapshot:
    """Points a branch at any snapshot of the table (set_current_snapshot), or, with `must_be_ancestor`, only at one of
    its own history (rollback)."""

    snapshot_id: int
    branch: str = MAIN_BRANCH
    must_be_ancestor: bool = False

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        base.snapshot(self.snapshot_id)
        existing = base.refs.get(self.branch)
        if existing is not None and existing.is_tag:
            raise InvalidInput(f"table {workspace.identifier}: {self.branch!r} is a tag and does not move")
        if self.must_be_ancestor:
            head_id = None if existing is None else existing.snapshot_id
            if not base.is_ancestor(self.snapshot_id, of=head_id):
                raise ValidationConflict(
                    f"table {workspace.identifier}: cannot roll back {self.branch} to snapshot {self.snapshot_id}: it is "
                    "not in the branch's history; set_current_snapshot moves to any snapshot",
                    table=workspace.identifier,
                    retry_can_help=False,
                )
        if existing is None:
            return [SetSnapshotRef(self.branch, SnapshotRef(snapshot_id=self.snapshot_id, type=RefType.BRANCH))]
        if existing.snapshot_id == self.snapshot_id:
            return []
        return [SetSnapshotRef(self.branch, replace(existing, snapshot_id=self.snapshot_id))]


def snapshot_before(base: TableMetadata, timestamp_ms: int, *, branch: str, identifier: str) -> int:
    """The newest snapshot of a branch strictly before a time (rollback_to_timestamp). Raises SnapshotNotFound."""
    ref = base.refs.get(branch)
    for ancestor in base.ancestors(None if ref is None else ref.snapshot_id):
        if ancestor.timestamp_ms < timestamp_ms:
            return ancestor.snapshot_id
    raise SnapshotNotFound(
        f"table {identifier}: no snapshot of {branch} is older than {timestamp_ms} ms", table=identifier
    )


def _added_id(updates: list[MetadataUpdate]) -> int:
    return next(update.snapshot.snapshot_id for update in updates if isinstance(update, AddSnapshot))


def _no_ref(workspace: Workspace, name: str) -> RefNotFound:
    return RefNotFound(f"table {workspace.identifier}: no branch or tag {name!r}", table=workspace.identifier, ref=name)
