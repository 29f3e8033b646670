"""The streaming sink: every epoch of a query is one commit, and a replayed epoch commits nothing.

It is a function for `foreachBatch`, because a Python data source's sink is never told which query it works for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from floeberg.commit.commit import Committed
from floeberg.errors import InvalidInput, TableNotFound, UnsupportedFeature
from floeberg.spark.ddl.create import NewTable, make_table, query_schema
from floeberg.spark.dml.insert import prepared_write, target_table
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.streaming.checkpoint import DEFAULT_LOCATION, Checkpoint
from floeberg.spark.streaming.maintenance import MAINTAIN_EVERY, commits_between, maintain_after
from floeberg.spark.write.commands import append, overwrite
from floeberg.spark.write.options import SNAPSHOT_PROPERTY, TXN_APP_ID, TXN_VERSION, names_txn, write_options
from floeberg.spec.partitions.terms import PartitionTerm, parse_partition_term
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

CHECKPOINT_LOCATION: Final = "checkpointLocation"
QUERY_ID: Final = "spark.sql.streaming.queryId"
EPOCH_ID: Final = "spark.sql.streaming.epochId"
"""The summary keys by which the Java runtime's sink finds its epochs: each of the two goes on where the other ended."""
_OF_THE_QUERY: Final = frozenset({CHECKPOINT_LOCATION.lower(), MAINTAIN_EVERY, "path"})
_OUTPUT_MODES: Final = ("append", "complete")
_REFUSED_TRIGGERS: Final = {"continuous": "continuous processing", "realTime": "real-time mode"}


@dataclass(slots=True, kw_only=True)
class StreamRecord:
    """What a DataStreamWriter was told so far."""

    format: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    output_mode: str | None = None
    trigger: str | None = None
    query_name: str | None = None
    partitioning: tuple[str, ...] = ()
    has_function: bool = False
    """Whether `foreach` or `foreachBatch` takes the rows."""

    def set(self, key: str, value: object) -> None:
        """Names of options have no case; the last one counts."""
        self.options = {known: text for known, text in self.options.items() if known.lower() != key.lower()}
        if value is not None:
            self.options[key] = str(value).lower() if isinstance(value, bool) else str(value)

    def option(self, key: str) -> str | None:
        return next((value for known, value in self.options.items() if known.lower() == key.lower()), None)

    @property
    def write_options(self) -> dict[str, str]:
        """The options of the writes, without those of the query."""
        return {key: value for key, value in self.options.items() if key.lower() not in _OF_THE_QUERY}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSink:
    """What `foreachBatch` calls for each epoch. `table_uuid` is that of the table the query began with; after `maintain_every`
    epochs the table is maintained."""

    identifier: TableIdentifier
    options: Mapping[str, str]
    complete: bool
    checkpoint: Checkpoint
    table_uuid: str | None
    maintain_every: int | None = None
    _settings: dict[str, str] = field(default_factory=dict, init=False)

    def __call__(self, batch: DataFrame, epoch_id: int) -> Committed | None:
        """Commits an epoch. The result says whether it was skipped."""
        spark = batch.sparkSession
        session = session_of(spark)
        if session is None:
            raise InvalidInput(f"{self.identifier}: the session was detached while a query writes to it")
        resolved = target_table(session, self.identifier)
        assert resolved.table is not None
        if resolved.table.state.metadata.table_uuid != self.table_uuid:
            raise InvalidInput(
                f"table {self.identifier} was dropped and created anew while a query writes to it; start a new query with a "
                "checkpoint location of its own",
                table=str(self.identifier),
            )
        query_id = self.checkpoint.query_id(spark)
        once = {TXN_APP_ID: query_id, TXN_VERSION: str(epoch_id)}
        summary = {f"{SNAPSHOT_PROPERTY}{QUERY_ID}": query_id, f"{SNAPSHOT_PROPERTY}{EPOCH_ID}": str(epoch_id)}
        write = prepared_write(session, resolved, {**self.options, **once, **summary})
        content = self.checkpoint.content_of(spark, epoch_id)
        write = replace(write, content=content, settings=self._settings_of(spark))
        committed = overwrite(batch, write) if self.complete else append(batch, write)
        maintain_after(session, spark, self.identifier, epoch_id=epoch_id, every=self.maintain_every)
        return committed

    def _settings_of(self, spark: SparkSession) -> dict[str, str]:
        """The settings of the query's session, a clone of the user's that keeps them as they were at the query's start."""
        if not self._settings:
            self._settings.update(spark.conf.getAll)
        return self._settings


