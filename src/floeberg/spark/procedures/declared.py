"""The procedures with their parameters and result columns:
https://iceberg.apache.org/docs/latest/spark-procedures/"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.spark.host.execution import Execution
from floeberg.spark.procedures.arguments import (
    BOOLEAN,
    INT,
    LONG,
    LONGS,
    STRING,
    STRINGS,
    TEXTS,
    TIMESTAMP,
    Parameter,
    required,
)
from floeberg.spark.procedures.changelog_view import create_changelog_view
from floeberg.spark.procedures.checking import check, repair
from floeberg.spark.procedures.cleaning import expire_snapshots, remove_orphan_files, rewrite_manifests
from floeberg.spark.procedures.imports import Identify, add_files
from floeberg.spark.procedures.maintaining import maintain
from floeberg.spark.procedures.register import register_table
from floeberg.spark.procedures.rewrites import (
    convert_equality_deletes,
    rewrite_data_files,
    rewrite_position_delete_files,
    rewrite_table_path,
)
from floeberg.spark.procedures.snapshots import (
    Rows,
    Values,
    ancestors_of,
    cherrypick_snapshot,
    fast_forward,
    publish_changes,
    rollback_to_snapshot,
    rollback_to_timestamp,
    set_current_snapshot,
)
from floeberg.spark.procedures.statistics import compute_partition_stats, compute_table_stats
from floeberg.spark.procedures.table_migration import migrate, snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Procedure:
    """The parameters, result columns and action of a procedure; the first parameter is the table's name."""

    parameters: tuple[Parameter, ...]
    result: str
    run: Callable[[SparkSession, LoadedTable, Values], Rows]


@dataclass(frozen=True, slots=True)
class SessionProcedure:
    """A procedure that finds its tables itself: some are Spark's, some are not there yet."""

    parameters: tuple[Parameter, ...]
    result: str
    run: Callable[[Execution, Identify, Values], Rows]


def _of_metadata(run: Callable[[LoadedTable, Values], Rows]) -> Callable[[SparkSession, LoadedTable, Values], Rows]:
    """A procedure that needs no Spark."""
    return lambda spark, table, values: run(table, values)


_TABLE: Final = required("table", STRING)
_MOVED: Final = "previous_snapshot_id BIGINT, current_snapshot_id BIGINT"
_PICKED: Final = "source_snapshot_id BIGINT, current_snapshot_id BIGINT"
_REWRITTEN_DELETES: Final = (
    "rewritten_delete_files_count INT, added_delete_files_count INT, rewritten_bytes_count BIGINT, "
    "added_bytes_count BIGINT"
)

