"""Scans of a range of snapshots: appended rows, and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from floeberg.api.scan import RowStream, ScanOptions, ScanSource, Where, checked_limit, to_expression
from floeberg.arrow.scan.changelog import changelog_schema, read_changes
from floeberg.arrow.scan.execute import read_tasks
from floeberg.errors import InvalidInput
from floeberg.scan.change_form import change_form
from floeberg.scan.changelog import ChangelogPlan, plan_changelog
from floeberg.scan.incremental import plan_appends
from floeberg.scan.projection import projected_schema
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spec.schemas.metadata_columns import is_metadata_column
from floeberg.spec.schemas.schema import Schema


class AppendScan(RowStream):
    """The rows that appends added after one snapshot up to another, read with the current schema."""

    def __init__(
        self,
        source: ScanSource,
        *,
        from_snapshot_id: int | None,
        to_snapshot_id: int | None,
        select: Sequence[str] | None = None,
        where: Where = None,
        limit: int | None = None,
        metadata_columns: bool | Sequence[str] = False,
        case_sensitive: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._source = source
        self._range = (from_snapshot_id, to_snapshot_id)
        self._where = to_expression(where)
        self._limit = checked_limit(limit)
        self._case_sensitive = case_sensitive
        self._options = ScanOptions.of(options)
        self._table_schema: Schema = source.metadata.current_schema
        self.schema = projected_schema(
            source.metadata,
            self._table_schema,
            select=select,
            metadata_columns=metadata_columns,
            case_sensitive=case_sensitive,
        )

    @cached_property
    def _plan(self) -> ScanPlan:
        return plan_appends(
            self._source.metadata,
            store_for=self._source.pointer.store_for,
            from_snapshot_id=self._range[0],
            to_snapshot_id=self._range[1],
            where=self._where,
            case_sensitive=self._case_sensitive,
            cache=self._source.caches.frames,
        )

    def plan(self) -> ScanPlan:
        """The files that were appended: a sequence of tasks."""
        return self._plan

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as a stream, in bounded memory."""
        return read_tasks(
            self._plan,
            self._source.reader(self._table_schema, self._options),
            self.schema,
            limit=self._limit,
            threads=self._options.threads,
        )


class ChangeScan(RowStream):
    """The rows that were inserted and deleted after one snapshot up to another, with `_change_type` (INSERT, DELETE; for
    updates UPDATE_BEFORE, UPDATE_AFTER), `_change_ordinal` and `_commit_snapshot_id`, read with the current schema."""

    def __init__(
        self,
        source: ScanSource,
        *,
        from_snapshot_id: int | None,
        to_snapshot_id: int | None,
        select: Sequence[str] | None = None,
        where: Where = None,
        keep_carried_over: bool = False,
        compute_updates: bool | None = None,
        identifier_columns: Sequence[str] | None = None,
        net_changes: bool = False,
        case_sensitive: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._source = source
        self._range = (from_snapshot_id, to_snapshot_id)
        self._where = to_expression(where)
        self._form = change_form(
            source.metadata.current_schema,
            compute_updates=compute_updates,
            identifier_columns=identifier_columns,
            net_changes=net_changes,
            keep_carried_over=keep_carried_over,
            case_sensitive=case_sensitive,
        )
        self._case_sensitive = case_sensitive
        self._options = ScanOptions.of(options)
        self._columns = projected_schema(
            source.metadata, source.metadata.current_schema, select=select, case_sensitive=case_sensitive
        )
        if asked := [field.name for field in self._columns.fields if is_metadata_column(field.field_id)]:
            raise InvalidInput(f"a changelog has no metadata column {asked[0]}: its rows are of several files")
        self.schema = changelog_schema(self._columns)

    @cached_property
    def _plan(self) -> ChangelogPlan:
        return plan_changelog(
            self._source.metadata,
            store_for=self._source.pointer.store_for,
            from_snapshot_id=self._range[0],
            to_snapshot_id=self._range[1],
            where=self._where,
            case_sensitive=self._case_sensitive,
            cache=self._source.caches.frames,
        )

    def plan(self) -> ChangelogPlan:
        """The snapshots and, for each, the files that changed."""
        return self._plan

    def to_batches(self) -> pa.RecordBatchReader:
        """The changes in the order of the snapshots."""
        return read_changes(
            self._plan.tasks,
            self._source.reader(self._plan.schema, self._options),
            self._columns,
            form=self._form,
        )
