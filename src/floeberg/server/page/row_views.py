"""Rows: differences of two snapshots, one row through snapshots, the plan of a filter, and a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import polars as pl
import pyarrow as pa
from starlette.responses import Response

from floeberg.api.scan import to_expression
from floeberg.errors import FloebergError
from floeberg.expr.rewrite import conjuncts
from floeberg.inspect.diff import KINDS, snapshot_diff
from floeberg.server.page.file_facts import live_files
from floeberg.server.page.table_page import TablePage
from floeberg.spec.snapshots.manifest_entry import ManifestContent
from floeberg.spec.snapshots.snapshot import Snapshot

FILES: Final = 100
CHANGED_ROWS: Final = 50
MOST_ROWS: Final = 1000
DEFAULT_ROWS: Final = 50
LINEAGE_SNAPSHOTS: Final = 25
LINEAGE_ROWS: Final = 5
_LINEAGE_COLUMNS: Final = ("_row_id", "_last_updated_sequence_number")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to show, or why there are none."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    is_cut: bool = False
    error: str | None = None


def first_rows(batches: Iterable[pa.RecordBatch], names: Iterable[str], most: int) -> Rows:
    """At most so many rows, without reading further."""
    found: list[tuple[Any, ...]] = []
    for row in _rows(batches):
        if len(found) == most:
            return Rows(tuple(names), tuple(found), is_cut=True)
        found.append(row)
    return Rows(tuple(names), tuple(found))


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        columns = [_values(batch.column(at)) for at in range(batch.num_columns)]
        yield from zip(*columns, strict=True)


def _values(array: pa.Array) -> list[Any]:
    """Times that Python's own do not hold come as text."""
    try:
        return list(array.to_pylist())
    except (ValueError, OverflowError):
        return list(array.cast(pa.string()).to_pylist())


def diff(here: TablePage) -> Response:
    new = here.snapshot("to")
    old = _old(here, new)
    if new is None:
        return here.render(new=None)
    found = snapshot_diff(here.source, old, new)
    counts = [(name, *found.counts(content)) for content, name in KINDS.items()]
    changed = _changed_rows(here, old, new) if here.given("rows") else None
    ordered = sorted(here.metadata.snapshots, key=lambda one: one.timestamp_ms, reverse=True)[:200]
    return here.render(
        old=old,
        new=new,
        counts=counts,
        schema=found.schema,
        added=found.added.head(FILES).to_dicts(),
        removed=found.removed.head(FILES).to_dicts(),
        most=FILES,
        changed=changed,
        snapshots=ordered,
    )


def _old(here: TablePage, new: Snapshot | None) -> Snapshot | None:
    text = here.given("from")
    if text == "empty" or new is None:
        return None
    if text is None or text == "parent":
        parent = new.parent_snapshot_id
        return None if parent is None else here.metadata.find_snapshot(parent)
    return here.snapshot("from")


def _changed_rows(here: TablePage, old: Snapshot | None, new: Snapshot) -> Rows:
    try:
        scan = here.table.scan_changes(None if old is None else old.snapshot_id, new.snapshot_id)
        batches = scan.to_batches()
        return first_rows(batches, batches.schema.names, CHANGED_ROWS)
    except FloebergError as error:
        return Rows(error=str(error))


@dataclass(frozen=True, slots=True)
class LineageStep:
    """A row at one snapshot."""

    snapshot: Snapshot
    rows: Rows
    what: str


def row(here: TablePage) -> Response:
    where = here.given("where")
    steps: list[LineageStep] = []
    if where is not None:
        to_expression(where)
        steps = list(_lineage(here, where))
    return here.render(where=where or "", steps=steps, most=LINEAGE_SNAPSHOTS)


