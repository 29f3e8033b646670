"""The walks of docs/concepts/architecture.md, run under a tracer: the listed functions are called in that order, and no layer
calls a higher one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "architecture.md"
LAYERS = (
    ("errors",), ("effects",), ("spec",), ("expr",), ("sql",), ("storage", "files"), ("scan",), ("arrow",), ("commit",),
    ("row_changes",), ("catalogs",), ("maintenance", "inspect", "change_events"), ("spark.host",), ("spark.workers",), ("spark.read",),
    ("spark.write",), ("spark.query",), ("spark.ddl", "spark.dml", "spark.procedures"), ("spark.streaming",), ("spark.cdc",), ("spark.entry",), ("api",), ("server",),
    ("cli",),
)  # fmt: skip
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
PASSED_IN = ("store_for", "swap", "refresh", "__call__")
"""Methods that lower layers call through a protocol: of pointers, stores and name look-ups."""

WRAPPERS = (
    "spark/host/errors/spark_errors.py:raises_spark_errors",
    "spark/host/calls/active_session.py:in_own_session",
)
"""What is around every method that users call: it calls the method that it was given."""


@dataclass
class Trace:
    """The functions of ours that were called, in the order of their first calls, and calls from a lower to a higher layer."""

    called: dict[str, None] = field(default_factory=dict)
    upward: list[str] = field(default_factory=list)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or (callee := _place(frame)) is None:
            return
        self.called.setdefault(callee)
        caller = None if frame.f_back is None else _place(frame.f_back)
        wraps = caller is not None and caller.startswith(WRAPPERS)
        if caller is not None and not wraps and _rank(caller) < _rank(callee) and not _is_passed_in(callee):
            self.upward.append(f"{caller} calls {callee}")


def _place(frame: FrameType) -> str | None:
    module = str(frame.f_globals.get("__name__", ""))
    if not module.startswith("floeberg.") or module.startswith("floeberg.testing"):
        return None
    return f"{module.removeprefix('floeberg.').replace('.', '/')}.py:{frame.f_code.co_qualname}"


def _rank(place: str) -> int:
    parts = place.split(".py:")[0].split("/")
    return RANKS.get(".".join(parts[:2]) if parts[0] == "spark" else parts[0], -1)


def _is_passed_in(place: str) -> bool:
    """Functions given as arguments, protocols, and patched methods of PySpark, which belong to PySpark's classes."""
    path, _, name = place.partition(":")
    patched = path in ("spark/entry/patches.py", "spark/entry/reader.py", "spark/entry/catalog_lookups.py")
    return "<locals>" in name or name.rsplit(".", 1)[-1] in PASSED_IN or patched


def traced(run: Callable[[], object]) -> Trace:
    trace = Trace()
    sys.setprofile(trace)
    try:
        run()
    finally:
        sys.setprofile(None)
    return trace


def walk(name: str) -> list[str]:
    """The functions that a walk of the page lists."""
    text = PAGE.read_text(encoding="utf-8").split(f"<!-- walk: {name} -->")[1].split("\n#")[0].split("<!--")[0]
    return re.findall(r"^\d+\. `([^`]+)`", text, re.MULTILINE)


def assert_walked(trace: Trace, name: str) -> None:
    listed = walk(name)
    assert len(listed) > 5
    assert [place for place in listed if place not in trace.called] == []
    order = list(trace.called)
    assert sorted(listed, key=order.index) == listed
    assert trace.upward == []


@pytest.fixture
def table(session: Any) -> str:
    name = "lake.db.walked"
    session.sql(f"DROP TABLE IF EXISTS {name}")
    properties = ", ".join(
        f"'{key}' = '{value}'"
        for key, value in {
            "format-version": "3",
            "write.delete.mode": "merge-on-read",
            "write.merge.mode": "merge-on-read",
        }.items()
    )
    session.sql(f"CREATE TABLE {name} (id INT, s STRING) TBLPROPERTIES ({properties})")
    session.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    session.sql(f"DELETE FROM {name} WHERE id = 2")
    return name


def test_a_select_walks_forward(session: Any, table: str) -> None:
    trace = traced(lambda: session.sql(f"SELECT id FROM {table} WHERE id > 0").collect())
    assert_walked(trace, "select")


def test_a_merge_walks_forward(session: Any, table: str) -> None:
    source = "(SELECT * FROM VALUES (1, 'x'), (9, 'y') AS v(id, s))"
    trace = traced(
        lambda: session.sql(
            f"MERGE INTO {table} t USING {source} s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    )
    assert_walked(trace, "merge")
    assert sorted(tuple(row) for row in session.table(table).collect()) == [(1, "x"), (3, "c"), (9, "y")]


def test_an_append_that_loses_a_race_walks_forward(tmp_path: Path) -> None:
    lake = catalog("lake", warehouse=str(tmp_path))
    lake.create_namespace("db")
    table = lake.create_table("db.t", "id INT")
    other = lake.load_table("db.t")
    one = pa.table({"id": pa.array([1], pa.int32())})
    swap = type(table._pointer).swap
    raced: list[bool] = []

    def late(pointer: Any, *given: Any, **more: Any) -> Any:
        if not raced:
            raced.append(True)
            other.append(one)
        return swap(pointer, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(table._pointer), "swap", late)
        trace = traced(lambda: table.append(one))
    assert_walked(trace, "append")
    assert lake.load_table("db.t").scan().count() == 2


def test_the_page_lists_functions_that_exist() -> None:
    source = Path(__file__).parents[2] / "src" / "floeberg"
    for name in ("select", "append", "merge"):
        for place in walk(name):
            path, _, function = place.partition(":")
            assert f"def {function.rsplit('.', 1)[-1]}(" in (source / path).read_text(encoding="utf-8"), place
