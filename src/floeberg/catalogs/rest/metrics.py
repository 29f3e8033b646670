"""Metrics reports: what was scanned and committed, told to the server in the background."""

from __future__ import annotations

import logging
import queue
import threading
from typing import Final

from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.http import Request
from floeberg.catalogs.rest.session import RestSession
from floeberg.errors import FloebergError
from floeberg.expr.json import for_others, to_json
from floeberg.expr.nodes import AlwaysTrue
from floeberg.scan.catalog_planning import PlannedScan
from floeberg.spec.json.documents import Document
from floeberg.spec.snapshots.snapshot import Snapshot

logger = logging.getLogger("floeberg.rest")

_MOST_WAITING: Final = 1_000
_LAST_WORDS_S: Final = 2.0
_COMMIT_METRICS: Final = {
    "added-data-files": "added-data-files",
    "deleted-data-files": "removed-data-files",
    "total-data-files": "total-data-files",
    "added-delete-files": "added-delete-files",
    "removed-delete-files": "removed-delete-files",
    "total-delete-files": "total-delete-files",
    "added-records": "added-records",
    "deleted-records": "removed-records",
    "total-records": "total-records",
    "added-files-size": "added-files-size-bytes",
    "removed-files-size": "removed-files-size-bytes",
    "total-files-size": "total-files-size-bytes",
}
"""Keys of a snapshot's summary, and the metrics of a commit report that say the same."""


class MetricsReporter:
    """Sends reports one after the other in a thread of its own. Nobody waits for it, and nothing fails by it: what cannot be
    sent, or comes faster than it can be sent, is dropped."""

    def __init__(self, session: RestSession) -> None:
        self._session = session
        wanted = session.settings.flag("rest-metrics-reporting-enabled", default=True)
        self.is_on = wanted and session.offers(e.REPORT_METRICS)
        self._waiting: queue.Queue[Request | None] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def commit(self, identifier: Identifier, snapshot: Snapshot) -> None:
        """Reports a commit that made a snapshot."""
        if not self.is_on:
            return
        metrics: Document = {"attempts": {"unit": "count", "value": 1}}
        for key, name in _COMMIT_METRICS.items():
            value = snapshot.summary.get(key, "")
            if value.isdecimal():
                metrics[name] = {"unit": "bytes" if name.endswith("bytes") else "count", "value": int(value)}
        self._put(
            identifier,
            {
                "report-type": "commit-report",
                "table-name": self._session.shown(identifier),
                "snapshot-id": snapshot.snapshot_id,
                "sequence-number": snapshot.sequence_number,
                "operation": snapshot.operation or "unknown",
                "metrics": metrics,
                "metadata": {"engine-name": "floeberg"},
            },
        )

    def scan(self, identifier: Identifier, scan: PlannedScan) -> None:
        """Reports a scan of a snapshot."""
        if not self.is_on or scan.chosen.snapshot is None:
            return
        fields = scan.projection.fields
        duration = {"count": 1, "time-unit": "nanoseconds", "total-duration": scan.duration_ms * 1_000_000}
        self._put(
            identifier,
            {
                "report-type": "scan-report",
                "table-name": self._session.shown(identifier),
                "snapshot-id": scan.chosen.snapshot.snapshot_id,
                "filter": True if isinstance(scan.filter, AlwaysTrue) else to_json(for_others(scan.filter)),
                "schema-id": scan.chosen.schema.schema_id,
                "projected-field-ids": [field.field_id for field in fields],
                "projected-field-names": [field.name for field in fields],
                "metrics": {
                    "total-planning-duration": duration,
                    "result-data-files": {"unit": "count", "value": scan.data_files},
                    "result-delete-files": {"unit": "count", "value": scan.delete_files},
                    "total-file-size-in-bytes": {"unit": "bytes", "value": scan.size_in_bytes},
                },
                "metadata": {"engine-name": "floeberg"},
            },
        )

    def close(self) -> None:
        """Lets the thread send what waits, for a moment."""
        with self._lock:
            thread, self._thread = self._thread, None
            self.is_on = False
        if thread is not None:
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                return
            thread.join(_LAST_WORDS_S)

    def _put(self, identifier: Identifier, report: Document) -> None:
        request = Request("POST", f"{self._session.paths.table(identifier)}/metrics", body=report)
        with self._lock:
            if not self.is_on:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="floeberg-rest-metrics", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(request)
        except queue.Full:
            logger.debug("a metrics report is dropped: %d wait already", _MOST_WAITING)

    def _run(self) -> None:
        while (request := self._waiting.get()) is not None:
            try:
                answer = self._session.client.send_once(request)
                if not answer.is_ok:
                    logger.debug("the server did not take a metrics report (status %d)", answer.status)
            except FloebergError as error:
                logger.debug("a metrics report was not sent: %s", error)