PROCEDURES: Final[dict[str, Procedure]] = {
    "rollback_to_snapshot": Procedure(
        (_TABLE, required("snapshot_id", LONG)), _MOVED, _of_metadata(rollback_to_snapshot)
    ),
    "rollback_to_timestamp": Procedure(
        (_TABLE, required("timestamp", TIMESTAMP)), _MOVED, _of_metadata(rollback_to_timestamp)
    ),
    "set_current_snapshot": Procedure(
        (_TABLE, Parameter("snapshot_id", LONG), Parameter("ref", STRING)), _MOVED, _of_metadata(set_current_snapshot)
    ),
    "cherrypick_snapshot": Procedure(
        (_TABLE, required("snapshot_id", LONG)), _PICKED, _of_metadata(cherrypick_snapshot)
    ),
    "publish_changes": Procedure((_TABLE, required("wap_id", STRING)), _PICKED, _of_metadata(publish_changes)),
    "fast_forward": Procedure(
        (_TABLE, required("branch", STRING), required("to", STRING)),
        "branch_updated STRING, previous_ref BIGINT, updated_ref BIGINT",
        _of_metadata(fast_forward),
    ),
    "ancestors_of": Procedure(
        (_TABLE, Parameter("snapshot_id", LONG)), "snapshot_id BIGINT, timestamp BIGINT", _of_metadata(ancestors_of)
    ),
    "expire_snapshots": Procedure(
        (
            _TABLE,
            Parameter("older_than", TIMESTAMP),
            Parameter("retain_last", INT),
            Parameter("max_concurrent_deletes", INT),
            Parameter("stream_results", BOOLEAN),
            Parameter("snapshot_ids", LONGS),
            Parameter("clean_expired_metadata", BOOLEAN),
        ),
        "deleted_data_files_count BIGINT, deleted_position_delete_files_count BIGINT, "
        "deleted_equality_delete_files_count BIGINT, deleted_manifest_files_count BIGINT, "
        "deleted_manifest_lists_count BIGINT, deleted_statistics_files_count BIGINT",
        expire_snapshots,
    ),
    "rewrite_data_files": Procedure(
        (
            _TABLE,
            Parameter("strategy", STRING),
            Parameter("sort_order", STRING),
            Parameter("options", STRINGS),
            Parameter("where", STRING),
            Parameter("branch", STRING),
        ),
        "rewritten_data_files_count INT, added_data_files_count INT, rewritten_bytes_count BIGINT, "
        "failed_data_files_count INT, removed_delete_files_count INT",
        rewrite_data_files,
    ),
    "rewrite_position_delete_files": Procedure(
        (_TABLE, Parameter("options", STRINGS), Parameter("where", STRING)),
        _REWRITTEN_DELETES,
        rewrite_position_delete_files,
    ),
    "rewrite_manifests": Procedure(
        (_TABLE, Parameter("use_caching", BOOLEAN), Parameter("spec_id", INT), Parameter("sort_by", TEXTS)),
        "rewritten_manifests_count INT, added_manifests_count INT",
        rewrite_manifests,
    ),
    "remove_orphan_files": Procedure(
        (
            _TABLE,
            Parameter("older_than", TIMESTAMP),
            Parameter("location", STRING),
            Parameter("dry_run", BOOLEAN),
            Parameter("max_concurrent_deletes", INT),
            Parameter("file_list_view", STRING),
            Parameter("equal_schemes", STRINGS),
            Parameter("equal_authorities", STRINGS),
            Parameter("prefix_mismatch_mode", STRING),
            Parameter("prefix_listing", BOOLEAN),
            Parameter("stream_results", BOOLEAN),
        ),
        "orphan_file_location STRING",
        remove_orphan_files,
    ),
    "rewrite_table_path": Procedure(
        (
            _TABLE,
            required("source_prefix", STRING),
            required("target_prefix", STRING),
            Parameter("start_version", STRING),
            Parameter("end_version", STRING),
            Parameter("staging_location", STRING),
            Parameter("create_file_list", BOOLEAN),
        ),
        "latest_version STRING, file_list_location STRING, rewritten_manifest_file_paths_count INT, "
        "rewritten_delete_file_paths_count INT",
        rewrite_table_path,
    ),
    "convert_equality_deletes": Procedure(
        (_TABLE, Parameter("where", STRING), Parameter("branch", STRING)),
        _REWRITTEN_DELETES,
        convert_equality_deletes,
    ),
    "compute_table_stats": Procedure(
        (_TABLE, Parameter("snapshot_id", LONG), Parameter("columns", TEXTS)),
        "statistics_file STRING",
        compute_table_stats,
    ),
    "compute_partition_stats": Procedure(
        (_TABLE, Parameter("snapshot_id", LONG)), "partition_statistics_file STRING", compute_partition_stats
    ),
    "maintain": Procedure(
        (_TABLE, Parameter("dry_run", BOOLEAN)),
        "action STRING, reason STRING, data_files_before BIGINT, data_files_after BIGINT, delete_files_before BIGINT, "
        "delete_files_after BIGINT, bytes_before BIGINT, bytes_after BIGINT, read_ms_before BIGINT, read_ms_after BIGINT",
        maintain,
    ),
    "check": Procedure(
        (
            _TABLE,
            Parameter("snapshot_ids", LONGS),
            Parameter("read_footers", BOOLEAN),
            Parameter("read_rows", BOOLEAN),
        ),
        "severity STRING, problem STRING, location STRING, message STRING",
        check,
    ),
    "repair": Procedure(
        (
            _TABLE,
            required("actions", TEXTS),
            Parameter("snapshot_id", LONG),
            Parameter("branch", STRING),
            Parameter("read_rows", BOOLEAN),
            Parameter("dry_run", BOOLEAN),
        ),
        "action STRING, location STRING, reason STRING, snapshot_id_before BIGINT",
        repair,
    ),
}
SESSION_PROCEDURES: Final[dict[str, SessionProcedure]] = {
    "register_table": SessionProcedure(
        (_TABLE, required("metadata_file", STRING)),
        "current_snapshot_id BIGINT, total_records_count BIGINT, total_data_files_count BIGINT",
        register_table,
    ),
    "create_changelog_view": SessionProcedure(
        (
            _TABLE,
            Parameter("changelog_view", STRING),
            Parameter("options", STRINGS),
            Parameter("compute_updates", BOOLEAN),
            Parameter("identifier_columns", TEXTS),
            Parameter("net_changes", BOOLEAN),
        ),
        "changelog_view STRING",
        create_changelog_view,
    ),
    "add_files": SessionProcedure(
        (
            _TABLE,
            required("source_table", STRING),
            Parameter("partition_filter", STRINGS),
            Parameter("check_duplicate_files", BOOLEAN),
            Parameter("parallelism", INT),
        ),
        "added_files_count BIGINT, changed_partition_count BIGINT",
        add_files,
    ),
    "snapshot": SessionProcedure(
        (
            required("source_table", STRING),
            _TABLE,
            Parameter("location", STRING),
            Parameter("properties", STRINGS),
            Parameter("parallelism", INT),
            Parameter("ignore_missing_files", BOOLEAN),
        ),
        "imported_files_count BIGINT",
        snapshot,
    ),
    "migrate": SessionProcedure(
        (
            _TABLE,
            Parameter("properties", STRINGS),
            Parameter("drop_backup", BOOLEAN),
            Parameter("backup_table_name", STRING),
            Parameter("parallelism", INT),
            Parameter("ignore_missing_files", BOOLEAN),
        ),
        "migrated_files_count BIGINT",
        migrate,
    ),
}