def _lineage(here: TablePage, where: str) -> Iterator[LineageStep]:
    """The rows of a condition at each of the newest snapshots of a history, the newest first, and what became of them."""
    snapshot = here.snapshot()
    ancestors = list(here.metadata.ancestors(None if snapshot is None else snapshot.snapshot_id))[:LINEAGE_SNAPSHOTS]
    seen = [_rows_at(here, where, one) for one in ancestors]
    for at, (one, rows) in enumerate(zip(ancestors, seen, strict=True)):
        if rows.error is not None:
            what = "could not be read"
        elif at + 1 == len(seen):
            what = "first seen here" if rows.rows else "not there"
        elif rows.rows == seen[at + 1].rows and rows.columns == seen[at + 1].columns:
            what = "unchanged" if rows.rows else "not there"
        elif not seen[at + 1].rows:
            what = "inserted"
        else:
            what = "changed" if rows.rows else "deleted"
        yield LineageStep(one, rows, what)


def _rows_at(here: TablePage, where: str, snapshot: Snapshot) -> Rows:
    lineage = _LINEAGE_COLUMNS if here.table.format_version >= 3 else ()
    try:
        scan = here.table.scan(
            where=where, snapshot_id=snapshot.snapshot_id, limit=LINEAGE_ROWS, metadata_columns=lineage or False
        )
        return first_rows(scan.to_batches(), [field.name for field in scan.schema.fields], LINEAGE_ROWS)
    except FloebergError as error:
        return Rows(error=str(error))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that a filter leaves out, and which of its parts rule it out by themselves."""

    path: str
    rows: int
    rules: tuple[str, ...]


def plan(here: TablePage) -> Response:
    where = here.given("where")
    snapshot = here.snapshot()
    if where is None or snapshot is None:
        return here.render(where=where or "", snapshot=snapshot, explanation=None)
    expression = to_expression(where)
    planned = here.table.scan(where=expression, snapshot_id=snapshot.snapshot_id).plan()
    everything = live_files(here.source, snapshot, ManifestContent.DATA)
    kept = [part.frame.select("file_path") for part in planned.parts]
    gone = everything.join(pl.concat([everything.select("file_path").clear(), *kept]), on="file_path", how="anti")
    return here.render(
        where=where,
        snapshot=snapshot,
        explanation=planned.explanation,
        kept=[(task.data_file, task.residual, len(task.deletes)) for task in islice(planned, FILES)],
        kept_count=len(planned),
        left_out=_left_out(here, expression, snapshot, gone.head(FILES)),
        left_out_count=gone.height,
        most=FILES,
        to_read=(planned.record_count, planned.size_in_bytes),
    )


def _left_out(here: TablePage, expression: Any, snapshot: Snapshot, gone: pl.DataFrame) -> list[LeftOut]:
    """Which parts of the filter (all must hold) keep each file out: those whose own plan does not have it."""
    rules: list[tuple[str, set[str]]] = []
    for part in conjuncts(expression):
        frame = here.table.scan(where=part, snapshot_id=snapshot.snapshot_id).plan().frame
        stays = (
            frame.filter(pl.col("file_path").is_in(gone.get_column("file_path").implode())) if frame.height else frame
        )
        rules.append((str(part), set(stays.get_column("file_path").to_list())))
    return [
        LeftOut(path, rows, tuple(text for text, stays in rules if path not in stays) or ("all parts together",))
        for path, rows in gone.select("file_path", "record_count").rows()
    ]


def query(here: TablePage) -> Response:
    """Rows of a snapshot, by the Arrow engine; only when the address asks for them."""
    limit = here.number("limit", DEFAULT_ROWS, least=1, most=MOST_ROWS)
    select = here.given("select")
    where = here.given("where")
    snapshot = here.snapshot()
    found: Rows | None = None
    if here.given("run"):
        columns = None if select is None or select == "*" else [name.strip() for name in select.split(",")]
        scan = here.table.scan(
            select=columns,
            where=where,
            limit=limit + 1,
            snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        )
        found = first_rows(scan.to_batches(), [field.name for field in scan.schema.fields], limit)
    return here.render(
        select=select or "", where=where or "", limit=limit, most=MOST_ROWS, found=found, at=here.given("at") or ""
    )
