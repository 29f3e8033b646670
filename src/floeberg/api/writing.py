"""Changes of a table's rows as operations: files are written at once, the commit comes later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from floeberg.api.scan import ScanOptions, ScanSource, Where, to_expression
from floeberg.arrow.changes.assignments import assigner
from floeberg.arrow.changes.row_level import Assignments, FoundRows, RowLevelEngine
from floeberg.arrow.changes.upsert import Upsert
from floeberg.arrow.columns.filter import referenced_ids
from floeberg.arrow.scan.execute import TableReader
from floeberg.arrow.write.table_writer import TableWriter, to_arrow
from floeberg.commit.append import Append
from floeberg.commit.found_no_rows import FoundNoRows
from floeberg.commit.isolation import ReadView
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.errors import FloebergError, InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, AlwaysTrue, Expression
from floeberg.row_changes.policy import RowLevelMode, isolation_level, refuse_encrypted, row_level_mode
from floeberg.row_changes.row_change import with_written_deletes
from floeberg.scan.plan import plan_files
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spec.schemas.projection import prune_columns
from floeberg.spec.snapshots.refs import MAIN_BRANCH

Assigned = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Planned:
    """A change whose files are written; without an operation there is nothing to do, and `found_none` is what a transaction
    commits of a change that looked for rows and found none."""

    operation: Operation | None
    writer: TableWriter
    found_none: FoundNoRows | None = None

    def failed(self, error: FloebergError) -> None:
        """Removes the files that were written, where the error proves that no commit refers to them."""
        if error.cleanup_safe or isinstance(error, InvalidInput):
            self.writer.discard()


class Change:
    """One change of the rows of a branch, planned on the state that `source` holds."""

    def __init__(
        self,
        source: ScanSource,
        *,
        starting_snapshot_id: int | None,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        uncommitted: frozenset[str] = frozenset(),
    ) -> None:
        refuse_encrypted(source.metadata)
        self._source = source
        self._metadata = source.metadata
        self._schema = source.metadata.current_schema
        self._starting_snapshot_id = starting_snapshot_id
        self._uncommitted = uncommitted
        self._target = SnapshotTarget(branch=branch, summary=dict(snapshot_properties or {}))
        self._writer = TableWriter(source.metadata, source.pointer.store_for, source.pointer.effects.ids.uuid())

    def append(self, data: Any) -> Planned:
        files = self._written(data)
        return Planned(Append(files=files, target=self._target) if files else None, self._writer)

    def overwrite(self, data: Any, where: Where, *, case_sensitive: bool) -> Planned:
        condition = bind(to_expression(where), self._schema, case_sensitive=case_sensitive)
        if isinstance(condition, AlwaysTrue):
            added = self._written(data)
            return Planned(Overwrite(added=added, row_filter=TRUE, target=self._target), self._writer)
        with self._discarding():
            found = self._engine("delete").delete(self._plan(condition))
            added = self._writer.write_data(to_arrow(data))
            found.written += added
            found.counts.inserted += sum(file.record_count for file in added)
        return self._planned(found, condition, verb="delete")

    def overwrite_partitions(self, data: Any) -> Planned:
        files = self._written(data)
        return Planned(ReplacePartitions(files=files, target=self._target) if files else None, self._writer)

    def delete(self, where: Where, *, case_sensitive: bool) -> Planned:
        condition = self._condition(where, "delete", case_sensitive=case_sensitive)
        with self._discarding():
            found = self._engine("delete").delete(self._plan(condition))
        return self._planned(found, condition, verb="delete")

    def update(self, assigned: Assigned, where: Where, *, case_sensitive: bool) -> Planned:
        condition = self._condition(where, "update", case_sensitive=case_sensitive)
        columns = prune_columns(self._schema, referenced_ids(condition))
        assignments = Assignments(columns, assigner(assigned, self._schema, case_sensitive=case_sensitive))
        with self._discarding():
            found = self._engine("update").update(self._plan(condition), assignments)
        return self._planned(found, condition, verb="update")

    def upsert(self, data: Any, on: Sequence[str] | None) -> Planned:
        keys = [on] if isinstance(on, str) else list(on or self._identifier_names())
        if not keys:
            raise InvalidInput(
                f"table {self._source.pointer.identifier} has no identifier fields; say which columns make the key (on=[…])"
            )
        upsert = Upsert(to_arrow(data), self._schema, keys)
        condition = upsert.condition()
        with self._discarding():
            found = self._engine("merge").update(self._plan(condition), upsert, then=upsert.unmatched)
        return self._planned(found, condition, verb="merge")

    def _identifier_names(self) -> list[str]:
        return [self._schema.names[field_id] for field_id in self._schema.identifier_field_ids]

    def _condition(self, where: Where, verb: str, *, case_sensitive: bool) -> Expression:
        if where is None:
            raise InvalidInput(f"{verb} needs a condition; for every row, where='true'")
        return bind(to_expression(where), self._schema, case_sensitive=case_sensitive)

    def _written(self, data: Any) -> list[Any]:
        with self._discarding():
            return self._writer.write_data(to_arrow(data))

    def _plan(self, condition: Expression) -> ScanPlan:
        chosen = choose_snapshot(self._metadata, ref=self._target.branch)
        return plan_files(
            self._metadata,
            replace(chosen, schema=self._schema),
            store_for=self._source.pointer.store_for,
            where=condition,
            cache=self._source.caches.frames,
            with_metrics=True,
            all_deletes=True,
        )

    @property
    def _reader(self) -> TableReader:
        return replace(self._source.reader(self._schema, ScanOptions()), uncommitted=self._uncommitted)

    def _engine(self, verb: str) -> RowLevelEngine:
        mode = row_level_mode(self._metadata, verb)
        return RowLevelEngine(self._reader, self._writer, merge_on_read=mode is RowLevelMode.MERGE_ON_READ)

    def _planned(self, found: FoundRows, condition: Expression, *, verb: str) -> Planned:
        with self._discarding():
            change = with_written_deletes(found, reader=self._reader, writer=self._writer)
        view = ReadView(
            starting_snapshot_id=self._starting_snapshot_id,
            conflict_filter=condition,
            isolation=isolation_level(self._metadata, verb),
        )
        operation = change.operation(view, self._target)
        found_none = FoundNoRows(view=view, branch=self._target.branch) if operation is None else None
        return Planned(operation, self._writer, found_none)

    def _discarding(self) -> _Discarding:
        return _Discarding(self._writer)


class _Discarding:
    """Removes written files when an error ends the writing: no commit refers to them yet."""

    def __init__(self, writer: TableWriter) -> None:
        self._writer = writer

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self._writer.discard()
