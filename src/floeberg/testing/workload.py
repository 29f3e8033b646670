"""Random changes of a simulated table: each looks at the table as a writer would, writes its files, and says what it means
for the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from floeberg.commit.append import Append
from floeberg.commit.cherry_pick import CherryPick, Publish
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import Operation, Target
from floeberg.commit.overwrite import DeleteFiles, Overwrite
from floeberg.commit.pointer import TableState
from floeberg.commit.refs import CreateRef, FastForward, SetBranchSnapshot
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.commit.rewrite_manifests import RewriteManifests
from floeberg.commit.row_delta import RowDelta
from floeberg.commit.table_changes import (
    ChangeProperties,
    ChangeSchema,
    ChangeSortOrder,
    ChangeSpec,
    ChangeStatistics,
    PlainUpdates,
    UpgradeTable,
)
from floeberg.spec.data_file import DataFile
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.refs import MAIN_BRANCH, RefType
from floeberg.spec.statistics import StatisticsFile
from floeberg.spec.transforms import IdentityTransform
from floeberg.spec.types import IntegerType
from floeberg.spec.updates import RemoveSnapshots
from floeberg.testing.model import (
    Become,
    Change,
    Condition,
    Delete,
    Insert,
    Nothing,
    OverwriteWhere,
    Planned,
    ReplaceParts,
    Rows,
    Several,
    TableModel,
    Update,
    Upsert,
)
from floeberg.testing.sim_reader import LiveRow, SimReader, TableView
from floeberg.testing.sim_rows import (
    NewFile,
    Row,
    StoredRow,
    data_file,
    deletion_vectors,
    equality_deletes,
    position_deletes,
)

TAG: Final = "sim.tag"
BRANCH: Final = "side"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit: what it is called, what it does, and what it means for a branch."""

    name: str
    tag: str
    operations: Sequence[Operation]
    files: Sequence[NewFile] = ()
    change: Change = Nothing()
    branch: str = MAIN_BRANCH
    staged: bool = False
    creates_branch: str | None = None


@dataclass(slots=True)
class Shared:
    """What all writers of a history share: the reader, the model that judges it, and what each tag meant."""

    reader: SimReader
    model: TableModel
    next_value: int = 1
    changes: dict[str, Change] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)


class Writer:
    """Plans changes of a table, drawn from a seed."""

    def __init__(self, name: str, shared: Shared, seed: object, *, location: str) -> None:
        self._name = name
        self._shared = shared
        self._random = random.Random(f"writer {seed} {name}")
        self._location = location
        self._count = 0
        self._files = 0

    def plan(self, name: str, state: TableState) -> Step | None:
        """A change of this kind, planned on the state; None when there is nothing that it could do."""
        self._count += 1
        step = PLANS[name](_Planning(self, state.metadata, f"{self._name}.{self._count}"))
        if step is not None:
            self._shared.changes[step.tag] = step.change
        return step

    def path(self, suffix: str) -> str:
        self._files += 1
        return f"{self._location}/data/{self._name}-{self._files}.{suffix}"

    def value(self) -> int:
        self._shared.next_value += 1
        return self._shared.next_value


