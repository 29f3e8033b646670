"""How the files of one snapshot fit together: no file twice, no row id twice, no delete without a file to apply to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from floeberg.arrow.scan.deletes import read_deletion_vector, read_position_deletes
from floeberg.effects.leniencies import gathered_leniencies
from floeberg.errors import FloebergError, FormatError, NotFound
from floeberg.expr.nodes import TRUE
from floeberg.maintenance.check_report import Findings, Problem
from floeberg.maintenance.file_work import FileWork
from floeberg.scan.manifest_frames import ManifestReader, StoreFor
from floeberg.scan.plan import plan_files
from floeberg.scan.scan_plan import entries_of
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileContent, ManifestContent
from floeberg.spec.snapshots.snapshot import Snapshot

_COLUMNS = ("file_path", "record_count", "first_row_id")


class SnapshotChecker:
    """Checks one snapshot as a whole. `read_deletes` also reads what its position deletes say."""

    def __init__(self, metadata: TableMetadata, store_for: StoreFor, work: FileWork, *, read_deletes: bool) -> None:
        self._metadata = metadata
        self._store_for = store_for
        self._work = work
        self._read_deletes = read_deletes
        self._reader = ManifestReader(metadata, metadata.current_schema, store_for)

    def check(self, snapshot: Snapshot) -> Findings:
        """What is wrong in a snapshot whose manifests can be read; nothing is raised for what it holds."""
        findings = Findings()
        try:
            data = self._live_data(snapshot)
            deletes = list(self._live_deletes(snapshot))
        except (FormatError, NotFound):
            return findings  # the manifests were reported where they were read
        self._check_duplicates(snapshot, data, findings)
        self._check_duplicate_deletes(snapshot, deletes, findings)
        self._check_row_ids(snapshot, data, findings)
        self._check_summary(snapshot, data, len(deletes), findings)
        rows = dict(zip(data.get_column("file_path"), data.get_column("record_count"), strict=True))
        self._check_scope(snapshot, deletes, findings)
        if self._read_deletes:
            by_position = [
                file for file in deletes if file.content is FileContent.POSITION_DELETES and file.key_metadata is None
            ]
            reader = PositionReader(self._work.store_for)
            read = self._work.each(reader.read, by_position)
            for file, found in zip(by_position, read, strict=True):
                findings.add_all(found.findings)
                self._check_positions(file, found.last_positions, rows, findings)
        return findings

    def _live_data(self, snapshot: Snapshot) -> pl.DataFrame:
        manifests = [m for m in self._reader.manifests(snapshot) if m.content is ManifestContent.DATA]
        schema = {"file_path": pl.String, "record_count": pl.Int64, "first_row_id": pl.Int64}
        frames = [pl.DataFrame(schema=schema)]
        frames += self._reader.in_parallel(
            lambda m: self._reader.frame(m).filter(pl.col("status") != EntryStatus.DELETED).select(_COLUMNS), manifests
        )
        return pl.concat(frames)

    def _live_deletes(self, snapshot: Snapshot) -> Iterator[DataFile]:
        for manifest in self._reader.manifests(snapshot):
            if manifest.content is ManifestContent.DELETES:
                live = self._reader.frame(manifest).filter(pl.col("status") != EntryStatus.DELETED)
                partition_type = self._reader.partition_type(self._reader.spec(manifest))
                yield from (entry.data_file for entry in entries_of(live, partition_type))

    def _check_duplicates(self, snapshot: Snapshot, data: pl.DataFrame, findings: Findings) -> None:
        twice = data.group_by("file_path", maintain_order=True).len().filter(pl.col("len") > 1)
        for path, times in twice.iter_rows():
            findings.error(
                Problem.DUPLICATE_FILE, path,
                f"stands {times} times in snapshot {snapshot.snapshot_id}: its rows are read {times} times",
            )  # fmt: skip

    def _check_duplicate_deletes(self, snapshot: Snapshot, deletes: list[DataFile], findings: Findings) -> None:
        seen: set[tuple[str, int | None]] = set()
        for file in deletes:
            if file.identity in seen:
                own = Findings(content_offset=file.identity[1])
                own.warn(
                    Problem.DUPLICATE_FILE, file.file_path,
                    f"stands more than once in snapshot {snapshot.snapshot_id}: its deletes are read more than once",
                )  # fmt: skip
                findings.add_all(own)
            seen.add(file.identity)

    def _check_row_ids(self, snapshot: Snapshot, data: pl.DataFrame, findings: Findings) -> None:
        """https://iceberg.apache.org/spec/#row-lineage: a row id is given once."""
        ranges = (
            data.filter(pl.col("first_row_id").is_not_null() & (pl.col("record_count") > 0))
            .sort("first_row_id")
            .with_columns((pl.col("first_row_id") + pl.col("record_count")).alias("end"))
            .with_columns(
                pl.col("end").cum_max().shift(1).alias("taken"),
                pl.col("file_path").shift(1).alias("other"),
            )
        )
        for path, first, taken, other in (
            ranges.filter(pl.col("first_row_id") < pl.col("taken"))
            .select("file_path", "first_row_id", "taken", "other")
            .iter_rows()
        ):
            findings.error(
                Problem.DUPLICATE_ROW_IDS, path,
                f"begins at row id {first} in snapshot {snapshot.snapshot_id}, but ids up to {taken - 1} belong to files "
                f"before it, such as {other}",
            )  # fmt: skip
        beyond = ranges.filter(pl.col("end") > self._metadata.next_row_id)
        for path, end in beyond.select("file_path", "end").iter_rows():
            findings.error(
                Problem.DUPLICATE_ROW_IDS, path,
                f"has row ids up to {end - 1}, but the table will give them again: next-row-id is {self._metadata.next_row_id}",
            )  # fmt: skip

    def _check_summary(self, snapshot: Snapshot, data: pl.DataFrame, deletes: int, findings: Findings) -> None:
        where = snapshot.manifest_list or self._metadata.location
        actual = {
            "total-data-files": data.height,
            "total-records": int(data.get_column("record_count").sum()),
            "total-delete-files": deletes,
        }
        for key, count in actual.items():
            stated = snapshot.summary.get(key)
            if stated is not None and stated != str(count):
                findings.warn(
                    Problem.WRONG_COUNT, where,
                    f"the summary of snapshot {snapshot.snapshot_id} says {key} {stated[:20]}, its manifests {count}",
                )  # fmt: skip

    def _check_scope(self, snapshot: Snapshot, deletes: list[DataFile], findings: Findings) -> None:
        """Deletes that planning applies to no file of the snapshot."""
        if not deletes:
            return
        try:
            plan = plan_files(
                self._metadata,
                SnapshotChoice(snapshot, self._metadata.current_schema),
                store_for=self._store_for,
                where=TRUE,
            )
            applied = {delete.file.identity for delete in plan.delete_files}
        except FloebergError as error:
            location = snapshot.manifest_list or self._metadata.location
            findings.error(Problem.BAD_DELETE, location, f"snapshot {snapshot.snapshot_id} cannot be planned: {error}")
            return
        for file in deletes:
            if file.identity in applied:
                continue
            own = Findings(content_offset=file.identity[1])
            if file.is_deletion_vector:
                # https://iceberg.apache.org/spec/#row-level-deletes: it must go with its data file.
                own.error(
                    Problem.DANGLING_DELETE, file.file_path,
                    f"holds a deletion vector for {file.referenced_data_file}, to which it does not apply in snapshot "
                    f"{snapshot.snapshot_id}",
                )  # fmt: skip
            else:
                own.warn(
                    Problem.DANGLING_DELETE, file.file_path,
                    f"applies to no data file of snapshot {snapshot.snapshot_id}; rewriting deletes would remove it",
                )  # fmt: skip
            findings.add_all(own)

    def _check_positions(
        self, file: DataFile, last_positions: Mapping[str, int], rows: Mapping[str, int], findings: Findings
    ) -> None:
        """Positions that a data file does not have, and paths that no data file has."""
        own = Findings(content_offset=file.identity[1])
        unknown = [path for path in last_positions if path not in rows]
        if unknown and not file.is_deletion_vector:
            whole = len(unknown) == len(last_positions)
            own.warn(
                Problem.DANGLING_DELETE if whole else Problem.PARTLY_DANGLING_DELETE, file.file_path,
                f"deletes rows of {len(unknown)} files that the snapshot does not have, such as {unknown[0]}",
            )  # fmt: skip
        for path, last in last_positions.items():
            if path in rows and last >= rows[path]:
                own.error(
                    Problem.BAD_DELETE, file.file_path,
                    f"deletes position {last} of {path}, which has {rows[path]} rows",
                )  # fmt: skip
        findings.add_all(own)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedPositions:
    """The last position that a delete file deletes of each data file, -1 for none."""

    last_positions: Mapping[str, int] = field(default_factory=dict)
    findings: Findings = field(default_factory=Findings)


@dataclass(frozen=True, slots=True)
class PositionReader:
    """Reads position deletes and deletion vectors. Travels to the workers."""

    store_for: StoreFor

    def read(self, file: DataFile) -> DeletedPositions:
        """Nothing of a file that cannot be read: it is reported where it is checked by itself."""
        store = self.store_for(file.file_path)
        findings = Findings()
        try:
            if file.is_deletion_vector:
                by_path = {file.referenced_data_file or "": read_deletion_vector(store, file)}
            else:
                with gathered_leniencies() as tolerated:
                    by_path = dict(read_position_deletes(store, file))
                findings.tolerated(tolerated)
        except FloebergError:
            return DeletedPositions()
        last = {path: positions.max() if positions else -1 for path, positions in by_path.items()}
        return DeletedPositions(last_positions=last, findings=findings)
