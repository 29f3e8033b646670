"""Scans: defined at once, read when rows are requested."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import polars as pl
import pyarrow as pa

from floeberg.api.caches import Caches
from floeberg.api.moments import to_milliseconds
from floeberg.arrow.formats.open_file import ReadOptions
from floeberg.arrow.formats.read_parquet import DEFAULT_BATCH_ROWS
from floeberg.arrow.scan.aggregates import ScanAggregates
from floeberg.arrow.scan.execute import TableReader, read_tasks, table_reader
from floeberg.arrow.scan.read_ahead import DEFAULT_THREADS
from floeberg.commit.pointer import TablePointer
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, AlwaysTrue, Expression
from floeberg.scan.catalog_planning import PlannedScan, PlansScans
from floeberg.scan.explanation import Explanation
from floeberg.scan.plan import plan_files
from floeberg.scan.projection import projected_schema
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice, choose_snapshot
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import LAST_UPDATED_SEQUENCE_NUMBER
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.values.whole_numbers import whole_number
from floeberg.sql.conditions.filters import parse_where

Where = str | Expression | None

IGNORE_SCHEME: Final = "match-delete-paths-without-scheme"
BY_NAME: Final = "match-columns-by-name"
BATCH_ROWS: Final = "batch-rows"
THREADS: Final = "threads"
VERIFY_CHECKSUMS: Final = "verify-checksums"


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The read options, parsed.

    `match-delete-paths-without-scheme` (false): position deletes match data files by path alone, whatever the scheme and
    host, and those without a path are ignored. `match-columns-by-name` (false): files without field ids are read by name,
    where the table has no name mapping. `batch-rows`: rows in a batch at most. `threads`: files that are read at a time.
    `verify-checksums` (true): those of Parquet pages, which costs some percent and finds bytes that changed on their way.
    """

    ignore_scheme: bool = False
    by_name: bool = False
    batch_rows: int = DEFAULT_BATCH_ROWS
    threads: int = DEFAULT_THREADS
    verify_checksums: bool = True

    @staticmethod
    def of(options: Mapping[str, str] | None) -> ScanOptions:
        """Raises InvalidInput for options that are not known: one might be there to protect a result."""
        given = dict(options or {})
        parsed = ScanOptions(
            ignore_scheme=_flag(given.pop(IGNORE_SCHEME, None), IGNORE_SCHEME),
            by_name=_flag(given.pop(BY_NAME, None), BY_NAME),
            batch_rows=_positive(given.pop(BATCH_ROWS, None), DEFAULT_BATCH_ROWS, BATCH_ROWS),
            threads=_positive(given.pop(THREADS, None), DEFAULT_THREADS, THREADS),
            verify_checksums=_flag(given.pop(VERIFY_CHECKSUMS, "true"), VERIFY_CHECKSUMS),
        )
        if given:
            known = ", ".join((IGNORE_SCHEME, BY_NAME, BATCH_ROWS, THREADS, VERIFY_CHECKSUMS))
            raise InvalidInput(f"unknown read option {min(given)!r:.60}; known are {known}")
        return parsed


@dataclass(frozen=True, slots=True)
class ScanSource:
    """The table that a scan reads: its state is pinned."""

    pointer: TablePointer
    metadata: TableMetadata
    caches: Caches

    def reader(self, schema: Schema, options: ScanOptions) -> TableReader:
        return table_reader(
            self.metadata,
            schema,
            store_for=self.pointer.store_for,
            delete_cache=self.caches.deletes,
            ignore_scheme=options.ignore_scheme,
            by_name=options.by_name,
            options=ReadOptions(batch_rows=options.batch_rows, verify_checksums=options.verify_checksums),
        )