class _Planning:
    """What one plan looks at and draws."""

    def __init__(self, writer: Writer, metadata: TableMetadata, tag: str) -> None:
        self.writer = writer
        self.metadata = metadata
        self.tag = tag
        self.random = writer._random
        self.shared = writer._shared
        self.head = metadata.snapshot_for_ref(MAIN_BRANCH)
        self.number = len(self.shared.numbers) + 1
        self.shared.numbers[tag] = self.number

    @property
    def table(self) -> TableView:
        return self.shared.reader.view(self.head, self.metadata)

    def target(self, **more: object) -> Target:
        return Target(summary={TAG: self.tag}, **more)  # type: ignore[arg-type]

    def tagged(self) -> ChangeProperties:
        """Marks a commit that makes no snapshot of its own."""
        return ChangeProperties(set={f"{TAG}.{self.tag}": "1"})

    def view(self, where: Condition) -> ReadView:
        return ReadView(
            starting_snapshot_id=None if self.head is None else self.head.snapshot_id,
            conflict_filter=where.expression(),
            isolation=self.random.choice([IsolationLevel.SERIALIZABLE, IsolationLevel.SNAPSHOT]),
        )

    def condition(self) -> Condition:
        low = self.random.randrange(0, 9)
        return self.random.choice(
            [
                Condition(p=self.random.randrange(3)),
                Condition(p=self.random.randrange(3), below_id=low + 1),
                Condition(from_id=low, below_id=low + 3),
                Condition(from_id=low, below_id=low + 1),
            ]
        )

    def new_rows(self, *, p: int | None = None) -> Rows:
        count = self.random.randrange(1, 4)
        return frozenset(
            Row(self.random.randrange(10), self.random.randrange(3) if p is None else p, self.writer.value())
            for _ in range(count)
        )

    def data_files(self, rows: Sequence[StoredRow]) -> list[NewFile]:
        """Data files of the current spec, one a partition."""
        groups: dict[tuple[object, ...], list[StoredRow]] = {}
        for stored in sorted(rows):
            groups.setdefault(self.partition(stored.row), []).append(stored)
        spec_id = self.metadata.default_spec_id
        return [
            data_file(self.writer.path("parquet"), group, spec_id=spec_id, partition=partition)
            for partition, group in groups.items()
        ]

    def partition(self, row: Row, spec_id: int | None = None) -> tuple[object, ...]:
        fields = self.metadata.spec(spec_id).fields
        return tuple(row.p if isinstance(field.transform, IdentityTransform) else None for field in fields)

    def inserted(self, rows: Rows) -> list[NewFile]:
        return self.data_files([StoredRow(row) for row in rows])

    @property
    def is_partitioned(self) -> bool:
        return not self.metadata.default_spec.is_unpartitioned


def _files(new: Sequence[NewFile]) -> list[DataFile]:
    return [one.file for one in new]


def _append(plan: _Planning, *, merge: bool, name: str) -> Step:
    rows = plan.new_rows()
    new = plan.inserted(rows)
    operation = Append(files=_files(new), target=plan.target(), merge=merge)
    return Step(name=name, tag=plan.tag, operations=[operation], files=new, change=Insert(rows))


def _overwrite_filter(plan: _Planning) -> Step:
    where = Condition(p=plan.random.randrange(3)) if plan.is_partitioned else Condition()
    rows = plan.new_rows(p=where.p)
    new = plan.inserted(rows)
    view = plan.view(where) if plan.random.random() < 0.5 else None
    operation = Overwrite(added=_files(new), row_filter=where.expression(), view=view, target=plan.target())
    return Step(
        name="overwrite_filter", tag=plan.tag, operations=[operation], files=new, change=OverwriteWhere(where, rows)
    )


def _delete_files(plan: _Planning) -> Step:
    where = Condition(p=plan.random.randrange(3)) if plan.is_partitioned else Condition()
    operation = DeleteFiles(row_filter=where.expression(), target=plan.target())
    return Step(name="delete_files", tag=plan.tag, operations=[operation], change=Delete(where))


def _replace_partitions(plan: _Planning) -> Step:
    rows = plan.new_rows()
    new = plan.inserted(rows)
    where = Condition()
    view = plan.view(where) if plan.random.random() < 0.5 else None
    operation = ReplacePartitions(files=_files(new), view=view, target=plan.target())
    change = ReplaceParts(rows, plan.is_partitioned)
    return Step(name="replace_partitions", tag=plan.tag, operations=[operation], files=new, change=change)


def _matched(plan: _Planning, where: Condition) -> list[LiveRow]:
    return [live for live in plan.table.rows if where(live[2].row)]


def _meaning(view: ReadView, serial: Delete | Update, matched: Sequence[LiveRow]) -> Change:
    """What a change of matched rows means: in serial order that of its condition, else that of the rows it saw."""
    if view.is_serializable:
        return serial
    gone = frozenset(stored.row for _, _, stored in matched)
    new = frozenset(serial.version(row) for row in gone) if isinstance(serial, Update) else frozenset()
    return Planned(gone, new)


def _updated(plan: _Planning, serial: Delete | Update, matched: Sequence[LiveRow]) -> list[StoredRow]:
    """The new versions of rows; they keep their row ids."""
    if not isinstance(serial, Update):
        return []
    ids = plan.table.row_ids()
    return [StoredRow(serial.version(stored.row), ids[stored.row]) for _, _, stored in matched]


