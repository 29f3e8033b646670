"""add_files: the rows of plain Spark over the same folders, from folders of every layout and from Spark's own tables."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import floeberg as fb
from floeberg.errors import DataFileCorrupt, FileAlreadyExists, InvalidInput
from floeberg.spark.procedures import file_work

_TEXTS = ["a", "A b", "x/y=z", "%41", "ü日", "' \"", "__x", "1", "{}[]*?\\", ".", "#&;:"]
_PARTITIONS: dict[str, list[Any]] = {
    "p_s string": _TEXTS,
    "p_i int": [0, -1, 2**31 - 1],
    "p_l bigint": [2**40, 5],
    "p_d date": [dt.date(2026, 5, 1), dt.date(1969, 12, 31)],
    "p_b boolean": [True, False],
    "p_f double": [0.1, -2.5e30, float("inf")],
    "p_dec decimal(9,2)": [Decimal("1.10"), Decimal("-7.00")],
    "p_ts timestamp": [dt.datetime(2026, 5, 1, 12, 30, 0, 1), dt.datetime(2000, 1, 1)],
}
_COLUMNS: dict[str, list[Any]] = {
    "i int": [1, -5],
    "s string": _TEXTS,
    "ts timestamp": [dt.datetime(1900, 1, 1), dt.datetime(2026, 5, 1, 1, 2, 3, 4)],
    "ntz timestamp_ntz": [dt.datetime(2026, 5, 1, 1, 2, 3, 4)],
    "d decimal(20,3)": [Decimal("1.125")],
    "f float": [0.5, float("nan")],
    "bin binary": [b"\x00\xff"],
    "l array<int>": [[1, None], []],
    "st struct<x:int,y:string>": [(1, None), (None, "q")],
    "m map<string,int>": [{"k": 1}, {}],
}


def write_layout(spark: Any, where: str, file_format: str, seed: int) -> tuple[list[str], list[str]]:
    """Files of random rows, written in turns that each have some of the columns; the columns and partition columns."""
    rng = random.Random(seed)
    partitions = rng.sample(list(_PARTITIONS), rng.randint(0, 3))
    # Spark writes a timestamp without zone to ORC as a number, which no Iceberg reader takes for one.
    columns = ["id bigint", *rng.sample([one for one in _COLUMNS if file_format != "orc" or "ntz" not in one], 5)]
    for turn in range(3):
        kept = ["id bigint", *(one for one in columns[1:] if rng.random() < 0.7)]
        rng.shuffle(kept)
        rows = [
            [
                number + 100 * turn if one == "id bigint"
                else None if rng.random() < 0.2
                else rng.choice({**_PARTITIONS, **_COLUMNS}[one])
                for one in (*kept, *partitions)
            ]
            for number in range(6)
        ]  # fmt: skip
        frame = spark.createDataFrame(rows, ", ".join((*kept, *partitions))).repartition(2)
        frame.write.mode("append").partitionBy(*(one.split()[0] for one in partitions)).format(file_format).save(where)
    return [*columns, *partitions], [one.split()[0] for one in partitions]


def counted(frame: Any) -> Counter[str]:
    return Counter(str(row) for row in frame.collect())


@pytest.mark.parametrize(("file_format", "seed"), [("parquet", 1), ("parquet", 2), ("parquet", 5), ("orc", 7)])
def test_added_folders_have_the_rows_of_plain_spark(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_format: str, seed: int
) -> None:
    where = str(tmp_path / "in")
    if seed % 2:
        monkeypatch.setattr(file_work, "FEW_FILES", 0)
    columns, partitions = write_layout(session, where, file_format, seed)
    name = f"lake.db.layout_{file_format}_{seed}"
    by = f"PARTITIONED BY ({', '.join(partitions)})" if partitions else ""
    session.sql(f"CREATE TABLE {name} ({', '.join(columns)}) USING iceberg {by}")
    plain = session.read.schema(", ".join(columns)).format(file_format).load(where)
    ((added, changed),) = session.sql(
        f"CALL lake.system.add_files(table => '{name}', source_table => '{file_format}.`{where}`')"
    ).collect()
    expected = counted(plain)
    assert counted(session.table(name)) == expected
    assert (added, changed) == (
        len(plain.inputFiles()),
        plain.select(*partitions).distinct().count() if partitions else 1,
    )
    for one in partitions:
        column = plain[one].isNull()
        assert counted(session.table(name).where(f"{one} IS NULL")) == counted(plain.where(column))
    session.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")
    assert counted(session.table(name)) == expected


def test_a_table_of_spark_is_added_with_partitions_wherever_they_lie(session: Any, tmp_path: Path) -> None:
    session.sql(
        f"CREATE TABLE hive_like (id INT, p STRING, q DATE) USING parquet PARTITIONED BY (p, q) LOCATION '{tmp_path}/t'"
    )
    session.sql(
        "INSERT INTO hive_like VALUES (1, 'a b/c', DATE'2026-05-01'), (2, NULL, NULL), (3, 'x', DATE'2026-05-02')"
    )
    session.sql("CREATE TABLE lake.db.added (id INT, p STRING, q DATE) USING iceberg PARTITIONED BY (q, p)")
    call = "CALL lake.system.add_files('db.added', 'hive_like'"
    try:
        assert session.sql(f"{call}, map('p', 'x'))").collect() == [(1, 1)]
        with pytest.raises(FileAlreadyExists):
            session.sql(f"{call})")
        session.sql(f"ALTER TABLE hive_like ADD PARTITION (p='y', q='2026-01-01') LOCATION '{tmp_path}/p=other'")
        session.sql("INSERT INTO hive_like VALUES (4, 'y', DATE'2026-01-01')")
        assert session.sql(f"{call}, check_duplicate_files => false)").collect() == [(4, 4)]
        expected = counted(session.table("hive_like")) + counted(session.table("hive_like").where("p = 'x'"))
        assert counted(session.sql("SELECT id, p, q FROM lake.db.added")) == expected
        session.sql("CREATE VIEW seen AS SELECT 1 AS id")
        with pytest.raises(InvalidInput, match="view without files"):
            session.sql("CALL lake.system.add_files('db.added', 'default.seen')")
        with pytest.raises(InvalidInput, match="is an Iceberg table already"):
            session.sql("CALL lake.system.add_files('db.added', 'lake.db.added')")
        with pytest.raises(AnalysisException, match="nothing_here"):
            session.sql("CALL lake.system.add_files('db.added', 'nothing_here')")
    finally:
        session.sql("DROP VIEW IF EXISTS seen")
        session.sql("DROP TABLE hive_like")


def test_timestamps_in_folders_are_in_the_session_s_zone(session: Any, tmp_path: Path) -> None:
    before = session.conf.get("spark.sql.session.timeZone")
    session.sql("CREATE TABLE lake.db.zoned (id BIGINT, p TIMESTAMP) USING iceberg PARTITIONED BY (p)")
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        session.sql(
            "SELECT id, CAST(t AS TIMESTAMP) AS p FROM VALUES (1L, '2026-07-01 12:00:00'), (2L, '2026-01-01 00:00:00'), "
            "(3L, '2026-03-08 03:30:00') AS v(id, t)"
        ).write.partitionBy("p").parquet(f"{tmp_path}/in")
        session.sql(f"CALL lake.system.add_files('db.zoned', 'parquet.`{tmp_path}/in`')")
        plain = session.read.schema("id BIGINT, p TIMESTAMP").parquet(f"{tmp_path}/in")
        assert counted(session.table("lake.db.zoned")) == counted(plain)
    finally:
        session.conf.set("spark.sql.session.timeZone", before)


def test_a_wrong_file_found_by_a_worker_is_named(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_work, "FEW_FILES", 0)
    session.sql("CREATE TABLE lake.db.refusing (id BIGINT) USING iceberg")
    session.range(3).selectExpr("'x' AS id").coalesce(1).write.parquet(f"{tmp_path}/in")
    with pytest.raises(DataFileCorrupt, match=r"part-.*parquet.*'id'"):
        session.sql(f"CALL lake.system.add_files('db.refusing', 'parquet.`{tmp_path}/in`')")
    with pytest.raises(InvalidInput, match="larger than 0"):
        session.sql(f"CALL lake.system.add_files('db.refusing', 'parquet.`{tmp_path}/in`', parallelism => 0)")
    assert isinstance(session.lake, fb.Catalog)
    assert session.lake.load_table("db.refusing").current_snapshot is None
