"""The table of dead letters: events that cannot be applied, as text, with why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.locations import DataLocations
from floeberg.catalogs.base import LoadedTable
from floeberg.change_events.sequences import BadEvent
from floeberg.errors import InvalidInput, NotFound
from floeberg.files.data_file_wire import encode_data_file
from floeberg.spark.ddl.create import NewTable, make_table
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.write.job import WriterTask, writer_task
from floeberg.spark.write.options import write_options
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import STRING, TIMESTAMPTZ, NestedField
from floeberg.sql.text.cursor import parse_parts

DEAD_LETTERS: Final = Schema(
    NestedField(1, "target", STRING),
    NestedField(2, "reason", STRING),
    NestedField(3, "event", STRING),
    NestedField(4, "batch", STRING),
    NestedField(5, "at", TIMESTAMPTZ),
)
"""The table that the event was for, why it cannot be applied, the event as JSON, the batch that it came in, and when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterTask:
    """What a worker needs to write dead letters. It travels with the job."""

    writer: WriterTask
    target: str
    batch: str
    at: datetime

    def write(self, bad: Sequence[BadEvent], *, task: int) -> list[bytes]:
        """Writes bad events, and describes the files."""
        job = self.writer
        locations = DataLocations(job.location, job.properties, job.write_id, task=task)
        suffix = f".{write_properties(job.properties, deletes=False).file_format}"
        writer = RollingWriter(
            job.stores.for_location(locations.folder),
            job.schema,
            spec=job.spec,
            new_location=lambda path: locations.new_location(path, suffix=suffix),
            properties=job.properties,
        )
        rows = [
            {"target": self.target, "reason": one.reason, "event": one.event, "batch": self.batch, "at": self.at}
            for one in bad
        ]
        try:
            writer.write(pa.Table.from_pylist(rows, schema=arrow_schema(DEAD_LETTERS)))
            return [encode_data_file(file, job.partition_type) for file in writer.close()]
        except BaseException:
            writer.abort()
            raise


def dead_letter_table(session: AttachedSession, name: str) -> LoadedTable:
    """The table of dead letters, which is made when it is not there. Raises InvalidInput when it lacks a column."""
    identifier = session.table_identifier(parse_parts(name))
    try:
        table = session.load(identifier)
    except NotFound:
        make_table(session, identifier, NewTable(schema=DEAD_LETTERS, properties={}, if_not_exists=True))
        table = session.load(identifier)
    known = table.state.metadata.current_schema
    for field in DEAD_LETTERS.fields:
        found = known.find(field.name)
        if found is None or found.type != field.type:
            raise InvalidInput(
                f"table {table.state.identifier} cannot take dead letters: it needs a column {field.name} {field.type}; "
                "name a table that is not there yet, and it is made",
                table=table.state.identifier,
            )
    return table


def dead_letter_task(table: LoadedTable, *, target: str, batch: str) -> DeadLetterTask:
    """What workers need to write dead letters of a batch."""
    writer = writer_task(table, options=write_options(table.state.metadata, {}))
    now_ms = table.pointer.effects.clock.now_ms()
    return DeadLetterTask(writer=writer, target=target, batch=batch, at=_moment(now_ms))


def _moment(now_ms: int) -> datetime:
    return datetime.fromtimestamp(now_ms / 1000, UTC)
