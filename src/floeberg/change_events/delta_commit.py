"""The commit of a batch of events: one row delta of what all tasks wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.delete_reach import AddGlobalSpec, DeleteReach, RequireReach, delete_reach, live_spec_ids
from floeberg.change_events.delta_writer import DeltaLayout, WrittenDelta
from floeberg.change_events.sequences import EventCounts
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.row_delta import RowDelta
from floeberg.commit.workspace import Workspace
from floeberg.errors import UnsupportedFeature
from floeberg.row_changes.policy import DeleteGranularity, delete_granularity, refuse_encrypted
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import FileContent
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.types import NestedField


def plan_reach(
    table: LoadedTable, keys: Sequence[NestedField], *, branch: str = MAIN_BRANCH, metadata: TableMetadata | None = None
) -> DeleteReach:
    """Where equality deletes of a batch go, for a table as it is loaded. Raises UnsupportedFeature for format version 1,
    which has no deletes, and for encrypted tables."""
    known = metadata or table.state.metadata
    check_takes_deltas(known, table.state.identifier)
    live = live_spec_ids(table.state.metadata, Workspace(table.pointer), branch=branch)
    return delete_reach(known, live, [field.field_id for field in keys])


def check_takes_deltas(metadata: TableMetadata, identifier: str) -> None:
    """Raises UnsupportedFeature for a table that has no delete files, or is encrypted."""
    if metadata.format_version < 2:
        raise UnsupportedFeature(
            f"table {identifier}: format version 1 has no delete files, so events cannot be applied; upgrade it: "
            f"ALTER TABLE {identifier} SET TBLPROPERTIES ('format-version' = '2')",
            table=identifier,
        )
    refuse_encrypted(metadata)


def delta_layout(
    table: LoadedTable, keys: Sequence[NestedField], reach: DeleteReach, *, metadata: TableMetadata | None = None
) -> DeltaLayout:
    """What the files of a batch look like; `metadata` is the table's as the commit will make it (mergeSchema)."""
    known = metadata or table.state.metadata
    return DeltaLayout(
        table=table.state.identifier,
        location=known.location,
        schema=known.current_schema,
        spec=known.default_spec,
        delete_specs=reach.specs,
        key_ids=tuple(field.field_id for field in keys),
        format_version=known.format_version,
        by_partition=delete_granularity(known) is DeleteGranularity.PARTITION,
        properties=dict(known.properties),
        write_id=table.pointer.effects.ids.uuid(),
    )


def delta_operations(written: Sequence[WrittenDelta], reach: DeleteReach, target: SnapshotTarget) -> list[Operation]:
    """What commits the files of a batch's tasks; nothing where they wrote none."""
    files = [file for delta in written for file in delta.files]
    if not files:
        return []
    counts = total(written)
    has_keys = any(file.content is FileContent.EQUALITY_DELETES for file in files)
    operations: list[Operation] = []
    if has_keys and reach.added is not None:
        operations.append(AddGlobalSpec(spec=reach.added))
    if has_keys:
        operations.append(RequireReach(specs=reach.specs, branch=target.branch))
    operations.append(
        RowDelta(
            added=files,
            referenced=frozenset().union(*(delta.referenced for delta in written)),
            target=replace(target, summary={**count_summary(counts), **target.summary}),
        )
    )
    return operations


def total(written: Sequence[WrittenDelta]) -> EventCounts:
    """The counts of all tasks together."""
    counts = EventCounts()
    for delta in written:
        counts.add(delta.counts)
    return counts


def count_summary(counts: EventCounts) -> dict[str, str]:
    """The counts as keys of a snapshot's summary; what was not done is left out."""
    return {f"cdc-{name.replace('_', '-')}": str(number) for name, number in asdict(counts).items() if number}