def table_sink(
    session: AttachedSession, identifier: TableIdentifier, record: StreamRecord, *, creates: StructType | None = None
) -> TableSink:
    """The sink that a writer asks for, once all of it was checked. `creates` is the schema of the table that is made where
    there is none (`toTable`). Raises InvalidInput, UnsupportedFeature, TableNotFound."""
    complete = _is_complete(record)
    maintain_every = commits_between(record.option(MAINTAIN_EVERY))
    checkpoint = Checkpoint(_checkpoint_location(session, record, table=identifier))
    try:
        resolved = target_table(session, identifier)
    except TableNotFound:
        if creates is None:
            raise
        _create(session, identifier, record, creates)
        resolved = target_table(session, identifier)
    assert resolved.table is not None
    metadata = resolved.table.state.metadata
    if names_txn(record.options):
        raise InvalidInput(
            f"{identifier}: the query and its epochs are the sink's transactions; leave {TXN_APP_ID} out"
        )
    write_options(metadata, record.write_options)
    if record.partitioning:
        names = metadata.current_schema.names
        own = [PartitionTerm(one.transform, names.get(one.source_ids[0], "")) for one in metadata.default_spec.fields]
        if [str(one).lower() for one in own] != [str(one).lower() for one in _terms(record)]:
            shown = ", ".join(str(one) for one in own) or "nothing"
            raise InvalidInput(f"{identifier} is partitioned by {shown}; leave partitionBy out")
    return TableSink(
        identifier=identifier,
        options=record.write_options,
        complete=complete,
        checkpoint=checkpoint,
        table_uuid=metadata.table_uuid,
        maintain_every=maintain_every,
    )


def _is_complete(record: StreamRecord) -> bool:
    if record.trigger in _REFUSED_TRIGGERS:
        raise UnsupportedFeature(
            f"{_REFUSED_TRIGGERS[record.trigger]} (trigger(continuous=…), trigger(realTime=…)) has no epochs that could be "
            "committed; use processingTime or availableNow"
        )
    mode = (record.output_mode or "append").lower()
    if mode not in _OUTPUT_MODES:
        raise UnsupportedFeature(
            f"output mode {mode}: a table takes {' and '.join(_OUTPUT_MODES)}; for changed rows use foreachBatch and a MERGE "
            "in it"
        )
    return mode == "complete"


def _checkpoint_location(session: AttachedSession, record: StreamRecord, *, table: TableIdentifier) -> str:
    """Where Spark keeps the query's progress. Without a place that a restart finds again, every batch would be new."""
    given = record.option(CHECKPOINT_LOCATION)
    default = session.setting(DEFAULT_LOCATION, "")
    if given:
        return given.rstrip("/")
    if default and record.query_name is not None:
        return f"{default.rstrip('/')}/{record.query_name}"
    also = f"; {DEFAULT_LOCATION} counts for queries with a queryName" if default else ""
    raise InvalidInput(
        f"{table}: a streaming write needs .option({CHECKPOINT_LOCATION!r}, …), by which a restart knows what it "
        f"committed{also}",
        table=str(table),
    )


def _create(session: AttachedSession, identifier: TableIdentifier, record: StreamRecord, schema: StructType) -> None:
    new = NewTable(
        schema=query_schema(session, identifier, schema),
        partitioning=tuple(_terms(record)),
        properties={},
        if_not_exists=True,
        provider=record.format,
    )
    make_table(session, identifier, new)


def _terms(record: StreamRecord) -> list[PartitionTerm]:
    return [parse_partition_term(quote_name(column)) for column in record.partitioning]
