"""register_table: https://iceberg.apache.org/docs/latest/spark-procedures/#register_table"""

from __future__ import annotations

from floeberg.spark.host.execution import Execution
from floeberg.spark.procedures.imports import Identify
from floeberg.spark.procedures.snapshots import Rows, Values
from floeberg.storage.location import parse_from_user


def register_table(execution: Execution, identify: Identify, values: Values) -> Rows:
    """Makes a table of a catalog of the metadata file that it has somewhere."""
    session = execution.session
    identifier = identify(values["table"])
    where = parse_from_user(values["metadata_file"]).text
    loaded = session.backend(identifier.catalog).register_table(session.key(identifier), where)
    snapshot = loaded.state.metadata.current_snapshot
    if snapshot is None:
        return [(None, None, None)]
    summary = snapshot.summary
    return [(snapshot.snapshot_id, *(_count(summary.get(key)) for key in ("total-records", "total-data-files")))]


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
