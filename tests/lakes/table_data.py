"""Rows for tables in tests, written with the real writers and committed through the real path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from floeberg.api.table import Table
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.commit.append import Append
from floeberg.commit.operation import SnapshotTarget
from floeberg.effects.system import system_effects
from floeberg.spec.snapshots.manifest_entry import DataFile


def write_rows(table: Table, rows: Sequence[dict[str, Any]]) -> list[DataFile]:
    """Data files with these rows; nothing is committed."""
    metadata = table.metadata
    ids = system_effects().ids
    folder = f"{metadata.location}/data"

    def new_location(partition: str) -> str:
        return f"{folder}/{partition}/{ids.uuid()}.parquet" if partition else f"{folder}/{ids.uuid()}.parquet"

    writer = RollingWriter(
        table._pointer.store_for(metadata.location),
        metadata.current_schema,
        new_location=new_location,
        spec=metadata.default_spec,
        sort_order=metadata.default_sort_order,
        properties=dict(metadata.properties),
    )
    writer.write(pa.Table.from_pylist(list(rows), schema=arrow_schema(metadata.current_schema)))
    return writer.close()


def append_rows(table: Table, rows: Sequence[dict[str, Any]], *, branch: str = "main") -> None:
    """Commits rows to a branch."""
    table._commit(Append(files=write_rows(table, rows), target=SnapshotTarget(branch=branch)))
