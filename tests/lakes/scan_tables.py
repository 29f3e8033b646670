"""Tables for planning tests, made through the real commit path in an in-memory catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.commit.isolation import ReadView
from floeberg.commit.row_delta import RowDelta
from floeberg.effects.protocols import Store
from floeberg.effects.system import system_effects
from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_list import write_manifest_list
from floeberg.scan.plan import plan_files
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import (
    AddPartitionSpec,
    AddSnapshot,
    MetadataUpdate,
    SetSnapshotRef,
    create_table_updates,
)
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileContent, FileFormat, ManifestEntry
from floeberg.spec.snapshots.refs import SnapshotRef
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.values.single_value import to_bytes
from floeberg.storage.memory import MemoryStore

DDL = "id bigint, data string, price double, day date"


def new_table(
    *,
    format_version: int = 2,
    partition_by: Sequence[str] = (),
    schema: str = DDL,
    properties: dict[str, str] | None = None,
) -> Table:
    lake = catalog("m", type="memory")
    lake.create_namespace("db")
    return lake.create_table(
        "db.t", schema, partition_by=list(partition_by), format_version=format_version, properties=properties or {}
    )


def data_file(table: Table, name: str, *, partition: tuple[object, ...] = (), rows: int = 10, **more: Any) -> DataFile:
    """A data file; bounds are given as `id=(low, high)` by column name."""
    fields = {field.name: field for field in table.schema.fields}
    ranges = {key: more.pop(key) for key in list(more) if key in fields}
    lower = {fields[key].field_id: to_bytes(fields[key].type, low) for key, (low, _) in ranges.items()}
    upper = {fields[key].field_id: to_bytes(fields[key].type, high) for key, (_, high) in ranges.items()}
    counted = dict.fromkeys(lower, rows)
    file = DataFile(
        file_path=f"{table.location}/data/{name}.parquet",
        file_format=FileFormat.PARQUET,
        spec_id=table.metadata.default_spec_id,
        partition=partition,
        record_count=rows,
        file_size_in_bytes=1_000,
        value_counts=counted or None,
        null_value_counts=dict.fromkeys(lower, 0) or None,
        lower_bounds=lower or None,
        upper_bounds=upper or None,
    )
    return structs.replace(file, **more)


def equality_delete(table: Table, name: str, *keys: str, **more: Any) -> DataFile:
    ids = tuple(field.field_id for field in table.schema.fields if field.name in keys)
    return data_file(table, name, content=FileContent.EQUALITY_DELETES, equality_ids=ids, **more)


def position_delete(table: Table, name: str, *targets: DataFile, **more: Any) -> DataFile:
    """A position delete file with the path bounds of the files it is for."""
    file = data_file(table, name, content=FileContent.POSITION_DELETES, **more)
    paths = sorted(target.file_path.encode() for target in targets)
    if not paths:
        return file
    path_id = DELETE_FILE_PATH.field_id
    return structs.replace(file, lower_bounds={path_id: paths[0]}, upper_bounds={path_id: paths[-1]})


def deletion_vector(table: Table, name: str, target: DataFile, **more: Any) -> DataFile:
    file = data_file(table, name, content=FileContent.POSITION_DELETES, **more)
    return structs.replace(
        file,
        file_path=f"{table.location}/data/{name}.puffin",
        file_format=FileFormat.PUFFIN,
        spec_id=target.spec_id,
        partition=target.partition,
        referenced_data_file=target.file_path,
        content_offset=4,
        content_size_in_bytes=40,
    )


def add_deletes(table: Table, *files: DataFile, removed: Sequence[DataFile] = ()) -> None:
    current = table.current_snapshot
    view = ReadView(starting_snapshot_id=None if current is None else current.snapshot_id)
    table._commit(RowDelta(added=files, removed_deletes=removed, view=view))


def plan(table: Table, **options: Any) -> ScanPlan:
    where = {key: options.pop(key) for key in ("snapshot_id", "ref", "as_of_ms") if key in options}
    options.setdefault("store_for", table._pointer.store_for)
    return plan_files(table.metadata, choose_snapshot(table.metadata, **where), **options)


def names(table: Table, found: ScanPlan) -> list[str]:
    """The planned files by their short names."""
    return sorted(short(task.data_file) for task in found)


def short(file: DataFile) -> str:
    return file.file_path.rpartition("/")[2].partition(".")[0]


def deletes_by_file(found: ScanPlan) -> dict[str, list[str]]:
    return {short(task.data_file): sorted(short(delete.file) for delete in task.deletes) for task in found}


class CountingStores:
    """Counts what a plan asks of the store."""

    def __init__(self, table: Table) -> None:
        self._store_for = table._pointer.store_for
        self.calls: list[tuple[str, str]] = []

    def store_for(self, location: str) -> Store:
        return _Counted(self._store_for(location), self.calls)  # type: ignore[return-value]


class _Counted:
    def __init__(self, store: Store, calls: list[tuple[str, str]]) -> None:
        self._store = store
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        action = getattr(self._store, name)

        def counted(location: str, *rest: Any, **options: Any) -> Any:
            self._calls.append((name, location))
            return action(location, *rest, **options)

        return counted


@dataclass(frozen=True)
class HandMade:
    """A table made of given manifests, for metrics and partitions that no writer would give."""

    metadata: TableMetadata
    store: MemoryStore

    def store_for(self, location: str) -> Store:
        return self.store


def hand_made(
    schema: Schema, manifests: Sequence[tuple[PartitionSpec, Sequence[DataFile]]], *, format_version: int = 2
) -> HandMade:
    """A v3 table whose manifests are of an older version, as after an upgrade."""
    store = MemoryStore(system_effects().clock)
    specs = list({spec.spec_id: spec for spec, _ in manifests}.values())
    updates: list[MetadataUpdate] = list(
        create_table_updates(
            table_uuid="9c12d441-03fe-4693-9a96-a0705ddf69c1",
            location="memory://w/t",
            schema=schema,
            spec=specs[0],
            format_version=3,
        )
    )
    updates += [AddPartitionSpec(spec) for spec in specs[1:]]
    listed = []
    for number, (spec, files) in enumerate(manifests):
        entries = [ManifestEntry(status=EntryStatus.ADDED, snapshot_id=7, data_file=file) for file in files]
        written = write_manifest(entries, schema=schema, spec=spec, format_version=format_version, snapshot_id=7)
        path = f"memory://w/t/metadata/m{number}.avro"
        store.write(path, written.data)
        listed.append(written.to_manifest_file(path, 0 if format_version == 1 else 1))
    if format_version >= 3:
        listed = [replace(manifest, first_row_id=1_000 * number) for number, manifest in enumerate(listed)]
    data = write_manifest_list(
        listed, format_version=format_version, snapshot_id=7, parent_snapshot_id=None, sequence_number=1, first_row_id=0
    )
    store.write("memory://w/t/metadata/list.avro", data)
    rows = sum(file.record_count for _, files in manifests for file in files)
    snapshot = Snapshot(
        snapshot_id=7,
        sequence_number=1,
        timestamp_ms=2**41,
        manifest_list="memory://w/t/metadata/list.avro",
        operation="append",
        schema_id=0,
        first_row_id=0,
        added_rows=rows,
    )
    updates += [AddSnapshot(snapshot), SetSnapshotRef("main", SnapshotRef(snapshot_id=7))]
    return HandMade(apply_updates(None, updates, now_ms=2**41), store)