def _serial(plan: _Planning, where: Condition) -> Delete | Update:
    return Delete(where) if plan.random.random() < 0.5 else Update(where, plan.number)


def _copy_on_write(plan: _Planning) -> Step | None:
    where = plan.condition()
    matched = _matched(plan, where)
    if not matched:
        return None
    view, serial = plan.view(where), _serial(plan, where)
    paths = {file.file_path for file, _, _ in matched}
    ids = plan.table.row_ids()
    kept = [
        StoredRow(stored.row, ids[stored.row])
        for file, _, stored in plan.table.rows
        if file.file_path in paths and not where(stored.row)
    ]
    new = plan.data_files([*kept, *_updated(plan, serial, matched)])
    removed = [entry.data_file for entry in plan.table.data if entry.data_file.file_path in paths]
    operation = Overwrite(added=_files(new), removed=removed, view=view, target=plan.target())
    change = _meaning(view, serial, matched)
    return Step(name="overwrite_files", tag=plan.tag, operations=[operation], files=new, change=change)


def _merge_on_read(plan: _Planning) -> Step | None:
    where = plan.condition()
    matched = _matched(plan, where)
    if not matched or plan.metadata.format_version == 1:
        return None
    view, serial = plan.view(where), _serial(plan, where)
    deletes, removed, referenced = _position_deletes(plan, matched)
    new = [*deletes, *plan.data_files(_updated(plan, serial, matched))]
    operation = RowDelta(
        added=_files(new), removed_deletes=removed, referenced=referenced, view=view, target=plan.target()
    )
    change = _meaning(view, serial, matched)
    return Step(name="row_delta", tag=plan.tag, operations=[operation], files=new, change=change)


def _position_deletes(
    plan: _Planning, matched: Sequence[LiveRow]
) -> tuple[list[NewFile], list[DataFile], frozenset[str]]:
    """Deletes of rows as the table's version has them, the deletes that they take in, and the data files named."""
    table = plan.table
    positions: dict[str, set[int]] = {}
    files = {file.file_path: file for file, _, _ in matched}
    for file, position, _ in matched:
        positions.setdefault(file.file_path, set()).add(position)
    if plan.metadata.format_version >= 3:
        whole = {path: held | table.deleted_positions[path] for path, held in positions.items()}
        new = deletion_vectors(plan.writer.path("puffin"), whole, files=files)
        return new, [vector for path, vector in table.vectors().items() if path in positions], frozenset()
    named = plan.random.random() < 0.5
    groups: dict[object, list[str]] = {}
    for path, file in files.items():
        groups.setdefault(path if named else (file.spec_id, file.partition), []).append(path)
    new = [
        position_deletes(
            plan.writer.path("parquet"), {path: positions[path] for path in group}, of=files[group[0]], name_file=named
        )
        for group in groups.values()
    ]
    return new, [], frozenset() if named or plan.random.random() < 0.5 else frozenset(positions)


def _upsert(plan: _Planning) -> Step | None:
    if plan.metadata.format_version == 1:
        return None
    rows = frozenset({(row.id, row.p): row for row in plan.new_rows()}.values())
    new = plan.inserted(rows)
    groups: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for row in sorted(rows):
        groups.setdefault(plan.partition(row), []).append((row.id, row.p))
    spec_id = plan.metadata.default_spec_id
    new += [
        equality_deletes(plan.writer.path("parquet"), keys, spec_id=spec_id, partition=partition)
        for partition, keys in groups.items()
    ]
    operation = RowDelta(added=_files(new), target=plan.target())
    return Step(name="upsert", tag=plan.tag, operations=[operation], files=new, change=Upsert(rows))


def _rewrite_files(plan: _Planning) -> Step | None:
    table = plan.table
    groups: dict[object, list[DataFile]] = {}
    for entry in table.data:
        groups.setdefault((entry.data_file.spec_id, entry.data_file.partition), []).append(entry.data_file)
    if not groups or plan.head is None:
        return None
    removed = plan.random.choice(list(groups.values()))
    paths = {file.file_path for file in removed}
    ids = table.row_ids()
    kept = [StoredRow(stored.row, ids[stored.row]) for file, _, stored in table.rows if file.file_path in paths]
    new = []
    if kept:
        place = removed[0]
        new = [data_file(plan.writer.path("parquet"), sorted(kept), spec_id=place.spec_id, partition=place.partition)]
    keep_age = plan.random.random() < 0.5
    operation = RewriteFiles(
        removed=removed,
        added=_files(new),
        starting_snapshot_id=plan.head.snapshot_id,
        data_sequence_number=plan.head.sequence_number if keep_age else None,
        target=plan.target(),
    )
    return Step(name="rewrite_files", tag=plan.tag, operations=[operation], files=new)


