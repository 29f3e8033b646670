"""Scans that the server plans: asking for a plan, waiting for it, and its tasks as ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.errors import TABLES
from floeberg.catalogs.rest.http import Request, json_object
from floeberg.catalogs.rest.session import RestSession
from floeberg.errors import CatalogError, FloebergError
from floeberg.expr.json import for_others, to_json
from floeberg.expr.nodes import AlwaysTrue, Expression
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import DeleteFile, FileScanTask
from floeberg.spec.json.documents import Document
from floeberg.spec.json.fields import JsonFields
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat
from floeberg.spec.types import StructType
from floeberg.spec.values.single_value_json import from_json

_FIRST_WAIT_MS: Final = 100
_LONGEST_WAIT_MS: Final = 5_000
_MAX_POLLS: Final = 1_000
_MAX_TASKS: Final = 1_000_000
_CONTENTS: Final = {
    "data": FileContent.DATA,
    "position-deletes": FileContent.POSITION_DELETES,
    "equality-deletes": FileContent.EQUALITY_DELETES,
}


class ServerPlanner:
    """Plans of one table's scans by its server."""

    def __init__(self, session: RestSession, identifier: Identifier) -> None:
        self._session = session
        self._path = session.paths.table(identifier)
        self._subject = f"table {session.shown(identifier)}"

    def tasks(
        self, metadata: TableMetadata, chosen: SnapshotChoice, where: Expression, *, case_sensitive: bool
    ) -> list[FileScanTask]:
        """The files to read. The server's residuals are not needed: the filter is asked of every row. Raises
        UnsupportedFeature when the server does not plan, CatalogError when planning failed."""
        self._session.require(e.PLAN_TABLE_SCAN, "plan scans")
        if chosen.snapshot is None:
            return []
        body: Document = {
            "snapshot-id": chosen.snapshot.snapshot_id,
            "case-sensitive": case_sensitive,
            "use-snapshot-schema": chosen.schema.schema_id != metadata.current_schema_id,
        }
        if not isinstance(where, AlwaysTrue):
            body["filter"] = to_json(for_others(where))
        request = Request("POST", f"{self._path}/plan", body=body)
        answer = json_object(
            self._session.write(request, TABLES, what="plan a scan", subject=self._subject), self._subject
        )
        plan_id = answer.get("plan-id")
        try:
            result = self._completed(answer, plan_id)
            return [task for part in self._parts(result) for task in _tasks(part, metadata, where)]
        except BaseException:
            self._cancel(plan_id)
            raise

    def _completed(self, answer: Mapping[str, object], plan_id: object) -> Mapping[str, object]:
        """Waits until the server has planned."""
        wait_ms = _FIRST_WAIT_MS
        for _ in range(_MAX_POLLS):
            status = str(answer.get("status", "completed")).lower()
            if status == "completed":
                return answer
            if status != "submitted" or not isinstance(plan_id, str):
                raise CatalogError(f"{self._subject}: the server did not plan the scan: {status}: {_reason(answer)}")
            self._session.effects.sleeper.sleep_ms(wait_ms)
            wait_ms = min(wait_ms * 2, _LONGEST_WAIT_MS)
            request = Request("GET", f"{self._path}/plan/{plan_id}")
            found = self._session.read(request, TABLES, what="plan a scan", subject=self._subject)
            answer = json_object(found, self._subject)
        raise CatalogError(f"{self._subject}: the server did not plan the scan in {_MAX_POLLS} questions")

    def _parts(self, result: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
        """The plan, and what its opaque tasks become."""
        yield result
        waiting = _texts(result.get("plan-tasks"))
        seen = 0
        while waiting:
            seen += 1
            if seen > _MAX_TASKS:
                raise CatalogError(f"{self._subject}: the server's plan has no end after {_MAX_TASKS} tasks")
            request = Request("POST", f"{self._path}/tasks", body={"plan-task": waiting.pop(0)})
            answer = self._session.client.read(request)  # it changes nothing, so it may be asked again
            if not answer.is_ok:
                raise CatalogError(f"{self._subject}: the server gave no tasks of its plan (status {answer.status})")
            part = json_object(answer, self._subject)
            waiting += _texts(part.get("plan-tasks"))
            yield part

    def _cancel(self, plan_id: object) -> None:
        if isinstance(plan_id, str) and self._session.offers(e.CANCEL_PLANNING):
            try:
                self._session.client.send_once(Request("DELETE", f"{self._path}/plan/{plan_id}"))
            except FloebergError:
                return  # the server forgets it in its own time


def _tasks(part: Mapping[str, object], metadata: TableMetadata, where: Expression) -> Iterator[FileScanTask]:
    deletes = [_content_file(one, metadata) for one in _objects(part.get("delete-files"))]
    for task in _objects(part.get("file-scan-tasks")):
        fields = JsonFields(task, "file-scan-task")
        data_file = _content_file(fields.required("data-file"), metadata)
        numbers = task.get("delete-file-references") or []
        if not isinstance(numbers, list) or not all(isinstance(n, int) and 0 <= n < len(deletes) for n in numbers):
            raise CatalogError(f"the server's plan refers to delete files that it does not give: {str(numbers)[:100]}")
        # Which deletes apply to which file is decided: the plan tells no sequence numbers, and none are needed to read.
        yield FileScanTask(
            data_file=data_file,
            data_sequence_number=0,
            file_sequence_number=None,
            deletes=tuple(DeleteFile(deletes[number], 1) for number in numbers),
            residual=where,
        )


def _content_file(value: object, metadata: TableMetadata) -> DataFile:
    """A file of a plan. Raises MetadataCorrupt."""
    fields = JsonFields(value, "a file of the server's plan")
    spec_id = fields.int32("spec-id")
    content = _CONTENTS.get(fields.text("content").lower().replace("_", "-"))
    if content is None:
        raise CatalogError(f"the server's plan has a file of unknown content {fields.text('content')[:40]!r}")
    offsets = fields.integers("split-offsets") if fields.has("split-offsets") else None
    return DataFile(
        content=content,
        file_path=fields.text("file-path"),
        file_format=FileFormat(fields.text("file-format").lower()),
        spec_id=spec_id,
        partition=_partition(fields.required("partition"), partition_type_of(metadata, spec_id)),
        record_count=fields.long("record-count"),
        file_size_in_bytes=fields.long("file-size-in-bytes"),
        split_offsets=None if offsets is None else tuple(offsets),
        equality_ids=tuple(fields.integers("equality-ids")) if fields.has("equality-ids") else None,
        sort_order_id=fields.int32("sort-order-id") if fields.has("sort-order-id") else None,
        first_row_id=fields.optional_integer("first-row-id"),
        referenced_data_file=fields.optional_text("referenced-data-file"),
        content_offset=fields.optional_integer("content-offset"),
        content_size_in_bytes=fields.optional_integer("content-size-in-bytes"),
    )


def _partition(value: object, partition_type: StructType) -> tuple[object, ...]:
    """Values in the order of the spec's fields; the Java library of some versions gives them by field id."""
    if isinstance(value, dict):
        value = [value.get(str(field.field_id)) for field in partition_type.fields]
    if not isinstance(value, list) or len(value) != len(partition_type.fields):
        raise CatalogError(f"the server's plan has partition values that do not fit their spec: {str(value)[:100]}")
    return tuple(
        None if one is None else from_json(field.type, one)
        for field, one in zip(partition_type.fields, value, strict=True)
    )


def _objects(value: object) -> Sequence[Document]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _reason(answer: Mapping[str, object]) -> str:
    error = answer.get("error")
    return str(error.get("message"))[:300] if isinstance(error, dict) else "no reason given"
