"""What a new user of the command tries first."""

from __future__ import annotations

import inspect
import json
import os
import random
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.cli.app import COMMANDS, after_the_command
from floeberg.cli.sql_engine import condition_of, run_query

ENTRY = "import sys; from floeberg.cli.main import main; main()"


@pytest.fixture
def lake(tmp_path: Path) -> fb.Catalog:
    made = fb.catalog("lake", warehouse=str(tmp_path / "lake"))
    made.create_namespace("db")
    made.create_namespace("db.inner")
    modes = {"write.delete.mode": "merge-on-read"}
    table = made.create_table("db.t", "k bigint, s string", properties=modes, format_version=3)
    table.append(pa.table({"k": list(range(50)), "s": [f"s{i}" for i in range(50)]}))
    table.delete("k < 5")
    return made


def test_options_of_every_command_stand_before_it_too(floeberg, lake: fb.Catalog, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    where = str(tmp_path / "lake")
    for before in (["--warehouse", where], [f"--warehouse={where}"], ["-w", where], [f"-w{where}"]):
        assert floeberg(*before, "tables").out == "db.t\n"
        assert json.loads(floeberg(*before, "--json", "count", "db.t").out) == {"rows": 45}
    assert floeberg("--warehouse", "/nowhere", "tables", "-w", where).out == "db.t\n"
    assert after_the_command(["--nope", "tables"]) == ["--nope", "tables"]
    assert after_the_command(["--json"]) == ["--json"]


def test_namespaces_views_and_counts(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    database = f"sqlite:///{tmp_path}/lake.db"
    lake = fb.catalog("lake", type="sql", uri=database, warehouse=str(tmp_path / "lake"))
    lake.create_namespace("db")
    lake.create_namespace(("db", "inner"))
    lake.create_table("db.t", "k bigint").append(pa.table({"k": [1, 2, 3]}))
    lake.create_view("db.v", "SELECT k FROM t", "k bigint", properties={"comment": "all"})
    where = ("--catalog", "lake", "--type", "sql", "--uri", database, "--warehouse", str(tmp_path / "lake"))
    assert floeberg("namespaces", *where).out.splitlines() == ["db", "db.inner"]
    assert floeberg("views", *where).out == "db.v\n"
    shown = floeberg("view", "db.v", *where).out
    assert "SELECT k FROM t" in shown
    assert "comment" in shown
    assert json.loads(floeberg("view", "db.v", "--json", *where).out)["queries"] == {"spark": "SELECT k FROM t"}
    assert floeberg("count", "db.t", "--where", "k > 1", *where).out == "2\n"
    assert floeberg("view", "db.t", *where).code == 3


def test_describe_shows_live_rows(floeberg, lake: fb.Catalog, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    where = ("-w", str(tmp_path / "lake"))
    lines = dict(line.split("  ", 1) for line in floeberg("describe", "db.t", *where).out.splitlines() if "  " in line)
    assert lines["live rows"].strip() == "45"
    assert "50 rows written" in lines["holds"]
    assert json.loads(floeberg("describe", "db.t", "--json", *where).out)["live_rows"] == 45


def test_changes_are_said_to_be_elsewhere(floeberg) -> None:  # type: ignore[no-untyped-def]
    for command in ("delete", "vacuum", "append"):
        result = floeberg(command, "db.t")
        assert result.code == 4
        assert "there is no such command" in result.err


def test_the_help_says_what_each_command_says_of_itself() -> None:
    for name, text in COMMANDS.items():
        own = name.replace("-", "_")
        documented = inspect.getdoc(getattr(import_module(f"floeberg.cli.{own}"), own)) or ""
        assert documented.startswith(text), name


def test_help_loads_neither_arrow_nor_polars() -> None:
    script = (
        "import sys; from floeberg.cli.main import run; run(['--help']); "
        "loaded = {'pyarrow', 'polars', 'numpy', 'sqlglot'} & set(sys.modules); sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments", ["--help", "scan db.t -o json", "scan db.t -o csv", "snapshots db.t", "metadata db.t"]
)
def test_head_ends_the_command_quietly(arguments: str, lake: fb.Catalog, tmp_path: Path) -> None:
    warehouse = str(tmp_path / "lake")
    many = pa.table({"k": list(range(20_000)), "s": ["x" * 50] * 20_000})
    lake.load_table("db.t").append(many)
    options = "" if arguments == "--help" else f"-w {warehouse}"
    script = f'set -o pipefail; "{sys.executable}" -c "{ENTRY}" {arguments} {options} | head -1 >/dev/null'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode in (0, 141)
    assert done.stderr == ""


class TestSql:
    def test_tables_are_named_by_catalog_namespace_and_default(
        self, floeberg, lake: fb.Catalog, tmp_path: Path
    ) -> None:  # type: ignore[no-untyped-def]
        Path("floeberg.toml").write_text(
            f'default = "lake"\n[catalog.lake]\nwarehouse = "{tmp_path / "lake"}"\ndefault-namespace = "db"\n'
        )
        query = (
            "WITH c AS (SELECT * FROM t) SELECT count(*) AS n FROM lake.db.t a JOIN db.t b USING (k) JOIN c ON c.k = b.k "
            "WHERE a.k > 40"
        )
        assert json.loads(floeberg("sql", query, "--json").out) == {"n": 9}
        assert floeberg("sql", "SELECT * FROM db.nope").code == 3
        assert floeberg("sql", "SELECT nope FROM t").code == 2
        for refused in ("DROP TABLE t", "SELECT 1; SELECT 2", "SELECT * FROM read_csv('floeberg.toml')", "SELEC"):
            assert floeberg("sql", refused).code == 2, refused

    def test_conditions_that_both_engines_agree_on_are_pushed_whole(self, lake: fb.Catalog) -> None:
        table = lake.load_table("db.t")
        assert condition_of('((k > 1) and (s == "a"))', table) == "`k` > 1 AND `s` = 'a'"
        for text in ("(f > 1)", "((k > 1) or (k < 0))", '(s == "a\\"b")', "is_in(k, {value_set=int64:[\n  1\n]})"):
            with pytest.raises(Exception, match=r"^$"):
                condition_of(text, table)

    def test_nan_is_larger_than_any_number_as_duckdb_has_it(self, lake: fb.Catalog) -> None:
        table = lake.create_table("db.f", "k bigint, f double")
        table.append(pa.table({"k": [1, 2, 3], "f": [1.0, float("nan"), 5.0]}))
        found = run_query(
            "SELECT k FROM db.f WHERE f > 2 AND k > 0 ORDER BY k", lambda parts: lake.load_table(tuple(parts))
        )
        assert found["k"].to_pylist() == [2, 3]

    def test_nanoseconds_with_a_zone_are_refused_where_they_are_read(self, lake: fb.Catalog) -> None:
        schema = pa.schema([("k", pa.int64()), ("seen", pa.timestamp("ns", "UTC"))])
        table = lake.create_table("db.ns", schema, format_version=3)
        table.append(pa.table({"k": [1], "seen": [1_000_000_001]}, schema=schema))

        def find(parts):  # type: ignore[no-untyped-def]
            return lake.load_table(tuple(parts))

        assert run_query("SELECT k FROM db.ns", find)["k"].to_pylist() == [1]
        with pytest.raises(fb.errors.UnsupportedFeature, match="microseconds only"):
            run_query("SELECT seen FROM db.ns", find)

    def test_random_queries_give_the_rows_of_duckdb_over_the_same_arrow_table(self, lake: fb.Catalog) -> None:
        duckdb = pytest.importorskip("duckdb")
        rng = random.Random(7)
        schema = pa.schema(
            [("a", pa.int32()), ("b", pa.int64()), ("s", pa.string()), ("f", pa.float64()), ("d", pa.date32()),
             ("x", pa.decimal128(9, 2)), ("t", pa.timestamp("us", "UTC")), ("y", pa.bool_())]
        )  # fmt: skip
        table = lake.create_table("db.r", schema, partition_by="truncate(2, a)", format_version=2)
        for _ in range(3):
            table.append(_random_rows(rng, schema, 30))
        table.delete("a = 3 OR s = 'b'")
        rows = table.scan().to_arrow()
        terms = ["a {} 3", "b {} -2", "s {} 'b'", "f {} 1.5", "d {} DATE '1970-01-04'", "x {} 2.5", "y {} true",
                 "t {} TIMESTAMPTZ '1970-01-01 00:00:03Z'", "a {} b", "s || 'x' {} 'cx'"]  # fmt: skip
        with duckdb.connect() as plain:
            plain.execute("SET TimeZone = 'UTC'")
            plain.register("arrow_rows", rows)
            plain.execute("CREATE TABLE r AS SELECT * FROM arrow_rows")
            for _ in range(60):
                picked = [term.format(rng.choice(["=", "<>", "<", "<=", ">", ">="])) for term in rng.sample(terms, 2)]
                joined = rng.choice([" AND ", " OR ", " AND NOT "]).join(picked)
                columns = ", ".join(rng.sample(schema.names, 3))
                query = f"SELECT {columns} FROM {{}} WHERE {joined}"
                wanted = plain.execute(query.format("r")).fetchall()
                with duckdb.connect() as shown:
                    shown.execute("SET TimeZone = 'UTC'")
                    shown.register(
                        "found", run_query(query.format("db.r"), lambda parts: lake.load_table(tuple(parts)))
                    )
                    got = shown.execute("SELECT * FROM found").fetchall()
                assert sorted(map(repr, got)) == sorted(map(repr, wanted)), query


def _random_rows(rng: random.Random, schema: pa.Schema, count: int) -> pa.Table:
    def values(field: pa.Field) -> pa.Array:
        drawn = [None if rng.random() < 0.1 else rng.randint(-5, 5) for _ in range(count)]
        if field.type == pa.string():
            return pa.array([None if one is None else "abc"[one % 3] for one in drawn])
        if field.type == pa.float64():
            return pa.array([None if one is None else float("nan") if one == 5 else one / 2 for one in drawn])
        if field.type == pa.bool_():
            return pa.array([None if one is None else one > 0 for one in drawn])
        if pa.types.is_decimal(field.type):
            return pa.array(drawn, pa.int32()).cast(pa.decimal128(12, 2)).cast(field.type)
        if pa.types.is_timestamp(field.type):
            return pa.array([None if one is None else one * 1_000_000 for one in drawn], pa.int64()).cast(field.type)
        return pa.array(drawn, pa.int32()).cast(field.type)

    return pa.table([values(field) for field in schema], schema=schema)
