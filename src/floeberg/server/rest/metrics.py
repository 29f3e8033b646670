"""Reports of scans and commits that clients send: they go to the log."""

from __future__ import annotations

import logging
from typing import Final

from floeberg.errors import TableNotFound
from floeberg.server.rest.calls import NO_CONTENT, Answer, Call, in_request
from floeberg.storage.secret import redact

LOG: Final = logging.getLogger("floeberg.server.metrics")


def report_metrics(call: Call) -> Answer:
    with in_request():
        kind = call.fields.text("report-type")
    if not call.served.backend.namespace_exists(
        call.table.namespace
    ):  # a table that is being created comes after its report
        raise TableNotFound(f"table {call.served.name}.{call.table} does not exist")
    LOG.info("%r of %s.%r: %s", kind[:60], call.served.name, str(call.table), redact(str(call.body))[:4000])
    return NO_CONTENT
