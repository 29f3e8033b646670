"""What the views of one table have in common: the table, the snapshot that is looked at, and the query of the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from starlette.responses import Response

from floeberg.api.table import Table
from floeberg.catalogs.identifiers import Identifier
from floeberg.errors import InvalidInput
from floeberg.inspect.source import Source
from floeberg.server.page.rendering import page, table_link
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.snapshot import Snapshot

TABS: Final = (
    ("overview", "Overview"),
    ("schema", "Schema"),
    ("partitioning", "Partitioning"),
    ("snapshots", "Snapshots"),
    ("files", "Files"),
    ("deletes", "Deletes"),
    ("diff", "Differences"),
    ("row", "A row"),
    ("plan", "Plan"),
    ("health", "Health"),
    ("query", "Query"),
)
CURRENT: Final = "current"
MOST_DIGITS: Final = 19
"""Of a 64-bit number."""


@dataclass(frozen=True)
class TablePage:
    """A table as a view shows it. `query` is the query of the address."""

    catalog: str
    identifier: Identifier
    table: Table
    tab: str
    query: Mapping[str, str]

    @property
    def metadata(self) -> TableMetadata:
        return self.table.metadata

    @cached_property
    def source(self) -> Source:
        table = self.table
        return Source(table.metadata, table._pointer.store_for, table.metadata_location, cache=table._caches.frames)

    def given(self, name: str) -> str | None:
        """A value of the query; None when it is missing or empty."""
        return self.query.get(name, "").strip() or None

    def number(self, name: str, default: int, *, least: int = 0, most: int) -> int:
        """A number of the query. Raises InvalidInput."""
        text = self.given(name)
        if text is None:
            return default
        if not text.isdecimal() or len(text) > MOST_DIGITS or not least <= int(text) <= most:
            raise InvalidInput(f"{name} must be a number from {least} to {most}, not {text[:60]!r}")
        return int(text)

    def snapshot(self, name: str = "at") -> Snapshot | None:
        """The snapshot that the query names: an id, a branch or tag, or the current one. Raises SnapshotNotFound,
        InvalidInput."""
        text = self.given(name)
        metadata = self.metadata
        if text is None or text == CURRENT:
            return metadata.current_snapshot
        if text in metadata.refs:
            return metadata.snapshot(metadata.refs[text].snapshot_id)
        if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS:
            return metadata.snapshot(int(text))
        known = ", ".join(sorted(metadata.refs)[:20]) or "none"
        raise InvalidInput(f"{text[:60]!r} is no snapshot id, branch or tag of the table; branches and tags: {known}")

    def link(self, tab: str | None = None, **query: object) -> str:
        return table_link(self.catalog, self.identifier, tab or self.tab, **query)

    def render(self, template: str | None = None, **values: object) -> Response:
        """The view's page."""
        title = f"{self.identifier} – {dict(TABS)[self.tab]}"
        return page(template or f"{self.tab}.html", {"here": self, "tabs": TABS, "title": title, **values})
