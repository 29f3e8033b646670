"""Random stories of one table: writes on branches, evolution, references and maintenance, beside a model of plain dicts.

The model knows what every snapshot holds, so that each branch, tag and live snapshot can be compared with it after any step. In
version 3 it also knows what the specification says of a row's lineage: an id once given stays with the row, is never given
to another, and the row's last updated sequence number is that of the commit that added or updated it.
https://iceberg.apache.org/spec/#row-lineage
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from floeberg.api.table import Table
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.maintenance.check_report import Problem
from floeberg.spec.schemas.metadata_columns import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Operation, Snapshot
from floeberg.spec.types import UNSET, NestedField
from floeberg.testing.sim_catalogs import sim_lake
from floeberg.testing.simulated import SimWorld
from floeberg.testing.table_builder import TableBuilder

_DAY_MS: Final = 24 * 60 * 60 * 1000
_MODES: Final = ("copy-on-write", "merge-on-read")
_TERMS: Final = ("p", "bucket(2, id)", "truncate(1, v)")
_POOLS: Final[dict[str, tuple[Any, ...]]] = {"string": (None, "a", "b", "ab"), "int": (None, -1, 0, 7)}
_WASTE: Final = (Problem.DANGLING_DELETE, Problem.PARTLY_DANGLING_DELETE)
"""What a check may warn of in a sound table: deletes of rows that are gone."""

WRITES: Final = ("append", "delete", "update", "upsert", "overwrite", "delete_by_key", "delete_by_value")
DEFINITIONS: Final = ("evolve_schema", "evolve_spec", "upgrade")
REFS: Final = ("make_ref", "remove_ref", "move_branch", "pick")
MAINTENANCE: Final = ("compact", "rewrite_deletes", "rewrite_manifests", "expire", "orphans")


@dataclass(frozen=True, slots=True)
class Row:
    """The values of a row by field id. Its lineage is None until it is known."""

    values: dict[int, Any]
    row_id: int | None = None
    updated: int | None = None


State = dict[int, Row]
"""What a snapshot holds, by the column `id`, which is unique."""


class TableStory:
    """One table and what is known of it. Everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rng = rng = random.Random(f"story {seed}")
        self._world = SimWorld(f"story {seed}")
        self._process = self._world.process("writer")
        self._builder = TableBuilder(
            "id bigint, p int, v string, n int",
            partition_by=rng.choice([(), ("p",), ("bucket(2, id)",)]),
            format_version=rng.choice([2, 2, 3, 3, 3]),
            properties={"commit.manifest.min-count-to-merge": rng.choice(["2", "100"])},
            in_catalog=sim_lake(self._process),
        )
        self._states: dict[int, State] = {}
        self._refs: dict[str, int] = {}
        self._owners: dict[int, int] = {}
        self._strays: list[str] = []
        self._next_key = 0
        self._next_name = 0
        self.done: list[str] = []
        self.counts: Counter[str] = Counter()

    @property
    def table(self) -> Table:
        return self._builder.table

    def run(self, steps: int) -> None:
        """Raises AssertionError, with the seed and what was done, where the table and the model differ."""
        try:
            self._play("append")
            for step in self._rng.sample(2 * (*WRITES, *REFS, *MAINTENANCE) + DEFINITIONS, steps):
                self._play(step)
            self._compare_everything()
        except Exception as error:
            raise AssertionError(f"story {self._seed}: {error}; after {', '.join(self.done)}") from error

    def _play(self, step: str) -> None:
        self._world.time_ms += self._rng.choice([1_000, _DAY_MS])
        self.done.append(step)
        try:
            getattr(self, f"_{step}")()
            self.counts[step] += 1
        except (InvalidInput, ValidationConflict) as refused:
            if step not in (*DEFINITIONS, *REFS):
                raise
            self.done[-1] += f" refused ({refused})"
            self.counts["refused"] += 1
        self._compare_refs()
        if step in ("expire", "orphans"):
            self._compare_everything()

    # writes

    def _append(self) -> None:
        branch = self._branch()
        rows = self._new_rows(self._rng.randint(1, 5))
        self._saw(branch, self.table.append(self._arrow(rows), branch=branch), came=rows)

    def _delete(self) -> None:
        self._choose_modes()
        branch = self._branch()
        gone = self._some(branch)
        self._saw(branch, self.table.delete(_of_keys(gone), branch=branch), gone=gone)

    def _update(self) -> None:
        self._choose_modes()
        branch = self._branch()
        changed = self._some(branch)
        field = self._rng.choice([field for field in self.table.schema.fields if field.name != "id"])
        value = self._rng.choice(_POOLS["string" if str(field.type) == "string" else "int"])
        state, schema = self._head(branch), self.table.schema
        came = {key: {**_read(state[key], schema), field.field_id: value} for key in changed}
        self._saw(branch, self.table.update({field.name: value}, where=_of_keys(changed), branch=branch), came=came)

    def _upsert(self) -> None:
        self._choose_modes()
        branch = self._branch()
        came = {key: self._values(key) for key in self._some(branch)} | self._new_rows(self._rng.randint(0, 2))
        if came:
            self._saw(branch, self.table.upsert(self._arrow(came), on=["id"], branch=branch), came=came)

    def _overwrite(self) -> None:
        branch = self._branch()
        gone, came = self._some(branch), self._new_rows(self._rng.randint(1, 2))
        snapshot = self.table.overwrite(self._arrow(came), where=_of_keys(gone), branch=branch)
        self._saw(branch, snapshot, gone=gone, came=came)

    def _delete_by_key(self) -> None:
        """Another engine deletes a row by its key, in the spec and partition of its file."""
        branch = self._branch()
        gone = self._some(branch)[:1]
        if not gone:
            return
        found = self.table.scan(where=_of_keys(gone), ref=branch, metadata_columns=["_file"]).to_arrow()
        (place,) = found["_file"].to_pylist()
        (file,) = [one for one in self._builder.data(ref=branch) if one.file_path == place]
        self._commit_deletes(branch, self._builder.equality_deletes((gone[0],), of=file), gone)

    def _delete_by_value(self) -> None:
        """Another engine deletes all rows with the value of a column, in every spec and partition."""
        branch = self._branch()
        chosen = self._some(branch)[:1]
        if not chosen or not self.table.spec.is_unpartitioned:
            return
        state, schema = self._head(branch), self.table.schema
        field = self._rng.choice(schema.fields)
        value = _read(state[chosen[0]], schema)[field.field_id]
        gone = [key for key, row in state.items() if _read(row, schema)[field.field_id] == value]
        self._commit_deletes(branch, self._builder.equality_deletes((value,), columns=(field.name,)), gone)

    def _commit_deletes(self, branch: str, deletes: Any, gone: Iterable[int]) -> None:
        committed = self.table._commit(RowDelta(added=[deletes], target=SnapshotTarget(branch=branch)))
        self._saw(branch, committed.snapshots[-1], gone=gone)

    def _choose_modes(self) -> None:
        modes = {f"write.{kind}.mode": self._rng.choice(_MODES) for kind in ("delete", "update", "merge")}
        self._builder.set({**modes, "write.delete.granularity": self._rng.choice(["file", "partition"])})

    # definitions

    def _evolve_schema(self) -> None:
        kind = self._rng.choice(["add", "add", "drop", "rename", "move", "promote"])
        others = [field.name for field in self.table.schema.fields if field.name != "id"]
        name = self._rng.choice(others)
        with self.table.update_schema() as update:
            if kind == "add":
                default = {"default": 7} if self.table.format_version > 2 and self._rng.random() < 0.7 else {}
                update.add_column(self._name("c"), "int", **default)
            elif kind == "drop" and len(others) > 1:
                update.drop_column(name)
            elif kind == "rename" and name not in ("p", "v"):
                update.rename_column(name, self._name("r"))
            elif kind == "promote":
                update.update_type(name, "long")
            else:
                update.move_first(name)
        self.done[-1] += f" {kind} {name}"

    def _evolve_spec(self) -> None:
        with self.table.update_spec() as update:
            known = [field.name for field in self.table.spec.fields]
            if known and self._rng.random() < 0.6:
                update.remove_field(self._rng.choice(known))
            else:
                update.add_field(self._rng.choice(_TERMS))

    def _upgrade(self) -> None:
        self._builder.set({"format-version": "3"})

    # references

    def _make_ref(self) -> None:
        snapshot_id = self._rng.choice([one.snapshot_id for one in self.table.snapshots])
        name = self._name("ref")
        with self.table.manage_refs() as refs:
            make = self._rng.choice([refs.create_branch, refs.create_tag])
            make(name, snapshot_id)
        self._refs[name] = snapshot_id

    def _remove_ref(self) -> None:
        others = [name for name in self._refs if name != MAIN_BRANCH]
        if not others:
            return
        name = self._rng.choice(others)
        with self.table.manage_refs() as refs:
            (refs.remove_tag if self.table.refs[name].is_tag else refs.remove_branch)(name)
        del self._refs[name]

    def _move_branch(self) -> None:
        branch, kind = self._branch(), self._rng.choice(["rollback", "set", "forward"])
        goal = self._rng.choice([one.snapshot_id for one in self.table.snapshots])
        if kind == "rollback":
            goal = self._rng.choice([one.snapshot_id for one in self._ancestors(branch)[:3]])
        elif kind == "forward":
            ahead = self._rng.choice(sorted(self._refs))
            goal = self._refs[ahead]
        with self.table.manage_refs() as refs:
            if kind == "rollback":
                refs.rollback_to_snapshot(goal, branch=branch)
            elif kind == "set":
                refs.set_current_snapshot(goal, branch=branch)
            else:
                refs.fast_forward(branch, ahead)
        self._refs[branch] = goal
        self.done[-1] += f" {kind}"

    def _pick(self) -> None:
        """Cherry-picks an append whose rows the branch does not hold."""
        branch = self._branch()
        head, found = self._head(branch), []
        for snapshot in self.table.snapshots:
            before = self._states.get(snapshot.parent_snapshot_id or 0)
            added = self._states[snapshot.snapshot_id].keys() - (before or {}).keys()
            known_parent = before is not None or snapshot.parent_snapshot_id is None
            if snapshot.operation == Operation.APPEND and known_parent and not added & head.keys():
                found.append((snapshot, added))
        if not found:
            return
        chosen, added = self._rng.choice(found)
        with self.table.manage_refs() as refs:
            refs.cherry_pick(chosen.snapshot_id, branch=branch)
        made = self.table.metadata.snapshot_for_ref(branch)
        assert made is not None
        came = {key: replace(self._states[chosen.snapshot_id][key], row_id=None, updated=None) for key in added}
        self._states.setdefault(made.snapshot_id, {**head, **came})
        self._refs[branch] = made.snapshot_id

    # maintenance

    def _compact(self) -> None:
        options = {name: self._rng.choice(["true", "false"]) for name in ("rewrite-all", "remove-dangling-deletes")}
        options |= {"min-input-files": "2", "partial-progress.enabled": self._rng.choice(["true", "false"])}
        order = self._rng.choice([None, None, "id desc", "zorder(id, n)"])
        if order is not None and "n" in order and "n" not in {field.name for field in self.table.schema.fields}:
            order = None
        self._maintain(lambda branch: self.table.maintenance.compact(options=options, sort_order=order, branch=branch))

    def _rewrite_deletes(self) -> None:
        equality: Any = self._rng.choice(["keep", "convert"])
        options = {"min-input-files": "2"}
        self._maintain(
            lambda branch: self.table.maintenance.rewrite_deletes(equality=equality, options=options, branch=branch)
        )

    def _rewrite_manifests(self) -> None:
        self._maintain(lambda branch: self.table.maintenance.rewrite_manifests(branch=branch))

    def _maintain(self, work: Callable[[str], object]) -> None:
        """Work on a branch that changes no row."""
        branch = self._branch()
        before = self._head(branch)
        work(branch)
        for snapshot in self.table.snapshots:
            self._states.setdefault(snapshot.snapshot_id, dict(before))
        self._refs[branch] = self.table.metadata.refs[branch].snapshot_id

    def _expire(self) -> None:
        last = self._rng.randint(1, 3)
        kept = {one.snapshot_id for branch in self._branches() for one in self._ancestors(branch)[:last]}
        kept |= set(self._refs.values())
        now_ms = self._process.effects.clock.now_ms()
        self.table.maintenance.expire_snapshots(
            older_than=now_ms, retain_last=last, clean_expired_metadata=self._rng.random() < 0.5
        )
        assert {one.snapshot_id for one in self.table.snapshots} == kept, "other snapshots are left than should be"

    def _orphans(self) -> None:
        """What a writer that died left behind goes, and nothing else."""
        self._strays += [file.file_path for file in self._builder.data_files(*self._tuples(self._new_rows(2)))]
        assert all(path in self._world.disk.objects for path in self._strays[-1:])
        self._world.time_ms += 4 * _DAY_MS
        self.table.maintenance.remove_orphans(dry_run=False)
        left = [path for path in self._strays if path in self._world.disk.objects]
        assert left == [], f"orphans are left: {left}"

    # the model

    def _saw(
        self,
        branch: str,
        snapshot: Snapshot | None,
        *,
        gone: Iterable[int] = (),
        came: dict[int, dict[int, Any]] | None = None,
    ) -> None:
        """A commit to a branch: rows that went, and rows that are new or updated."""
        gone, came, before = set(gone), came or {}, self._head(branch)
        if snapshot is None:
            assert gone | came.keys() == set(), f"nothing was committed, and {sorted(gone | came.keys())} should change"
            return
        after = {key: row for key, row in before.items() if key not in gone}
        updated = snapshot.sequence_number if self.table.format_version > 2 else None
        for key, values in came.items():
            after[key] = Row(values, before[key].row_id if key in before else None, updated)
        self._states[snapshot.snapshot_id] = after
        self._refs[branch] = snapshot.snapshot_id

    def _compare_refs(self) -> None:
        refs = self.table.metadata.refs
        assert {name: ref.snapshot_id for name, ref in refs.items()} == self._refs, (
            "other references than there should be"
        )
        for name, ref in refs.items():
            snapshot = self.table.metadata.snapshot(ref.snapshot_id)
            schema = self.table.metadata.schema_of_snapshot(snapshot) if ref.is_tag else self.table.schema
            self._compare(snapshot, schema, ref=name)

    def _compare_everything(self) -> None:
        for snapshot in self.table.snapshots:
            schema = self.table.metadata.schema_of_snapshot(snapshot)
            self._compare(snapshot, schema, snapshot_id=snapshot.snapshot_id)
        report = self.table.maintenance.check(read_rows=True)
        found = [one for one in report.findings if one.problem not in _WASTE]
        assert found == [], f"the check finds {found}"

    def _compare(self, snapshot: Snapshot, schema: Schema, **choice: Any) -> None:
        has_lineage = self.table.format_version > 2
        extra = [ROW_ID.name, LAST_UPDATED_SEQUENCE_NUMBER.name] if has_lineage else False
        scan = self.table.scan(metadata_columns=extra, options={"threads": "1"}, **choice)
        found, state = scan.to_arrow().to_pylist(), self._states[snapshot.snapshot_id]
        keyed = {row["id"]: {field.field_id: row[field.name] for field in schema.fields} for row in found}
        expected = {key: _read(row, schema) for key, row in state.items()}
        assert len(keyed) == len(found), f"{choice}: rows are there twice"
        assert keyed == expected, f"{choice}: {_difference(keyed, expected)}"
        assert scan.count() == len(expected), f"{choice}: another count"
        for row in found if has_lineage else ():
            self._compare_lineage(snapshot, state, row["id"], row[ROW_ID.name], row[LAST_UPDATED_SEQUENCE_NUMBER.name])

    def _compare_lineage(self, snapshot: Snapshot, state: State, key: int, row_id: Any, updated: Any) -> None:
        if snapshot.first_row_id is None:
            assert row_id is None, f"row {key} has the id {row_id} in a snapshot of version 2"
            return
        assert row_id in range(self.table.metadata.next_row_id), f"row {key} has the id {row_id}"
        assert self._owners.setdefault(row_id, key) == key, f"row {key} has the id of row {self._owners[row_id]}"
        assert updated in range(snapshot.sequence_number + 1), f"row {key} was updated at {updated}"
        known = state[key]
        assert known.row_id in (None, row_id), f"row {key} had the id {known.row_id} and has {row_id}"
        assert known.updated in (None, updated), f"row {key} was updated at {known.updated}, not at {updated}"
        state[key] = replace(known, row_id=row_id, updated=updated)

    def _head(self, branch: str) -> State:
        return self._states[self._refs[branch]] if branch in self._refs else {}

    def _branches(self) -> list[str]:
        return [name for name, ref in self.table.metadata.refs.items() if not ref.is_tag]

    def _branch(self) -> str:
        others = sorted(set(self._branches()) - {MAIN_BRANCH})
        branch = self._rng.choice(others) if others and self._rng.random() < 0.4 else MAIN_BRANCH
        self.done[-1] += f" {branch}"
        return branch

    def _ancestors(self, branch: str) -> list[Snapshot]:
        return list(self.table.metadata.ancestors(self._refs[branch]))

    def _some(self, branch: str) -> list[int]:
        keys = sorted(self._head(branch))
        return self._rng.sample(keys, min(len(keys), self._rng.randint(1, 3)))

    # new things

    def _name(self, kind: str) -> str:
        self._next_name += 1
        return f"{kind}{self._next_name}"

    def _new_rows(self, count: int) -> dict[int, dict[int, Any]]:
        first, self._next_key = self._next_key, self._next_key + count
        return {key: self._values(key) for key in range(first, first + count)}

    def _values(self, key: int) -> dict[int, Any]:
        return {field.field_id: self._value(field, key) for field in self.table.schema.fields}

    def _value(self, field: NestedField, key: int) -> Any:
        if field.name == "id":
            return key
        return self._rng.choice(_POOLS["string" if str(field.type) == "string" else "int"])

    def _tuples(self, rows: dict[int, dict[int, Any]]) -> list[tuple[Any, ...]]:
        return [tuple(values[field.field_id] for field in self.table.schema.fields) for values in rows.values()]

    def _arrow(self, rows: dict[int, dict[int, Any]]) -> Any:
        return self._builder.arrow(self._tuples(rows))


def run_stories(seeds: Iterable[int], *, steps: int = 14) -> Counter[str]:
    """Plays stories, and counts the steps that were made."""
    total: Counter[str] = Counter()
    for seed in seeds:
        story = TableStory(seed)
        story.run(steps)
        total += story.counts
    return total


def _read(row: Row, schema: Schema) -> dict[int, Any]:
    """The row as a reader with a schema sees it: a column that was added since has its initial default."""
    defaults = {f.field_id: None if f.initial_default is UNSET else f.initial_default for f in schema.fields}
    return {field_id: row.values.get(field_id, default) for field_id, default in defaults.items()}


def _of_keys(keys: Iterable[int]) -> str:
    return f"id in ({', '.join(map(str, [*keys] or [-1]))})"


def _difference(found: dict[int, Any], expected: dict[int, Any]) -> str:
    lost, revived = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    changed = {
        key: (found[key], expected[key]) for key in found.keys() & expected.keys() if found[key] != expected[key]
    }
    return f"lost {lost}, revived {revived}, changed {changed}"
