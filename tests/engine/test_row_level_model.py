"""Random sequences of changes against a plain model: rows and lineage equal after every step."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.scan.execute import table_reader
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE
from floeberg.spec.schemas.metadata_columns import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID
from models.engine_model import Model

SEQUENCES = 300
STEPS = 5
BATCH = 25
MODES = ("copy-on-write", "merge-on-read")
Values = tuple[Any, ...]


@dataclass
class Rows:
    """What a table must hold: by the unique `k`, a row's values, id and age. An id is None until it was first seen."""

    by_key: dict[int, Values] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    ages: dict[int, int] = field(default_factory=dict)
    ids_ever: dict[int, int] = field(default_factory=dict)
    next_key: int = 0

    def add(self, values: Values, age: int) -> int:
        key = self.next_key
        self.next_key += 1
        self.by_key[key] = values
        self.ages[key] = age
        return key

    def change(self, key: int, values: Values, age: int) -> None:
        self.by_key[key] = values
        self.ages[key] = age

    def remove(self, key: int) -> None:
        for known in (self.by_key, self.ids, self.ages):
            known.pop(key, None)


class Sequence:
    """One table, its model, and the changes that were made."""

    def __init__(self, lake: Catalog, name: str, rng: random.Random) -> None:
        self.rng = rng
        version = rng.choice([1, 2, 2, 3, 3, 3])
        self.table: Table = lake.create_table(
            name,
            "k bigint, v bigint, s string, p int",
            partition_by=rng.choice([[], ["p"], ["bucket(3, k)"], ["truncate(4, v)", "p"]]),
            sort_by=rng.choice([[], ["v desc"]]),
            format_version=version,
            properties={
                **{f"write.{kind}.mode": rng.choice(MODES) for kind in ("delete", "update", "merge")},
                "commit.manifest.min-count-to-merge": rng.choice(["2", "100"]),
                "write.delete.granularity": rng.choice(["file", "partition"]),
                "write.format.default": rng.choice(["parquet", "parquet", "orc", "avro"]),
            },
        )
        self.model = Rows()
        self.done: list[str] = []

    @property
    def next_age(self) -> int:
        return self.table.metadata.next_sequence_number

    def values(self) -> Values:
        rng = self.rng
        return (
            None if rng.random() < 0.1 else rng.randrange(-20, 20),
            rng.choice([None, "", "a", "b", "ab", "abc"]),
            rng.choice([None, 0, 1, 2]),
        )

    def step(self) -> None:
        kinds = ["append", "append", "delete", "update", "upsert", "rewrite", "evolve", "transaction"]
        if self.table.format_version > 1 and self.table.spec.is_unpartitioned:
            kinds += ["equality"]
        kind = self.rng.choice(kinds) if self.model.by_key else "append"
        self.done.append(kind)
        getattr(self, kind)()
        self.check()

    def append(self, age: int | None = None, into: Any = None) -> None:
        rows = [self.values() for _ in range(self.rng.randrange(1, 7))]
        keys = [self.model.add(row, self.next_age if age is None else age) for row in rows]
        (into or self.table).append(self.arrow([(key, *row) for key, row in zip(keys, rows, strict=True)]))

    def arrow(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        columns = list(zip(*rows, strict=True))
        names = [("k", pa.int64()), ("v", pa.int64()), ("s", pa.string()), ("p", pa.int32())]
        return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(names, columns, strict=True)})

    def condition(self) -> tuple[str, Any]:
        """A condition as text, and as a function of (k, v, s, p) that is true, false or None."""
        number, key = self.rng.randrange(-15, 15), self.rng.choice(sorted(self.model.by_key))
        options = [
            (f"v > {number}", lambda k, v, s, p: None if v is None else v > number),
            (f"k = {key}", lambda k, v, s, p: k == key),
            (f"k <= {key} AND v < {number}", lambda k, v, s, p: k <= key and v is not None and v < number),
            ("s = 'a' OR p = 1", lambda k, v, s, p: s == "a" or p == 1),
            ("NOT (s LIKE 'a%')", lambda k, v, s, p: None if s is None else not s.startswith("a")),
            ("p = 2", lambda k, v, s, p: None if p is None else p == 2),
            ("p IS NULL", lambda k, v, s, p: p is None),
        ]
        return self.rng.choice(options)

    def matched(self, test: Any) -> list[int]:
        return [key for key, values in self.model.by_key.items() if test(key, *values) is True]

    def delete(self, into: Any = None) -> None:
        text, test = self.condition()
        self.done[-1] += f" {text}"
        for key in self.matched(test):
            self.model.remove(key)
        (into or self.table).delete(text)

    def update(self) -> None:
        text, test = self.condition()
        age = self.next_age
        self.done[-1] += f" {text}"
        for key in self.matched(test):
            v, _, _ = self.model.by_key[key]
            self.model.change(key, (None if v is None else v + 1, "new", 1), age)
        plus_one = lambda rows: pa.compute.add(rows.column("v"), 1)  # noqa: E731
        self.table.update({"v": plus_one, "s": "new", "p": 1}, where=text)

    def upsert(self) -> None:
        age = self.next_age
        known = self.rng.sample(sorted(self.model.by_key), min(2, len(self.model.by_key)))
        rows: list[tuple[Any, ...]] = []
        for key in known:
            values = self.values()
            self.model.change(key, values, age)
            rows.append((key, *values))
        for _ in range(self.rng.randrange(0, 3)):
            values = self.values()
            rows.append((self.model.add(values, age), *values))
        self.rng.shuffle(rows)
        self.table.upsert(self.arrow(rows), on=["k"])

    def equality(self) -> None:
        """Another engine deletes rows by key, without reading them."""
        keys = self.rng.sample(sorted(self.model.by_key), min(2, len(self.model.by_key)))
        rows = [{1: key, 2: None, 3: None, 4: None} for key in keys]
        Model(self.table, self.rng).commit_equality_deletes(rows, (1,))
        for key in keys:
            self.model.remove(key)

    def rewrite(self) -> None:
        """Compaction: every row moves to new files, and nothing about it changes."""
        table = self.table
        tasks = list(table.scan().plan())
        if not tasks:
            return
        writer = TableWriter(table.metadata, table._pointer.store_for, table._pointer.effects.ids.uuid())
        reader = table_reader(table.metadata, table.schema, store_for=table._pointer.store_for)
        out = writer.data_writer(with_lineage=writer.has_lineage)
        for task in tasks:
            for batch in reader.rows(task, writer.rewritten_schema, residual=TRUE):
                out.write(batch)
        snapshot = table.current_snapshot
        assert snapshot is not None
        removed = [task.data_file for task in tasks]
        table._commit(
            RewriteFiles(removed=removed, added=writer.finish(out), starting_snapshot_id=snapshot.snapshot_id)
        )

    def evolve(self) -> None:
        try:
            with self.table.update_spec() as update:
                fields = [f.name for f in self.table.spec.fields]
                if fields:
                    update.remove_field(self.rng.choice(fields))
                else:
                    update.add_field(self.rng.choice(["p", "bucket(2, k)", "truncate(2, s)"]))
        except InvalidInput:
            self.done[-1] += " refused"

    def transaction(self) -> None:
        with self.table.transaction() as tx:
            self.append(self.next_age, tx)
            text, test = self.condition()
            self.done[-1] += f" {text}"
            age = self.next_age
            gone = self.matched(test)
            copied = self.table.properties["write.delete.mode"] == "copy-on-write" or self.table.format_version == 1
            for key in gone:
                self.model.remove(key)
            if gone and copied:
                # Rows of this transaction that a later change of it copies get the age of that change.
                for key in [key for key, known in self.model.ages.items() if known == age]:
                    self.model.ages[key] = -age
            tx.delete(text)

    def check(self) -> None:
        has_lineage = self.table.format_version > 2
        extra = [ROW_ID.name, LAST_UPDATED_SEQUENCE_NUMBER.name] if has_lineage else []
        scan = self.table.scan(["k", "v", "s", "p", *extra], options={"threads": "1"})
        found = scan.to_arrow().to_pylist()
        assert {row["k"]: (row["v"], row["s"], row["p"]) for row in found} == self.model.by_key, self.done
        assert len(found) == len(self.model.by_key) == scan.count(), self.done
        if has_lineage:
            self.check_lineage(found)

    def check_lineage(self, found: list[dict[str, Any]]) -> None:
        ids = {row["k"]: row["_row_id"] for row in found}
        assert len(set(ids.values())) == len(ids), f"ids twice after {self.done}"
        assert all(0 <= row_id < self.table.metadata.next_row_id for row_id in ids.values())
        for key, row_id in ids.items():
            assert self.model.ids.setdefault(key, row_id) == row_id, f"row {key} has another id after {self.done}"
            assert self.model.ids_ever.setdefault(row_id, key) == key, f"id {row_id} was another row's: {self.done}"
        for row in found:
            age = self.model.ages[row["k"]]
            wanted = {-age, -age + 1} if age < 0 else {age}
            assert row["_last_updated_sequence_number"] in wanted, f"age of row {row['k']} after {self.done}"
            self.model.ages[row["k"]] = row["_last_updated_sequence_number"]


@pytest.mark.parametrize("first", range(0, SEQUENCES, BATCH))
def test_random_changes_keep_rows_and_lineage_as_the_model_has_them(first: int) -> None:
    lake = catalog("lake", type="memory")
    lake.create_namespace("db")
    for seed in range(first, first + BATCH):
        sequence = Sequence(lake, f"db.t{seed}", random.Random(seed))
        for _ in range(STEPS):
            sequence.step()
