"""Variants are written, plain and shredded: the values come back as they were, here and through other decoders."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

import floeberg as fb
from floeberg.arrow.variant.decode import assemble_variants
from floeberg.arrow.variant.encode import encode_variant
from floeberg.arrow.variant.layout import infer_layout
from floeberg.arrow.variant.shred import VariantShredder
from peers.duckdb_reader import connect
from strategies.variants import SPARK_LACKS, columns, variants

SHREDDED = {"write.parquet.shred-variants": "true"}


@pytest.fixture
def cat() -> fb.Catalog:
    made = fb.catalog("lake", type="memory")
    made.create_namespace("db")
    return made


def rows_of(values: list[Any]) -> pa.Table:
    return pa.table({"id": pa.array(range(len(values)), pa.int32()), "v": fb.variant_array(values)})


def column_of(values: list[Any]) -> pa.StructArray:
    return fb.variant_array([None if value == "missing" else _top(value) for value in values])


def _top(value: Any) -> Any:
    return fb.VARIANT_NULL if value is None else value


def exact(value: Any) -> Any:
    """A value by which floats of both zeros, numbers of other types and booleans are told apart."""
    if isinstance(value, dict):
        return {name: exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, float):
        return ("double", struct.pack(">d", value))
    if isinstance(value, Decimal):
        return ("decimal", value.as_tuple())
    if isinstance(value, int) and not isinstance(value, bool):
        return ("decimal", Decimal(value).as_tuple()) if abs(value) >= 2**63 else ("int", value)
    return (type(value).__name__, value)


@given(variants())
def test_a_python_value_comes_back_as_it_was(value: Any) -> None:
    metadata, encoded = encode_variant(value)
    assert exact(fb.variant_to_python(metadata, encoded)) == exact(value)


@given(variants(without=SPARK_LACKS))
def test_spark_s_decoder_reads_the_same_value(value: Any) -> None:
    metadata, encoded = encode_variant(value)
    with localcontext(prec=50):
        found = VariantVal(encoded, metadata).toPython()
    assert exact(found) == exact(value)


@given(columns())
def test_what_is_shredded_comes_back_byte_for_byte(values: list[Any]) -> None:
    given_array = column_of(values)
    layout = infer_layout((row["metadata"], row["value"]) for row in given_array.to_pylist() if row is not None)
    if layout is None:
        return
    shredded = VariantShredder(layout).shred(given_array)
    stored = pq_round_trip(shredded)
    assert assemble_variants(stored, location="f", column="v").to_pylist() == given_array.to_pylist()


def pq_round_trip(array: pa.StructArray) -> pa.StructArray:
    """Through a Parquet file, as definition levels are where nested nulls get lost."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"v": array}), sink)
    found = pq.read_table(pa.BufferReader(sink.getvalue())).column("v")
    return pa.concat_arrays(found.chunks) if found.num_chunks else array.slice(0, 0)


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, fb.Catalog]]:
    with fb.catalog("lake", warehouse=str(tmp_path_factory.mktemp("lake"))) as lake, connect() as connection:
        lake.create_namespace("db")
        yield connection, lake


