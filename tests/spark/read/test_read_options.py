"""Every option of a batch read: what can change rows is heeded or refused, in every form of a read; the rest is accepted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from floeberg.errors import FloebergError, InvalidInput

Options = dict[str, str]
NAME = "lake.db.options"


class History:
    """A table whose columns were swapped after its first snapshot, so that a condition under the wrong schema shows."""

    def __init__(self, session: Any) -> None:
        session.sql(f"CREATE TABLE {NAME} (a INT, b INT)")
        session.sql(f"INSERT INTO {NAME} VALUES (1, 10)")
        self.first = self._head(session)
        session.sql(f"ALTER TABLE {NAME} CREATE TAG one")
        session.sql(f"ALTER TABLE {NAME} RENAME COLUMN a TO c")
        session.sql(f"ALTER TABLE {NAME} RENAME COLUMN b TO a")
        session.sql(f"ALTER TABLE {NAME} RENAME COLUMN c TO b")
        session.sql(f"INSERT INTO {NAME} VALUES (2, 20)")
        self.second = self._head(session)
        session.sql(f"INSERT INTO {NAME} VALUES (3, 30)")
        session.sql(f"ALTER TABLE {NAME} CREATE BRANCH side AS OF VERSION {self.second.snapshot_id}")
        session.sql(f"INSERT INTO {NAME}.branch_side VALUES (4, 40)")
        self.location = session.lake.load_table("db.options").location

    def _head(self, session: Any) -> Any:
        return session.lake.load_table("db.options").current_snapshot

    def values(self, options: Options) -> Options:
        """`$first` and the like stand for what is known only now."""
        moment = datetime.fromtimestamp(self.first.timestamp_ms / 1000, tz=UTC).isoformat(sep=" ")
        known = {
            "$first": self.first.snapshot_id,
            "$second": self.second.snapshot_id,
            "$ms": self.first.timestamp_ms,
            "$second_ms": self.second.timestamp_ms,
            "$moment": moment,
        }
        return {key: str(known.get(value, value)) for key, value in options.items()}


@pytest.fixture(scope="module")
def history(session: Any) -> History:
    return History(session)


# What each read gives: the sums of a and b over the table, the number of files; None where it is refused.
NOW = (10 + 20 + 30, 1 + 2 + 3)
FIRST = (1, 10)  # under the schema of that time
SIDE = (10 + 20 + 40, 1 + 2 + 4)
HEEDED: list[tuple[Options, tuple[int, int] | None, int | None]] = [
    ({}, NOW, 3),
    ({"snapshot-id": "$first"}, FIRST, 1),
    ({"versionAsOf": "$first"}, FIRST, 1),
    ({"VERSIONASOF": "one"}, FIRST, 1),
    ({"versionAsOf": "side"}, SIDE, 3),
    ({"as-of-timestamp": "$ms"}, FIRST, 1),
    ({"timestampAsOf": "$moment"}, FIRST, 1),
    ({"branch": "side"}, SIDE, 3),
    ({"tag": "one"}, FIRST, 1),
    ({"start-snapshot-id": "$first"}, (20 + 30, 2 + 3), None),
    ({"start-snapshot-id": "$first", "end-snapshot-id": "$second"}, (20, 2), None),
    ({"start-timestamp": "$ms"}, (20 + 30, 2 + 3), None),
    ({"start-timestamp": "$ms", "end-timestamp": "$second_ms"}, (20, 2), None),
    ({"start-snapshot-id": "$second", "branch": "side"}, (40, 4), None),
    ({"scan-engine": "arrow"}, NOW, 3),
    ({"split-size": "1000"}, NOW, 3),
    ({"match-columns-by-name": "true"}, NOW, 3),
    ({"match-delete-paths-without-scheme": "true"}, NOW, 3),
]
ACCEPTED: list[Options] = [
    {"vectorization-enabled": "false", "batch-size": "10", "lookback": "3", "file-open-cost": "1", "locality": "true"},
    {"preserve-data-grouping": "true", "aggregate-push-down-enabled": "false", "executor-cache-enabled": "false"},
    {"data-planning-mode": "local", "delete-planning-mode": "local"},
    {"mergeSchema": "true", "ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"},
    {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED", "recursiveFileLookup": "false"},
]
REFUSED: list[Options] = [
    {"snapshot-id": "$first", "branch": "side"},
    {"snapshot-id": "$first", "versionAsOf": "$second"},
    {"as-of-timestamp": "$ms", "timestampAsOf": "2020-01-01"},
    {"snapshot-id": "first"}, {"snapshot-id": "--1"}, {"as-of-timestamp": "today"}, {"timestampAsOf": "some day"},
    {"timestampAsOf": "$ms"},
    {"branch": "nowhere"}, {"tag": "nowhere"}, {"versionAsOf": "7"},
    {"end-snapshot-id": "$second"},
    {"start-snapshot-id": "$first", "snapshot-id": "$second"},
    {"start-snapshot-id": "$first", "versionAsOf": "$second"},
    {"start-snapshot-id": "$first", "as-of-timestamp": "$second_ms"},
    {"start-snapshot-id": "$first", "end-timestamp": "$second_ms"},
    {"start-snapshot-id": "$first", "end-snapshot-id": "$second", "branch": "side"},
    {"start-timestamp": "$ms", "branch": "side"},
    {"scan-engine": "fast"}, {"split-size": "big"}, {"match-columns-by-name": "maybe"},
    {"ignoreCorruptFiles": "true"}, {"ignoreMissingFiles": "true"}, {"recursiveFileLookup": "true"},
    {"datetimeRebaseMode": "LEGACY"}, {"int96RebaseMode": "LEGACY"}, {"pathGlobFilter": "*.orc"},
    {"modifiedBefore": "2020-01-01T00:00:00"}, {"modifiedAfter": "2020-01-01T00:00:00"}, {"basePath": "/"},
    {"stream-from-timestamp": "0"}, {"streaming-skip-delete-snapshots": "true"},
    {"streaming-skip-overwrite-snapshots": "true"}, {"streaming-max-files-per-micro-batch": "1"},
    {"streaming-max-rows-per-micro-batch": "1"}, {"async-micro-batch-planning-enabled": "true"},
    {"file-scan-task-set-id": "x"}, {"sanpshot-id": "1"},
]  # fmt: skip

Form = Callable[[Any, str, Options], Any]


def _sql(session: Any, name: str, options: Options, rest: str = "") -> Any:
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return session.sql(f"SELECT * FROM {name}" + (f" WITH ({listed})" if listed else "") + rest)


def _by_path(session: Any, name: str, options: Options) -> Any:
    table = session.lake.load_table("db.options")
    picked = "#files" if name.endswith(".files") else ""
    return session.read.format("iceberg").options(**options).load(table.location + picked)


FORMS: dict[str, Form] = {
    "table": lambda session, name, options: session.read.options(**options).table(name),
    "load": lambda session, name, options: session.read.format("iceberg").options(**options).load(name),
    "load with options": lambda session, name, options: session.read.load(name, format="iceberg", **options),
    "path": _by_path,
    "sql": _sql,
}


@pytest.mark.parametrize("form", FORMS)
def test_options_that_choose_rows_are_heeded(session: Any, history: History, form: str) -> None:
    for options, sums, files in HEEDED:
        given = history.values(options)
        read = FORMS[form](session, NAME, given)
        assert tuple(read.selectExpr("sum(a)", "sum(b)").collect()[0]) == sums, options
        if files is None:
            with pytest.raises(InvalidInput, match="range of snapshots"):
                FORMS[form](session, f"{NAME}.files", given)
        else:
            assert FORMS[form](session, f"{NAME}.files", given).count() == files, options


@pytest.mark.parametrize("form", FORMS)
def test_options_that_would_change_rows_are_refused(session: Any, history: History, form: str) -> None:
    for options in REFUSED:
        for name in (NAME, f"{NAME}.files"):
            with pytest.raises(FloebergError):
                FORMS[form](session, name, history.values(options))


@pytest.mark.parametrize("form", ["load", "sql"])
def test_options_that_only_tune_are_accepted(session: Any, history: History, form: str) -> None:
    for options in ACCEPTED:
        assert tuple(FORMS[form](session, NAME, options).selectExpr("sum(a)", "sum(b)").collect()[0]) == NOW, options
        assert FORMS[form](session, f"{NAME}.files", options).count() == 3, options


def test_conditions_are_planned_under_the_schema_that_the_option_chooses(session: Any, history: History) -> None:
    """`a` was another column then: pruned by the bounds of today's `a`, the file would be left out."""
    for options in ({"versionAsOf": "$first"}, {"tag": "one"}, {"as-of-timestamp": "$ms"}):
        given = history.values(options)
        found = _sql(session, NAME, given, " WHERE a = 1").select("b")
        assert [row.b for row in found.collect()] == [10], options
        frame = session.lake.load_table("db.options").to_spark(session, where="a = 1", options=given)
        assert [row.b for row in frame.collect()] == [10], options


