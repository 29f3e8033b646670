"""Tables after each piece of maintenance, with the rows that every engine must read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import floeberg as fb
from floeberg.commit.row_delta import RowDelta
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.compact import RewriteRequest, rewrite_data_files
from floeberg.testing.interrupted_engine import InterruptedEngine
from floeberg.testing.table_builder import TableBuilder

Maintained = tuple[TableBuilder, set[tuple[Any, ...]]]
MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
ALL = {"rewrite-all": "true"}


def changed_table(lake: fb.Catalog, name: str, version: int) -> TableBuilder:
    """Small files in two partitions, with position deletes or vectors, an update, and equality deletes in each partition."""
    builder = TableBuilder(
        partition_by=["p"], format_version=version, properties=MERGE_ON_READ, in_catalog=lake, name=f"db.{name}"
    )
    for number in range(5):
        builder.append(*[(number * 10 + n, n % 2, f"v{number}") for n in range(6)])
    builder.delete("id in (0, 11, 23, 24)")
    builder.table.update({"v": "updated"}, where="id in (2, 3, 40)")
    for p in (0, 1):
        file = next(file for file in builder.data() if file.partition == (p,))
        keys = [(4,), (30,)] if p == 0 else [(5,), (31,)]
        builder.table._commit(RowDelta(added=[builder.equality_deletes(*keys, of=file)]))
    return builder.append((4, 0, "again"))


def _beside_a_writer(builder: TableBuilder) -> None:
    """A compaction during which rows are deleted and updated."""
    other = builder.second()

    def writer() -> None:
        other.delete("id in (12, 13)")
        other.update({"v": "later"}, where="id = 14")

    table = builder.table.refresh()
    engine = InterruptedEngine(ArrowEngine(table._pointer), writer)
    done = rewrite_data_files(table._pointer, table._state, engine, RewriteRequest(options=ALL))
    assert done.carried_deletes == 3


def _upgraded(builder: TableBuilder) -> None:
    builder.set({"format-version": "3"})
    builder.table.maintenance.rewrite_deletes(equality="convert")


def _everything(builder: TableBuilder) -> None:
    maintenance = builder.table.maintenance
    maintenance.rewrite_deletes(equality="convert")
    maintenance.compact(sort_order="zorder(id, v)", options={**ALL, "remove-dangling-deletes": "true"})
    maintenance.rewrite_manifests()
    maintenance.expire_snapshots(older_than="2999-01-01", retain_last=1)
    maintenance.remove_orphans(older_than="2999-01-01", dry_run=False, force=True)


STEPS: dict[str, Callable[[TableBuilder], object]] = {
    "compacted": lambda builder: builder.table.maintenance.compact(options=ALL),
    "sorted": lambda builder: builder.table.maintenance.compact(sort_order="id desc", options=ALL),
    "beside_a_writer": _beside_a_writer,
    "merged_deletes": lambda builder: builder.table.maintenance.rewrite_deletes(options=ALL),
    "converted": lambda builder: builder.table.maintenance.rewrite_deletes(equality="convert"),
    "upgraded": _upgraded,
    "everything": _everything,
}


def maintained_tables(lake: fb.Catalog) -> dict[str, Maintained]:
    """Every step on tables of both versions; the rows are those before it, but for what a writer did meanwhile."""
    tables: dict[str, Maintained] = {}
    for version in (2, 3):
        for step, maintain in STEPS.items():
            if step == "upgraded" and version == 3:
                continue
            builder = changed_table(lake, f"{step}_v{version}", version)
            rows = {tuple(row) for row in builder.rows()}
            maintain(builder)
            if step == "beside_a_writer":
                rows = {(key, p, "later" if key == 14 else v) for key, p, v in rows if key not in (12, 13)}
            builder.table.refresh()
            tables[f"{step}_v{version}"] = (builder, rows)
    return tables
