"""Random changes of a simulated table: each looks at the table as a writer would, writes its files, and says what it means
for the model."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from floeberg.commit.append import Append
from floeberg.commit.cherry_pick import WAP_ID, CherryPick, Publish
from floeberg.commit.delete_files import DeleteFiles
from floeberg.commit.operation import Operation
from floeberg.commit.pointer import TableState
from floeberg.commit.refs import CreateRef, FastForward, SetBranchSnapshot
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.commit.rewrite_manifests import RewriteManifests
from floeberg.commit.table_changes import (
    ChangeProperties,
    ChangeSchema,
    ChangeSortOrder,
    ChangeSpec,
    ChangeStatistics,
    PlainUpdates,
    UpgradeTable,
)
from floeberg.spec.changes.updates import RemoveSnapshots
from floeberg.spec.snapshots.refs import MAIN_BRANCH, RefType
from floeberg.spec.snapshots.statistics import StatisticsFile
from floeberg.spec.types import IntegerType
from floeberg.testing import row_changes
from floeberg.testing.model import Become, Change, Condition, Delete, Insert, ReplaceParts, Several
from floeberg.testing.planning import TAG, Planning, Shared, Step, files_of

BRANCH: Final = "side"


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
        step = PLANS[name](
            Planning(
                self,
                state.metadata,
                f"{self._name}.{self._count}",
                shared=self._shared,
                chance=self._random,
            )
        )
        if step is not None:
            self._shared.changes[step.tag] = step.change
        return step

    def path(self, suffix: str) -> str:
        self._files += 1
        return f"{self._location}/data/{self._name}-{self._files}.{suffix}"

    def value(self) -> int:
        self._shared.next_value += 1
        return self._shared.next_value


def _rewrite_manifests(plan: Planning) -> Step:
    operations: list[Operation] = [RewriteManifests(target=plan.target()), plan.tagged()]
    return Step(name="rewrite_manifests", tag=plan.tag, operations=operations)


def _stage(plan: Planning) -> Step:
    rows = plan.new_rows()
    new = plan.inserted(rows)
    target = replace(plan.target(stage_only=True), summary={TAG: plan.tag, WAP_ID: plan.tag})
    kind = plan.random.choice([Append, ReplacePartitions])
    change: Change = Insert(rows) if kind is Append else ReplaceParts(rows, plan.is_partitioned)
    operation = kind(files=files_of(new), target=target)
    return Step(name="stage", tag=plan.tag, operations=[operation], files=new, change=change, staged=True)


def _publish(plan: Planning) -> Step | None:
    """Publishes a staged snapshot by its WAP id, or picks any snapshot by its own."""
    known = plan.shared.changes
    candidates = [
        s
        for s in plan.metadata.snapshots
        if s.summary.get(TAG) in known and not isinstance(known[s.summary[TAG]], Several)
    ]
    staged = [s for s in candidates if WAP_ID in s.summary]
    pool = staged or candidates
    if not pool:
        return None
    source = plan.random.choice(pool)
    operation: Operation = CherryPick(snapshot_id=source.snapshot_id, target=plan.target())
    if staged and plan.random.random() < 0.5:
        operation = Publish(wap_id=source.summary[WAP_ID], target=plan.target())
    change = plan.shared.changes[source.summary[TAG]]
    return Step(name="publish", tag=plan.tag, operations=[operation, plan.tagged()], change=change)


def _move(plan: Planning, *, rollback: bool, name: str) -> Step | None:
    ids = list(plan.metadata.ancestor_ids(None if plan.head is None else plan.head.snapshot_id))
    if not rollback:
        ids = list(plan.metadata.snapshots.ids())
    if not ids:
        return None
    goal = plan.metadata.snapshot(plan.random.choice(ids))
    operation = SetBranchSnapshot(snapshot_id=goal.snapshot_id, must_be_ancestor=rollback)
    rows = plan.shared.reader.view(goal, plan.metadata).row_set()
    return Step(name=name, tag=plan.tag, operations=[operation, plan.tagged()], change=Become(lambda: rows))


def _branch_append(plan: Planning) -> Step | None:
    if plan.head is None:
        return None
    rows = plan.new_rows()
    new = plan.inserted(rows)
    create = CreateRef(name=BRANCH, type=RefType.BRANCH, snapshot_id=plan.head.snapshot_id, if_not_exists=True)
    append = Append(files=files_of(new), target=plan.target(branch=BRANCH))
    return Step(
        name="branch_append",
        tag=plan.tag,
        operations=[create, append],
        files=new,
        change=Insert(rows),
        branch=BRANCH,
        creates_branch=BRANCH,
    )


def _fast_forward(plan: Planning) -> Step | None:
    if BRANCH not in plan.metadata.refs:
        return None
    model = plan.shared.model
    operations: list[Operation] = [FastForward(branch=MAIN_BRANCH, to=BRANCH), plan.tagged()]
    change = Become(lambda: model.rows(BRANCH))
    return Step(name="fast_forward", tag=plan.tag, operations=operations, change=change)


def _tag(plan: Planning) -> Step | None:
    if plan.head is None:
        return None
    create = CreateRef(name=f"tag-{plan.tag}", type=RefType.TAG, snapshot_id=plan.head.snapshot_id)
    return Step(name="tag", tag=plan.tag, operations=[create, plan.tagged()])


def _definition(name: str, make: Callable[[Planning], Operation]) -> Callable[[Planning], Step]:
    def planned(plan: Planning) -> Step:
        return Step(name=name, tag=plan.tag, operations=[make(plan), plan.tagged()])

    return planned


def _statistics(plan: Planning) -> Step | None:
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


def _expire(plan: Planning) -> Step | None:
    heads = {ref.snapshot_id for ref in plan.metadata.refs.values()}
    old = [one for one in plan.metadata.snapshots.ids() if one not in heads]
    if not old:
        return None
    gone = tuple(plan.random.sample(old, plan.random.randrange(1, len(old) + 1)))
    operations: list[Operation] = [PlainUpdates(given=[RemoveSnapshots(gone)]), plan.tagged()]
    return Step(name="expire", tag=plan.tag, operations=operations)


def _transaction(plan: Planning) -> Step:
    """New rows, then a partition emptied, then rows again: one commit."""
    first, second = plan.new_rows(), plan.new_rows()
    new, more = plan.inserted(first), plan.inserted(second)
    where = Condition(p=plan.random.randrange(3)) if plan.is_partitioned else Condition()
    operations: list[Operation] = [
        Append(files=files_of(new), target=plan.target()),
        DeleteFiles(row_filter=where.expression(), target=plan.target()),
        Append(files=files_of(more), target=plan.target()),
        plan.tagged(),
    ]
    change = Several([Insert(first), Delete(where), Insert(second)])
    return Step(name="transaction", tag=plan.tag, operations=operations, files=[*new, *more], change=change)


def _evolve_spec(plan: Planning) -> Step:
    partitioned = plan.is_partitioned
    operation = ChangeSpec(edit=lambda update: update.remove_field("p") if partitioned else update.add_field("p"))
    return Step(name="evolve_spec", tag=plan.tag, operations=[operation, plan.tagged()])


PLANS: Final[dict[str, Callable[[Planning], Step | None]]] = {
    "fast_append": lambda plan: row_changes.append(plan, merge=False, name="fast_append"),
    "merge_append": lambda plan: row_changes.append(plan, merge=True, name="merge_append"),
    "overwrite_filter": row_changes.overwrite_filter,
    "overwrite_files": row_changes.copy_on_write,
    "row_delta": row_changes.merge_on_read,
    "upsert": row_changes.upsert,
    "replace_partitions": row_changes.replace_partitions,
    "rewrite_files": row_changes.rewrite_files,
    "delete_files": row_changes.delete_files,
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
