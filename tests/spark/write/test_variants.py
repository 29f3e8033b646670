"""Variants, unknown and geospatial columns through Spark: what statements and DataFrames write is what Spark and the Arrow
engine read, and a variant that is missing stays apart from one that holds null."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import InvalidInput

MODES = ("copy-on-write", "merge-on-read")
WKB = "0101000000000000000000F03F0000000000000040"
SHRED = "'write.parquet.shred-variants'='true'"


def made(session: Any, name: str, columns: str, *, mode: str = MODES[0], more: str = "") -> str:
    kinds = ", ".join(f"'write.{kind}.mode'='{mode}'" for kind in ("delete", "update", "merge"))
    session.sql(f"DROP TABLE IF EXISTS lake.db.{name}")
    session.sql(
        f"CREATE TABLE lake.db.{name} ({columns}) USING iceberg TBLPROPERTIES ('format-version'='3', {kinds}{more})"
    )
    return f"lake.db.{name}"


def shown(session: Any, table: str) -> list[tuple[Any, ...]]:
    rows = session.sql(f"SELECT id, v IS NULL, is_variant_null(v), to_json(v) FROM {table} ORDER BY id").collect()
    return [(row[0], "missing" if row[1] else "null" if row[2] else row[3]) for row in rows]


def shown_by_arrow(session: Any, table: str) -> list[tuple[Any, ...]]:
    rows = session.lake.load_table(table.removeprefix("lake.")).scan(select=["id", "v"]).to_arrow().sort_by("id")
    return [(row["id"], "missing" if row["v"] is None else fb.variant_to_json(**row["v"])) for row in rows.to_pylist()]


@pytest.mark.connect
@pytest.mark.parametrize("mode", MODES)
def test_statements_write_change_and_keep_variants(session: Any, mode: str) -> None:
    table = made(
        session, "v", "id int, v variant, s struct<x: variant>, l array<variant>", mode=mode, more=f", {SHRED}"
    )
    session.sql(
        f"""INSERT INTO {table} SELECT CAST(id AS INT), parse_json(concat('{{"a":', id, ',"b":["x",null]}}')),
        named_struct('x', parse_json('1')), array(parse_json('[1]'), NULL, parse_json('null')) FROM range(6)"""
    )
    session.sql(f"INSERT INTO {table} (id, v) VALUES (10, NULL), (11, parse_json('null')), (12, CAST(5 AS VARIANT))")
    session.sql(f"""UPDATE {table} SET v = parse_json('{{"u":1}}') WHERE id = 1""")
    session.sql(f"UPDATE {table} SET id = 20 WHERE id = 2")
    session.sql(f"UPDATE {table} SET v = NULL WHERE id = 3")
    session.sql(f"UPDATE {table} SET v = parse_json('null') WHERE v IS NULL AND id = 10")
    session.sql(f"UPDATE {table} SET s.x = parse_json('7') WHERE id = 5")
    session.sql(f"DELETE FROM {table} WHERE variant_get(v, '$.a', 'int') = 4")
    session.sql(
        f"""MERGE INTO {table} t USING (SELECT 0 AS id, parse_json('"merged"') AS v UNION ALL SELECT 30, NULL
        UNION ALL SELECT 12, parse_json('1')) s ON t.id = s.id
        WHEN MATCHED AND s.id = 12 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v
        WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"""
    )
    session.sql(f"INSERT INTO {table} SELECT id + 100, v, s, l FROM {table} WHERE id IN (0, 5, 11)")
    expected = [
        (0, '"merged"'), (1, '{"u":1}'), (3, "missing"), (5, '{"a":5,"b":["x",null]}'), (10, "null"), (11, "null"),
        (20, '{"a":2,"b":["x",null]}'), (30, "missing"), (100, '"merged"'), (105, '{"a":5,"b":["x",null]}'), (111, "null"),
    ]  # fmt: skip
    assert shown(session, table) == expected
    assert shown_by_arrow(session, table) == expected
    nested = session.sql(
        f"SELECT to_json(s.x), to_json(l[0]), l[1] IS NULL, is_variant_null(l[2]) FROM {table} WHERE id IN (5, 105, 20)"
    ).collect()
    assert sorted(map(tuple, nested)) == [("1", "[1]", True, True), ("7", "[1]", True, True), ("7", "[1]", True, True)]
    assert session.sql(f"SELECT count(*), sum(id) FROM {table}").collect()[0][:] == (11, 396)


def random_json(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(10 if depth < 3 else 7)
    if kind == 9:
        return [random_json(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind >= 7:
        return {name: random_json(rng, depth + 1) for name in rng.sample(["a", "b", "A", "it's", "ü", "x.y"], 3)}
    return rng.choice(
        [
            None,
            rng.random() < 0.5,
            rng.randrange(-200, 200),
            rng.randrange(-(2**63), 2**63),
            rng.random(),
            "text",
            1e300,
        ]
    )


@pytest.mark.parametrize("shredded", ["false", "true"])
def test_parsed_json_is_what_plain_spark_makes_of_it(session: Any, shredded: str) -> None:
    rng = random.Random(7)
    alike = [{"a": rng.randrange(100), "b": {"c": "x" * rng.randrange(90)}, "x.y": [rng.random()]} for _ in range(150)]
    texts = [json.dumps(value) for value in [*alike, *(random_json(rng) for _ in range(150))]]
    plain = session.createDataFrame(list(enumerate(texts)), "id int, j string").selectExpr("id", "parse_json(j) v")
    table = made(session, "j", "id int, v variant")
    plain.coalesce(1).writeTo(table).option("shred-variants", shredded).option(
        "variant-inference-buffer-size", "50"
    ).append()
    expected = [(row[0], row[1]) for row in plain.selectExpr("id", "to_json(v)").orderBy("id").collect()]
    assert [row for row in shown(session, table) if row not in expected] == []
    (file,) = session.sql(f"SELECT file_path FROM {table}.files").collect()
    # Spark's own Parquet reader knows the annotation and puts shredded variants together itself.
    own = session.read.parquet(file[0]).selectExpr("id", "to_json(v)").orderBy("id").collect()
    assert [(row[0], row[1]) for row in own] == expected


def test_frames_write_variants_in_every_way(session: Any) -> None:
    table = made(session, "f", "id int, v variant")
    frame = session.sql("SELECT 1 AS id, parse_json('[1]') AS v")
    frame.writeTo(table).append()
    frame.write.format("iceberg").mode("append").save(table)
    frame.write.insertInto(table)
    frame.selectExpr("2 AS id", "CAST(NULL AS VARIANT) AS v").writeTo(table).append()
    assert shown(session, table) == [(1, "[1]")] * 3 + [(2, "missing")]
    session.sql(f"CREATE OR REPLACE TABLE {table}2 TBLPROPERTIES ('format-version'='3') AS SELECT * FROM {table}")
    assert shown(session, f"{table}2") == shown(session, table)
    for value in ("'text'", "5"):
        with pytest.raises(Exception, match="variant"):
            session.sql(f"INSERT INTO {table} VALUES (3, {value})")
    with pytest.raises(Exception, match="shred-variants is 'maybe'; it must be true or false"):
        frame.writeTo(table).option("shred-variants", "maybe").append()


def test_unknown_columns_are_written_as_nothing(session: Any) -> None:
    for mode in MODES:
        table = made(session, "u", "id int, u void, s struct<a: int, u: void>", mode=mode)
        session.sql(f"INSERT INTO {table} VALUES (1, NULL, named_struct('a', 1, 'u', NULL)), (2, NULL, NULL)")
        session.sql(f"INSERT INTO {table} (id) VALUES (3)")
        session.sql(f"UPDATE {table} SET id = 4 WHERE id = 3")
        session.sql(f"MERGE INTO {table} t USING (SELECT 4 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 5")
        found = session.sql(f"SELECT id, u, s.a FROM {table} ORDER BY id").collect()
        assert [tuple(row) for row in found] == [(1, None, 1), (2, None, None), (5, None, None)]
        with pytest.raises(Exception, match="void"):
            session.sql(f"INSERT INTO {table} (id, u) VALUES (6, 7)")


def test_geospatial_values_are_stored_as_their_wkb(session: Any) -> None:
    before = session.conf.get("spark.sql.geospatial.enabled", None)
    session.conf.set("spark.sql.geospatial.enabled", "true")
    try:
        table = made(session, "g", "id int, g geometry(4326), h geography(4326)")
        session.sql(f"INSERT INTO {table} VALUES (1, X'{WKB}', X'{WKB}'), (2, NULL, NULL)")
        session.sql(f"INSERT INTO {table} SELECT 3, st_geomfromwkb(X'{WKB}', 4326), st_geogfromwkb(X'{WKB}')")
        session.sql(f"SELECT st_geomfromwkb(X'{WKB}', 4326) AS g, 4 AS id").writeTo(table).append()
        session.sql(f"UPDATE {table} SET h = st_asbinary(st_geogfromwkb(X'{WKB}')) WHERE id = 4")
        session.sql(f"UPDATE {table} SET g = st_geomfromwkb(X'{WKB}', 4326) WHERE id = 2")
        session.sql(
            f"MERGE INTO {table} t USING (SELECT id, st_geogfromwkb(X'{WKB}') AS h FROM VALUES (2), (5) AS v(id)) s "
            "ON t.id = s.id WHEN MATCHED THEN UPDATE SET h = s.h WHEN NOT MATCHED THEN INSERT (id, h) VALUES (s.id, s.h)"
        )
        found = session.sql(f"SELECT id, hex(g), hex(h) FROM {table} ORDER BY id").collect()
        assert [tuple(row) for row in found] == [*((number, WKB, WKB) for number in (1, 2, 3, 4)), (5, None, WKB)]
        with pytest.raises(InvalidInput, match="column's CRS"):
            session.sql(f"UPDATE {table} SET g = st_geomfromwkb(X'{WKB}', 3857)")
        with pytest.raises(
            InvalidInput, match=r"column 'g' is geometry, and geometry\(3857\) is geometry\(EPSG:3857\)"
        ):
            session.sql(f"INSERT INTO {table} SELECT 5, st_geomfromwkb(X'{WKB}', 3857), NULL")
        session.sql(
            f"CREATE OR REPLACE TABLE {table}2 TBLPROPERTIES ('format-version'='3') AS "
            f"SELECT st_geomfromwkb(X'{WKB}', 3857) AS g, st_geogfromwkb(X'{WKB}') AS h"
        )
        types = [str(field.type) for field in session.lake.load_table("db.g2").schema.fields]
        assert types == ["geometry(EPSG:3857)", "geography"]
    finally:
        if before is None:
            session.conf.unset("spark.sql.geospatial.enabled")
        else:
            session.conf.set("spark.sql.geospatial.enabled", before)
