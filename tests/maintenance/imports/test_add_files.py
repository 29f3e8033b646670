"""Files of other writers as rows of a table: found in folders, read by name, checked before anything is committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import floeberg as fb
from floeberg.errors import DataFileCorrupt, FileAlreadyExists, FileNotFound, InvalidInput, ValidationConflict
from floeberg.maintenance.file_work import ThreadedWork
from floeberg.maintenance.imports.add_files import ImportRequest, add_files
from floeberg.maintenance.imports.folders import list_folder

Rows = list[dict[str, Any]]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[fb.Catalog]:
    with fb.catalog("lake", warehouse=str(tmp_path / "lake")) as made:
        made.create_namespace("db")
        yield made


def write(path: Path, rows: Rows, schema: pa.Schema | None = None) -> str:
    """A file without field ids, in the format of its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows, schema=schema)
    if path.suffix == ".orc":
        orc.write_table(table, str(path))
    elif path.suffix == ".avro":
        fields = [{"name": "id", "type": ["null", "long"]}, {"name": "name", "type": ["null", "string"]}]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, rows)
    else:
        pq.write_table(table, path)
    return str(path)


def rows_of(table: fb.Table, *columns: str) -> set[tuple[Any, ...]]:
    found = table.scan(select=list(columns) or None).to_arrow().to_pylist()
    return {tuple(row.values()) for row in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkAfter(ThreadedWork):
    """Lets something happen just before the files are looked at."""

    before: Callable[[], None]

    def each(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        self.before()
        return ThreadedWork.each(self, work, items)


PEOPLE: Rows = [{"id": 1, "name": "Ada"}, {"id": 2, "name": None}]


@pytest.mark.parametrize("suffix", ["parquet", "orc", "avro"])
def test_a_plain_folder_is_added_where_it_lies(lake: fb.Catalog, tmp_path: Path, suffix: Any) -> None:
    table = lake.create_table("db.t", "id bigint, name string, later int")
    for number in range(2):
        write(tmp_path / f"in/part-{number}.{suffix}", [{"id": number, "name": "x"}])
    (tmp_path / "in/_SUCCESS").touch()
    (tmp_path / "in/.part-0.crc").write_bytes(b"1")
    done = table.maintenance.add_files(str(tmp_path / "in"), format=suffix)
    assert (done.added_files, done.changed_partitions) == (2, 1)
    assert rows_of(table) == {(0, "x", None), (1, "x", None)}
    assert {str(tmp_path / f"in/part-{n}.{suffix}") for n in range(2)} == set(
        table.inspect.files().column("file_path").to_pylist()
    )
    assert len(list(table.scan(where="id > 0").plan())) == 1
    assert "schema.name-mapping.default" in table.properties
    with pytest.raises(FileAlreadyExists, match="part-0"):
        table.maintenance.add_files(f"file://{tmp_path}/in", format=suffix)
    assert len(rows_of(table)) == 2


def test_folders_say_typed_partitions(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, s string, d date, n int", partition_by=["s", "d", "n"])
    values: dict[str, tuple[Any, Any, Any]] = {
        "s=a b%2Fc%3D%25/d=2026-05-01/n=007": ("a b/c=%", date(2026, 5, 1), 7),
        "s=__HIVE_DEFAULT_PARTITION__/d=__HIVE_DEFAULT_PARTITION__/n=-1": (None, None, -1),
        "s=Zürich 日本/d=1969-12-31/n=__HIVE_DEFAULT_PARTITION__": ("Zürich 日本", date(1969, 12, 31), None),
    }
    for number, folder in enumerate(values):
        write(tmp_path / "in" / folder / "a.parquet", [{"id": number}])
        write(tmp_path / "in" / folder / "b.parquet", [{"id": number + 10}])
    done = table.maintenance.add_files(str(tmp_path / "in"), parallelism=2)
    assert (done.added_files, done.changed_partitions) == (6, 3)
    expected = {(number + extra, *found) for number, found in enumerate(values.values()) for extra in (0, 10)}
    assert rows_of(table) == expected
    found = table.scan(where="s = 'a b/c=%' AND n = 7")
    assert len(list(found.plan())) == found.count() == 2


def test_one_partition_is_chosen_by_its_value(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, P int, q string", partition_by=["P", "q"])
    for p in (1, 2):
        for q in ("x", "y"):
            write(tmp_path / f"in/p={p}/q={q}/a.parquet", [{"id": p}])
    add = table.maintenance.add_files
    assert add(str(tmp_path / "in"), partition_filter={"p": "01"}).added_files == 2
    assert rows_of(table, "P", "q") == {(1, "x"), (1, "y")}
    with pytest.raises(InvalidInput, match="no partition of the source has"):
        add(str(tmp_path / "in"), partition_filter={"p": "3"})
    with pytest.raises(InvalidInput, match="names 'id'"):
        add(str(tmp_path / "in"), partition_filter={"id": "3"})
    with pytest.raises(FileAlreadyExists):
        add(str(tmp_path / "in"), partition_filter={"q": "x"})
    assert add(str(tmp_path / "in"), partition_filter={"p": "2", "q": "y"}).added_files == 1
    assert add(str(tmp_path / "in"), partition_filter={"p": "2"}, check_duplicate_files=False).added_files == 2


def test_a_table_of_added_files_is_changed_like_any_other(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, name string, p string", partition_by=["p"], format_version=3)
    for p in ("x", "y"):
        write(tmp_path / f"in/p={p}/a.parquet", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    table.maintenance.add_files(str(tmp_path / "in"))
    with table.update_schema() as update:
        update.rename_column("name", "label")
        update.add_column("name", "int")
    table.delete("id = 2 AND p = 'x'")
    table.append(pa.table({"id": [3], "label": ["c"], "p": ["x"], "name": [7]}))
    expected = {(1, "a", "x", None), (1, "a", "y", None), (2, "b", "y", None), (3, "c", "x", 7)}
    assert rows_of(table, "id", "label", "p", "name") == expected
    table.maintenance.compact(options={"rewrite-all": "true"})
    assert rows_of(table, "id", "label", "p", "name") == expected
    write(tmp_path / "more/p=z/a.parquet", [{"id": 9, "label": "later"}])
    table.maintenance.add_files(str(tmp_path / "more"))
    assert rows_of(table, "id", "label", "p", "name") == {*expected, (9, "later", "z", None)}
    with table.update_spec() as spec:
        spec.remove_field("p")
    with pytest.raises(InvalidInput, match="partitioned by nothing, and the files by p"):
        table.maintenance.add_files(str(tmp_path / "more"))


def test_names_that_differ_in_case_are_the_same_column(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, inner_part struct<x: bigint, y: bigint>")
    write(tmp_path / "in/a.parquet", [{"ID": 1, "Inner_Part": {"X": 1, "y": 2}}])
    write(tmp_path / "in/b.parquet", [{"id": 2, "inner_part": {"x": 3, "y": 4}}])
    table.maintenance.add_files(str(tmp_path / "in"))
    found = [(row["id"], *row["inner_part"].values()) for row in table.scan().to_arrow().to_pylist()]
    assert sorted(found) == [(1, 1, 2), (2, 3, 4)]


def refused(table: fb.Table, source: Path, error: type[Exception], match: str) -> None:
    """Nothing is left behind by what was refused."""
    before = table.refresh().metadata_location
    folder = Path(table.location)
    files = sorted(folder.rglob("*"))
    with pytest.raises(error, match=match):
        table.maintenance.add_files(str(source))
    assert table.refresh().metadata_location == before
    assert sorted(folder.rglob("*")) == files


def test_files_that_do_not_fit_are_refused_by_name(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, name string")
    write(tmp_path / "types/good.parquet", PEOPLE)
    write(tmp_path / "types/wrong.parquet", [{"id": "one", "name": "x"}])
    refused(table, tmp_path / "types", DataFileCorrupt, r"wrong\.parquet.*'id'")
    write(tmp_path / "other/unrelated.parquet", [{"a": 1}])
    refused(table, tmp_path / "other", DataFileCorrupt, r"unrelated\.parquet holds none of the table's columns")
    (tmp_path / "text").mkdir()
    (tmp_path / "text/notes.txt").write_text("no Parquet file")
    refused(table, tmp_path / "text", DataFileCorrupt, r"notes\.txt")
    refused(table, tmp_path / "nowhere", FileNotFound, "holds no data files")
    write(tmp_path / "nested/sub/a.parquet", PEOPLE)
    refused(table, tmp_path / "nested", InvalidInput, "folder 'sub' is no partition")
    write(tmp_path / "hive/p=1/a.parquet", PEOPLE)
    refused(table, tmp_path / "hive", InvalidInput, "partitioned by nothing, and the files by p")


def test_partitions_that_do_not_fit_are_refused_by_name(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, p bigint", partition_by=["p"])
    write(tmp_path / "value/p=seven/a.parquet", [{"id": 1}])
    refused(
        table, tmp_path / "value", InvalidInput, r"p=seven/a\.parquet: partition column 'p': 'seven' is no value of"
    )
    write(tmp_path / "mixed/p=1/a.parquet", [{"id": 1}])
    write(tmp_path / "mixed/q=1/a.parquet", [{"id": 1}])
    refused(table, tmp_path / "mixed", InvalidInput, "add the files of each layout by themselves")
    write(tmp_path / "plain/a.parquet", [{"id": 1, "p": 1}])
    refused(table, tmp_path / "plain", InvalidInput, "and the files by nothing")
    write(tmp_path / "both/p=1/a.parquet", [{"id": 1, "p": 2}])
    refused(table, tmp_path / "both", DataFileCorrupt, r"'p' holds other values in the file \(2\).*\(1\)")
    write(tmp_path / "same/p=1/a.parquet", [{"id": 1, "p": 1}])
    assert table.maintenance.add_files(str(tmp_path / "same")).added_files == 1
    daily = lake.create_table("db.daily", "id bigint, ts timestamp", partition_by=["day(ts)"])
    write(tmp_path / "days/ts=2026-05-01/a.parquet", [{"id": 1}])
    refused(daily, tmp_path / "days", InvalidInput, "without a transform")


def test_files_of_another_table_are_taken_only_with_its_columns(lake: fb.Catalog, tmp_path: Path) -> None:
    first = lake.create_table("db.first", "id bigint, name string")
    first.append(pa.Table.from_pylist(PEOPLE))
    same = lake.create_table("db.same", "id bigint, name string, more int")
    assert same.maintenance.add_files(f"{first.location}/data").added_files == 1
    assert rows_of(same) == {(1, "Ada", None), (2, None, None)}
    assert "schema.name-mapping.default" not in same.properties
    swapped = lake.create_table("db.swapped", "name string, id bigint")
    refused(swapped, Path(first.location) / "data", DataFileCorrupt, "field ids of another table: column 'id' has id 1")


def test_a_schema_that_changes_meanwhile_is_a_conflict(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, name string")
    write(tmp_path / "in/a.parquet", PEOPLE)
    pointer, state = table._pointer, table._state

    def rename() -> None:
        with lake.load_table("db.t").update_schema() as update:
            update.rename_column("id", "number")

    request = ImportRequest(files=list_folder(pointer.store_for, str(tmp_path / "in")))
    with pytest.raises(ValidationConflict, match="schema changed"):
        add_files(pointer, state, WorkAfter(pointer.store_for, before=rename), request)
    assert table.refresh().current_snapshot is None


def test_the_same_file_added_meanwhile_is_found(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint, name string")
    write(tmp_path / "in/a.parquet", PEOPLE)
    pointer, state = table._pointer, table._state

    def add() -> None:
        lake.load_table("db.t").maintenance.add_files(str(tmp_path / "in"))

    request = ImportRequest(files=list_folder(pointer.store_for, str(tmp_path / "in")))
    with pytest.raises(FileAlreadyExists):
        add_files(pointer, state, WorkAfter(pointer.store_for, before=add), request)
    assert table.refresh().scan().count() == 2


def test_a_file_that_is_gone_is_refused_or_left_out(lake: fb.Catalog, tmp_path: Path) -> None:
    table = lake.create_table("db.t", "id bigint")
    for name in ("a", "b"):
        write(tmp_path / "in" / f"{name}.parquet", [{"id": 1}])
    pointer, state = table._pointer, table._state
    files = list_folder(pointer.store_for, str(tmp_path / "in"))
    (tmp_path / "in" / "a.parquet").unlink()
    with pytest.raises(FileNotFound, match=r"a\.parquet"):
        add_files(pointer, state, ThreadedWork(pointer.store_for), ImportRequest(files=files))
    request = ImportRequest(files=files, ignore_missing_files=True)
    assert add_files(pointer, state, ThreadedWork(pointer.store_for), request).added_files == 1
    assert table.refresh().scan().count() == 1


@pytest.mark.parametrize("suffix", ["parquet", "orc"])
def test_a_folder_becomes_a_table_with_the_columns_of_its_files_and_folders(
    lake: fb.Catalog, tmp_path: Path, suffix: str
) -> None:
    for day, part in (("2026-05-01", "1"), ("2026-05-02", "3000000000")):
        write(
            tmp_path / "in" / f"day={day}" / f"n={part}" / f"a.{suffix}",
            [{"id": 1, "name": None}, {"id": 2, "name": "x"}],
        )
    table = lake.snapshot_folder("db.tried", str(tmp_path / "in"), format=suffix, properties={"team": "ann"})
    columns = {field.name: str(field.type) for field in table.schema.fields}
    assert columns == {"id": "long", "name": "string", "day": "date", "n": "long"}
    assert [field.name for field in table.spec.fields] == ["day", "n"]
    assert (table.properties["gc.enabled"], table.properties["team"]) == ("false", "ann")
    assert rows_of(table.refresh(), "id", "day") == {(n, date(2026, 5, d)) for n in (1, 2) for d in (1, 2)}
    table.append(pa.table({"id": [7], "name": ["y"], "day": [date(2026, 5, 1)], "n": [1]}))
    assert table.scan(where="n = 1").count() == 3
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        table.maintenance.expire_snapshots()
    with pytest.raises(fb.errors.TableAlreadyExists):
        lake.snapshot_folder("db.tried", str(tmp_path / "in"), format=suffix)
    with pytest.raises(InvalidInput, match="overlap"):
        lake.snapshot_folder("db.inside", str(tmp_path / "in"), format=suffix, location=str(tmp_path / "in" / "own"))
    assert not lake.table_exists("db.inside")


def test_avro_files_become_a_table_of_a_given_schema(lake: fb.Catalog, tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.avro", [{"id": 1, "name": "x"}])
    with pytest.raises(InvalidInput, match="must be given as a schema"):
        lake.snapshot_folder("db.tried", str(tmp_path / "in"), format="avro")
    table = lake.snapshot_folder("db.tried", str(tmp_path / "in"), format="avro", schema="id bigint, name string")
    assert rows_of(table) == {(1, "x")}
