"""Scans planned for clients: the files to read, each with its deletes and what is left of the filter.

The server keeps nothing between requests. A plan of many files is answered in parts: a plan task says which part, and
planning again for it is quick, because decoded manifests are cached and the snapshot is pinned.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from floeberg.api.table import Table
from floeberg.errors import BadRequest
from floeberg.expr.bind import bind
from floeberg.expr.json import for_others, from_json, to_json
from floeberg.expr.nodes import TRUE, Expression
from floeberg.scan.plan import plan_files
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import FileScanTask
from floeberg.server.rest.calls import Answer, Call, in_request
from floeberg.spec.json.fields import JsonFields
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent
from floeberg.spec.values.single_value_json import to_json as value_to_json

TASKS_A_PART: Final = 5_000
_CONTENTS: Final = {
    FileContent.DATA: "data",
    FileContent.POSITION_DELETES: "position-deletes",
    FileContent.EQUALITY_DELETES: "equality-deletes",
}


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What a client wants to be planned."""

    snapshot_id: int | None
    start_snapshot_id: int | None
    end_snapshot_id: int | None
    filter: object
    case_sensitive: bool
    uses_snapshot_schema: bool

    @classmethod
    def parse(cls, fields: JsonFields) -> ScanRequest:
        """Raises a FormatError, BadRequest."""
        request = cls(
            snapshot_id=fields.optional_integer("snapshot-id"),
            start_snapshot_id=fields.optional_integer("start-snapshot-id"),
            end_snapshot_id=fields.optional_integer("end-snapshot-id"),
            filter=fields.value("filter"),
            case_sensitive=fields.flag("case-sensitive", default=True),
            uses_snapshot_schema=fields.flag("use-snapshot-schema"),
        )
        if request.snapshot_id is not None and (request.is_incremental or request.end_snapshot_id is not None):
            raise BadRequest(
                "a scan is of one snapshot (snapshot-id) or of a range (start- and end-snapshot-id), not both"
            )
        if request.is_incremental != (request.end_snapshot_id is not None):
            raise BadRequest("an incremental scan needs both start-snapshot-id and end-snapshot-id")
        return request

    @property
    def is_incremental(self) -> bool:
        return self.start_snapshot_id is not None

    def pinned(self, table: Table) -> dict[str, object]:
        """The request as its later parts are asked for: of the same snapshot, whatever is committed meanwhile."""
        current = table.metadata.current_snapshot_id
        is_open = self.snapshot_id is None and not self.is_incremental
        return {
            "snapshot-id": current if is_open else self.snapshot_id,
            "start-snapshot-id": self.start_snapshot_id,
            "end-snapshot-id": self.end_snapshot_id,
            "filter": self.filter,
            "case-sensitive": self.case_sensitive,
            "use-snapshot-schema": self.uses_snapshot_schema,
        }

    def plan(self, table: Table) -> ScanPlan:
        """Raises SnapshotNotFound, InvalidInput for a filter that does not fit the table."""
        metadata = table.metadata
        if self.is_incremental:
            where = self._filter(metadata.current_schema)
            scan = table.scan_appends(
                self.start_snapshot_id, self.end_snapshot_id, where=where, case_sensitive=self.case_sensitive
            )
            return scan.plan()
        snapshot = metadata.current_snapshot if self.snapshot_id is None else metadata.snapshot(self.snapshot_id)
        schema = metadata.current_schema
        if self.uses_snapshot_schema and snapshot is not None:
            schema = metadata.schema_of_snapshot(snapshot)
        return plan_files(
            metadata,
            SnapshotChoice(snapshot, schema),
            store_for=table._pointer.store_for,
            where=self._filter(schema),
            case_sensitive=self.case_sensitive,
            cache=table._caches.frames,
        )

    def _filter(self, schema: Schema) -> Expression:
        """The filter over the schema's columns, whose types say what its literals mean."""
        with in_request():
            found = TRUE if self.filter is None else from_json(self.filter, schema=schema)
        return bind(found, schema, case_sensitive=self.case_sensitive, physical_literals=True)


def plan_table_scan(call: Call) -> Answer:
    """Plans a scan and answers with its first part, and with plan tasks for the others."""
    with in_request():
        request = ScanRequest.parse(call.fields)
    table = call.served.table_to_read(call.table)
    plan = request.plan(table)
    pinned = request.pinned(table)
    later = [_encode({**pinned, "from": start}) for start in range(TASKS_A_PART, len(plan), TASKS_A_PART)]
    document: dict[str, object] = {"status": "completed", "plan-id": str(call.served.backend.effects.ids.uuid())}
    document |= _part(plan, table.metadata, 0)
    return Answer(document={**document, "plan-tasks": later} if later else document)


def fetch_scan_tasks(call: Call) -> Answer:
    """One part of a plan."""
    with in_request():
        wanted = JsonFields(_decode(call.fields.text("plan-task")), "the plan task")
        start = wanted.long("from")
        if start < 0:
            wanted.wrong("from", "0 or more")
        request = ScanRequest.parse(wanted)
    table = call.served.table_to_read(call.table)
    return Answer(document=_part(request.plan(table), table.metadata, start))


def _part(plan: ScanPlan, metadata: TableMetadata, start: int) -> dict[str, object]:
    """The tasks from a place on, with the delete files that they refer to by number."""
    numbers: dict[tuple[str, int | None], int] = {}
    deletes: list[dict[str, object]] = []
    tasks: list[dict[str, object]] = []
    for task in islice(plan, start, start + TASKS_A_PART):
        for one in task.deletes:
            if one.file.identity not in numbers:
                numbers[one.file.identity] = len(deletes)
                deletes.append(_file(one.file, metadata))
        tasks.append(_task(task, metadata, [numbers[one.file.identity] for one in task.deletes]))
    return {"delete-files": deletes, "file-scan-tasks": tasks} if deletes else {"file-scan-tasks": tasks}


def _task(task: FileScanTask, metadata: TableMetadata, deletes: list[int]) -> dict[str, object]:
    document: dict[str, object] = {
        "data-file": _file(task.data_file, metadata),
        "residual-filter": to_json(for_others(task.residual)),
    }
    return {**document, "delete-file-references": deletes} if deletes else document


def _file(file: DataFile, metadata: TableMetadata) -> dict[str, object]:
    """A file without its metrics: they have done their work."""
    types = partition_type_of(metadata, file.spec_id)
    document: dict[str, object] = {
        "spec-id": file.spec_id,
        "content": _CONTENTS[file.content],
        "file-path": file.file_path,
        "file-format": file.file_format.value,
        "partition": [
            None if value is None else value_to_json(member.type, value)
            for member, value in zip(types, file.partition, strict=True)
        ],
        "file-size-in-bytes": file.file_size_in_bytes,
        "record-count": file.record_count,
    }
    return {**document, **_stated(_optional(file))}


def _optional(file: DataFile) -> Iterable[tuple[str, object]]:
    yield "split-offsets", file.split_offsets
    yield "equality-ids", file.equality_ids
    yield "sort-order-id", file.sort_order_id
    yield "first-row-id", file.first_row_id
    yield "referenced-data-file", file.referenced_data_file
    yield "content-offset", file.content_offset
    yield "content-size-in-bytes", file.content_size_in_bytes


def _stated(fields: Iterable[tuple[str, object]]) -> Mapping[str, object]:
    return {name: value for name, value in fields if value is not None}


def _encode(document: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(document)).decode()


def _decode(token: str) -> object:
    try:
        return msgspec.json.decode(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as error:
        raise BadRequest("this plan task is none that the server gave; plan the scan again") from error
