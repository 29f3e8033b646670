"""Random histories of two apps, branches, rollbacks and expiry: what the records say is what the rows of the branch say."""

from __future__ import annotations

import random

import pytest

from floeberg.commit.append import Append
from floeberg.commit.idempotence import AppTransaction, last_committed
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.refs import CreateRef, FastForward, RemoveRef, RenameBranch, SetBranchSnapshot
from floeberg.commit.replace_table import ReplaceTable
from floeberg.errors import FloebergError
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.spec.snapshots.refs import RefType
from floeberg.testing.table_builder import TableBuilder

APPS = ("a", "b")
BRANCHES = ("main", "x", "y")
STEPS = 25


class History:
    """A table, and what each of its snapshots holds: the versions of each app, which no expiry takes from it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.builder = TableBuilder("id bigint", format_version=self.random.choice((1, 2, 3)))
        self.holds: dict[int, dict[str, int]] = {}
        self.log: list[str] = []

    @property
    def metadata(self):
        return self.builder.table.refresh().metadata

    def commit(self, *operations, once=None):
        return self.builder.table.refresh()._commit(*operations, once=once)

    def branch(self) -> str:
        return self.random.choice([name for name in BRANCHES if name == "main" or name in self.metadata.refs])

    def head(self, branch: str) -> dict[str, int]:
        ref = self.metadata.refs.get(branch)
        return {} if ref is None else self.holds[ref.snapshot_id]

    def some_snapshot(self) -> int:
        """One of a branch, or one whose history is whole: what expired before an abandoned snapshot, nothing knows."""
        metadata = self.metadata
        on_branches = {one for ref in metadata.refs.values() for one in metadata.ancestor_ids(ref.snapshot_id)}
        whole = [one.snapshot_id for one in metadata.snapshots if self.is_whole(one.snapshot_id)]
        return self.random.choice(sorted({*on_branches, *whole}))

    def is_whole(self, snapshot_id: int) -> bool:
        *_, oldest = self.metadata.ancestors(snapshot_id)
        return oldest.parent_snapshot_id is None

    def send(self) -> None:
        app, branch = self.random.choice(APPS), self.branch()
        known = self.head(branch)
        version = self.random.randint(max(0, known.get(app, 0) - 2), known.get(app, 0) + 2)
        once = AppTransaction(app_id=app, version=version, branch=branch)
        append = Append(files=[self.builder.data_file((version,))], target=SnapshotTarget(branch=branch))
        committed = self.commit(append, once=once)
        assert (committed.skipped is not None) == (version <= known.get(app, -1)), (app, version, branch, self.log)
        for made in committed.snapshots:
            self.holds[made.snapshot_id] = {**known, app: version}

    def append(self) -> None:
        branch = self.branch()
        known = self.head(branch)
        (made,) = self.commit(
            Append(files=[self.builder.data_file((-1,))], target=SnapshotTarget(branch=branch))
        ).snapshots
        self.holds[made.snapshot_id] = known

    def roll_back(self) -> None:
        branch = self.branch()
        ref = self.metadata.refs[branch]
        goal = self.random.choice([*self.metadata.ancestor_ids(ref.snapshot_id)])
        self.commit(SetBranchSnapshot(snapshot_id=goal, branch=branch, must_be_ancestor=True))

    def set_current(self) -> None:
        self.commit(SetBranchSnapshot(snapshot_id=self.some_snapshot(), branch=self.branch()))

    def create(self) -> None:
        name = self.random.choice(BRANCHES[1:])
        self.commit(CreateRef(name=name, type=RefType.BRANCH, snapshot_id=self.some_snapshot(), replace=True))

    def drop(self) -> None:
        self.commit(RemoveRef(name=self.random.choice(BRANCHES[1:])))

    def rename(self) -> None:
        self.commit(RenameBranch(name=self.random.choice(BRANCHES[1:]), to=self.random.choice(BRANCHES[1:])))

    def fast_forward(self) -> None:
        self.commit(FastForward(branch=self.branch(), to=self.branch()))

    def replace(self) -> None:
        self.commit(ReplaceTable(schema=self.builder.table.schema))

    def expire(self) -> None:
        table = self.builder.table.refresh()
        keep = self.random.randint(1, 3)
        expire_snapshots(table._pointer, table._state, Expiry(older_than_ms=2**62, retain_last=keep))

    def upgrade(self) -> None:
        table = self.builder.table.refresh()
        with table.update_properties() as properties:
            properties.set({"format-version": str(min(3, table.format_version + 1))})

    def check(self) -> None:
        for branch in BRANCHES:
            if branch != "main" and branch not in self.metadata.refs:
                continue
            for app in APPS:
                found = last_committed(self.metadata, app, branch=branch)
                version = None if found is None else found.version
                assert version == self.head(branch).get(app), (branch, app, self.log)


@pytest.mark.parametrize("seed", range(30))
def test_the_records_of_a_branch_say_what_it_holds(seed):
    history = History(seed)
    kinds = [history.send] * 6 + [history.append] * 2 + [history.expire] * 2
    kinds += [history.upgrade, history.roll_back, history.set_current, history.create, history.drop, history.rename]
    kinds += [history.fast_forward, history.fast_forward, history.replace]
    for _ in range(STEPS):
        step = history.random.choice(kinds)
        history.log.append(step.__name__)
        try:
            step()
        except (FloebergError, IndexError, KeyError):
            history.log[-1] += " refused"  # no such branch or snapshot at the moment
        history.check()
