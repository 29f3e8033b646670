"""Table statistics: how many distinct values each column has, as theta sketches in a Puffin file.
https://iceberg.apache.org/spec/#table-statistics"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.arrow.columns.murmur3_128 import distinct_hashes
from floeberg.arrow.scan.execute import TableReader
from floeberg.commit.commit import commit_operations
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.table_changes import ChangeStatistics
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.files.puffin import THETA_SKETCH_V1, Blob, write_puffin
from floeberg.files.theta_sketch import DEFAULT_SEED, ThetaSketch, sketch_of, union, write_sketch
from floeberg.maintenance.file_work import FileWork
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.snapshots.statistics import BlobMetadata, StatisticsFile
from floeberg.spec.types import UnknownType
from floeberg.version import VERSION

NDV: Final = "ndv"
_GROUPS: Final = 64
"""Into so many parts the files are split: the sketches of each part are put together where they are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedStatistics:
    """The table after its statistics were computed; None where it has no snapshot."""

    state: TableState
    file: StatisticsFile | None = None

    @property
    def distinct_values(self) -> dict[int, int]:
        """About how many distinct values each column has, by field id."""
        blobs = () if self.file is None else self.file.blob_metadata
        return {blob.fields[0]: int(blob.properties[NDV]) for blob in blobs}


def compute_table_stats(
    pointer: TablePointer,
    state: TableState,
    work: FileWork,
    *,
    columns: Sequence[str] | None = None,
    snapshot_id: int | None = None,
    case_sensitive: bool = True,
) -> ComputedStatistics:
    """Reads the live rows of a snapshot (the current one by default) and registers the numbers of distinct values of its
    primitive columns, or of those named. Raises InvalidInput for a column that is not there or nested, SnapshotNotFound."""
    metadata = state.metadata
    chosen = choose_snapshot(metadata, snapshot_id=snapshot_id)
    projection = _projection(chosen.schema, columns, state.identifier, case_sensitive=case_sensitive)
    if chosen.snapshot is None or not projection.fields:
        return ComputedStatistics(state=state)
    tasks = list(plan_files(metadata, chosen, store_for=pointer.store_for))
    groups = [group for start in range(_GROUPS) if (group := tuple(tasks[start::_GROUPS]))]
    maker = SketchMaker(projection)
    parts = list(work.each_read(maker.sketches, groups, metadata, chosen.schema, per_task=1))
    sketches = [union(part[at] for part in parts) for at in range(len(projection.fields))]
    ids = [column.field_id for column in projection.fields]
    file = _written(pointer, state, chosen.snapshot, dict(zip(ids, sketches, strict=True)))
    committed = commit_operations(pointer, state, [ChangeStatistics(set=[file])])
    return ComputedStatistics(state=committed.state, file=file)


@dataclass(frozen=True, slots=True)
class SketchMaker:
    """Makes a sketch of each column of a projection. Travels to the workers."""

    projection: Schema

    def sketches(self, reader: TableReader, tasks: Sequence[FileScanTask]) -> list[ThetaSketch]:
        """Of the live rows of files."""
        made = [ThetaSketch() for _ in self.projection.fields]
        for task in tasks:
            for batch in reader.rows(task, self.projection):
                for at, column in enumerate(self.projection.fields):
                    hashes = distinct_hashes(batch.column(at), column.type, seed=DEFAULT_SEED)
                    made[at] = sketch_of((made[at].hashes, hashes), theta=made[at].theta)
        return made


def _projection(schema: Schema, columns: Sequence[str] | None, identifier: str, *, case_sensitive: bool) -> Schema:
    if columns is None:
        return Schema(*(one for one in schema.fields if one.type.is_primitive and not _is_unknown(one.type)))
    chosen = {}
    for name in columns:
        found = schema.find(name, case_sensitive=case_sensitive)
        if found is None:
            raise InvalidInput(f"table {identifier}: no column {name!r:.60} to compute statistics of")
        if found not in schema.fields or not found.type.is_primitive or _is_unknown(found.type):
            raise InvalidInput(
                f"table {identifier}: column {name!r:.60} is nested; statistics are of primitive columns"
            )
        chosen[found.field_id] = found
    if not chosen:
        raise InvalidInput(f"table {identifier}: name at least one column, or none for all of them")
    return Schema(*chosen.values())


def _is_unknown(data_type: object) -> bool:
    return isinstance(data_type, UnknownType)


def _written(
    pointer: TablePointer, state: TableState, snapshot: Snapshot, sketches: Mapping[int, ThetaSketch]
) -> StatisticsFile:
    """Writes the Puffin file; nothing refers to it before a commit."""
    blobs = [
        Blob(
            type=THETA_SKETCH_V1,
            fields=(field_id,),
            data=write_sketch(sketch),
            snapshot_id=snapshot.snapshot_id,
            sequence_number=snapshot.sequence_number,
            compression_codec="zstd",
            properties={NDV: str(round(sketch.estimate))},
        )
        for field_id, sketch in sketches.items()
    ]
    written = write_puffin(blobs, properties={"created-by": f"floeberg {VERSION}"})
    name = f"{snapshot.snapshot_id}-{pointer.effects.ids.uuid()}.stats"
    location = Workspace(pointer).metadata_location(state.metadata, name)
    pointer.store_for(location).write(location, written.data)
    return StatisticsFile(
        snapshot_id=snapshot.snapshot_id,
        statistics_path=location,
        file_size_in_bytes=len(written.data),
        file_footer_size_in_bytes=written.footer_size_in_bytes,
        blob_metadata=tuple(
            BlobMetadata(
                type=blob.type,
                snapshot_id=blob.snapshot_id,
                sequence_number=blob.sequence_number,
                fields=blob.fields,
                properties=blob.properties,
            )
            for blob in written.footer.blobs
        ),
    )