class RowStream:
    """Rows in several forms, all made from one stream of batches."""

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as a stream, in bounded memory."""
        raise AssertionError("every scan says how it is read")

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self.to_batches().read_all()

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars frame."""
        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self, **options: Any) -> Any:
        """All rows as a pandas frame; options are those of `pyarrow.Table.to_pandas`. Raises UnsupportedFeature when pandas
        is not installed."""
        if importlib.util.find_spec("pandas") is None:
            raise UnsupportedFeature("to_pandas needs pandas, which is not installed: pip install pandas")
        return self.to_arrow().to_pandas(**options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream, for DuckDB, polars, DataFusion, pyarrow and so on."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def count(self) -> int:
        """How many rows there are."""
        return sum(batch.num_rows for batch in self.to_batches())


class Scan(RowStream):
    """Rows of one snapshot. Nothing is read before a result is requested."""

    def __init__(
        self,
        source: ScanSource,
        *,
        select: Sequence[str] | None = None,
        where: Where = None,
        limit: int | None = None,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: datetime | str | int | None = None,
        metadata_columns: bool | Sequence[str] = False,
        case_sensitive: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._source = source
        self._chosen: SnapshotChoice = choose_snapshot(
            source.metadata, snapshot_id=snapshot_id, ref=ref, as_of_ms=to_milliseconds(as_of)
        )
        self._where = to_expression(where)
        self._limit = checked_limit(limit)
        self._case_sensitive = case_sensitive
        self._options = ScanOptions.of(options)
        self.schema = projected_schema(
            source.metadata,
            self._chosen.schema,
            select=select,
            metadata_columns=metadata_columns,
            case_sensitive=case_sensitive,
        )

    def __repr__(self) -> str:
        columns = ", ".join(field.name for field in self.schema.fields)
        return f"Scan({self._source.pointer.identifier}: {columns} WHERE {self._where})"

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot that is read; None for a table that has none yet."""
        return self._chosen.snapshot

    @cached_property
    def _plan(self) -> ScanPlan:
        clock = self._source.pointer.effects.clock
        started_ms = clock.monotonic_ms()
        plan = self._planned()
        if isinstance(self._source.pointer, PlansScans):
            self._source.pointer.report_scan(
                PlannedScan(
                    chosen=self._chosen,
                    filter=plan.filter,
                    projection=self.schema,
                    data_files=len(plan),
                    delete_files=len(plan.delete_files),
                    size_in_bytes=plan.size_in_bytes,
                    duration_ms=clock.monotonic_ms() - started_ms,
                )
            )
        return plan

    @property
    def _server_plans(self) -> bool:
        pointer = self._source.pointer
        return isinstance(pointer, PlansScans) and pointer.wants_server_planning

    @cached_property
    def _tasks(self) -> Sequence[FileScanTask]:
        """The tasks to read: the catalog's where it plans scans, which tells no sequence numbers."""
        pointer = self._source.pointer
        asks_ages = any(field.name == LAST_UPDATED_SEQUENCE_NUMBER.name for field in self.schema.fields)
        if not isinstance(pointer, PlansScans) or not self._server_plans or asks_ages:
            return self._plan
        bound = bind(self._where, self._chosen.schema, case_sensitive=self._case_sensitive)
        return pointer.planned_tasks(self._source.metadata, self._chosen, bound, case_sensitive=self._case_sensitive)

    def _planned(self, *, keep_metrics_of: frozenset[int] = frozenset()) -> ScanPlan:
        return plan_files(
            self._source.metadata,
            self._chosen,
            store_for=self._source.pointer.store_for,
            where=self._where,
            case_sensitive=self._case_sensitive,
            cache=self._source.caches.frames,
            keep_metrics_of=keep_metrics_of,
            ignore_scheme=self._options.ignore_scheme,
        )

    def aggregate(self, *aggregates: str, by: Sequence[str] = (), from_metadata: bool = True) -> pa.Table:
        """`count(*)`, `count(x)`, `min(x)` and `max(x)` of the rows, for each distinct value of `by`: from metadata where they
        prove all of them, unless `from_metadata` is false, else by reading the columns. NaN is the greatest value. Raises
        InvalidInput."""
        wanted = ScanAggregates.of(aggregates, by, self._chosen.schema, case_sensitive=self._case_sensitive)
        if from_metadata and self._limit is None and not self._server_plans:
            found = wanted.from_metadata(self._planned(keep_metrics_of=wanted.asked.field_ids))
            if found is not None:
                return found
        names = [self._chosen.schema.names[field_id] for field_id in sorted(wanted.asked.field_ids)]
        projection = projected_schema(self._source.metadata, self._chosen.schema, select=names)
        rows = read_tasks(
            self._tasks,
            self._source.reader(self._chosen.schema, self._options),
            projection,
            limit=self._limit,
            threads=self._options.threads,
        )
        return wanted.of_rows(rows)

    def plan(self) -> ScanPlan:
        """The files to read, each with its deletes and what is left of the filter: a sequence of tasks."""
        return self._plan

    def explain(self) -> Explanation:
        """What planning left out at each level, and why."""
        return self._plan.explanation

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as a stream, in bounded memory. Rows of one file keep their order."""
        return read_tasks(
            self._tasks,
            self._source.reader(self._chosen.schema, self._options),
            self.schema,
            limit=self._limit,
            threads=self._options.threads,
        )

    def count(self) -> int:
        """How many rows there are: from metadata where that is exact, else by reading as few columns as that needs."""
        if any(field.name == "_deleted" for field in self.schema.fields):
            return super().count()
        plan = self._tasks
        if isinstance(plan, ScanPlan) and isinstance(plan.filter, AlwaysTrue) and not plan.has_deletes:
            found = plan.record_count
        else:
            reader = self._source.reader(self._chosen.schema, self._options)
            found = 0
            for task in plan:
                found += reader.live_rows(task)
                if self._limit is not None and found >= self._limit:
                    break
        return found if self._limit is None else min(found, self._limit)


def to_expression(where: Where) -> Expression:
    """A condition as text, as an expression, or none. Raises InvalidInput."""
    if where is None:
        return TRUE
    if isinstance(where, str):
        return parse_where(where)
    if isinstance(where, Expression):
        return where
    raise InvalidInput(f"a condition is text or an expression, not {type(where).__name__}")


def checked_limit(limit: object) -> int | None:
    """Raises InvalidInput for what is no number of rows."""
    if limit is None:
        return None
    number = whole_number(limit)
    if number is None or number < 0:
        raise InvalidInput(f"limit is a number of rows, not {limit!r:.60}")
    return number


def _flag(text: object, name: str) -> bool:
    shown = "false" if text is None else str(text).lower()
    if shown not in ("true", "false"):
        raise InvalidInput(f"the option {name} is true or false, not {shown!r:.60}")
    return shown == "true"


def _positive(text: object, default: int, name: str) -> int:
    if text is None:
        return default
    shown = str(text)
    if not shown.isascii() or not shown.isdigit() or int(shown) == 0:
        raise InvalidInput(f"the option {name} is a positive number, not {shown!r:.60}")
    return int(shown)
