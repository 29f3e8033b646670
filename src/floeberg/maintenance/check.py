"""Checks a table: every file it refers to exists and is as the metadata say. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from floeberg.effects.leniencies import gathered_leniencies
from floeberg.effects.progress import Progress
from floeberg.errors import FileNotFound, FloebergError
from floeberg.files.manifest import read_manifest
from floeberg.files.puffin import THETA_SKETCH_V1, decode_blob
from floeberg.files.theta_sketch import read_sketch
from floeberg.maintenance.check_files import FileChecker, read_puffin_footer
from floeberg.maintenance.check_report import CheckReport, Findings, Problem
from floeberg.maintenance.check_rows import RowChecker
from floeberg.maintenance.check_snapshot import SnapshotChecker
from floeberg.maintenance.file_work import FileWork, ThreadedWork
from floeberg.scan.manifest_frames import ManifestReader, StoreFor
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_name_mapping import table_name_mapping
from floeberg.spec.schemas.name_mapping import NAME_MAPPING_PROPERTY, NameMapping
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, FileContent, ManifestEntry, ManifestFile
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.snapshots.statistics import StatisticsFile


def check_table(
    metadata: TableMetadata,
    store_for: StoreFor,
    *,
    name: str | None = None,
    snapshot_ids: Iterable[int] | None = None,
    read_footers: bool = True,
    read_rows: bool = False,
    work: FileWork | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Looks at every file that the snapshots refer to (all of them, or those named), and at how the files of the current
    snapshot and of each branch and tag (or those named) fit together.

    `read_footers=False` only asks whether files are there and how long they are; `read_rows` reads every row too, and
    compares the row ids that files store. `work` says who looks at the files, threads of this process by default.
    What is found goes into the report; raised is only SnapshotNotFound for what was asked.
    """
    told = progress or (lambda *_: None)
    by = work or ThreadedWork(store_for)
    checker = _TableChecker(metadata, store_for, by, read_footers=read_footers, read_rows=read_rows, progress=told)
    wanted = None if snapshot_ids is None else [metadata.snapshot(snapshot_id) for snapshot_id in snapshot_ids]
    checker.run(list(metadata.snapshots) if wanted is None else wanted, _heads(metadata) if wanted is None else wanted)
    return checker.findings.report(name or metadata.location)


def _heads(metadata: TableMetadata) -> list[Snapshot]:
    """The snapshots that are read by name: the current one and those of branches and tags."""
    ids = dict.fromkeys((metadata.current_snapshot_id, *(ref.snapshot_id for ref in metadata.refs.values())))
    return [found for wanted in ids if wanted is not None and (found := metadata.find_snapshot(wanted)) is not None]