def test_a_name_and_an_option_that_choose_differently_are_refused(session: Any, history: History) -> None:
    first = history.first.snapshot_id
    same = session.read.option("snapshot-id", first).table(f"{NAME}.snapshot_id_{first}")
    assert same.count() == 1
    for name in (f"{NAME}.branch_side", f"{NAME}.tag_one", f"{NAME}.at_timestamp_{history.first.timestamp_ms}"):
        with pytest.raises(InvalidInput, match="different snapshots"):
            session.read.option("snapshot-id", history.second.snapshot_id).table(name)
    with pytest.raises(InvalidInput, match="twice"):
        session.sql(f"SELECT * FROM {NAME} VERSION AS OF {first} WITH ('branch' = 'side')").collect()


def test_metadata_tables_over_all_snapshots_refuse_a_snapshot(session: Any, history: History) -> None:
    for name in ("history", "snapshots", "refs", "metadata_log_entries", "all_files", "all_manifests", "changes"):
        with pytest.raises(InvalidInput):
            session.read.option("versionAsOf", history.first.snapshot_id).table(f"{NAME}.{name}")


def test_options_of_a_view_that_would_change_its_rows_are_refused(session: Any, history: History) -> None:
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW options_view AS SELECT a FROM {NAME}")
    first = history.first.snapshot_id
    assert session.read.option("batch-size", "5").table("options_view").count() == 3
    with pytest.raises(InvalidInput, match="is a view"):
        session.read.option("versionAsOf", first).table("options_view")
    with pytest.raises(InvalidInput, match="is a view"):
        session.sql(f"SELECT * FROM options_view WITH ('versionAsOf' = '{first}')")