def named(value: Any) -> Any:
    """A value whose fields all have names: DuckDB's structs have no empty ones."""
    if isinstance(value, dict):
        return {name or "none": named(item) for name, item in value.items()}
    return [named(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=30)
@given(st.lists(columns(), min_size=1, max_size=4), st.sampled_from(["false", "true"]))
def test_duckdb_reads_the_same_values_from_the_files(peer: Any, batches: list[list[Any]], shred: str) -> None:
    connection, lake = peer
    values = named([value for batch in batches for value in batch])
    properties = {"write.parquet.shred-variants": shred, "write.parquet.variant-inference-buffer-size": "8"}
    table = lake.create_table("db.t", "id int, v variant", format_version=3, properties=properties)
    ids = pa.array(range(len(values)), pa.int32())
    table.append(pa.table({"id": ids, "v": column_of(values)}))
    file = table.inspect.files().to_pylist()[0]["file_path"]
    found = connection.execute("SELECT id, v FROM read_parquet(?) ORDER BY id", [file]).fetchall()
    ours = table.scan().to_arrow().sort_by("id")
    lake.drop_table("db.t", purge=True)
    assert ours["v"].to_pylist() == column_of(values).to_pylist()
    assert [exact(value) for _, value in found] == [exact(None if v == "missing" else v) for v in values]


@pytest.mark.parametrize(
    "properties", [{}, SHREDDED, {"write.format.default": "avro"}], ids=["plain", "shredded", "avro"]
)
def test_a_missing_variant_is_not_one_that_holds_null(cat: fb.Catalog, properties: dict[str, str]) -> None:
    table = cat.create_table("db.t", "id int, v variant", format_version=3, properties=properties)
    table.append(rows_of([None, fb.VARIANT_NULL, {"a": None}, {"a": 1}]))
    found = table.scan().to_arrow()["v"].to_pylist()
    assert found[0] is None
    assert [fb.variant_to_json(**row) for row in found[1:]] == ["null", '{"a":null}', '{"a":1}']
    assert table.scan(where="v IS NULL").to_arrow()["id"].to_pylist() == [0]
    assert table.scan(where="v IS NOT NULL").count() == 3
    assert table.inspect.files().to_pylist()[0]["null_value_counts"] == [(1, 0), (2, 1)]


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_variants_lie_in_structs_lists_and_maps(cat: fb.Catalog, file_format: str) -> None:
    values = fb.variant_array([{"a": 1}, None, fb.VARIANT_NULL, "x"])
    offsets = pa.array([0, 2, 2, 3, 4], pa.int32())
    missing = pa.array([False, True, False, False])
    rows = pa.table(
        {
            "s": pa.StructArray.from_arrays([values], names=["x"], mask=missing),
            "l": pa.ListArray.from_arrays(offsets, values),
            "m": pa.MapArray.from_arrays(offsets, pa.array(["k", "l", "k", "k"]), values),
        }
    )
    table = cat.create_table(
        "db.t",
        "s struct<x variant>, l array<variant>, m map<string, variant>",
        format_version=3,
        properties={**SHREDDED, "write.format.default": file_format},
    )
    table.append(rows)
    assert table.scan().to_arrow().to_pylist() == rows.to_pylist()


def test_a_variant_is_taken_in_every_layout_of_arrow(cat: fb.Catalog) -> None:
    given_array = fb.variant_array([{"a": 1}, None, "x"])
    parts = {"value": given_array.field(1), "metadata": given_array.field(0)}
    table = cat.create_table("db.t", "v variant", format_version=3)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        arrays = [part.cast(kind) for part in parts.values()]
        layout = pa.StructArray.from_arrays(arrays, names=[*parts], mask=given_array.is_null())
        table.overwrite(pa.table({"v": layout}), where="true")
        assert table.scan().to_arrow()["v"].to_pylist() == given_array.to_pylist()
    text = infer_layout([(b"\x01\x00\x00", b"\x05x")])
    assert text is not None
    shredded = VariantShredder(text).shred(given_array)
    table.overwrite(pa.table({"v": shredded}), where="true")
    assert table.scan().to_arrow()["v"].to_pylist() == given_array.to_pylist()


def test_updates_and_upserts_take_and_keep_variants(cat: fb.Catalog) -> None:
    for mode in ("copy-on-write", "merge-on-read"):
        modes = {f"write.{kind}.mode": mode for kind in ("delete", "update", "merge")}
        table = cat.create_table(
            f"db.{mode[:4]}", "id int, v variant", format_version=3, properties={**SHREDDED, **modes}
        )
        table.append(rows_of([{"a": 1}, {"a": 2}, None, {"a": 4}]))
        table.update({"id": 10}, where="id = 0")
        table.update({"v": {"b": [1, None]}}, where="id = 1")
        table.update({"v": fb.VARIANT_NULL}, where="v IS NULL")
        table.update({"v": None}, where="id = 3")
        table.upsert(
            pa.table({"id": pa.array([3, 7], pa.int32()), "v": fb.variant_array(["new", b"bytes"])}), on=["id"]
        )
        found = {row["id"]: row["v"] and fb.variant_to_json(**row["v"]) for row in table.scan().to_arrow().to_pylist()}
        assert found == {10: '{"a":1}', 1: '{"b":[1,null]}', 2: "null", 3: '"new"', 7: '"Ynl0ZXM="'}


NULL_PARTS = pa.array([{"metadata": b"\x01\x00\x00", "value": None}])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1]), "'v' is int64 in the data and cannot be written as variant; floeberg.variant_array"),
        (pa.array(["{}"]), "'v' is string in the data"),
        (pa.array([{"metadata": b"\x01\x00\x00"}]), "a variant is struct<metadata: binary, value: binary>"),
        (NULL_PARTS.cast(pa.struct([("metadata", pa.binary()), ("value", pa.binary())])), "a variant has no value"),
        (pa.array([{"metadata": b"\x02\x00\x00", "value": b"\0"}]), "no variant of version 1"),
        (pa.array([{"metadata": b"\x01\x00\x00", "value": b""}]), "no variant of version 1"),
    ],
)
def test_what_is_no_variant_is_refused(cat: fb.Catalog, column: pa.Array, message: str) -> None:
    table = cat.create_table("db.t", "v variant", format_version=3)
    with pytest.raises(fb.errors.InvalidInput, match=message):
        table.append(pa.table({"v": column}))


