"""Files that are not as the specification says, and that the reference reads: they are read as it does, and it is said."""

from __future__ import annotations

import json
import logging
import random
from typing import Any

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.effects.leniencies import Leniency
from floeberg.errors import DataFileCorrupt
from floeberg.maintenance.check import check_table
from floeberg.maintenance.check_report import Problem, Severity
from floeberg.spec.snapshots.manifest_entry import FileFormat
from lakes.foreign_tables import FORMATS, add_file, foreign_table, with_id


@pytest.fixture
def lake() -> Catalog:
    lake = catalog("test", type="memory")
    lake.create_namespace("db")
    return lake


def rows_of(table: Table, **options: Any) -> list[dict[str, Any]]:
    return table.scan(**options).to_arrow().to_pylist()


def tolerated(table: Table) -> set[str]:
    """The leniencies that the check reports, all of them as warnings."""
    report = check_table(table.metadata, table._pointer.store_for)
    assert report.errors == (), report.errors
    found = [finding for finding in report.findings if finding.problem is Problem.LENIENCY]
    assert all(finding.severity is Severity.WARNING for finding in found)
    return {finding.message.rpartition("(")[2].rstrip(")") for finding in found}


PLAIN = pa.table({"x": [1, 2], "y": ["a", "b"]})


def test_parquet_without_ids_goes_by_position(lake: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    table = foreign_table(lake, "id bigint, name string, more double", PLAIN)
    with caplog.at_level(logging.WARNING, "floeberg.leniencies"):
        assert rows_of(table, where="id = 2") == [{"id": 2, "name": "b", "more": None}]
    assert "'x' is 'id', 'y' is 'name'" in caplog.text
    assert tolerated(table) == {Leniency.COLUMNS_BY_POSITION}


@pytest.mark.parametrize("file_format", [FileFormat.ORC, FileFormat.AVRO])
def test_orc_and_avro_without_ids_go_by_name(lake: Catalog, file_format: FileFormat) -> None:
    table = foreign_table(lake, "y string, other int, x bigint", PLAIN, file_format)
    assert rows_of(table) == [{"y": "a", "other": None, "x": 1}, {"y": "b", "other": None, "x": 2}]
    assert tolerated(table) == {Leniency.COLUMNS_BY_NAME}


def test_positions_are_refused_once_columns_are_not_in_their_first_order(lake: Catalog) -> None:
    table = foreign_table(lake, "id bigint, name string", PLAIN)
    with table.update_schema() as update:
        update.add_column("late", "int")
    assert rows_of(table) == [{"id": 1, "name": "a", "late": None}, {"id": 2, "name": "b", "late": None}]
    with table.update_schema() as update:
        update.rename_column("name", "named")
    assert rows_of(table)[0] == {"id": 1, "named": "a", "late": None}
    with table.update_schema() as update:
        update.drop_column("named")
    with pytest.raises(DataFileCorrupt, match=r"first order.*schema\.name-mapping\.default.*match-columns-by-name"):
        rows_of(table)
    assert rows_of(table, options={"match-columns-by-name": "true"})[0] == {"id": None, "late": None}


def test_positions_reach_into_structs_and_are_refused_where_members_differ(lake: Catalog) -> None:
    inner = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string())])))])
    rows = pa.table({"s": pa.array([{"a": 1, "b": [{"c": "z"}]}], inner)})
    table = foreign_table(lake, "t struct<p: bigint, q: array<struct<r: string>>>", rows)
    assert rows_of(table) == [{"t": {"p": 1, "q": [{"r": "z"}]}}]
    with table.update_schema() as update:
        update.add_column("t.late", "int")
    with pytest.raises(DataFileCorrupt, match="'s' has 2 members in the file, 3 in the table"):
        rows_of(table)


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.ORC])
def test_columns_without_an_id_beside_others_that_have_one_are_not_there(
    lake: Catalog, file_format: FileFormat
) -> None:
    schema = pa.schema([with_id(pa.field("id", pa.int64()), 1), pa.field("name", pa.string())])
    rows = pa.table([[1], ["a"]], schema=schema)
    table = foreign_table(lake, "id bigint, name string", rows, file_format)
    assert rows_of(table) == [{"id": 1, "name": None}]
    assert rows_of(table, where="name is null") == [{"id": 1, "name": None}]
    assert rows_of(table, where="name = 'a'") == []
    assert tolerated(table) == {Leniency.PARTIAL_FIELD_IDS}


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.ORC])
def test_elements_keys_and_values_are_found_whatever_their_ids(lake: Catalog, file_format: FileFormat) -> None:
    element = with_id(pa.field("element", pa.int64()), 500)
    key, value = (with_id(pa.field(name, pa.int64(), nullable=name == "value"), 500) for name in ("key", "value"))
    schema = pa.schema([with_id(pa.field("l", pa.list_(element)), 1), with_id(pa.field("m", pa.map_(key, value)), 2)])
    table = foreign_table(
        lake, "l array<bigint>, m map<bigint, bigint>", pa.table([[[1, 2]], [[(3, 4)]]], schema=schema), file_format
    )
    assert rows_of(table) == [{"l": [1, 2], "m": [(3, 4)]}]
    assert tolerated(table) == {Leniency.OTHER_ELEMENT_ID}


