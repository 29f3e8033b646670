"""Random sequences of INSERT, DELETE, UPDATE and MERGE on a table, and a plain model of it: rows and lineage are equal after
each step."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

STEPS = 4
MODES = ("copy-on-write", "merge-on-read")
PARTITIONING = ("", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(3, k))")


@dataclass(slots=True)
class Row:
    """A row of the model; `born` and `aged` are the numbers of the steps that made it and last changed it."""

    k: int
    v: int | None
    p: int
    born: int
    aged: int

    @property
    def values(self) -> tuple[int, int | None, int]:
        return (self.k, self.v, self.p)


@dataclass(slots=True)
class Model:
    rows: list[Row] = field(default_factory=list)
    step: int = 0

    def insert(self, values: list[tuple[int, int | None, int]]) -> None:
        self.rows += [Row(k, v, p, self.step, self.step) for k, v, p in values]

    def set(self, row: Row, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(row, name, value)
        row.aged = self.step


def literal(value: int | None) -> str:
    return "CAST(NULL AS INT)" if value is None else str(value)


def values_text(rows: list[tuple[int, int | None, int]]) -> str:
    listed = ", ".join(f"({k}L, {literal(v)}, {p})" for k, v, p in rows)
    return f"SELECT * FROM VALUES {listed} AS s(k, v, p)"


class Sequence:
    """One table and its model."""

    def __init__(self, session: Any, seed: int) -> None:
        self.rng = random.Random(seed)
        self.version = self.rng.choice([1, 2, 3, 3])
        self.session = session
        self.table = f"{session.lake.name}.db.model_{seed}"
        self.model = Model()
        self.ids: dict[int, int] = {}
        mode = ", ".join(f"'write.{verb}.mode' = '{self.rng.choice(MODES)}'" for verb in ("delete", "update", "merge"))
        session.sql(
            f"CREATE TABLE {self.table} (k BIGINT, v INT, p INT) USING iceberg {self.rng.choice(PARTITIONING)} "
            f"TBLPROPERTIES ('format-version' = '{self.version}', {mode})"
        )

    def fresh(self, keys: range) -> list[tuple[int, int | None, int]]:
        rng = self.rng
        return [(k, rng.choice([None, *range(10)]), rng.randrange(3)) for k in keys if rng.random() < 0.8]

    def run(self) -> None:
        for number in range(STEPS):
            change = (
                self.insert if number == 0 else self.rng.choice([self.insert, self.delete, self.update, self.merge])
            )
            self.model.step += 1
            change()
            self.check()

    def insert(self) -> None:
        start = 100 * self.model.step
        rows = self.fresh(range(start, start + 8)) or [(start, 1, 1)]
        self.session.sql(f"INSERT INTO {self.table} {values_text(rows)}")
        self.model.insert(rows)

    def delete(self) -> None:
        limit, p = self.rng.randrange(10), self.rng.randrange(3)
        self.session.sql(f"DELETE FROM {self.table} WHERE v < {limit} AND p = {p}")
        self.model.rows = [r for r in self.model.rows if not (r.v is not None and r.v < limit and r.p == p)]

    def update(self) -> None:
        limit = self.rng.randrange(10)
        self.session.sql(f"UPDATE {self.table} SET v = v + 1, p = (p + 1) % 3 WHERE NOT (v > {limit})")
        for row in self.model.rows:
            if row.v is not None and row.v <= limit:
                self.model.set(row, v=row.v + 1, p=(row.p + 1) % 3)

    def merge(self) -> None:
        known = [row.k for row in self.model.rows]
        keys = [*self.rng.sample(known, min(len(known), 3)), 1000 * self.model.step, 1000 * self.model.step + 1]
        source = [(k, self.rng.choice([None, 3, 7]), self.rng.randrange(3)) for k in keys]
        by_source = self.rng.random() < 0.5
        last = "WHEN NOT MATCHED BY SOURCE AND p = 0 THEN UPDATE SET v = -1" if by_source else ""
        self.session.sql(
            f"MERGE INTO {self.table} t USING ({values_text(source)}) s ON t.k = s.k "
            f"WHEN MATCHED AND s.v = 7 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v, p = s.p "
            f"WHEN NOT MATCHED AND s.p < 2 THEN INSERT * {last}"
        )
        given = {k: (v, p) for k, v, p in source}
        kept: list[Row] = []
        for row in self.model.rows:
            if row.k in given:
                v, p = given[row.k]
                if v == 7:
                    continue
                self.model.set(row, v=v, p=p)
            elif by_source and row.p == 0:
                self.model.set(row, v=-1)
            kept.append(row)
        self.model.rows = kept
        self.model.insert([(k, v, p) for k, v, p in source if k not in known and p < 2])

    def check(self) -> None:
        lineage = ", _row_id, _last_updated_sequence_number" if self.version == 3 else ""
        found = [tuple(row) for row in self.session.sql(f"SELECT k, v, p{lineage} FROM {self.table}").collect()]
        by_key = sorted(self.model.rows, key=lambda row: row.k)
        found.sort(key=lambda row: row[0])
        assert [row[:3] for row in found] == [row.values for row in by_key]
        if self.version < 3:
            return
        sequence_numbers = self.sequence_numbers()
        assert len({row[3] for row in found}) == len(found)
        for row, expected in zip(found, by_key, strict=True):
            assert self.ids.setdefault(expected.k, row[3]) == row[3], "a row keeps its id"
            assert row[4] == sequence_numbers[expected.aged], "a row is as old as its last change"

    def sequence_numbers(self) -> dict[int, int]:
        """The sequence number of each step; one that changed nothing made no snapshot."""
        last = self.session.lake.load_table(
            self.table.removeprefix(f"{self.session.lake.name}.")
        ).metadata.last_sequence_number
        self.seen = {**getattr(self, "seen", {}), self.model.step: last}
        return self.seen
