"""Keeping a table healthy, as users ask for it: `t.maintenance.expire_snapshots(older_than="2026-01-01")`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from floeberg.api.attach import (
    convert_on_spark,
    import_on_spark,
    large_work,
    rewrite_on_spark,
    spark_engine,
    spark_work,
)
from floeberg.api.moments import to_milliseconds
from floeberg.api.scan import Where, to_expression
from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.static import StaticPointer
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.effects.progress import Progress
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.maintenance.check import check_table
from floeberg.maintenance.check_report import CheckReport
from floeberg.maintenance.expire import Expired, Expiry, expire_snapshots
from floeberg.maintenance.file_work import THREADS, FileWork, ThreadedWork
from floeberg.maintenance.imports.add_files import AddedFiles, ImportRequest, add_files, columns_of, file_format_of
from floeberg.maintenance.imports.folders import list_folder
from floeberg.maintenance.maintain import Maintained, maintain_table
from floeberg.maintenance.manifests import RewrittenManifests, rewrite_manifests
from floeberg.maintenance.orphans import OrphanRequest, Orphans, remove_orphan_files
from floeberg.maintenance.partition_statistics import ComputedPartitionStatistics, compute_partition_stats
from floeberg.maintenance.path_match import prefix_mismatch
from floeberg.maintenance.repair import Repaired, RepairRequest, repair_actions, repair_table
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.compact import RewriteRequest, Rewritten, rewrite_data_files
from floeberg.maintenance.rewrite.delete_files import (
    DeleteRewriteOptions,
    DeleteRewriteRequest,
    RewrittenDeletes,
    convert_equality_deletes,
    rewrite_position_deletes,
)
from floeberg.maintenance.rewrite.engine import RewriteEngine
from floeberg.maintenance.table_path.rewrite import PathRequest, RewrittenPaths, rewrite_table_path
from floeberg.maintenance.table_statistics import ComputedStatistics, compute_table_stats
from floeberg.spec.snapshots.refs import MAIN_BRANCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class MaintainedTable(Protocol):
    """The table that maintenance works on: it is brought up to date first, and shows the result."""

    _pointer: TablePointer
    _state: TableState

    def refresh(self) -> MaintainedTable: ...


class Maintenance:
    """Each method is one piece of work on the table's current state, beside running writers."""

    def __init__(self, table: MaintainedTable) -> None:
        self._table = table

    def check(
        self,
        *,
        snapshot_ids: Collection[int] | None = None,
        read_footers: bool = True,
        read_rows: bool = False,
        spark: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> CheckReport:
        """Whether the table is whole: every file there, as long and as full as recorded, in all snapshots or those named.
        With `spark` the files are looked at by Spark's workers. Nothing is changed."""
        self._table.refresh()
        state = self._table._state
        return check_table(
            state.metadata,
            self._table._pointer.store_for,
            name=state.identifier,
            snapshot_ids=snapshot_ids,
            read_footers=read_footers,
            read_rows=read_rows,
            work=self._work(spark),
            progress=progress,
        )

    def repair(
        self,
        actions: Collection[str],
        *,
        snapshot_id: int | None = None,
        branch: str = MAIN_BRANCH,
        read_rows: bool = False,
        dry_run: bool = False,
        spark: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> Repaired:
        """Repairs what a check of the branch's newest snapshot finds, by the chosen actions, in one commit that can be rolled
        back; no file is deleted.

        `drop-data` and `drop-deletes` drop the entries of files that are missing or cannot be read, and deletes that delete
        nothing; without a delete file the rows that it deleted come back. `drop-duplicates` keeps one entry of each file,
        `recompute-metrics` measures sizes, counts and bounds anew, `renumber-rows` gives new row ids where they clash,
        `drop-statistics` forgets statistics that are missing or of no snapshot. `restore` moves the branch back
        to the newest older snapshot that is whole, or to `snapshot_id`. Raises InvalidInput when nothing is chosen, or nothing
        can be restored.
        """
        request = RepairRequest(
            actions=repair_actions(actions),
            snapshot_id=snapshot_id,
            branch=branch,
            read_rows=read_rows,
            dry_run=dry_run,
        )
        self._table.refresh()
        pointer = self._writable()
        done = repair_table(pointer, self._table._state, self._work(spark), request, progress=progress)
        self._table._state = done.state
        return done

    def expire_snapshots(
        self,
        *,
        older_than: datetime | str | int | None = None,
        retain_last: int | None = None,
        snapshot_ids: Collection[int] = (),
        clean_expired_metadata: bool = False,
        delete_files: bool = True,
    ) -> Expired:
        """Expires snapshots older than a time but for the last so many of each branch, and those named; then deletes the
        files that no snapshot reaches. What is left out comes from the table's `history.expire.*`. Raises InvalidInput when
        gc.enabled is false, or a named snapshot is the head of a branch or tag."""
        self._table.refresh()
        expiry = Expiry(
            older_than_ms=to_milliseconds(older_than),
            retain_last=retain_last,
            snapshot_ids=snapshot_ids,
            clean_expired_metadata=clean_expired_metadata,
        )
        expired = expire_snapshots(self._writable(), self._table._state, expiry, delete_files=delete_files)
        self._table._state = expired.state
        return expired

    def add_files(
        self,
        source: str,
        *,
        format: str = "parquet",
        partition_filter: Mapping[str, str] | None = None,
        check_duplicate_files: bool = True,
        parallelism: int | None = None,
        spark: SparkSession | None = None,
    ) -> AddedFiles:
        """Adds the data files of a folder (or one file) where they lie, in one commit; no row is copied.

        Folders such as `day=2026-05-01` say the partition, and the table must be partitioned by the same columns;
        `partition_filter` chooses some partitions. Files without field ids are read by the names of their columns, which the
        table's name mapping then has. With `spark` many files are looked at by a Spark job. Raises InvalidInput,
        DataFileCorrupt for a file that does not fit the table, FileAlreadyExists for one that it holds already.
        """
        self._table.refresh()
        pointer, state = self._writable(), self._table._state
        if parallelism is not None and parallelism < 1:
            raise InvalidInput(f"parallelism must be larger than 0, not {parallelism}")
        file_format = file_format_of(format)
        files = list_folder(pointer.store_for, source)
        request = ImportRequest(
            files=files,
            columns=columns_of(files),
            file_format=file_format,
            partition_filter=dict(partition_filter or {}),
            check_duplicate_files=check_duplicate_files,
        )
        work: FileWork = ThreadedWork(pointer.store_for, parallelism or THREADS)
        if spark is not None:
            work = import_on_spark(spark, LoadedTable(pointer, state), files, parallelism)
        done = add_files(pointer, state, work, request)
        self._table._state = done.state
        return done

    def compact(
        self,
        *,
        where: Where = None,
        strategy: str | None = None,
        sort_order: str | None = None,
        options: Mapping[str, str] | None = None,
        branch: str = MAIN_BRANCH,
        case_sensitive: bool = True,
        spark: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> Rewritten:
        """Rewrites small data files, and those with many deletes, as files of the target size without deleted rows.

        `strategy` is binpack or sort; `sort_order` is such as `"ts desc, id"` or `"zorder(a, b)"`. `where` chooses files
        that may hold matching rows. `options` are those of `rewrite_data_files`. With `spark` the rows are written by Spark
        jobs, otherwise in this process, where sorting holds the rows of a group of files in memory. Writers may go on
        meanwhile. Raises InvalidInput before any work when something does not fit.
        """
        self._table.refresh()
        pointer, state = self._writable(), self._table._state
        request = RewriteRequest(
            where=to_expression(where),
            strategy=strategy,
            sort_order=sort_order,
            options=dict(options or {}),
            branch=branch,
            case_sensitive=case_sensitive,
        )
        if spark is None:
            done = rewrite_data_files(pointer, state, ArrowEngine(pointer), request, progress=progress)
        else:
            done = rewrite_on_spark(spark, LoadedTable(pointer, state), request, progress=progress)
        self._table._state = done.state
        return done

    def rewrite_deletes(
        self,
        *,
        equality: Literal["keep", "convert"] = "keep",
        where: Where = None,
        options: Mapping[str, str] | None = None,
        branch: str = MAIN_BRANCH,
        case_sensitive: bool = True,
        spark: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> RewrittenDeletes:
        """Merges small position delete files, makes deletion vectors of them on version 3 tables, and drops deletes that
        delete nothing. With `equality="convert"`, equality deletes become deletes by position first; with `spark` their rows
        are found by a Spark job. `options` are those of `rewrite_position_delete_files`. No row changes."""
        if equality not in ("keep", "convert"):
            raise InvalidInput(f"equality is keep or convert, not {equality!r:.60}")
        self._table.refresh()
        request = DeleteRewriteRequest(
            where=to_expression(where), options=dict(options or {}), branch=branch, case_sensitive=case_sensitive
        )
        pointer = self._writable()
        DeleteRewriteOptions.of(self._table._state.metadata, request.options)
        converted: RewrittenDeletes | None = None
        if equality == "convert":
            asked = replace(request, options={})
            loaded = LoadedTable(pointer, self._table._state)
            if spark is None:
                converted = convert_equality_deletes(
                    pointer, loaded.state, ArrowEngine(pointer), asked, progress=progress
                )
            else:
                converted = convert_on_spark(spark, loaded, asked, progress=progress)
            self._table._state = converted.state
        merged = rewrite_position_deletes(pointer, self._table._state, request, progress=progress)
        self._table._state = merged.state
        return merged if converted is None else converted.and_then(merged)

    def rewrite_manifests(
        self, *, spec_id: int | None = None, sort_by: Sequence[str] | None = None, branch: str = MAIN_BRANCH
    ) -> RewrittenManifests:
        """Rewrites the manifests of a partition spec (the current one by default), clustered by partition; `sort_by` names
        the partition fields to cluster by. Raises InvalidInput."""
        self._table.refresh()
        pointer, state = self._writable(), self._table._state
        done = rewrite_manifests(pointer, state, spec_id=spec_id, sort_by=sort_by, branch=branch)
        self._table._state = done.state
        return done

    def remove_orphans(
        self,
        *,
        older_than: datetime | str | int | None = None,
        location: str | None = None,
        dry_run: bool = True,
        force: bool = False,
        equal_schemes: Mapping[str, str] | None = None,
        equal_authorities: Mapping[str, str] | None = None,
        prefix_mismatch_mode: Literal["error", "ignore", "delete"] = "error",
        progress: Progress | None = None,
    ) -> Orphans:
        """Finds files in the table's folder that nothing in the table refers to, and with `dry_run=False` deletes them.

        Only files older than three days (or `older_than`) by the store's clock; less than 24 hours only with `force`, where
        nobody writes. `location` is a folder of the table to look in. Raises InvalidInput when gc.enabled is false, another
        table lies in the folder (or has its metadata in the same one, without `force`), or a path has a live file's name
        under another scheme or authority.
        """
        self._table.refresh()
        request = OrphanRequest(
            older_than_ms=to_milliseconds(older_than),
            location=location,
            dry_run=dry_run,
            force=force,
            equal_schemes=equal_schemes or {},
            equal_authorities=equal_authorities or {},
            prefix_mismatch=prefix_mismatch(prefix_mismatch_mode),
        )
        return remove_orphan_files(self._writable(), self._table._state, request, progress=progress)

    def rewrite_table_path(
        self,
        source_prefix: str,
        target_prefix: str,
        *,
        start_version: str | None = None,
        end_version: str | None = None,
        staging_location: str | None = None,
        create_file_list: bool = True,
        spark: SparkSession | None = None,
    ) -> RewrittenPaths:
        """Prepares a copy of the table under another path. What names the old path is written anew into a staging folder, and
        a file of pairs says what is to be copied where; the table stays as it is.

        Versions are names of metadata files: with `start_version`, only what is newer is staged, for a copy that has that
        version. With `spark` Spark's workers change and stage the files where they are many. Raises InvalidInput when a file of
        the table is not below the source prefix.
        """
        self._table.refresh()
        request = PathRequest(
            source_prefix=source_prefix,
            target_prefix=target_prefix,
            start_version=start_version,
            end_version=end_version,
            staging_location=staging_location,
            create_file_list=create_file_list,
        )
        pointer, state = self._table._pointer, self._table._state
        work: FileWork = ThreadedWork(pointer.store_for)
        if spark is not None:
            work = large_work(spark, LoadedTable(pointer, state))
        return rewrite_table_path(pointer, state, work, request)

    def compute_table_stats(
        self,
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        spark: SparkSession | None = None,
    ) -> ComputedStatistics:
        """Computes how many distinct values the primitive columns of a snapshot have (all of them, or those named), and
        registers them with the table: query planners use them. Reads the columns, with `spark` by Spark's workers."""
        self._table.refresh()
        done = compute_table_stats(
            self._writable(), self._table._state, self._work(spark), columns=columns, snapshot_id=snapshot_id
        )
        self._table._state = done.state
        return done

    def compute_partition_stats(self, *, snapshot_id: int | None = None) -> ComputedPartitionStatistics:
        """Computes what each partition of a snapshot holds and registers it with the table; reads manifests alone. Raises
        InvalidInput for an unpartitioned table."""
        self._table.refresh()
        done = compute_partition_stats(self._writable(), self._table._state, snapshot_id=snapshot_id)
        self._table._state = done.state
        return done

    def maintain(
        self,
        *,
        dry_run: bool = False,
        measure_reads: bool = True,
        spark: SparkSession | None = None,
        progress: Progress | None = None,
    ) -> Maintained:
        """Does what the table needs now, by its `maintain.*` properties: compacts, rewrites deletes and manifests, expires
        snapshots. Each action says why, with figures before and after, and how long a read of the first 200,000 rows took
        before and after unless `measure_reads` is off; a dry run only says what it would do. With nothing to do it reads the
        metadata and the manifest list."""
        self._table.refresh()
        return self._maintained(dry_run=dry_run, measure_reads=measure_reads, spark=spark, progress=progress)

    def _maintained(
        self, *, dry_run: bool, measure_reads: bool, spark: SparkSession | None, progress: Progress | None
    ) -> Maintained:
        """Maintenance of the table as it was loaded."""
        pointer, state = self._writable(), self._table._state
        engine: RewriteEngine = ArrowEngine(pointer)
        if spark is not None:
            engine = spark_engine(spark, LoadedTable(pointer, state))
        done = maintain_table(pointer, state, engine, dry_run=dry_run, measure_reads=measure_reads, progress=progress)
        self._table._state = done.state
        return done

    def _work(self, spark: SparkSession | None) -> FileWork:
        pointer = self._table._pointer
        if spark is None:
            return ThreadedWork(pointer.store_for)
        return spark_work(spark, LoadedTable(pointer, self._table._state))

    def _writable(self) -> TablePointer:
        """Raises UnsupportedFeature, before any work, for a table that was opened without a catalog."""
        pointer = self._table._pointer
        if isinstance(pointer, StaticPointer):
            raise UnsupportedFeature(
                f"table {pointer.identifier} was opened without a catalog and can only be read; load it through its catalog, "
                "or register it in one, to maintain it",
                table=pointer.identifier,
            )
        return pointer