NESTED = pa.table(
    {
        "s": pa.array([{"l": [1], "n": "a", "m": [(True, 2)]}], pa.struct(
            [("l", pa.list_(pa.int64())), ("n", pa.string()), ("m", pa.map_(pa.bool_(), pa.int64()))]
        )),
        "v": pa.array([[("k", {"w": 1.5, "l": 7})]], pa.map_(
            pa.string(), pa.struct([("w", pa.float64()), ("l", pa.int64())])
        )),
    }
)  # fmt: skip
NESTED_SCHEMA = (
    "s struct<l: array<bigint>, n: string, m: map<boolean, bigint>>, v map<string, struct<w: double, l: bigint>>"
)


def mapping_of(schema: Any, numbers: Any) -> list[dict[str, Any]]:
    """A name mapping of a schema's names with other numbers."""

    def mapped(field: Any) -> dict[str, Any]:
        own = {"field-id": next(numbers), "names": [field.name]}
        children = [mapped(child) for child in getattr(field.type, "fields", ())]
        return {**own, "fields": children} if children else own

    return [mapped(field) for field in schema.fields]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("stale", [False, True])
def test_a_nested_name_mapping_reads_the_same_with_its_own_ids_and_with_those_of_a_migration(
    lake: Catalog, file_format: FileFormat, stale: bool
) -> None:
    """Hive numbers a mapping depth first and the table its columns anew, so that ids are those of other columns."""
    table = foreign_table(lake, NESTED_SCHEMA, NESTED, file_format)
    numbers = iter(range(1, 100)) if stale else iter(_depth_first(table.schema.fields))
    with table.update_properties() as update:
        update.set({"schema.name-mapping.default": json.dumps(mapping_of(table.schema, numbers))})
    assert rows_of(table) == NESTED.to_pylist()
    assert tolerated(table) == ({Leniency.MAPPING_OF_OTHER_IDS} if stale else set())
    with table.update_schema() as update:
        update.rename_column("s.n", "renamed")
    assert rows_of(table)[0]["s"] == {"l": [1], "renamed": "a", "m": [(True, 2)]}


def _depth_first(fields: Any) -> list[int]:
    return [i for f in fields for i in (f.field_id, *_depth_first(getattr(f.type, "fields", ())))]


@pytest.mark.parametrize("seed", range(40))
def test_random_nested_files_without_ids_read_by_position_and_by_name(lake: Catalog, seed: int) -> None:
    rng = random.Random(seed)
    columns = {f"c{i}": _random_type(rng, 3) for i in range(rng.randint(1, 4))}
    rows = pa.table({name: pa.array([_random_value(rng, t) for _ in range(3)], t) for name, t in columns.items()})
    schema = ", ".join(f"{name} {_sql(kind)}" for name, kind in columns.items())
    for file_format in FORMATS:
        table = lake.create_table(f"db.{file_format}", schema)
        add_file(table, rows, file_format)
        assert rows_of(table) == rows.to_pylist(), file_format


def _random_type(rng: random.Random, depth: int) -> pa.DataType:
    match rng.randint(0, 5 if depth else 2):
        case 3:
            return pa.list_(_random_type(rng, depth - 1))
        case 4:
            return pa.struct([(f"m{i}", _random_type(rng, depth - 1)) for i in range(rng.randint(1, 3))])
        case 5:
            return pa.map_(pa.string(), _random_type(rng, depth - 1))
    return rng.choice((pa.int64(), pa.string(), pa.float64(), pa.bool_()))


def _random_value(rng: random.Random, kind: pa.DataType) -> Any:
    if rng.random() < 0.2:
        return None
    if pa.types.is_list(kind):
        return [_random_value(rng, kind.value_type) for _ in range(rng.randint(0, 2))]
    if pa.types.is_struct(kind):
        return {field.name: _random_value(rng, field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(f"k{i}", _random_value(rng, kind.item_type)) for i in range(rng.randint(0, 2))]
    return {"int64": rng.randint(-9, 9), "string": rng.choice("abc"), "double": rng.random(), "bool": True}[str(kind)]


def _sql(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_sql(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_sql(field.type)}' for field in kind)}>"
    if pa.types.is_map(kind):
        return f"map<string, {_sql(kind.item_type)}>"
    return {"int64": "bigint", "string": "string", "double": "double", "bool": "boolean"}[str(kind)]
