"""A snapshot's files: data by partition and size, and deletes with what they cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl
from starlette.responses import Response

from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.tasks import DeleteFile
from floeberg.server.page.charts import bars, size_bars
from floeberg.server.page.file_facts import file_facts, live_files
from floeberg.server.page.table_page import TablePage
from floeberg.spec.snapshots.manifest_entry import FileContent, ManifestContent

PARTITIONS: Final = 100
FILES_A_PAGE: Final = 100
DELETES: Final = 500
_ORDERS: Final = {"size": "file_size_in_bytes", "rows": "record_count", "age": "sequence_number", "path": "file_path"}


def files(here: TablePage) -> Response:
    snapshot = here.snapshot()
    facts = file_facts(here.source, snapshot, most_partitions=PARTITIONS)
    data = facts.data
    order = here.given("order") if here.given("order") in _ORDERS else "size"
    last_page = max(0, (data.height - 1) // FILES_A_PAGE)
    number = here.number("page", 0, most=last_page)
    shown = data.sort(_ORDERS[order or "size"], descending=order != "path", maintain_order=True)
    return here.render(
        snapshot=snapshot,
        facts=facts,
        sizes=size_bars(data.get_column("file_size_in_bytes")),
        partitions=bars([(one.path, one.size_in_bytes) for one in facts.partitions[:20]]),
        total=int(data.get_column("file_size_in_bytes").sum()),
        rows=int(data.get_column("record_count").sum()),
        files=shown.slice(number * FILES_A_PAGE, FILES_A_PAGE).to_dicts(),
        count=data.height,
        order=order,
        orders=list(_ORDERS),
        number=number,
        last_page=last_page,
    )


@dataclass(frozen=True, slots=True)
class DeleteFacts:
    """A delete file, and what it covers."""

    file: DeleteFile
    kind: str
    covers: str
    data_files: int


def deletes(here: TablePage) -> Response:
    snapshot = here.snapshot()
    listed = live_files(here.source, snapshot, ManifestContent.DELETES)
    found: list[DeleteFacts] = []
    if listed.height and snapshot is not None:
        plan = here.table.scan(snapshot_id=snapshot.snapshot_id).plan()
        found = _facts(here, plan)
    by_kind = [
        (name, int((listed.get_column("content") == content).sum()))
        for content, name in (
            (FileContent.POSITION_DELETES, "by position"),
            (FileContent.EQUALITY_DELETES, "by equality"),
        )
    ]
    return here.render(
        snapshot=snapshot,
        deletes=found,
        most=DELETES,
        count=listed.height,
        rows=int(listed.get_column("record_count").sum()),
        by_kind=bars(by_kind),
    )


def _facts(here: TablePage, plan: ScanPlan) -> list[DeleteFacts]:
    """The delete files that apply to a data file, those that apply to most first."""
    numbers = pl.concat([part.frame.get_column("deletes").explode().drop_nulls() for part in plan.parts])
    counted = dict(numbers.value_counts(sort=True).rows())
    applied = dict(zip(sorted(counted), plan.delete_files, strict=True))
    names = here.metadata.current_schema.names
    found = []
    for number in list(counted)[:DELETES]:
        one = applied[number]
        file = one.file
        if file.content is FileContent.EQUALITY_DELETES:
            columns = ", ".join(names.get(field_id, str(field_id)) for field_id in file.equality_ids or ())
            kind, covers = "equality deletes", f"rows with the same {columns}, written before"
        elif file.is_deletion_vector:
            kind, covers = "deletion vector", file.referenced_data_file or ""
        else:
            kind, covers = (
                "position deletes",
                file.referenced_data_file or "positions in the data files of its partition",
            )
        found.append(DeleteFacts(one, kind, covers, counted[number]))
    return found
