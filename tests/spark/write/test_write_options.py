"""Every option and setting of a write: what can change rows is heeded or refused, whatever its case; the rest is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature

Options = dict[str, str]
Write = Callable[[Any, str, Options], None]
NAME = "lake.db.written"


@contextmanager
def settings(session: Any, given: Options) -> Iterator[None]:
    for key, value in given.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key in given:
            session.conf.unset(key)


@pytest.fixture
def table(session: Any) -> Iterator[str]:
    """(1, 'a') and (2, 'b'), each in a partition of its own; a branch `side` of them."""
    session.sql(f"CREATE TABLE {NAME} (id INT, p STRING) PARTITIONED BY (p)")
    session.sql(f"INSERT INTO {NAME} VALUES (1, 'a'), (2, 'b')")
    session.sql(f"ALTER TABLE {NAME} CREATE BRANCH side")
    yield NAME
    session.sql(f"DROP TABLE {NAME}")


def new_row(session: Any) -> Any:
    return session.sql("SELECT 3 AS id, 'a' AS p")


def rows(session: Any, name: str = NAME) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in session.table(name).collect())


ALL, REPLACED = [(3, "a")], [(2, "b"), (3, "a")]
OVERWRITES: dict[str, Write] = {
    "insertInto": lambda s, n, o: new_row(s).write.mode("overwrite").options(**o).insertInto(n),
    "save": lambda s, n, o: new_row(s).write.format("iceberg").mode("overwrite").options(**o).save(n),
    "overwrite(true)": lambda s, n, o: new_row(s).writeTo(n).options(**o).overwrite(_true()),
}


def _true() -> Any:
    from pyspark.sql import functions as F

    return F.lit(True)


@pytest.mark.parametrize("way", OVERWRITES)
def test_an_overwrite_mode_is_heeded_in_any_case(session: Any, table: str, way: str) -> None:
    write = OVERWRITES[way]
    write(session, table, {"OverWrite-Mode": "Dynamic"})
    assert rows(session) == REPLACED
    write(session, table, {"PARTITIONOVERWRITEMODE": "DYNAMIC"})
    assert rows(session) == REPLACED
    with pytest.raises(InvalidInput, match="static or dynamic"):
        write(session, table, {"overwrite-mode": "some"})
    with settings(session, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        write(session, table, {"overwrite-mode": "static"})
    assert rows(session) == ALL


REFUSED: list[Options] = [
    {"wap-id": "x"}, {"path": "/elsewhere"}, {"validate-from-snapshot-id": "1"}, {"isolation-level": "none"},
    {"output-spec-id": "9"}, {"output-spec-id": "one"}, {"output-sort-order-id": "7"}, {"mergeSchema": "yes"},
    {"fanout-enabled": "often"}, {"distribution-mode": "round"}, {"write-format": "csv"}, {"branch": "nowhere"},
    {"use-merge-append-for-streaming": "true"}, {"snapshot-propery.x": "y"}, {"ignoreCorruptFiles": "true"},
    {"replaceWhere": "p = 'a'"}, {"compression": "gzip"}, {"maxRecordsPerFile": "1"},
]  # fmt: skip
ACCEPTED: Options = {
    "check-nullability": "false", "check-ordering": "false", "advisory-partition-size": "1000",
    "compression-strategy": "speed", "use-table-distribution-and-ordering": "true", "fanout-enabled": "true",
    "delete-format": "parquet", "delete-granularity": "file", "target-delete-file-size-bytes": "1000",
    "target-file-size-bytes": "100000", "distribution-mode": "none", "shred-variants": "true",
    "variant-inference-buffer-size": "10",
}  # fmt: skip
APPENDS: dict[str, Write] = {
    "writeTo": lambda s, n, o: new_row(s).writeTo(n).options(**o).append(),
    "insertInto": lambda s, n, o: new_row(s).write.options(**o).insertInto(n),
    "save": lambda s, n, o: new_row(s).write.format("iceberg").mode("append").options(**o).save(n),
    "saveAsTable": lambda s, n, o: new_row(s).write.mode("append").options(**o).saveAsTable(n),
}


def test_options_that_would_change_a_write_are_refused(session: Any, table: str) -> None:
    for options in REFUSED:
        with pytest.raises(FloebergError):
            APPENDS["writeTo"](session, table, options)
    for write in APPENDS.values():
        with pytest.raises(FloebergError):
            write(session, table, {"no-such": "1"})
    assert rows(session) == [(1, "a"), (2, "b")]


def test_options_that_only_tune_are_accepted_and_others_heeded(session: Any, table: str) -> None:
    APPENDS["save"](session, table, ACCEPTED)
    assert rows(session) == [(1, "a"), (2, "b"), (3, "a")]
    options = {"BRANCH": "side", "Write-Format": "avro", "snapshot-property.By": "me", "isolation-level": "snapshot"}
    APPENDS["writeTo"](session, table, options)
    assert rows(session) == [(1, "a"), (2, "b"), (3, "a")]
    assert rows(session, f"{NAME}.branch_side") == [(1, "a"), (2, "b"), (3, "a")]
    loaded = session.lake.load_table("db.written")
    branch = loaded.metadata.snapshot(loaded.refs["side"].snapshot_id)
    assert branch.summary["By"] == "me"
    files = session.read.option("branch", "side").table(f"{NAME}.files").collect()
    assert sorted(row.file_format for row in files) == ["AVRO", "PARQUET", "PARQUET"]


def test_settings_of_the_session_are_options_of_every_write(session: Any, table: str) -> None:
    wider = session.sql("SELECT 4 AS id, 'a' AS p, 5 AS extra")
    with settings(session, {"spark.sql.iceberg.merge-schema": "true", "spark.sql.iceberg.snapshot-property.By": "me"}):
        with pytest.raises(InvalidInput):
            wider.writeTo(table).option("mergeSchema", "false").append()
        wider.writeTo(table).append()
        session.sql(f"DELETE FROM {table} WHERE id = 1")
    assert rows(session) == [(2, "b", None), (4, "a", 5)]
    summaries = [row.summary.get("By") for row in session.table(f"{table}.snapshots").orderBy("committed_at").collect()]
    assert summaries == [None, "me", "me"]
    with (
        settings(session, {"spark.sql.iceberg.distribution-mode": "round"}),
        pytest.raises(InvalidInput, match="round"),
    ):
        session.sql(f"INSERT INTO {table} VALUES (5, 'a', 6)")


def test_options_of_a_table_that_is_created_are_heeded_or_refused(session: Any, tmp_path: Any) -> None:
    frame = new_row(session)
    frame.writeTo("lake.db.made").option("write-format", "orc").option("snapshot-property.by", "me").create()
    loaded = session.lake.load_table("db.made")
    assert loaded.current_snapshot.summary["by"] == "me"
    assert [row.file_format for row in session.table("lake.db.made.files").collect()] == ["ORC"]
    assert "write.format.default" not in loaded.properties
    for options in ({"branch": "side"}, {"no-such": "1"}, {"path": "/x"}):
        with pytest.raises(FloebergError):
            frame.writeTo("lake.db.never").options(**options).create()
    with pytest.raises(FloebergError, match="elsewhere"):  # a catalog on files has a place for each table
        frame.write.option("path", str(tmp_path / "elsewhere")).saveAsTable("lake.db.never")
    writer = frame.write.option("format-version", "3").option("write-format", "avro")
    writer.bucketBy(4, "id").partitionBy("p").saveAsTable("lake.db.placed")
    loaded = session.lake.load_table("db.placed")
    assert loaded.format_version == 3
    assert [str(field.transform) for field in loaded.spec.fields] == ["identity", "bucket[4]"]
    assert [row.file_format for row in session.table("lake.db.placed.files").collect()] == ["AVRO"]
    with pytest.raises(UnsupportedFeature, match="unknown write option"):
        frame.write.option("no-such", "1").saveAsTable("lake.db.never")
    assert not session.catalog.tableExists("lake.db.never")


def test_a_layout_that_is_not_the_tables_is_refused(session: Any, table: str) -> None:
    new_row(session).write.mode("append").partitionBy("p").saveAsTable(table)
    for write in (
        new_row(session).write.partitionBy("id"),
        new_row(session).write.bucketBy(4, "id"),
        new_row(session).write.bucketBy(4, "id").sortBy("id"),
        new_row(session).write.option("path", "/elsewhere"),
    ):
        with pytest.raises(FloebergError):
            write.mode("append").saveAsTable(table)
    with pytest.raises(InvalidInput, match="keep one"):
        new_row(session).write.format("iceberg").mode("append").option("path", "lake.db.other").save(table)
    with pytest.raises(InvalidInput, match="dynamic"):
        new_row(session).writeTo(table).option("overwrite-mode", "static").overwritePartitions()
    assert len(rows(session)) == 3


@pytest.mark.parametrize(
    ("format", "codec"),
    [("orc", "zlib"), ("avro", "deflate"), ("parquet", "gzip"), ("parquet", "lz4_raw")],
)
@pytest.mark.parametrize("by", ["option", "setting"])
def test_a_codec_is_asked_of_the_format_that_is_written_alone(
    session: Any, table: str, format: str, codec: str, by: str
) -> None:
    asked = {"compression-codec": codec}
    options = {"write-format": format} | (asked if by == "option" else {})
    with settings(
        session, {f"spark.sql.iceberg.{key}": value for key, value in asked.items()} if by == "setting" else {}
    ):
        new_row(session).writeTo(table).options(**options).append()
    assert rows(session) == [(1, "a"), (2, "b"), (3, "a")]
    written = {row.file_format for row in session.sql(f"SELECT file_format FROM {table}.files").collect()}
    assert written == {"PARQUET", format.upper()}