class _TableChecker:
    def __init__(
        self,
        metadata: TableMetadata,
        store_for: StoreFor,
        work: FileWork,
        *,
        read_footers: bool,
        read_rows: bool,
        progress: Progress,
    ) -> None:
        self.findings = Findings()
        self._metadata = metadata
        self._store_for = store_for
        self._work = work
        self._read_footers = read_footers
        self._read_rows = read_rows
        self._progress = progress
        self._reader = ManifestReader(metadata, metadata.current_schema, store_for)

    def run(self, snapshots: Sequence[Snapshot], heads: Sequence[Snapshot]) -> None:
        self._check_other_files()
        manifests = list(self._manifests(snapshots))
        checker = FileChecker(
            self._work.store_for,
            self._metadata.current_schema,
            self._name_mapping(),
            read_footers=self._read_footers,
        )
        for done, found in enumerate(self._work.each(checker.check, self._files(manifests)), 1):
            self.findings.add_all(found)
            self._progress("files", done)
        whole = SnapshotChecker(self._metadata, self._store_for, self._work, read_deletes=self._read_footers)
        rows = RowChecker(self._metadata, self._store_for, self._work)
        for done, snapshot in enumerate(heads, 1):
            self.findings.add_all(whole.check(snapshot))
            if self._read_rows:
                self.findings.add_all(rows.check(snapshot))
            self._progress("snapshots", done)

    def _check_other_files(self) -> None:
        """Old metadata files and statistics: no row is lost without them."""
        for entry in self._metadata.metadata_log:
            self._check_side_file(entry.metadata_file, None, "metadata log")
        for statistics in self._metadata.statistics:
            path, size_bytes = statistics.statistics_path, statistics.file_size_in_bytes
            self._check_snapshot_of(path, statistics.snapshot_id, "statistics")
            if self._check_side_file(path, size_bytes, "statistics") and statistics.key_metadata is None:
                self._check_blobs(statistics)
        for partition in self._metadata.partition_statistics:
            self._check_snapshot_of(partition.statistics_path, partition.snapshot_id, "partition statistics")
            self._check_side_file(partition.statistics_path, partition.file_size_in_bytes, "partition statistics")

    def _check_snapshot_of(self, path: str, snapshot_id: int, what: str) -> None:
        if self._metadata.find_snapshot(snapshot_id) is None:
            message = f"is of snapshot {snapshot_id}, which the table does not have ({what})"
            self.findings.warn(Problem.ORPHANED_STATISTICS, path, message)

    def _check_blobs(self, statistics: StatisticsFile) -> None:
        """Whether the footer of a statistics file and its sketches can be read."""
        path = statistics.statistics_path
        if not self._read_footers:
            return
        try:
            footer = read_puffin_footer(self._store_for, path, statistics.file_size_in_bytes)
            for blob in footer.blobs:
                if blob.type == THETA_SKETCH_V1:
                    stored = self._store_for(path).read(path, offset=blob.offset, length=blob.length)
                    read_sketch(decode_blob(stored, blob))
        except FloebergError as error:
            message = str(error).removeprefix(f"{path}: ")
            self.findings.warn(Problem.UNREADABLE, path, f"{message} (statistics)")

    def _check_side_file(self, path: str, size_bytes: int | None, what: str) -> bool:
        """Whether a file is there, with the recorded size."""
        try:
            found = self._store_for(path).size(path)
        except FileNotFound:
            self.findings.warn(Problem.MISSING_FILE, path, f"is not there ({what})")
        except FloebergError as error:
            self.findings.warn(Problem.UNREADABLE, path, f"{error} ({what})")
        else:
            if size_bytes is not None and found != size_bytes:
                self.findings.warn(
                    Problem.WRONG_SIZE, path, f"has {found} bytes, the metadata say {size_bytes} ({what})"
                )
                return False
            return True
        return False

    def _manifests(self, snapshots: Sequence[Snapshot]) -> Iterator[ManifestFile]:
        """The manifests of the snapshots, each once."""
        seen: set[str] = set()
        for done, snapshot in enumerate(snapshots, 1):
            self._progress("manifest lists", done)
            self.findings.counted["snapshots"] += 1
            try:
                with self._gathered():
                    listed = self._reader.manifests(snapshot)
            except FloebergError as error:
                self._unreadable(snapshot.manifest_list or self._metadata.location, error)
                continue
            for manifest in listed:
                if manifest.manifest_path not in seen:
                    seen.add(manifest.manifest_path)
                    yield manifest

    def _files(self, manifests: Sequence[ManifestFile]) -> Iterator[DataFile]:
        """The live files of the manifests, each once."""
        seen: set[tuple[str, int | None]] = set()
        for done, manifest in enumerate(manifests, 1):
            self._progress("manifests", done)
            self.findings.counted["manifests"] += 1
            for entry in self._entries(manifest):
                if entry.status is EntryStatus.DELETED or entry.data_file.identity in seen:
                    continue
                seen.add(entry.data_file.identity)
                is_data = entry.data_file.content is FileContent.DATA
                self.findings.counted["data_files" if is_data else "delete_files"] += 1
                yield entry.data_file

    def _entries(self, manifest: ManifestFile) -> list[ManifestEntry]:
        path = manifest.manifest_path
        try:
            data = self._store_for(path).read(path)
            partition_type = self._reader.partition_type(self._reader.spec(manifest))
            with self._gathered():
                entries = read_manifest(data, manifest, partition_type=partition_type)
        except FloebergError as error:
            self._unreadable(path, error)
            return []
        if len(data) != manifest.manifest_length:
            self.findings.error(
                Problem.WRONG_SIZE, path, f"has {len(data)} bytes, its manifest list says {manifest.manifest_length}"
            )
        self._check_counts(manifest, entries)
        return entries

    def _check_counts(self, manifest: ManifestFile, entries: Sequence[ManifestEntry]) -> None:
        for status in EntryStatus:
            of_status = [entry.data_file.record_count for entry in entries if entry.status is status]
            for what, count in (("files", len(of_status)), ("rows", sum(of_status))):
                stated = getattr(manifest, f"{status.name.lower()}_{what}_count")
                if stated is not None and stated != count:
                    self.findings.error(
                        Problem.WRONG_COUNT, manifest.manifest_path,
                        f"has {count} {status.name.lower()} {what}, its manifest list says {stated}",
                    )  # fmt: skip

    def _unreadable(self, path: str, error: FloebergError) -> None:
        if isinstance(error, FileNotFound):
            self.findings.error(Problem.MISSING_FILE, path, "is not there")
        else:
            self.findings.error(Problem.UNREADABLE, path, str(error).removeprefix(f"manifest {path}: "))

    def _name_mapping(self) -> NameMapping | None:
        try:
            with self._gathered():
                return table_name_mapping(self._metadata)
        except FloebergError as error:
            message = f"table property {NAME_MAPPING_PROPERTY}: {error}"
            self.findings.error(Problem.UNREADABLE, self._metadata.location, message)
            return None

    @contextmanager
    def _gathered(self) -> Iterator[None]:
        """Collects the leniencies inside the block as findings."""
        with gathered_leniencies() as tolerated:
            yield
        self.findings.tolerated(tolerated)
