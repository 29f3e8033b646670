"""Procedures that make tables of files that are there: https://iceberg.apache.org/docs/latest/spark-procedures/#table-migration"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from floeberg.errors import InvalidInput
from floeberg.maintenance.imports.add_files import ImportRequest
from floeberg.maintenance.imports.add_files import add_files as add
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.procedures.file_work import import_work
from floeberg.spark.procedures.import_source import ImportSource, find_source
from floeberg.spark.procedures.snapshots import Rows, Values
from floeberg.sql.conditions.coercion import fixed_offset_us
from floeberg.sql.text.names import TableIdentifier

Identify = Callable[[str], TableIdentifier]


def add_files(execution: Execution, identify: Identify, values: Values) -> Rows:
    parallelism = positive_parallelism(values)
    session = execution.session
    table = session.load(identify(values["table"]))
    source = find_source(session, values["source_table"], table.pointer.store_for)
    request = import_request(
        session,
        source,
        partition_filter=values["partition_filter"] or {},
        check_duplicate_files=values["check_duplicate_files"] is not False,
    )
    work = import_work(execution.spark, table, request.files, parallelism)
    done = add(table.pointer, table.state, work, request)
    return [(done.added_files, done.changed_partitions)]


def positive_parallelism(values: Values) -> int | None:
    """Raises InvalidInput."""
    given: int | None = values["parallelism"]
    if given is not None and given < 1:
        raise InvalidInput(f"CALL: parallelism must be larger than 0, not {given}")
    return given


def import_request(session: AttachedSession, source: ImportSource, **asked: Any) -> ImportRequest:
    """The import of a source's files in a session."""
    return ImportRequest(
        files=source.files,
        columns=source.columns,
        file_format=source.file_format,
        zone=_zone(session.setting("spark.sql.session.timeZone", "UTC")),
        engine_summary=engine_summary(session.spark),
        **asked,
    )


def _zone(name: str) -> tzinfo:
    fixed = fixed_offset_us(name)
    if fixed is not None:
        return UTC if fixed == 0 else timezone(timedelta(microseconds=fixed))
    return ZoneInfo(name)
