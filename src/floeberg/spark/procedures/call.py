"""CALL: finds the procedure, binds its arguments, gives its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.results import rows
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
    bind_arguments,
    required,
)
from floeberg.spark.procedures.changelog_view import CHANGELOG_VIEW, create_changelog_view
from floeberg.spark.procedures.checking import check, repair
from floeberg.spark.procedures.cleaning import expire_snapshots, remove_orphan_files, rewrite_manifests
from floeberg.spark.procedures.maintaining import maintain
from floeberg.spark.procedures.rewrites import (
    convert_equality_deletes,
    rewrite_data_files,
    rewrite_position_delete_files,
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
from floeberg.sql.statements.call_statement import Call
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.names import TableIdentifier
from floeberg.storage.location import parse_from_user

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Procedure:
    """The parameters, result columns and action of a procedure; the first parameter is the table's name."""

    parameters: tuple[Parameter, ...]
    result: str
    run: Callable[[SparkSession, LoadedTable, Values], Rows]


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
        ),
        "orphan_file_location STRING",
        remove_orphan_files,
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
_REGISTER: Final = (_TABLE, required("metadata_file", STRING))
_REGISTERED: Final = "current_snapshot_id BIGINT, total_records_count BIGINT, total_data_files_count BIGINT"
LATER: Final = (
    "snapshot",
    "migrate",
    "add_files",
    "rewrite_table_path",
)


def call(execution: Execution, statement: Call) -> DataFrame:
    """Runs a procedure. Raises InvalidInput for an unknown procedure or arguments that do not fit, UnsupportedFeature for one
    that is not supported yet."""
    found = execution.session.table_identifier(statement.procedure.parts)
    name = found.name.lower()
    if found.namespace != ("system",):
        raise InvalidInput(
            f"{statement.procedure} is no procedure; procedures are in {found.catalog}.system",
            condition="ROUTINE_NOT_FOUND",
        )
    if name in _WITH_SESSION:
        return _WITH_SESSION[name](execution, found.catalog, statement)
    if name in LATER:
        raise UnsupportedFeature(
            f"procedure {found.catalog}.system.{name} is not there yet; it comes in a later release", procedure=name
        )
    procedure = PROCEDURES.get(name)
    if procedure is None:
        known = ", ".join(sorted((*PROCEDURES, *_WITH_SESSION)))
        raise InvalidInput(f"{statement.procedure} is no procedure; there are {known}", condition="ROUTINE_NOT_FOUND")
    values = bind_arguments(execution, name, procedure.parameters, statement.arguments)
    table = execution.session.load(_table(execution, found.catalog, values["table"]))
    return rows(execution.spark, procedure.result, procedure.run(execution.spark, table, values))


def _register_table(execution: Execution, catalog: str, statement: Call) -> DataFrame:
    values = bind_arguments(execution, "register_table", _REGISTER, statement.arguments)
    session = execution.session
    identifier = _table(execution, catalog, values["table"])
    where = parse_from_user(values["metadata_file"]).text
    loaded = session.backend(catalog).register_table(session.key(identifier), where)
    snapshot = loaded.state.metadata.current_snapshot
    shown: tuple[Any, ...] = (None, None, None)
    if snapshot is not None:
        summary = snapshot.summary
        shown = (snapshot.snapshot_id, *(_count(summary.get(key)) for key in ("total-records", "total-data-files")))
    return rows(execution.spark, _REGISTERED, [shown])


def _create_changelog_view(execution: Execution, catalog: str, statement: Call) -> DataFrame:
    values = bind_arguments(execution, "create_changelog_view", CHANGELOG_VIEW, statement.arguments)
    identifier = _table(execution, catalog, values["table"])
    view = create_changelog_view(execution.session, execution.session.load(identifier), identifier.name, values)
    return rows(execution.spark, "changelog_view STRING", [(view,)])


_WITH_SESSION: Final[dict[str, Callable[[Execution, str, Call], DataFrame]]] = {
    "register_table": _register_table,
    "create_changelog_view": _create_changelog_view,
}
"""Procedures that change the catalog or the session, not only a table."""


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _table(execution: Execution, catalog: str, name: str) -> TableIdentifier:
    """A procedure's table: in the procedure's catalog, with or without the catalog's name in front."""
    parts = parse_parts(name)
    state = execution.session.state
    if len(parts) > 1 and parts[0] == catalog:
        return TableIdentifier(catalog, parts[1:])
    if len(parts) > 2 and parts[0] in state.catalogs:
        raise InvalidInput(f"{name} is in another catalog; CALL {parts[0]}.system instead of {catalog}.system")
    if len(parts) == 1 and state.current_catalog == catalog:
        return TableIdentifier(catalog, (*state.current_namespace, *parts))
    return TableIdentifier(catalog, parts)
