"""`floeberg diff`: what changed from one snapshot to another."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.errors import InvalidInput, SnapshotNotFound
from floeberg.inspect.diff import KINDS, SnapshotDiff, snapshot_diff
from floeberg.inspect.source import Source
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot

_WHAT = "a snapshot id, a branch or tag, `current`, `parent` (of the other one) or `empty`"
OldArgument = Annotated[str, typer.Argument(metavar="FROM", help=f"{_WHAT[0].upper()}{_WHAT[1:]}.")]
NewArgument = Annotated[str, typer.Argument(metavar="TO", help="Likewise; the current snapshot when left out.")]
FilesOption = Annotated[bool, typer.Option("--files", help="List the files too.")]


@with_shared_options
def diff(
    target: Target,
    printer: Printer,
    table: TableArgument,
    old: OldArgument,
    new: NewArgument = "current",
    files: FilesOption = False,
) -> None:
    """Show what changed from one snapshot to another: files, rows and schema.

    floeberg diff db.orders 7283940192837465 current

    floeberg diff db.orders main audit --files

    floeberg diff db.orders parent current
    """
    opened = target.table(table)
    after = _find(opened.metadata, new, other=None)
    if after is None:
        raise InvalidInput("TO cannot be `empty`")
    before = _find(opened.metadata, old, other=after)
    found = snapshot_diff(Source(opened.metadata, opened._pointer.store_for), before, after)
    if printer.as_json:
        printer.json(_as_json(found))
        return
    printer.line(f"from {'an empty table' if before is None else before.snapshot_id} to {after.snapshot_id}")
    nothing = True
    for content, name in KINDS.items():
        for sign, counts in zip("+-", found.counts(content), strict=True):
            if counts.files:
                nothing = False
                printer.line(
                    f"{sign} {counts.files} files of {name}, {counts.records} rows, {counts.size_in_bytes} bytes"
                )
    for change in found.schema:
        nothing = False
        printer.line(f"~ schema: {change}")
    if nothing:
        printer.line("no difference")
    if files:
        for sign, frame in (("+", found.added), ("-", found.removed)):
            for path in frame.get_column("file_path"):
                printer.line(f"{sign} {path}")


def _find(metadata: TableMetadata, text: str, *, other: Snapshot | None) -> Snapshot | None:
    match text:
        case "empty":
            return None
        case "current":
            if metadata.current_snapshot is None:
                raise SnapshotNotFound(f"table {metadata.location} has no snapshot yet")
            return metadata.current_snapshot
        case "parent":
            if other is None:
                raise InvalidInput("TO cannot be `parent`")
            parent = other.parent_snapshot_id
            return None if parent is None else metadata.snapshot(parent)
    if text in metadata.refs:
        return metadata.snapshot(metadata.refs[text].snapshot_id)
    if text.isascii() and text.isdigit():
        return metadata.snapshot(int(text))
    known = ", ".join(sorted(metadata.refs)) or "none"
    raise InvalidInput(f"{text!r} is not {_WHAT}; branches and tags: {known}")


def _as_json(found: SnapshotDiff) -> dict[str, object]:
    def files(frame: pl.DataFrame) -> list[dict[str, object]]:
        return [{**row, "content": KINDS[row["content"]]} for row in frame.iter_rows(named=True)]

    return {
        "from": None if found.old is None else found.old.snapshot_id,
        "to": found.new.snapshot_id,
        "added": files(found.added),
        "removed": files(found.removed),
        "schema": list(found.schema),
    }
