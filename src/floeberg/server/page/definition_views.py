"""A table's definition and history: overview, schemas, specs and orders, snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from floeberg.inspect.diff import schema_changes
from floeberg.server.page.table_page import TablePage
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.storage.secret import redact_options

SNAPSHOTS_A_PAGE: Final = 100
_COUNTS: Final = (
    ("total-records", "rows"),
    ("total-data-files", "data files"),
    ("total-delete-files", "delete files"),
    ("total-files-size", "bytes"),
)
_CHANGES: Final = (
    ("added-data-files", "data files", "+"),
    ("deleted-data-files", "data files", "−"),
    ("added-records", "rows", "+"),
    ("deleted-records", "rows", "−"),
    ("added-delete-files", "delete files", "+"),
    ("removed-delete-files", "delete files", "−"),
)


def overview(here: TablePage) -> Response:
    metadata = here.metadata
    current = metadata.current_snapshot
    summary = {} if current is None else current.summary
    counts = [(name, summary[key]) for key, name in _COUNTS if key in summary]
    return here.render(counts=counts, current=current, properties=redact_options(metadata.properties))


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """A schema and how it differs from the one before it."""

    schema: Schema
    changes: tuple[str, ...]
    first_snapshot: Snapshot | None
    is_current: bool


def schema(here: TablePage) -> Response:
    metadata = here.metadata
    first: dict[int | None, Snapshot] = {}
    for snapshot in metadata.snapshots:
        first.setdefault(snapshot.schema_id, snapshot)
    steps: list[SchemaStep] = []
    before = Schema()
    for one in sorted(metadata.schemas, key=lambda found: found.schema_id):
        changes = tuple(schema_changes(before, one))
        steps.append(SchemaStep(one, changes, first.get(one.schema_id), one.schema_id == metadata.current_schema_id))
        before = one
    current = metadata.current_schema
    identifiers = set(current.identifier_field_ids)
    fields = [(field_id, name, current.by_id[field_id]) for field_id, name in current.names.items()]
    return here.render(steps=steps[::-1], fields=fields, identifiers=identifiers)


def partitioning(here: TablePage) -> Response:
    metadata = here.metadata
    names = {field_id: name for one in metadata.schemas for field_id, name in one.names.items()}
    return here.render(
        specs=sorted(metadata.partition_specs, key=lambda spec: spec.spec_id, reverse=True),
        orders=sorted(metadata.sort_orders, key=lambda order: order.order_id, reverse=True),
        names=names,
    )


@dataclass(frozen=True, slots=True)
class SnapshotStep:
    """A snapshot on the timeline."""

    snapshot: Snapshot
    refs: tuple[tuple[str, bool], ...]
    """The branches (True) and tags (False) that point to it."""
    in_history: bool
    """Whether it is an ancestor of the current snapshot."""
    changes: tuple[str, ...]


def snapshots(here: TablePage) -> Response:
    metadata = here.metadata
    ordered = sorted(metadata.snapshots, key=lambda one: (one.timestamp_ms, one.sequence_number), reverse=True)
    last_page = max(0, (len(ordered) - 1) // SNAPSHOTS_A_PAGE)
    number = here.number("page", 0, most=last_page)
    history = set(metadata.ancestor_ids(metadata.current_snapshot_id))
    refs: dict[int, list[tuple[str, bool]]] = {}
    for name, ref in metadata.refs.items():
        refs.setdefault(ref.snapshot_id, []).append((name, ref.is_branch))
    steps = [
        SnapshotStep(
            one,
            tuple(refs.get(one.snapshot_id, ())),
            one.snapshot_id in history,
            tuple(f"{sign}{one.summary[key]} {name}" for key, name, sign in _CHANGES if key in one.summary),
        )
        for one in ordered[number * SNAPSHOTS_A_PAGE : (number + 1) * SNAPSHOTS_A_PAGE]
    ]
    return here.render(steps=steps, number=number, last_page=last_page, count=len(ordered))
