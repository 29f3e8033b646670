"""Random histories of one table's columns and rows: whichever way a session reads it between the changes, the rows are those of plain
Python. Columns are renamed, exchange their names, are dropped, added again under an old name and moved; rows are added and deleted."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from floeberg.api.catalog import Catalog

HISTORIES: Final = 10
STEPS: Final = 6
READS: Final = 4
"""Ways by which the table is read after each step."""
TABLE: Final = "lake.db.story"
NAMES: Final = ("a", "b", "c", "D", "e.f", "g h")

Row = dict[int, int | None]
"""Values by the numbers of their columns."""


@dataclass
class Story:
    """A table, and what it must hold."""

    session: Any
    lake: Catalog
    rng: random.Random
    columns: dict[int, str] = field(default_factory=lambda: {0: "id", 1: "a", 2: "b"})
    rows: list[Row] = field(default_factory=list)
    old: list[tuple[int, list[str], list[tuple[Any, ...]]]] = field(default_factory=list)
    """Snapshots, with the names of their columns and the rows."""
    done: list[str] = field(default_factory=list)
    next_id: int = 0
    next_column: int = 3

    def alter(self, text: str) -> None:
        self.done.append(text)
        self.session.sql(f"ALTER TABLE {TABLE} {text}")

    def some_column(self) -> int | None:
        return self.rng.choice([*self.columns][1:]) if len(self.columns) > 1 else None

    def free_name(self) -> str:
        return self.rng.choice([name for name in NAMES if name not in self.columns.values()])

    def rename(self) -> None:
        if (column := self.some_column()) is not None:
            name = self.free_name()
            self.alter(f"RENAME COLUMN `{self.columns[column]}` TO `{name}`")
            self.columns[column] = name

    def swap(self) -> None:
        if len(self.columns) > 2:
            one, other = self.rng.sample([*self.columns][1:], 2)
            names = self.columns[one], self.columns[other]
            for before, after in ((names[0], "between"), (names[1], names[0]), ("between", names[1])):
                self.alter(f"RENAME COLUMN `{before}` TO `{after}`")
            self.columns[one], self.columns[other] = names[1], names[0]

    def drop(self) -> None:
        if len(self.columns) > 2 and (column := self.some_column()) is not None:
            self.alter(f"DROP COLUMN `{self.columns.pop(column)}`")
            for row in self.rows:
                row.pop(column, None)

    def add(self) -> None:
        if len(self.columns) < len(NAMES):
            name = self.free_name()
            self.alter(f"ADD COLUMN `{name}` INT")
            self.columns[self.next_column] = name
            self.next_column += 1

    def move(self) -> None:
        if (column := self.some_column()) is not None:
            self.alter(f"ALTER COLUMN `{self.columns[column]}` AFTER id")
            rest = {key: name for key, name in self.columns.items() if key not in (0, column)}
            self.columns = {0: "id", column: self.columns[column], **rest}

    def insert(self) -> None:
        count = self.rng.randrange(1, 5)
        new: list[Row] = [{key: self.rng.choice([None, *range(10)]) for key in self.columns} for _ in range(count)]
        for row in new:
            row[0], self.next_id = self.next_id, self.next_id + 1
        self.done.append(f"insert {new}")
        if self.rng.random() < 0.3:
            values = ", ".join(
                "(" + ", ".join("NULL" if value is None else str(value) for value in row.values()) + ")" for row in new
            )
            self.session.sql(f"INSERT INTO {TABLE} VALUES {values}")
        else:
            names = {name: [row[key] for row in new] for key, name in self.columns.items()}
            self.lake.load_table("db.story").append(
                pa.table({name: pa.array(values, pa.int32()) for name, values in names.items()})
            )
        self.rows += new
        self.keep_snapshot()

    def delete(self) -> None:
        least = self.rng.randrange(self.next_id + 1)
        gone = [row for row in self.rows if row[0] is not None and least <= row[0] < least + 3]
        if gone:
            where = f"id >= {least} AND id < {least + 3}"
            self.done.append(f"delete {where}")
            if self.rng.random() < 0.3:
                self.session.sql(f"DELETE FROM {TABLE} WHERE {where}")
            else:
                self.lake.load_table("db.story").delete(where)
            self.rows = [row for row in self.rows if row not in gone]
            self.keep_snapshot()

    def keep_snapshot(self) -> None:
        snapshot = self.lake.load_table("db.story").current_snapshot
        assert snapshot is not None
        self.old.append((snapshot.snapshot_id, [*self.columns.values()], self.tuples(self.rows)))

    def tuples(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        return [tuple(row.get(key) for key in self.columns) for row in rows]

    def condition(self) -> tuple[str, int, list[tuple[Any, ...]]]:
        """A column's name and a number, with the rows whose value is above."""
        column, least = self.rng.choice([*self.columns]), self.rng.randrange(-1, 9)
        above = [row for row in self.rows if (value := row.get(column)) is not None and value > least]
        return self.columns[column], least, self.tuples(above)