def _rewrite_manifests(plan: _Planning) -> Step:
    operations: list[Operation] = [RewriteManifests(target=plan.target()), plan.tagged()]
    return Step(name="rewrite_manifests", tag=plan.tag, operations=operations)


def _stage(plan: _Planning) -> Step:
    rows = plan.new_rows()
    new = plan.inserted(rows)
    target = replace(plan.target(stage_only=True), summary={TAG: plan.tag, "wap.id": plan.tag})
    kind = plan.random.choice([Append, ReplacePartitions])
    change: Change = Insert(rows) if kind is Append else ReplaceParts(rows, plan.is_partitioned)
    operation = kind(files=_files(new), target=target)
    return Step(name="stage", tag=plan.tag, operations=[operation], files=new, change=change, staged=True)


def _publish(plan: _Planning) -> Step | None:
    """Publishes a staged snapshot by its WAP id, or picks any snapshot by its own."""
    known = plan.shared.changes
    candidates = [
        s
        for s in plan.metadata.snapshots
        if s.summary.get(TAG) in known and not isinstance(known[s.summary[TAG]], Several)
    ]
    staged = [s for s in candidates if "wap.id" in s.summary]
    pool = staged or candidates
    if not pool:
        return None
    source = plan.random.choice(pool)
    operation: Operation = CherryPick(snapshot_id=source.snapshot_id, target=plan.target())
    if staged and plan.random.random() < 0.5:
        operation = Publish(wap_id=source.summary["wap.id"], target=plan.target())
    change = plan.shared.changes[source.summary[TAG]]
    return Step(name="publish", tag=plan.tag, operations=[operation, plan.tagged()], change=change)


def _move(plan: _Planning, *, rollback: bool, name: str) -> Step | None:
    ids = list(plan.metadata.ancestor_ids(None if plan.head is None else plan.head.snapshot_id))
    if not rollback:
        ids = list(plan.metadata.snapshots.ids())
    if not ids:
        return None
    goal = plan.metadata.snapshot(plan.random.choice(ids))
    operation = SetBranchSnapshot(snapshot_id=goal.snapshot_id, must_be_ancestor=rollback)
    rows = plan.shared.reader.view(goal, plan.metadata).row_set()
    return Step(name=name, tag=plan.tag, operations=[operation, plan.tagged()], change=Become(lambda: rows))


def _branch_append(plan: _Planning) -> Step | None:
    if plan.head is None:
        return None
    rows = plan.new_rows()
    new = plan.inserted(rows)
    create = CreateRef(name=BRANCH, type=RefType.BRANCH, snapshot_id=plan.head.snapshot_id, if_not_exists=True)
    append = Append(files=_files(new), target=plan.target(branch=BRANCH))
    return Step(
        name="branch_append",
        tag=plan.tag,
        operations=[create, append],
        files=new,
        change=Insert(rows),
        branch=BRANCH,
        creates_branch=BRANCH,
    )


def _fast_forward(plan: _Planning) -> Step | None:
    if BRANCH not in plan.metadata.refs:
        return None
    model = plan.shared.model
    operations: list[Operation] = [FastForward(branch=MAIN_BRANCH, to=BRANCH), plan.tagged()]
    change = Become(lambda: model.rows(BRANCH))
    return Step(name="fast_forward", tag=plan.tag, operations=operations, change=change)


def _tag(plan: _Planning) -> Step | None:
    if plan.head is None:
        return None
    create = CreateRef(name=f"tag-{plan.tag}", type=RefType.TAG, snapshot_id=plan.head.snapshot_id)
    return Step(name="tag", tag=plan.tag, operations=[create, plan.tagged()])


