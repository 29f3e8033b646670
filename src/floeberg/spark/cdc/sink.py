"""CDC in Structured Streaming: a function for `foreachBatch` that commits every epoch of a query once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from floeberg.errors import InvalidInput
from floeberg.spark.cdc.apply import CdcResult, Transaction, apply_events
from floeberg.spark.cdc.options import CdcOptions
from floeberg.spark.cdc.routing import Routes, apply_routed
from floeberg.spark.host.session import AttachedSession, session_of
from floeberg.spark.streaming.checkpoint import Checkpoint
from floeberg.spark.streaming.maintenance import commits_between, maintain_after
from floeberg.spark.streaming.sink import CHECKPOINT_LOCATION
from floeberg.sql.text.cursor import parse_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ADAPTIVE: Final = "spark.sql.adaptive.enabled"
_WAY_OUT: Final = "start a new query with a checkpoint location of its own"


@dataclass(slots=True, kw_only=True)
class CdcSink:
    """Applies the events of each epoch: `stream.writeStream.foreachBatch(sink)`. An epoch that a table holds already is
    skipped there, so that a table takes one call of one sink an epoch."""

    target: str | Routes
    options: CdcOptions
    checkpoint: Checkpoint | None = None
    app_id: str | None = None
    """In place of the query's id."""
    maintain_every: int | None = None
    """After so many epochs the tables are maintained."""
    _uuids: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, batch: DataFrame, epoch_id: int) -> CdcResult | list[CdcResult]:
        """Applies and commits an epoch. Raises InvalidInput, also for a table that was made anew under the query."""
        spark = batch.sparkSession
        session = session_of(spark)
        if session is None:
            raise InvalidInput(
                "the session that the events are applied in is not attached; call floeberg.attach(spark, …)"
            )
        for name in self.tables:
            self._check_same_table(session, name)
        once = self._transaction(spark, epoch_id)
        result: CdcResult | list[CdcResult]
        with _few_tasks(spark):
            if isinstance(self.target, Routes):
                result = apply_routed(batch, self.target, self.options, once)
            else:
                result = apply_events(batch, self.target, self.options, once)
        for name in self.tables:
            identifier = session.table_identifier(parse_parts(name))
            maintain_after(session, spark, identifier, epoch_id=epoch_id, every=self.maintain_every)
        return result

    @property
    def tables(self) -> list[str]:
        """The names of the tables that events are applied to."""
        return list(self.target.tables.values()) if isinstance(self.target, Routes) else [self.target]

    def _transaction(self, spark: SparkSession, epoch_id: int) -> Transaction:
        if self.app_id is not None or self.checkpoint is None:
            return Transaction(app_id=self.app_id or "", version=epoch_id)
        content = self.checkpoint.content_of(spark, epoch_id)
        if content is None:
            raise InvalidInput(
                f"checkpoint {self.checkpoint.location} knows nothing of epoch {epoch_id}: the query runs with another "
                f"{CHECKPOINT_LOCATION}, or as a copy of it; give the sink the location that the query has"
            )
        return Transaction(app_id=self.checkpoint.query_id(spark), version=epoch_id, content=content)

    def _check_same_table(self, session: AttachedSession, name: str) -> None:
        table = session.resolve(session.table_identifier(parse_parts(name))).table
        uuid = None if table is None else table.state.metadata.table_uuid
        if self._uuids.setdefault(name, uuid) != uuid:
            raise InvalidInput(
                f"table {name} was dropped and created anew while a query applies events to it; {_WAY_OUT}", table=name
            )


@contextmanager
def _few_tasks(spark: SparkSession) -> Iterator[None]:
    """Lets Spark size the tasks that write, each of which makes files of its own. The session of a streaming query, which is
    its own, has that switched off, because stateful operators must keep their partitions; those are before ours."""
    if spark.conf.get(_ADAPTIVE, "true") != "false":
        yield
        return
    spark.conf.set(_ADAPTIVE, "true")
    try:
        yield
    finally:
        spark.conf.set(_ADAPTIVE, "false")


def cdc_sink(
    target: str | Routes,
    options: CdcOptions,
    *,
    checkpoint: str | None,
    app_id: str | None = None,
    maintain_every: int | None = None,
) -> CdcSink:
    """A sink that knows its epochs by the query of a checkpoint, or by an application's id. Raises InvalidInput for neither
    or both."""
    if (checkpoint is None) is (app_id is None):
        raise InvalidInput(
            f"events of a stream are applied once by the query that they belong to: give checkpoint=, the query's "
            f"{CHECKPOINT_LOCATION}, or app_id=, an id that a restart keeps; not both"
        )
    found = None if checkpoint is None else Checkpoint(checkpoint.rstrip("/"))
    every = commits_between(maintain_every)
    return CdcSink(target=target, options=options, checkpoint=found, app_id=app_id, maintain_every=every)


def stream_writer(
    stream: DataFrame,
    target: str | Routes,
    options: CdcOptions,
    *,
    checkpoint: str | None,
    maintain_every: int | None = None,
) -> Any:
    """A DataStreamWriter whose query applies the events; its checkpoint location is set."""
    sink = cdc_sink(target, options, checkpoint=checkpoint, maintain_every=maintain_every)
    return stream.writeStream.foreachBatch(sink).option(CHECKPOINT_LOCATION, checkpoint)