Read = Callable[[Story], tuple[Any, list[tuple[Any, ...]]]]


def statement(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    return story.session.sql(f"SELECT * FROM {TABLE} WHERE `{name}` > {least}"), rows


def text(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    return story.session.table(TABLE).where(f"`{name}` > {least}"), rows


def column(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    frame = story.session.table(TABLE)
    return frame.filter(frame[f"`{name}`"] > least), rows


def places_in_files(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    frame = story.session.table(TABLE)
    return frame.select("*", "_file", "_pos").where(F.col(f"`{name}`") > least).drop("_file", "_pos"), rows


def columns_of_files(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    frame = story.session.table(TABLE).select("*", "_metadata.file_size", "_metadata.row_index")
    return frame.where(f"`{name}` > {least}").drop("file_size", "row_index"), rows


def named_frame(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    return story.session.sql(f"SELECT * FROM {{x}} WHERE `{name}` > {least}", x=story.session.table(TABLE)), rows


def two_references(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    sql = f"SELECT t.* FROM {TABLE} t JOIN (SELECT id FROM {TABLE} WHERE `{name}` > {least}) s ON t.id = s.id"
    return story.session.sql(sql), rows


def joined_frames(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    above = story.session.table(TABLE).where(f"`{name}` > {least}").select("id")
    return story.session.table(TABLE).join(above, "id"), rows


def a_view(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    name, least, rows = story.condition()
    story.session.table(TABLE).createOrReplaceTempView("story_view")
    return story.session.sql(f"SELECT * FROM story_view WHERE `{name}` > {least}"), rows


def aggregates(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    key = story.rng.choice([*story.columns])
    values = [row[key] for row in story.rows if row.get(key) is not None]
    name = f"`{story.columns[key]}`"
    frame = story.session.sql(f"SELECT count(*), count({name}), min({name}), max({name}) FROM {TABLE}")
    return frame, [(len(story.rows), len(values), min(values, default=None), max(values, default=None))]


def an_old_snapshot(story: Story) -> tuple[Any, list[tuple[Any, ...]]]:
    if not story.old:
        return statement(story)
    snapshot, names, rows = story.rng.choice(story.old)
    frame = story.session.sql(f"SELECT * FROM {TABLE} VERSION AS OF {snapshot}")
    assert frame.columns == names
    return frame, rows


WAYS: Final[tuple[Read, ...]] = (
    statement, text, column, places_in_files, columns_of_files, named_frame, two_references, joined_frames, a_view, aggregates,
    an_old_snapshot,
)  # fmt: skip
CHANGES: Final = (
    Story.rename,
    Story.rename,
    Story.swap,
    Story.drop,
    Story.add,
    Story.move,
    Story.insert,
    Story.insert,
    Story.delete,
)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_rows_are_those_of_the_history(session: Any, seed: int) -> None:
    rng = random.Random(seed)
    mode = rng.choice(["copy-on-write", "merge-on-read"])
    session.sql(
        f"CREATE TABLE {TABLE} (id INT, a INT, b INT) TBLPROPERTIES ('format-version' = '{rng.choice([2, 3])}', "
        f"'write.delete.mode' = '{mode}')"
    )
    story = Story(session, session.lake, rng)
    try:
        for step in range(STEPS):
            (Story.insert if step == 0 else rng.choice(CHANGES))(story)
            for way in rng.sample(WAYS, READS):
                frame, expected = way(story)
                found = [tuple(row) for row in frame.collect()]
                assert sorted(found, key=repr) == sorted(expected, key=repr), (way.__name__, story.columns, story.done)
    finally:
        session.catalog.dropTempView("story_view")
        session.sql(f"DROP TABLE {TABLE} PURGE")
