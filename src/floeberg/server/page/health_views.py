"""A table's health: what its metadata say at once, and what `check` finds when it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from floeberg.maintenance.check import check_table
from floeberg.server.page.file_facts import file_facts
from floeberg.server.page.table_page import TablePage
from floeberg.spec.snapshots.manifest_entry import FileContent

FINDINGS: Final = 200
MANY_SNAPSHOTS: Final = 1000
MANY_MANIFESTS: Final = 500
SMALL_SHARE: Final = 0.5
SMALL_FILES: Final = 20


@dataclass(frozen=True, slots=True)
class Sign:
    """One fact about a table, and what to do where it is not well."""

    name: str
    value: str
    advice: str | None = None


def health(here: TablePage) -> Response:
    report = None
    if here.given("check"):
        current = here.metadata.current_snapshot
        report = check_table(
            here.metadata,
            here.table._pointer.store_for,
            name=here.table.name,
            snapshot_ids=None if current is None else [current.snapshot_id],
            read_footers=False,
        )
    return here.render(signs=_signs(here), report=report, most=FINDINGS)


def _signs(here: TablePage) -> list[Sign]:
    metadata = here.metadata
    snapshot = metadata.current_snapshot
    facts = file_facts(here.source, snapshot, most_partitions=1)
    data = facts.data.height
    deletes = int((facts.files.get_column("content") != FileContent.DATA).sum())
    manifests = len(here.source.manifests(snapshot))
    many_small = facts.small > SMALL_FILES and facts.small > SMALL_SHARE * data
    return [
        Sign(
            "snapshots",
            str(len(metadata.snapshots)),
            "expire old ones: t.maintenance.expire_snapshots()" if len(metadata.snapshots) > MANY_SNAPSHOTS else None,
        ),
        Sign("manifests", str(manifests), "rewrite them" if manifests > MANY_MANIFESTS else None),
        Sign("data files", str(data)),
        Sign("small data files", str(facts.small), "compact the table" if many_small else None),
        Sign("delete files", str(deletes), "compact the table" if deletes > max(10, data // 2) else None),
        Sign(
            "format version",
            str(metadata.format_version),
            "upgrade to 2 or 3" if metadata.format_version == 1 else None,
        ),
    ]
