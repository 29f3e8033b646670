"""PySpark 4.1 asks a source for its newest offset without saying how far the stream has read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from floeberg.api.catalog import Catalog, catalog
from floeberg.catalogs.recipe import recipe_of
from floeberg.scan.streaming import StreamOptions
from floeberg.spark.streaming.source import StreamDefinition, TableStreamReader
from floeberg.testing.table_builder import TableBuilder


def definition(lake: Catalog, **options: Any) -> StreamDefinition:
    recipe = recipe_of(lake._backend, what="a test")
    return StreamDefinition(recipe=recipe, namespace=("db",), name="t", schema_id=0, options=StreamOptions(**options))


def ordinals_of(reader: TableStreamReader, start: dict[str, Any], end: dict[str, Any]) -> set[int]:
    """Reads a batch of changes, and gives the ordinals that its rows have."""
    found = [partition.reader.groups for partition in reader.partitions(start, end)]
    reader.commit(end)
    return {task.change_ordinal for groups in found for group in groups for task in group}


def test_a_stream_goes_on_when_its_start_has_expired_and_its_ordinals_do_not_begin_anew(tmp_path: Path) -> None:
    lake = catalog("lake", warehouse=str(tmp_path))
    builder = TableBuilder("id bigint", in_catalog=lake).append((1,))
    first = builder.table.current_snapshot
    assert first is not None
    reader = TableStreamReader(definition(lake, changes=True, from_snapshot_id=first.snapshot_id))
    offset = reader.initialOffset()
    seen: list[int] = []
    for number in range(2, 6):
        end = reader.latestOffset()
        seen += sorted(ordinals_of(reader, offset, end))
        offset = end
        builder.append((number,))
        builder.table.maintenance.expire_snapshots(older_than=2**53, retain_last=2)
    assert seen == [0, 1, 2, 3]
    lake.close()
