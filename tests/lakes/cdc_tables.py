"""Tables that batches of CDC events made, with the rows that they hold in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import floeberg as fb

EXAMPLE = (
    [("I", 1, 1, "X"), ("I", 2, 2, "A")],
    [("I", 3, 3, "Q"), ("-U", 4, 2, "A"), ("+U", 4, 2, "B")],
    [("D", 5, 3, "Q"), ("I", 6, 5, "Z"), ("D", 7, 5, "Z"), ("I", 8, 4, "Y")],
)
"""Three batches of (code, order, id, name), and what they leave."""
EXAMPLE_ROWS = {(1, "X"), (2, "B"), (4, "Y")}
_MOVES = (
    [("I", 1, 1, "a"), ("I", 1, 2, "b"), ("I", 1, 3, "c")],
    [("U", 2, 1, "z"), ("D", 2, 2, None), ("I", 2, 4, "d"), ("U", 3, 4, "e")],
    [("U", 4, 3, "a"), ("U", 4, 4, "b"), ("D", 5, 1, None), ("I", 6, 9, "x"), ("U", 7, 9, "y"), ("D", 8, 9, None)],
)
_MOVES_ROWS = {(3, "a"), (4, "b")}
EVENTS = "op string, ord bigint, id bigint, name string"
LAYOUTS = {"plain": "", "lookup": "", "by_name": "PARTITIONED BY (name)", "by_key": "PARTITIONED BY (bucket(3, id))"}


def make_cdc_tables(spark: Any, catalog: str) -> dict[str, set[tuple[Any, ...]]]:
    """The tables `<catalog>.db.<name>` of both versions: the example, also with its last batch looked up by position, and rows
    that move between partitions while the spec changes. Gives their rows."""
    made: dict[str, set[tuple[Any, ...]]] = {}
    for version in (2, 3):
        for layout, partitioned in LAYOUTS.items():
            name = f"cdc_{layout}_v{version}"
            table = f"{catalog}.db.{name}"
            spark.sql(
                f"CREATE TABLE {table} (id bigint, name string) USING iceberg {partitioned} "
                f"TBLPROPERTIES ('format-version' = '{version}')"
            )
            is_example = layout in ("plain", "lookup")
            batches = EXAMPLE if is_example else _MOVES
            for number, rows in enumerate(batches):
                frame = spark.createDataFrame(rows, EVENTS)
                lookup = "position" if layout == "lookup" and number == 2 else None
                fb.cdc(frame, table, keys="id", op="op", order_by="ord", lookup=lookup)
                if number == 1 and layout == "by_key":
                    spark.sql(f"ALTER TABLE {table} ADD PARTITION FIELD truncate(2, id)")
            made[name] = EXAMPLE_ROWS if is_example else _MOVES_ROWS
    return made


REWRITES: dict[str, Callable[[fb.Table, Any], object]] = {
    "convert": lambda table, spark: table.maintenance.rewrite_deletes(equality="convert", spark=spark),
    "minor": lambda table, spark: table.maintenance.rewrite_deletes(options={"rewrite-all": "true"}),
    "major": lambda table, spark: table.maintenance.compact(options={"rewrite-all": "true"}, spark=spark),
}
"""Equality deletes become deletes of positions; delete files are merged; data files are written without their deleted rows."""


def rewrite_in_steps(table: fb.Table, spark: Any) -> Iterator[str]:
    """Makes each rewrite of a table; the name of each when it is done and the delete files are those that it should leave."""
    for name, rewrite in REWRITES.items():
        by_position, by_key = _delete_files(table.refresh())
        rewrite(table, spark)
        left = _delete_files(table.refresh())
        if name == "convert":
            assert by_key > 0, "the events left no equality deletes"
            assert left[1] == 0
        elif name == "minor":
            assert left[0] <= by_position
        else:
            assert left == (0, 0)
        yield name


def _delete_files(table: fb.Table) -> tuple[int, int]:
    """How many delete files there are, of positions and of keys."""
    contents = table.inspect.delete_files()["content"].to_pylist()
    return contents.count(1), contents.count(2)