def test_a_schema_or_a_second_path_of_the_user_is_refused(session: Any, history: History) -> None:
    with pytest.raises(InvalidInput, match="schema"):
        session.read.format("iceberg").schema("a STRING").load(NAME)
    with pytest.raises(InvalidInput, match="schema"):
        session.read.load(NAME, format="iceberg", schema="a STRING")
    with pytest.raises(InvalidInput, match="schema"):
        session.read.schema("a STRING").table(NAME)
    with pytest.raises(InvalidInput, match="keep one"):
        session.read.format("iceberg").option("path", "lake.db.other").load(NAME)
    with pytest.raises(InvalidInput, match="path"):
        session.read.option("path", "lake.db.other").table(NAME)
    with pytest.raises(InvalidInput, match="metadata table"):
        session.read.format("iceberg").load(f"{history.location}#filez")
    assert session.read.format("iceberg").option("path", NAME).load().count() == 3


SETTINGS = {
    "spark.sql.sources.default": "iceberg",
    "spark.sql.iceberg.vectorization.enabled": "false",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.iceberg.aggregate-push-down.enabled": "false",
    "spark.sql.iceberg.data-planning-mode": "distributed",
    "spark.sql.iceberg.delete-planning-mode": "distributed",
    "spark.sql.iceberg.locality.enabled": "true",
    "spark.sql.iceberg.executor-cache.enabled": "false",
    "spark.sql.iceberg.report-column-stats": "false",
    "spark.sql.iceberg.identifier-fields-rely": "true",
    "spark.sql.iceberg.read.split-size": "1",
    "spark.sql.iceberg.read.adaptive-split-size.enabled": "false",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.int96AsTimestamp": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "true",
    "spark.sql.parquet.recordLevelFilter.enabled": "true",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.columnarReaderBatchSize": "1",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
    "spark.sql.parquet.respectSummaryFiles": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.files.maxPartitionBytes": "1000",
}


def test_settings_of_the_session_change_no_row(session: Any, history: History) -> None:
    session.sql("CREATE TABLE lake.db.old (d DATE, n TIMESTAMP_NTZ, z TIMESTAMP, b BINARY, s STRING)")
    session.sql(
        "INSERT INTO lake.db.old VALUES (DATE'0101-01-01', TIMESTAMP_NTZ'0101-01-01 00:00:00', TIMESTAMP'1500-03-01 00:00:00',"
        " X'FF00', 'a'), (DATE'2024-02-29', TIMESTAMP_NTZ'2024-01-01 00:00:00', TIMESTAMP'2024-01-01 00:00:00', X'', 'b')"
    )
    read = ["SELECT hash(d, n, z, b, s), typeof(b), typeof(n) FROM lake.db.old WHERE s >= 'a'", f"SELECT * FROM {NAME}"]
    expected = [sorted(session.sql(text).collect()) for text in read]
    keys = list(SETTINGS)
    for group in (keys[::3], keys[1::3], keys[2::3]):
        for key in group:
            session.conf.set(key, SETTINGS[key])
        try:
            assert [sorted(session.sql(text).collect()) for text in read] == expected, group
        finally:
            for key in group:
                session.conf.unset(key)


@pytest.mark.parametrize("fault", ["missing", "corrupt"])
def test_a_setting_that_ignores_files_loses_no_rows(session: Any, fault: str) -> None:
    name = f"lake.db.{fault}"
    session.sql(f"CREATE TABLE {name} (id INT)")
    session.sql(f"INSERT INTO {name} VALUES (1)")
    session.sql(f"INSERT INTO {name} VALUES (2)")
    path = Path(session.table(f"{name}.files").collect()[0].file_path.removeprefix("file://"))
    path.unlink() if fault == "missing" else path.write_bytes(b"PAR1" + b"\x00" * (path.stat().st_size - 4))
    setting = f"spark.sql.files.ignore{fault.capitalize()}Files"
    session.conf.set(setting, "true")
    try:
        with pytest.raises(Exception, match=path.name):
            session.sql(f"SELECT * FROM {name}").collect()
    finally:
        session.conf.unset(setting)
