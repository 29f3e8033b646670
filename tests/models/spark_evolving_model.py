"""A plain model of a table that row-level statements change, that is compacted, and whose schema and spec evolve."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from floeberg.api.table import Table
from floeberg.arrow.scan.execute import table_reader
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.rewrite_files import RewriteFiles
from floeberg.expr.nodes import TRUE

MODES = ("copy-on-write", "merge-on-read")
PARTITIONING = ("", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(3, k))", "PARTITIONED BY (truncate(4, v), p)")
Values = dict[str, Any]
"""A row's values by what a column was called at first: columns are renamed."""


@dataclass(slots=True)
class Row:
    """A row of the model; `aged` is the sequence number of the last change."""

    values: Values
    aged: int


@dataclass(slots=True)
class Column:
    """A column under the name that it has now; `old` is what rows have that were written before it was added."""

    name: str
    type: str
    old: Any = None


@dataclass(slots=True)
class RowModel:
    """One table, changed by statements, and what it must hold."""

    session: Any
    name: str
    rng: random.Random
    version: int
    rows: list[Row] = field(default_factory=list)
    columns: dict[str, Column] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    next_key: int = 0

    @staticmethod
    def create(session: Any, name: str, seed: int) -> RowModel:
        rng = random.Random(seed)
        version = rng.choice([1, 2, 2, 3, 3, 3])
        modes = {f"write.{verb}.mode": rng.choice(MODES) for verb in ("delete", "update", "merge")}
        modes["write.delete.granularity"] = rng.choice(["file", "partition"])
        modes["write.format.default"] = rng.choice(["parquet", "parquet", "parquet", "orc", "avro"])
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in modes.items())
        session.sql(
            f"CREATE TABLE {name} (k BIGINT, v INT, p INT) USING iceberg {rng.choice(PARTITIONING)} "
            f"TBLPROPERTIES ('format-version' = '{version}', {listed})"
        )
        model = RowModel(session, name, rng, version)
        model.columns = {key: Column(key, kind) for key, kind in (("k", "BIGINT"), ("v", "INT"), ("p", "INT"))}
        return model

    @property
    def table(self) -> Table:
        found: Table = self.session.lake.load_table(self.name.partition(".")[2])
        return found

    @property
    def next_age(self) -> int:
        return self.table.metadata.last_sequence_number + 1

    def at(self, column: str) -> str:
        return self.columns[column].name

    def step(self) -> None:
        row_changes: list[Callable[[], None]] = [self.insert, self.delete, self.update, self.merge]
        others: list[Callable[[], None]] = [self.rewrite, self.evolve_schema, self.evolve_spec]
        change = self.rng.choice([*row_changes, *row_changes, *others]) if self.rows else self.insert
        self.done.append(change.__name__)
        change()
        self.check()

    def sql(self, text: str) -> None:
        self.done[-1] += f": {text}"
        self.session.sql(text)

    # changes of rows

    def fresh(self, number: int) -> list[Values]:
        rows = []
        for _ in range(number):
            row = {key: self.rng.choice([None, *range(10)]) for key in self.columns}
            row |= {"k": self.next_key, "p": self.rng.randrange(3)}
            self.next_key += 1
            rows.append(row)
        return rows

    def values(self, rows: list[Values]) -> str:
        """Rows as a query whose columns are those of the table."""

        def cell(key: str, value: Any) -> str:
            return f"CAST({'NULL' if value is None else value} AS {self.columns[key].type})"

        items = ", ".join(f"({', '.join(cell(key, row[key]) for key in self.columns)})" for row in rows)
        return f"SELECT * FROM VALUES {items} AS s({', '.join(column.name for column in self.columns.values())})"

    def insert(self) -> None:
        rows, age = self.fresh(self.rng.randrange(1, 9)), self.next_age
        self.sql(f"INSERT INTO {self.name} {self.values(rows)}")
        self.rows += [Row(row, age) for row in rows]

    def condition(self) -> tuple[str, Callable[[Values], bool]]:
        """A condition as text, and whether it is true for a row; where it is null it is not."""
        v, p, k = self.at("v"), self.at("p"), self.at("k")
        limit, part = self.rng.randrange(10), self.rng.randrange(3)
        some = sorted(self.rng.sample(range(self.next_key), min(3, self.next_key)))
        return self.rng.choice(
            [
                (f"{v} < {limit} AND {p} = {part}", lambda r: r["v"] is not None and r["v"] < limit and r["p"] == part),
                (f"NOT ({v} > {limit})", lambda r: r["v"] is not None and not r["v"] > limit),
                (f"{k} IN ({', '.join(map(str, some))})", lambda r: r["k"] in some),
                (f"{v} IS NULL OR {v} + {p} = {limit}", lambda r: r["v"] is None or r["v"] + r["p"] == limit),
                (f"{p} = {part}", lambda r: r["p"] == part),
                (
                    f"{k} IN (SELECT max({k}) FROM {self.name})",
                    lambda r: r["k"] == max(x.values["k"] for x in self.rows),
                ),
            ]
        )

    def delete(self) -> None:
        text, test = self.condition()
        self.sql(f"DELETE FROM {self.name} WHERE {text}")
        kept = [row for row in self.rows if not test(row.values)]
        self.rows = kept

    def update(self) -> None:
        text, test = self.condition()
        age, v, p = self.next_age, self.at("v"), self.at("p")
        self.sql(f"UPDATE {self.name} SET {v} = {v} + 1, {p} = ({p} + 1) % 3 WHERE {text}")
        for row in [row for row in self.rows if test(row.values)]:
            row.values["v"] = None if row.values["v"] is None else row.values["v"] + 1
            row.values["p"] = (row.values["p"] + 1) % 3
            row.aged = age

    def merge(self) -> None:
        known = self.rng.sample(self.rows, min(len(self.rows), 3))
        source = self.fresh(len(known) + 2)
        for row, old in zip(source, known, strict=False):
            row["k"] = old.values["k"]
        for row in source:
            row["v"] = self.rng.choice([None, 3, 7])
        age, by_source = self.next_age, self.rng.random() < 0.5
        k, v, p = (self.at(key) for key in "kvp")
        last = f"WHEN NOT MATCHED BY SOURCE AND {p} = 0 THEN UPDATE SET {v} = -1" if by_source else ""
        star = self.rng.random() < 0.5
        setting = "*" if star else f"{v} = s.{v}, {p} = s.{p}"
        self.sql(
            f"MERGE INTO {self.name} t USING ({self.values(source)}) s ON t.{k} = s.{k} "
            f"WHEN MATCHED AND s.{v} = 7 THEN DELETE WHEN MATCHED THEN UPDATE SET {setting} "
            f"WHEN NOT MATCHED AND s.{p} < 2 THEN INSERT * {last}"
        )
        given = {row["k"]: row for row in source}
        matched = {row.values["k"] for row in self.rows} & set(given)
        kept = []
        for row in self.rows:
            new = given.get(row.values["k"])
            if new is not None and new["v"] == 7:
                continue
            if new is not None:
                row.values.update({key: new[key] for key in (self.columns if star else ("v", "p"))})
                row.aged = age
            elif by_source and row.values["p"] == 0:
                row.values["v"] = -1
                row.aged = age
            kept.append(row)
        self.rows = [*kept, *(Row(row, age) for row in source if row["k"] not in matched and row["p"] < 2)]

    # what changes no row

    def rewrite(self) -> None:
        """Compaction of some files: rows move to new ones, and nothing about them changes."""
        table = self.table
        tasks = list(table.scan().plan())
        tasks = self.rng.sample(tasks, self.rng.randrange(len(tasks) + 1))
        if not tasks:
            return
        writer = TableWriter(table.metadata, table._pointer.store_for, table._pointer.effects.ids.uuid())
        reader = table_reader(table.metadata, table.schema, store_for=table._pointer.store_for)
        out = writer.data_writer(with_lineage=writer.has_lineage)
        for task in tasks:
            for batch in reader.rows(task, writer.rewritten_schema, residual=TRUE):
                out.write(batch)
        assert table.current_snapshot is not None
        removed = [task.data_file for task in tasks]
        added = writer.finish(out)
        table._commit(
            RewriteFiles(removed=removed, added=added, starting_snapshot_id=table.current_snapshot.snapshot_id)
        )

    def evolve_schema(self) -> None:
        added = [key for key in self.columns if key.startswith("x")]
        kinds = ["add", "rename", "widen", *(["drop"] if added else [])]
        kind = self.rng.choice(kinds)
        number = len(self.done)
        if kind == "add":
            default = self.rng.choice([None, 5]) if self.version > 2 else None
            text = "" if default is None else f" DEFAULT {default}"
            self.sql(f"ALTER TABLE {self.name} ADD COLUMN x{number} INT{text}")
            self.columns[f"x{number}"] = Column(f"x{number}", "INT", default)
            for row in self.rows:
                row.values[f"x{number}"] = default
        elif kind == "rename":
            key = self.rng.choice(sorted(self.columns))
            self.sql(f"ALTER TABLE {self.name} RENAME COLUMN {self.at(key)} TO {key}_{number}")
            self.columns[key].name = f"{key}_{number}"
        elif kind == "widen":
            key = self.rng.choice([key for key in sorted(self.columns) if key != "k"])
            self.sql(f"ALTER TABLE {self.name} ALTER COLUMN {self.at(key)} TYPE BIGINT")
            self.columns[key].type = "BIGINT"
        else:
            key = self.rng.choice(added)
            self.sql(f"ALTER TABLE {self.name} DROP COLUMN {self.at(key)}")
            del self.columns[key]
            for row in self.rows:
                row.values.pop(key, None)

    def evolve_spec(self) -> None:
        fields = [one.name for one in self.table.spec.fields]
        if fields and self.rng.random() < 0.5:
            self.sql(f"ALTER TABLE {self.name} DROP PARTITION FIELD {self.rng.choice(fields)}")
            return
        k, v, p = (self.at(key) for key in "kvp")
        number = len(self.done)
        term = self.rng.choice(
            [f"bucket({number + 5}, {k})", f"truncate({number + 5}, {v})", p]
        )  # none of PARTITIONING
        if term == p and any(str(one.transform) == "identity" for one in self.table.spec.fields):
            return
        self.sql(f"ALTER TABLE {self.name} ADD PARTITION FIELD {term} AS f{number}")

    # what must hold

    def check(self) -> None:
        lineage = ", _row_id, _last_updated_sequence_number" if self.version > 2 else ""
        names = ", ".join(column.name for column in self.columns.values())
        found = [tuple(row) for row in self.session.sql(f"SELECT {names}{lineage} FROM {self.name}").collect()]
        found.sort(key=lambda row: row[0])
        rows = sorted(self.rows, key=lambda row: row.values["k"])
        width = len(self.columns)
        expected = [tuple(row.values[key] for key in self.columns) for row in rows]
        assert [row[:width] for row in found] == expected, self.done
        if self.version < 3:
            return
        assert len({row[width] for row in found}) == len(found), self.done
        for shown, row in zip(found, rows, strict=True):
            known = self.ids.setdefault(row.values["k"], shown[width])
            assert known == shown[width], f"row {row.values['k']} has another id after {self.done}"
            assert shown[width + 1] == row.aged, f"the age of row {row.values['k']} after {self.done}"