def test_malformed_values_are_refused_where_they_are_shredded(cat: fb.Catalog) -> None:
    table = cat.create_table("db.t", "v variant", format_version=3, properties=SHREDDED)
    for value in (b"\x02\x05", b"\x03\x01\x00\x09", b"\x05", b"\xfc"):
        with pytest.raises(fb.errors.InvalidInput, match="column 'v'"):
            table.append(pa.table({"v": pa.array([{"metadata": b"\x01\x00\x00", "value": value}])}))
    assert table.current_snapshot is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1: 2}, "row 1: an object's keys are text in a variant, not int"),
        ({"a": object()}, "row 1: a variant holds no object"),
        (Decimal("NaN"), "a variant holds no Decimal NaN"),
        (Decimal(10) ** 40, "at most 38 digits"),
        (10**38, "at most 38 digits"),
        (Decimal("1e-39"), "at most 38 digits"),
        ("\ud800", "lone surrogates"),
        ({"\ud800": 1}, "lone surrogates"),
        (time(1, tzinfo=UTC), "times without a zone"),
        (pd.NaT, "NaT"),
        (np.datetime64("2020-01-01"), "a variant holds no datetime64"),
    ],
)
def test_python_values_that_no_variant_holds_are_refused(value: Any, message: str) -> None:
    with pytest.raises(fb.errors.InvalidInput, match=message):
        fb.variant_array([1, value])


def test_a_value_that_nests_too_deep_is_refused() -> None:
    value: Any = None
    for _ in range(300):
        value = [value]
    with pytest.raises(fb.errors.InvalidInput, match="200 levels"):
        fb.variant_array([value])


def test_values_of_numpy_and_pandas_have_their_own_types() -> None:
    stamp = pd.Timestamp("2020-01-01T00:00:00.000000001Z")
    values = [np.int64(5), np.float32(0.5), np.bool_(True), np.str_("x"), stamp, pd.Timestamp("2020-01-01")]
    found = [fb.variant_to_python(**row) for row in fb.variant_array(values).to_pylist()]
    assert found == [5, 0.5, True, "x", "2020-01-01T00:00:00.000000001+00:00", datetime(2020, 1, 1)]


def test_objects_of_many_fields_and_long_arrays_come_back(cat: fb.Catalog) -> None:
    wide = {f"field{i}": i for i in range(400)}
    values = [wide, list(range(3000)), {"x" * 300: "y" * 70_000}]
    table = cat.create_table("db.t", "id int, v variant", format_version=3, properties=SHREDDED)
    table.append(rows_of(values))
    assert [fb.variant_to_python(**row) for row in table.scan().to_arrow()["v"].to_pylist()] == values


def test_a_variant_has_no_place_in_partitions_sort_orders_and_keys(cat: fb.Catalog) -> None:
    for options in ({"partition_by": ["v"]}, {"partition_by": ["bucket(4, v)"]}, {"sort_by": ["v"]}):
        with pytest.raises(fb.errors.InvalidInput, match="does not take column 'v' of type variant"):
            cat.create_table("db.t", "id int, v variant", format_version=3, **options)
    with pytest.raises(fb.errors.InvalidInput, match="needs format version 3"):
        cat.create_table("db.t", "id int, v variant", format_version=2)
    table = cat.create_table("db.t", "id int, v variant", format_version=3)
    with pytest.raises(fb.errors.InvalidInput, match="'v' is variant and cannot be a key"):
        table.upsert(rows_of([1]), on=["v"])
    with pytest.raises(fb.errors.InvalidInput, match="compares with nothing"):
        table.delete(where="v = 1")


def test_the_parquet_group_is_annotated_and_its_parts_have_no_ids(tmp_path: Path) -> None:
    with fb.catalog("lake", warehouse=str(tmp_path)) as lake:
        lake.create_namespace("db")
        table = lake.create_table("db.t", "id int, v variant, l array<variant>", format_version=3, properties=SHREDDED)
        values = fb.variant_array([{"a": 1, "d": date(2020, 1, 1)}, {"a": 2, "u": UUID(int=1)}])
        table.append(pa.table({"v": values, "l": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), values)}))
        shown = str(pq.ParquetFile(table.inspect.files().to_pylist()[0]["file_path"]).schema)
    assert "optional group field_id=2 v (Variant(1))" in shown
    assert "optional group field_id=4 element (Variant(1))" in shown
    assert "required binary field_id=-1 metadata;" in shown
    assert "optional int32 field_id=-1 typed_value (Int(bitWidth=8, isSigned=true));" in shown
    assert "optional int32 field_id=-1 typed_value (Date);" in shown