def _definition(name: str, make: Callable[[_Planning], Operation]) -> Callable[[_Planning], Step]:
    def planned(plan: _Planning) -> Step:
        return Step(name=name, tag=plan.tag, operations=[make(plan), plan.tagged()])

    return planned


def _statistics(plan: _Planning) -> Step | None:
    if plan.head is None:
        return None
    path = plan.writer.path("puffin")
    file = StatisticsFile(
        snapshot_id=plan.head.snapshot_id,
        statistics_path=path,
        file_size_in_bytes=10,
        file_footer_size_in_bytes=4,
    )
    return Step(name="statistics", tag=plan.tag, operations=[ChangeStatistics(set=[file]), plan.tagged()])


def _expire(plan: _Planning) -> Step | None:
    heads = {ref.snapshot_id for ref in plan.metadata.refs.values()}
    old = [one for one in plan.metadata.snapshots.ids() if one not in heads]
    if not old:
        return None
    gone = tuple(plan.random.sample(old, plan.random.randrange(1, len(old) + 1)))
    operations: list[Operation] = [PlainUpdates(given=[RemoveSnapshots(gone)]), plan.tagged()]
    return Step(name="expire", tag=plan.tag, operations=operations)


def _transaction(plan: _Planning) -> Step:
    """New rows, then a partition emptied, then rows again: one commit."""
    first, second = plan.new_rows(), plan.new_rows()
    new, more = plan.inserted(first), plan.inserted(second)
    where = Condition(p=plan.random.randrange(3)) if plan.is_partitioned else Condition()
    operations: list[Operation] = [
        Append(files=_files(new), target=plan.target()),
        DeleteFiles(row_filter=where.expression(), target=plan.target()),
        Append(files=_files(more), target=plan.target()),
        plan.tagged(),
    ]
    change = Several([Insert(first), Delete(where), Insert(second)])
    return Step(name="transaction", tag=plan.tag, operations=operations, files=[*new, *more], change=change)


def _evolve_spec(plan: _Planning) -> Step:
    partitioned = plan.is_partitioned
    operation = ChangeSpec(edit=lambda update: update.remove_field("p") if partitioned else update.add_field("p"))
    return Step(name="evolve_spec", tag=plan.tag, operations=[operation, plan.tagged()])


PLANS: Final[dict[str, Callable[[_Planning], Step | None]]] = {
    "fast_append": lambda plan: _append(plan, merge=False, name="fast_append"),
    "merge_append": lambda plan: _append(plan, merge=True, name="merge_append"),
    "overwrite_filter": _overwrite_filter,
    "overwrite_files": _copy_on_write,
    "row_delta": _merge_on_read,
    "upsert": _upsert,
    "replace_partitions": _replace_partitions,
    "rewrite_files": _rewrite_files,
    "delete_files": _delete_files,
    "rewrite_manifests": _rewrite_manifests,
    "stage": _stage,
    "publish": _publish,
    "rollback": lambda plan: _move(plan, rollback=True, name="rollback"),
    "set_current": lambda plan: _move(plan, rollback=False, name="set_current"),
    "branch_append": _branch_append,
    "fast_forward": _fast_forward,
    "tag": _tag,
    "statistics": _statistics,
    "expire": _expire,
    "transaction": _transaction,
    "schema": _definition("schema", lambda plan: ChangeSchema(edit=_added_column(plan.tag))),
    "sort_order": _definition("sort_order", lambda plan: ChangeSortOrder(terms=[plan.random.choice(["id", "v desc"])])),
    "properties": _definition("properties", lambda plan: ChangeProperties(set={"owner": plan.tag})),
    "upgrade": _definition("upgrade", lambda plan: UpgradeTable(format_version=max(3, plan.metadata.format_version))),
    "evolve_spec": _evolve_spec,
}
"""Every kind of change, by name."""

OF_DEFINITION: Final = ("tag", "statistics", "expire", "schema", "sort_order", "properties", "upgrade", "evolve_spec")
"""Changes that touch no row."""

FIXED_SPEC: Final = ("upsert", "replace_partitions", "stage", "publish")
"""Changes whose meaning is that of partitions: not for histories in which the spec changes."""


def _added_column(tag: str) -> Callable[..., object]:
    return lambda update: update.add_column(f"c_{tag.replace('.', '_')}", IntegerType())
