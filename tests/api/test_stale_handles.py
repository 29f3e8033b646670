"""A change through an object that is stale acts on the table's current state: interleaved handles are one serial history."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.catalogs.view_changes import ViewDefinition
from floeberg.errors import InvalidInput, TableNotFound, ValidationConflict

SEEDS = range(6)
STEPS = 14
Rows = dict[int, tuple[int, str]]
"""The model: key → (partition, value)."""


def _lake(kind: str, folder: Path) -> Catalog:
    if kind == "memory":
        lake = catalog("lake", type="memory")
    elif kind == "sql":
        lake = catalog("lake", type="sql", uri=f"sqlite:///{folder}/lake.db", warehouse=str(folder / "lake"))
    else:
        lake = catalog("lake", warehouse=str(folder / "lake"))
    lake.create_namespace("db")
    return lake


@pytest.fixture(params=["filesystem", "sql", "memory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    return _lake(request.param, tmp_path)


def _table(rows: Rows) -> pa.Table:
    columns = {"k": [*rows], "p": [p for p, _ in rows.values()], "v": [v for _, v in rows.values()]}
    return pa.table(columns, schema=pa.schema([("k", pa.int64()), ("p", pa.int64()), ("v", pa.string())]))


def _read(table: Table) -> Rows:
    rows = table.scan(select=["k", "p", "v"]).to_arrow().to_pylist()
    assert len({row["k"] for row in rows}) == len(rows), "a key is there twice"
    return {row["k"]: (row["p"], row["v"]) for row in rows}


class _Run:
    """One table, several handles of it, and the rows that a serial execution leaves."""

    def __init__(self, lake: Catalog, rng: random.Random) -> None:
        self.rng = rng
        mode = rng.choice(["copy-on-write", "merge-on-read"])
        made = lake.create_table(
            "db.t",
            "k bigint, p bigint, v string",
            partition_by=rng.choice([(), ("p",)]),
            format_version=rng.choice([2, 3]),
            properties={f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")},
        )
        self.is_partitioned = bool(made.spec.fields)
        self.handles = [made, lake.load_table("db.t"), lake.load_table("db.t")]
        self.lake = lake
        self.rows: Rows = {}
        self.next_key = 0
        self.added = 0

    def new_rows(self) -> Rows:
        count = self.rng.randint(1, 4)
        made = {self.next_key + i: (self.rng.randint(0, 2), f"v{self.rng.randint(0, 9)}") for i in range(count)}
        self.next_key += count
        return made

    def condition(self) -> tuple[str, Callable[[int, int], bool]]:
        if self.rng.random() < 0.4:
            p = self.rng.randint(0, 2)
            return f"p = {p}", lambda key, part: part == p
        key = self.rng.randint(0, max(1, self.next_key))
        return f"k >= {key}", lambda k, part: k >= key

    def append(self, table: Table) -> None:
        new = self.new_rows()
        table.append(_table(new))
        self.rows |= new

    def delete(self, table: Table) -> None:
        text, test = self.condition()
        table.delete(where=text)
        self.rows = {key: row for key, row in self.rows.items() if not test(key, row[0])}

    def update(self, table: Table) -> None:
        text, test = self.condition()
        value = f"u{self.rng.randint(0, 99)}"
        table.update({"v": value}, where=text)
        self.rows = {k: (p, value) if test(k, p) else (p, v) for k, (p, v) in self.rows.items()}

    def upsert(self, table: Table) -> None:
        known = self.rng.sample(sorted(self.rows), min(2, len(self.rows)))
        given = {key: (self.rng.randint(0, 2), "up") for key in known} | self.new_rows()
        table.upsert(_table(given), on=["k"])
        self.rows |= given

    def overwrite(self, table: Table) -> None:
        text, test = self.condition()
        new = self.new_rows()
        table.overwrite(_table(new), where=text)
        self.rows = {key: row for key, row in self.rows.items() if not test(key, row[0])} | new

    def overwrite_all(self, table: Table) -> None:
        self.rows = self.new_rows()
        table.overwrite(_table(self.rows))

    def overwrite_partitions(self, table: Table) -> None:
        new = self.new_rows()
        table.overwrite_partitions(_table(new))
        gone = {p for p, _ in new.values()}
        kept = {key: row for key, row in self.rows.items() if self.is_partitioned and row[0] not in gone}
        self.rows = kept | new

    def transaction(self, table: Table) -> None:
        new = self.new_rows()
        text, test = self.condition()
        with table.transaction() as tx:
            assert _read(table) == self.rows  # inside the block the object shows what the transaction began with
            tx.append(_table(new))
            tx.delete(where=text)
        self.rows = {key: row for key, row in (self.rows | new).items() if not test(key, row[0])}

    def add_column(self, table: Table) -> None:
        with table.update_schema() as update:
            update.add_column(f"c{self.added}", "int")
        self.added += 1

    def drop_column(self, table: Table) -> None:
        if self.added:
            self.added -= 1
            with table.update_schema() as update:  # another handle may have added it
                update.drop_column(f"c{self.added}")


def test_interleaved_handles_are_one_serial_history(lake: Catalog) -> None:
    for seed in SEEDS:
        rng = random.Random(seed)
        run = _Run(lake, rng)
        names = [name for name in vars(_Run) if not name.startswith("_") and name not in ("new_rows", "condition")]
        for step in range(STEPS):
            name = "append" if step == 0 else rng.choice(names)
            handle = rng.choice(run.handles)
            getattr(run, name)(handle)
            assert _read(lake.load_table("db.t")) == run.rows, (seed, step, name)
            assert _read(handle.refresh()) == run.rows, (seed, step, name)
        lake.drop_table("db.t")


@pytest.fixture
def handles(lake: Catalog) -> tuple[Table, Table]:
    made = lake.create_table("db.t", "k bigint, p bigint, v string", properties={"a": "1"})
    return made, lake.load_table("db.t")


def test_a_delete_on_a_stale_handle_deletes_what_another_appended(handles: tuple[Table, Table]) -> None:
    stale, other = handles
    other.append(_table({1: (1, "x"), 2: (2, "y")}))
    assert stale.delete(where="k = 1") is not None
    assert _read(stale) == _read(other.refresh()) == {2: (2, "y")}


def test_a_handle_reads_the_state_it_holds_until_it_changes_something(handles: tuple[Table, Table]) -> None:
    stale, other = handles
    other.append(_table({1: (1, "x")}))
    assert _read(stale) == {}
    stale.delete(where="k = 7")  # nothing to do
    assert _read(stale) == {1: (1, "x")}


def test_a_property_that_a_stale_handle_holds_is_set_again(handles: tuple[Table, Table]) -> None:
    stale, other = handles
    with stale.update_properties() as waiting, other.update_properties() as update:
        waiting.set(a="1")  # as the stale handle has it
        update.set(a="2")
    assert other.refresh().properties["a"] == "1"


def test_refs_are_changed_where_they_stand_now(handles: tuple[Table, Table]) -> None:
    stale, other = handles
    first = other.append(_table({1: (1, "x")}))
    second = other.append(_table({2: (2, "y")}))
    assert first is not None
    assert second is not None
    with stale.manage_refs() as refs:
        refs.create_tag("now")
    with other.manage_refs() as refs:
        refs.rollback_to_snapshot(first.snapshot_id)
    with stale.manage_refs() as refs:
        refs.set_current_snapshot(second.snapshot_id)  # where the stale handle believes the branch to be
    table = other.refresh()
    assert table.refs["now"].snapshot_id == second.snapshot_id
    assert table.current_snapshot == second


def test_a_block_that_was_opened_long_ago_still_acts_on_what_is_there(handles: tuple[Table, Table]) -> None:
    stale, other = handles
    first = stale.append(_table({1: (1, "x")}))
    assert first is not None
    with stale.manage_refs() as waiting:
        waiting.set_current_snapshot(first.snapshot_id)  # nothing to do as things stand here
        other.append(_table({2: (2, "y")}))
    assert _read(other.refresh()) == {1: (1, "x")}


def test_what_a_transaction_read_and_another_changed_is_a_conflict(handles: tuple[Table, Table]) -> None:
    table, other = handles
    other.append(_table({1: (1, "x"), 2: (2, "y")}))
    tx = table.transaction()
    total = len(_read(table))
    other.append(_table({3: (1, "z")}))
    tx.overwrite(_table({9: (1, f"{total} rows")}), where="p = 1")
    with pytest.raises(ValidationConflict):
        tx.__exit__(None, None, None)
    assert _read(other) == {1: (1, "x"), 2: (2, "y"), 3: (1, "z")}


def test_a_change_of_a_table_that_was_dropped_and_made_anew_is_refused(lake: Catalog) -> None:
    stale = lake.create_table("db.t", "k bigint, p bigint, v string")
    lake.drop_table("db.t", purge=True)
    lake.create_table("db.t", "k bigint, p bigint, v string").append(_table({1: (1, "x")}))
    with pytest.raises((TableNotFound, InvalidInput)):
        stale.delete(where="true")
    assert _read(lake.load_table("db.t")) == {1: (1, "x")}


def test_a_view_that_is_stale_gets_the_property_that_it_already_shows(tmp_path: Path) -> None:
    lake = _lake("sql", tmp_path)
    view = lake.create_view("db.v", "SELECT 1 AS x", "x int", properties={"a": "1"})
    lake.load_view("db.v").update_properties(set={"a": "2"})
    view.update_properties(set={"a": "1"})
    assert lake.load_view("db.v").properties["a"] == "1"
    lake.load_view("db.v").replace(ViewDefinition(sql="SELECT 2 AS x", schema=view.schema))
    assert view.update_properties(set={"b": "1"}).sql() == "SELECT 2 AS x"
