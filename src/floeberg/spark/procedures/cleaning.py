"""Procedures that remove what nobody needs: https://iceberg.apache.org/docs/latest/spark-procedures/#metadata-management"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from floeberg.catalogs.base import LoadedTable
from floeberg.effects.protocols import FileInfo
from floeberg.errors import InvalidInput
from floeberg.maintenance import manifests
from floeberg.maintenance.expire import Expiry
from floeberg.maintenance.expire import expire_snapshots as expire
from floeberg.maintenance.orphans import OrphanRequest
from floeberg.maintenance.orphans import remove_orphan_files as remove
from floeberg.maintenance.path_match import PrefixMismatch, prefix_mismatch
from floeberg.spark.host.calls.originals import spark_sql
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Values = dict[str, Any]
Rows = list[tuple[Any, ...]]


def expire_snapshots(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    _concurrent_deletes(values)
    expired = expire(
        table.pointer,
        table.state,
        Expiry(
            older_than_ms=values["older_than"],
            retain_last=values["retain_last"],
            snapshot_ids=tuple(values["snapshot_ids"] or ()),
            clean_expired_metadata=bool(values["clean_expired_metadata"]),
        ),
    )
    deleted = expired.deleted
    return [
        (
            deleted.data_files,
            deleted.position_delete_files,
            deleted.equality_delete_files,
            deleted.manifests,
            deleted.manifest_lists,
            deleted.statistics_files,
        )
    ]


def rewrite_manifests(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    done = manifests.rewrite_manifests(table.pointer, table.state, spec_id=values["spec_id"], sort_by=values["sort_by"])
    return [(done.rewritten_manifests, done.added_manifests)]


def remove_orphan_files(spark: SparkSession, table: LoadedTable, values: Values) -> Rows:
    mode = values["prefix_mismatch_mode"]
    view = values["file_list_view"]
    if view is not None and values["location"] is not None:
        raise InvalidInput("remove_orphan_files: give a location or a file_list_view, not both")
    request = OrphanRequest(
        older_than_ms=values["older_than"],
        location=values["location"],
        dry_run=bool(values["dry_run"]),
        equal_schemes=values["equal_schemes"] or {},
        equal_authorities=values["equal_authorities"] or {},
        prefix_mismatch=PrefixMismatch.ERROR if mode is None else prefix_mismatch(mode),
        files=None if view is None else _listed(spark, view),
        max_concurrent_deletes=_concurrent_deletes(values),
    )
    return [(location,) for location in remove(table.pointer, table.state, request).locations]


def _concurrent_deletes(values: Values) -> int:
    """Raises InvalidInput."""
    given: int | None = values["max_concurrent_deletes"]
    if given is not None and given < 1:
        raise InvalidInput(f"CALL: max_concurrent_deletes must be larger than 0, not {given}")
    return given or 1


def _listed(spark: SparkSession, view: str) -> Iterator[FileInfo]:
    """The rows of a view of files: `file_path` and `last_modified`, without nulls. Raises InvalidInput."""
    name = ".".join(quote_name(part) for part in parse_parts(view))
    files = spark_sql(spark, f"SELECT file_path, unix_millis(last_modified) AS modified FROM {name}")
    for row in files.toLocalIterator():
        if row.file_path is None or row.modified is None:
            raise InvalidInput(f"file_list_view {view}: a file without a path or time; it cannot be judged")
        yield FileInfo(row.file_path, 0, row.modified)
