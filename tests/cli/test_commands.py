"""What each command shows of golden tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floeberg import __version__
from floeberg.api.catalog import catalog
from floeberg.cli.app import COMMANDS
from golden_collection.golden_tables import arguments, open_golden


def test_tables_lists_namespaces_below_each_other(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    lake = catalog("lake", warehouse=str(tmp_path / "w"))
    for namespace, name in (("b", "t2"), ("b", "t1"), ("a", "t"), ("a.c", "deep")):
        lake.create_namespace(namespace, if_not_exists=True)
        lake.create_table(f"{namespace}.{name}", "id bigint")
    warehouse = ("--warehouse", str(tmp_path / "w"))
    assert floeberg("tables", *warehouse) == (0, "a.t\na.c.deep\nb.t1\nb.t2\n", "")
    assert floeberg("tables", "a", *warehouse).out == "a.t\na.c.deep\n"
    assert json.loads(floeberg("tables", "b", "--json", *warehouse).out) == [
        {"namespace": ["b"], "name": "t1"}, {"namespace": ["b"], "name": "t2"},
    ]  # fmt: skip


def test_a_table_is_found_by_the_environments_catalog(
    floeberg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    lake = catalog("lake", warehouse=str(tmp_path / "w"))
    lake.create_namespace("db")
    lake.create_table("db.t", "id bigint, name string", properties={"s3.secret-access-key": "hunter2"})
    monkeypatch.setenv("FLOEBERG_CATALOG__LAKE__WAREHOUSE", str(tmp_path / "w"))
    for name in ("db.t", "lake.db.t", str(tmp_path / "w" / "db" / "t")):
        code, out, _ = floeberg("describe", name)
        assert code == 0
        assert "name    string" in out
        assert "none: the table is empty" in out
        assert "hunter2" not in out
        assert "***" in out
    assert "hunter2" not in floeberg("metadata", "db.t").out
    assert json.loads(floeberg("describe", "db.t", "--json").out)["properties"]["s3.secret-access-key"] == "***"
    assert floeberg("snapshots", "db.t").out == "no snapshots: nothing was ever written to this table\n"


def test_describe_shows_partitioning_refs_and_totals(floeberg) -> None:  # type: ignore[no-untyped-def]
    out = floeberg("describe", *arguments("spark_rename_column")).out
    assert "bucket[4](id) as id_bucket, identity(event_date) as date" in out
    assert "main (branch)" in out
    assert "4 rows written, 3 data files" in out


def test_schema_shows_one_or_all(floeberg) -> None:  # type: ignore[no-untyped-def]
    table = arguments("spark_rename_column")
    rows = [line.split() for line in floeberg("schema", *table).out.splitlines()]
    assert rows[0] == ["id", "column", "type", "required", "comment"]
    assert rows[3][:3] == ["3", "event_date", "date"]
    assert "date    " in floeberg("schema", *table, "--id", "0").out
    everything = floeberg("schema", *table, "--all").out
    assert "schema 0" in everything
    assert "schema 1, the current one" in everything
    assert json.loads(floeberg("schema", *table, "--json").out)["schema-id"] == 1
    assert len(json.loads(floeberg("schema", *table, "--all", "--json").out)) == 2
    assert floeberg("schema", *table, "--all", "--id", "0").code == 2
    nested = floeberg("schema", *arguments("types_all_trino_types")).out
    assert "list_col.element" in nested


def test_snapshots_are_a_timeline_from_the_newest(floeberg) -> None:  # type: ignore[no-untyped-def]
    lines = floeberg("snapshots", *arguments("gperov_test")).out.splitlines()
    assert lines[0] == "● 2024-04-24 09:46:39Z  append     154324552338474173  main"
    assert lines[1:3] == ["│   +1 data files (1 rows)", "│   then 10002 rows in 8 data files, 1 delete files"]
    assert sum(line.startswith("●") for line in lines) == 5
    short = floeberg("snapshots", *arguments("gperov_test"), "--limit", "2").out
    assert short.endswith("… 3 older snapshots\n")
    first = json.loads(floeberg("snapshots", *arguments("gperov_test"), "--json").out)[0]
    assert first["refs"] == ["main"]
    assert first["committed_at"] == "2024-04-24T09:46:39.481000+00:00"


def test_files_partitions_manifests_and_refs(floeberg) -> None:  # type: ignore[no-untyped-def]
    table = arguments("partition_evolution")
    assert len(floeberg("files", *table).out.splitlines()) == 8
    assert "c1=1/c2=2025-03-02/c3=null" in floeberg("files", *table).out
    assert len(floeberg("files", *table, "--limit", "2").out.splitlines()) == 3
    assert len(floeberg("files", *table, "--content", "deletes").out.splitlines()) == 1
    rows = json.loads(floeberg("files", *table, "--json").out)
    history = json.loads(floeberg("files", *table, "--all-snapshots", "--json").out)
    assert sorted(row["file_path"] for row in rows) == sorted(row["file_path"] for row in history)
    assert rows[0]["readable_metrics"]["c1"]["lower_bound"] == 3
    partitions = floeberg("partitions", *table).out
    assert "c1=null/c2=null/c3=2.0" in partitions
    assert len(json.loads(floeberg("partitions", *table, "--json").out)) == 7
    assert "(not partitioned)" in floeberg("partitions", *arguments("gperov_test")).out
    manifests = floeberg("manifests", *arguments("gperov_test")).out.splitlines()
    assert [line.split()[0] for line in manifests[1:]] == ["data", "data", "data", "delete"]
    assert json.loads(floeberg("manifests", *table, "--json").out)[0]["content"] == 0
    assert "test-branch  BRANCH" in floeberg("refs", *arguments("gperov_test")).out
    assert json.loads(floeberg("refs", *arguments("gperov_test"), "--json").out)[0]["name"] == "EOW-01"


def test_the_past_is_chosen_by_id_ref_or_time(floeberg) -> None:  # type: ignore[no-untyped-def]
    table = arguments("gperov_test")
    by_ref = floeberg("files", *table, "--ref", "test-branch").out
    assert by_ref == floeberg("files", *table, "--snapshot", "7558608030923099867").out
    assert (
        by_ref == floeberg("files", *table, "--as-of", "2024-04-24T09:46:38.300Z").out or len(by_ref.splitlines()) == 8
    )
    assert floeberg("files", *table, "--ref", "main", "--snapshot", "1").code == 2
    assert floeberg("files", *table, "--as-of", "yesterday").code == 2


def test_scan_writes_every_format(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    table = arguments("types_all_trino_types")
    whole = open_golden("types_all_trino_types").scan().to_arrow()
    lines = floeberg("scan", *table, "-o", "json").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == whole.column("id").to_pylist()
    assert floeberg("scan", *table, "--json").out.splitlines() == lines
    rows = list(csv.DictReader(io.StringIO(floeberg("scan", *table, "-o", "csv").out)))
    assert list(rows[0]) == whole.column_names
    assert json.loads(rows[0]["list_col"]) == whole.column("list_col")[0].as_py()
    target = tmp_path / "out.parquet"
    assert floeberg("scan", *table, "-o", "parquet", "--to", str(target)) == (0, "", "")
    assert pq.read_table(target).select(["id", "string_col"]) == whole.select(["id", "string_col"]).cast(
        pa.schema([whole.schema.field("id"), whole.schema.field("string_col")])
    )
    again = floeberg("scan", *table, "-o", "parquet", "--to", str(target))
    assert again.code == 2
    assert "is there already" in again.err


def test_scan_filters_selects_and_limits(floeberg) -> None:  # type: ignore[no-untyped-def]
    table = arguments("gperov_test")
    assert floeberg("scan", *table, "--where", "a = -43", "--select", "b").out.split() == ["b", "-43"]
    shown = floeberg("scan", *table).out.splitlines()
    assert len(shown) == 22
    assert shown[-1].startswith("… more rows")
    assert len(floeberg("scan", *table, "--limit", "30").out.splitlines()) == 31
    assert "_pos" in floeberg("scan", *table, "--limit", "1", "--metadata-columns").out
    assert floeberg("scan", *table, "--to", "x").code == 2
    wrong = floeberg("scan", *table, "--where", "nope = 1")
    assert wrong.code == 2
    assert "nope" in wrong.err


def test_explain_says_what_was_left_out_and_why(floeberg) -> None:  # type: ignore[no-untyped-def]
    table = arguments("partition_evolution")
    out = floeberg("explain", *table, "--where", "c1 = 2").out
    assert "data files kept: 2 of 7" in out
    assert "to read:" in out
    found = json.loads(floeberg("explain", *table, "--where", "c1 = 2", "--json").out)
    assert found["data"]["files"] == 7
    assert found["to_read"]["files"] == found["data"]["files_kept"]


def test_diff_tells_files_rows_and_schema(floeberg) -> None:  # type: ignore[no-untyped-def]
    table = arguments("gperov_test")
    out = floeberg("diff", *table[:1], "test-branch", "main", *table[1:]).out
    assert out.splitlines() == [
        "from 7558608030923099867 to 154324552338474173", "+ 2 files of data, 2 rows, 1302 bytes",
    ]  # fmt: skip
    assert floeberg("diff", *table[:1], "main", "main", *table[1:]).out.endswith("no difference\n")
    assert "~ schema: added a long" in floeberg("diff", *table[:1], "empty", *table[1:]).out
    parent = json.loads(floeberg("diff", *table[:1], "parent", "current", "--json", *table[1:]).out)
    assert len(parent["added"]) == 1
    assert parent["added"][0]["content"] == "data"
    listed = floeberg("diff", *table[:1], "parent", "--files", *table[1:]).out
    assert parent["added"][0]["file_path"] in listed
    for wrong in ("nope", "12"):
        assert floeberg("diff", *table[:1], wrong, *table[1:]).code in (2, 3)


def test_metadata_is_the_files_json(floeberg) -> None:  # type: ignore[no-untyped-def]
    found = json.loads(floeberg("metadata", *arguments("gperov_test")).out)
    assert found["location"] == "s3://warehouse/gperov/test"
    assert [schema["schema-id"] for schema in found["schemas"]] == [0]


def test_every_command_teaches_by_example(floeberg) -> None:  # type: ignore[no-untyped-def]
    assert floeberg("--version").out == f"floeberg {__version__}\n"
    overview = floeberg("--help")
    assert overview.code == 0
    assert "[catalog.lake]" in overview.out
    assert "Exit codes" in overview.out
    for command in COMMANDS:
        assert command in overview.out
        shown = floeberg(command, "--help")
        assert shown.code == 0
        assert f"floeberg {command} " in shown.out.partition("Arguments")[0].partition("Usage")[2].partition("\n")[2]
        assert "--json" in shown.out
