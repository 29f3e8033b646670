"""One batch of events applied to one table: written by the workers, committed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.delta_commit import check_takes_deltas, delta_layout, delta_operations, plan_reach, total
from floeberg.change_events.keys import key_fields
from floeberg.change_events.sequences import EventCounts, EventRules
from floeberg.commit.append import Append
from floeberg.commit.commit import Committed, commit_operations, skip_committed
from floeberg.commit.idempotence import AppTransaction
from floeberg.commit.operation import Operation
from floeberg.commit.retry import RetryPolicy
from floeberg.errors import CommitConflict, FloebergError, InvalidInput, UnsupportedFeature, ValidationConflict
from floeberg.row_changes.schema_evolution import evolve_schema
from floeberg.spark.cdc.column_events import EventFrame, column_events, with_misfits
from floeberg.spark.cdc.dead_letters import DeadLetterTask, dead_letter_table, dead_letter_task
from floeberg.spark.cdc.delta_job import DeltaTask, write_events
from floeberg.spark.cdc.envelope_events import envelope_events
from floeberg.spark.cdc.last_states import last_states
from floeberg.spark.cdc.options import DEBEZIUM, CdcOptions
from floeberg.spark.cdc.position_lookup import apply_states, by_position
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.host.calls.evaluated_once import loss_of_executors_explained
from floeberg.spark.host.destination import Destination, destination
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.host.name_resolution import Resolved
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.host.types.spark_types import has_nanoseconds, iceberg_schema_for
from floeberg.spark.workers.stores import worker_stores
from floeberg.spark.write.align import Alignment, aligned
from floeberg.spark.write.job import remove_written
from floeberg.spark.write.options import TXN_APP_ID, TXN_VERSION
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.types import NestedField, StructType, UuidType
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """The application and version that a batch is, so that it takes effect once."""

    app_id: str
    version: int
    content: str | None = None

    def at(self, where: Destination) -> AppTransaction:
        return AppTransaction(
            app_id=self.app_id, version=self.version, content=self.content, branch=where.branch, wap_id=where.wap_id
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CdcResult:
    """What a batch of events did to a table. `snapshot_id` is None when there was nothing to commit; `skipped` says that
    the table held the batch already."""

    table: str
    snapshot_id: int | None = None
    skipped: bool = False
    events: int = 0
    rows_written: int = 0
    rows_deleted_in_batch: int = 0
    keys_deleted: int = 0
    duplicates: int = 0
    superseded: int = 0
    bad: int = 0
    older: int = 0
    """Keys whose rows in the table are newer than their events, which change nothing then."""


@in_own_session
def apply_events(frame: DataFrame, name: str, options: CdcOptions, once: Transaction | None = None) -> CdcResult:
    """Applies a batch of events to the table of that name. Raises InvalidInput for bad events, and what a commit raises."""
    session = session_of(frame.sparkSession)
    if session is None:
        raise InvalidInput(
            f"the session that {name} is to be found in is not attached; call floeberg.attach(spark, …) first"
        )
    identifier = session.table_identifier(parse_parts(name))
    sent = _SentLetters()

    def found() -> tuple[Resolved, LoadedTable]:
        resolved = session.resolve(identifier)
        if resolved.table is None:
            raise InvalidInput(f"{name} is a view; events are applied to a table")
        return resolved, resolved.table

    def run() -> CdcResult:
        resolved, table = found()
        where = destination(session.spark, table.state.metadata, selector=resolved.selector, branch=options.branch)
        return _Batch(session, resolved.identifier, frame, table, where, options, once, sent).run()

    policy = RetryPolicy.from_properties(found()[1].state.metadata.properties)
    with loss_of_executors_explained(name):
        return _again_on_conflict(run, policy)


def _again_on_conflict(run: Callable[[], CdcResult], policy: RetryPolicy) -> CdcResult:
    """Writes and commits again when another commit made the files useless: under another spec, or with other columns."""
    for _ in range(policy.num_retries):
        try:
            return run()
        except (ValidationConflict, CommitConflict) as conflict:
            if conflict.context.get("retry_can_help") is not True:
                raise
    return run()


@dataclass(frozen=True, slots=True)
class _Letters:
    table: LoadedTable
    task: DeadLetterTask


@dataclass(slots=True)
class _SentLetters:
    """How many dead letters an earlier attempt of the batch has committed; None when there was none."""

    count: int | None = None


class _Batch:
    """One attempt to apply a batch to a table as it is loaded."""

    def __init__(
        self,
        session: AttachedSession,
        identifier: TableIdentifier,
        frame: DataFrame,
        table: LoadedTable,
        where: Destination,
        options: CdcOptions,
        once: Transaction | None,
        sent: _SentLetters,
    ) -> None:
        check_takes_deltas(table.state.metadata, table.state.identifier)
        self._session = session
        self._identifier = identifier
        self._frame = frame
        self._base = table
        self._where = where
        self._options = options
        self._once = None if once is None else once.at(where)
        self._sent = sent

    @property
    def _name(self) -> str:
        return self._base.state.identifier

    def run(self) -> CdcResult:
        if self._once is not None and skip_committed(self._base.pointer, self._once) is not None:
            return self._skipped()
        table, evolves, events = self._prepared()
        metadata = table.state.metadata
        keys = key_fields(metadata.current_schema, self._options.keys, table=self._name, case_sensitive=False)
        rules = self._rules(keys, events, metadata)
        letters = self._dead_letters()
        if self._options.lookup is not None:
            return self._by_position(table, evolves, events, keys, rules, letters)
        reach = plan_reach(table, keys, branch=self._where.read_branch)
        layout = delta_layout(table, keys, reach)
        task = DeltaTask(
            stores=worker_stores(table.pointer.stores, location=metadata.location),
            layout=layout,
            rules=rules,
            partition_types=_partition_types(metadata, (layout.spec, *reach.specs)),
            dead_letters=None if letters is None else letters.task,
        )
        written = write_events(events.frame, table, task, letters=None if letters is None else letters.table)
        self._commit_dead_letters(letters, written.dead_letters)
        operations = delta_operations(written.deltas, reach, self._where.snapshot_target({}))
        counts = total(written.deltas)
        if not operations and self._once is None:
            return self._result(None, counts)
        try:
            committed = self._commit(self._base, [*self._where.operations_before, *evolves, *operations], self._once)
        except FloebergError as error:
            if error.cleanup_safe or isinstance(error, InvalidInput):
                remove_written(layout, table)
            raise
        if committed.skipped is not None:
            remove_written(layout, table)
            return self._skipped()
        return self._result(committed, counts)

    def _by_position(
        self,
        table: LoadedTable,
        evolves: tuple[Operation, ...],
        events: EventFrame,
        keys: tuple[NestedField, ...],
        rules: EventRules,
        letters: _Letters | None,
    ) -> CdcResult:
        """Looks the keys up first, so that rows are deleted by position."""
        for field in keys:
            if has_nanoseconds(field.type):
                raise UnsupportedFeature(
                    f"table {self._name}: key column {field.name!r} ({field.type}) cannot be looked up; leave lookup out",
                    table=self._name,
                )
        target = ChangedTable(
            session=self._session,
            identifier=self._identifier,
            table=table,
            verb="merge",
            alias=self._identifier.path[-1],
            destination=self._where,
            operations_before=tuple(self._where.operations_before),
            base=self._base.state,
            tables_read=set(),
            session_options={} if self._once is None else _txn_options(self._once),
        )
        states = last_states(
            events.frame,
            rules,
            table=self._name,
            task=None if letters is None else letters.task,
            letters=None if letters is None else letters.table,
        )
        self._commit_dead_letters(letters, states.dead_letters)
        stored = self._stored_order(table.state.metadata)
        applied = apply_states(
            by_position(target, evolves), states, keys, order_by=stored, placeholder=self._options.placeholder
        )
        if applied.committed is not None and applied.committed.skipped is not None:
            return self._skipped()
        counts = replace(states.counts, rows_written=applied.rows_written, keys_deleted=applied.rows_deleted)
        return self._result(applied.committed, counts, older=applied.older)

    def _stored_order(self, metadata: TableMetadata) -> tuple[NestedField, ...]:
        """The columns of the table that hold the order of its rows' events; none unless all do."""
        names = self._options.order_by or ()
        found = [metadata.current_schema.find(name, case_sensitive=False) for name in names]
        return () if None in found else tuple(field for field in found if field is not None)

    def _prepared(self) -> tuple[LoadedTable, tuple[Operation, ...], EventFrame]:
        """The table with the columns that the events bring, the operations that add them, and the events lined up with it."""
        state = self._base.state
        events = self._events(state.metadata.current_schema)
        table = self._base
        operations: tuple[Operation, ...] = ()
        case_sensitive = self._session.setting("spark.sql.caseSensitive", "false") == "true"
        if self._options.merge_schema:
            given = events.frame.drop(*events.carried).schema
            rows = iceberg_schema_for(given, state.metadata.current_schema, case_sensitive=case_sensitive)
            evolved = evolve_schema(state.metadata, rows, case_sensitive=case_sensitive)
            table = LoadedTable(self._base.pointer, replace(state, metadata=evolved.metadata))
            operations = evolved.operations
        schema = table.state.metadata.current_schema
        keys = key_fields(schema, self._options.keys, table=self._name, case_sensitive=False)
        events = with_misfits(
            events, schema, keys={field.name for field in keys}, only_keys=self._options.dead_letters is None
        )
        alignment = Alignment(
            table=self._name,
            schema=schema,
            case_sensitive=case_sensitive,
            fills=self._options.merge_schema,
            carried=events.carried,
        )
        frame = aligned(events.frame, alignment)
        for field in schema.fields:
            if isinstance(field.type, UuidType) and field.name in frame.columns:
                frame = frame.withColumn(field.name, F.lower(F.col(quote_name(field.name))))  # so that equal keys meet
        return table, operations, replace(events, frame=frame)

    def _events(self, schema: Schema) -> EventFrame:
        if self._options.format != DEBEZIUM:
            return column_events(self._frame, self._options, schema, table=self._name)
        keys = key_fields(schema, self._options.keys, table=self._name, case_sensitive=False)
        return envelope_events(self._frame, self._options, schema, [field.name for field in keys], table=self._name)

    def _rules(self, keys: tuple[NestedField, ...], events: EventFrame, metadata: TableMetadata) -> EventRules:
        present = set(events.frame.columns)
        for field in keys:
            if field.name not in present:
                raise InvalidInput(f"events for table {self._name} have no key column {field.name!r}", table=self._name)
        names = {field.name for field in keys}
        required = [
            field.name
            for field in metadata.current_schema.fields
            if field.required and field.name in present and field.name not in names
        ]
        return EventRules(
            keys=tuple(field.name for field in keys),
            orders=events.orders,
            upsert=self._options.upsert,
            collapse=self._options.collapse,
            one_partition=events.one_partition,
            required=tuple(required),
            placeholder=self._options.placeholder,
            keeps_placeholders=self._options.lookup is not None,
        )

    # dead letters

    def _dead_letters(self) -> _Letters | None:
        if self._options.dead_letters is None:
            return None
        table = dead_letter_table(self._session, self._options.dead_letters)
        once = self._once
        batch = str(self._base.pointer.effects.ids.uuid()) if once is None else f"{once.app_id}:{once.version}"
        return _Letters(table, dead_letter_task(table, target=self._name, batch=batch))

    def _commit_dead_letters(self, letters: _Letters | None, files: list[DataFile]) -> None:
        """Before the batch itself, so that no bad event is lost; once for each target, which names the application. An attempt
        that finds more bad events than the one before it, because the table changed meanwhile, commits all of its own."""
        if letters is None or not files:
            return
        once = self._once
        if once is not None:
            once = AppTransaction(app_id=f"{once.app_id} {self._name}", version=once.version, content=once.content)
        count = sum(file.record_count for file in files)
        if self._sent.count is None:
            committed = self._commit(letters.table, [Append(files=files)], once)
            self._sent.count = count if committed.skipped is None else _added_records(committed, default=count)
            if committed.skipped is None:
                return
        if count > self._sent.count:
            self._commit(letters.table, [Append(files=files)], None)
            self._sent.count = count
        else:
            remove_written(letters.task.writer, letters.table)

    def _commit(self, table: LoadedTable, operations: list[Operation], once: AppTransaction | None) -> Committed:
        summary = engine_summary(self._session.spark)
        return commit_operations(table.pointer, table.state, operations, engine_summary=summary, once=once)

    # results

    def _skipped(self) -> CdcResult:
        return CdcResult(table=self._name, skipped=True)

    def _result(self, committed: Committed | None, counts: EventCounts, *, older: int = 0) -> CdcResult:
        snapshots = () if committed is None else committed.snapshots
        return CdcResult(
            table=self._name,
            snapshot_id=snapshots[-1].snapshot_id if snapshots else None,
            events=counts.events,
            rows_written=counts.rows_written,
            rows_deleted_in_batch=counts.rows_deleted_in_batch,
            keys_deleted=counts.keys_deleted,
            duplicates=counts.duplicates,
            superseded=counts.superseded,
            bad=counts.bad,
            older=older,
        )


def _added_records(committed: Committed, *, default: int) -> int:
    """How many records the snapshot added for which a commit was skipped; a default where that is not known any more."""
    assert committed.skipped is not None
    snapshot = committed.state.metadata.find_snapshot(committed.skipped.snapshot_id)
    text = None if snapshot is None else snapshot.summary.get("added-records")
    return int(text) if text is not None and text.isdigit() else default


def _partition_types(metadata: TableMetadata, specs: tuple[PartitionSpec, ...]) -> dict[int, StructType]:
    known = {spec.spec_id for spec in metadata.partition_specs}
    return {
        spec.spec_id: partition_type_of(metadata, spec.spec_id) if spec.spec_id in known else StructType(())
        for spec in specs
    }


def _txn_options(once: AppTransaction) -> dict[str, str]:
    return {TXN_APP_ID: once.app_id, TXN_VERSION: str(once.version)}
