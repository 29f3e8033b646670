"""Metrics never lie: bounds hold for every value whatever was shortened (hazard 25, the writer's side)."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.arrow.columns.metrics import MetricsCollector, lower_bound, upper_bound
from floeberg.arrow.columns.metrics_config import (
    DEFAULT_MODE,
    FULL,
    MetricsMode,
    ModeKind,
    full_metrics,
    metrics_config,
    parse_mode,
)
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter
from floeberg.effects.system import SystemClock
from floeberg.errors import InvalidInput
from floeberg.expr.evaluate import keeps
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.spec.partitions.sort_orders import build_sort_order
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import (
    BINARY,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    UNKNOWN,
    UUID,
    DecimalType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from floeberg.spec.values.single_value import from_bytes, sort_key, to_bytes
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import FILTER_TYPES, POINT, expressions, flat_schemas, optional, table_of, tables

NAN = float("nan")
TRUNCATE_1 = MetricsMode(ModeKind.TRUNCATE, 1)


def write(
    rows: list[tuple[Any, ...]], schema: Schema, file_format: FileFormat = FileFormat.PARQUET, **properties: str
) -> DataFile:
    writer = DataFileWriter(
        MemoryStore(SystemClock()),
        "memory://bucket/f",
        schema,
        properties=WriteProperties(file_format=file_format),
        metrics=metrics_config(schema, {name.replace("_", "."): value for name, value in properties.items()}),
    )
    for batch in conform(table_of(rows, schema), schema):
        writer.write(batch)
        writer.flush()
    return writer.close()


@settings(max_examples=80)
@given(data=st.data(), mode=st.sampled_from(["full", "truncate(1)", "truncate(3)", "truncate(16)"]))
def test_bounds_hold_for_every_value_and_counts_are_exact(data: st.DataObject, mode: str) -> None:
    kind = data.draw(st.sampled_from(FILTER_TYPES))
    schema = Schema(NestedField(1, "c", kind))
    values = data.draw(st.lists(optional(kind, required=False), max_size=6))
    collector = MetricsCollector(schema, metrics_config(schema, {"write.metadata.metrics.default": mode}))
    for value in values:
        collector.update(table_of([(value,)], schema).to_batches()[0])
    metrics = collector.finish()
    present = [v for v in values if v is not None]
    numbers = [v for v in present if not (isinstance(v, float) and math.isnan(v))]
    assert metrics.record_count == metrics.value_counts[1] == len(values)
    assert metrics.null_value_counts[1] == len(values) - len(present)
    if kind in (FLOAT, DOUBLE):
        assert metrics.nan_value_counts == {1: len(present) - len(numbers)}
    else:
        assert metrics.nan_value_counts == {}
    assert (1 in metrics.lower_bounds) == bool(numbers)
    for value in numbers:
        assert sort_key(kind, from_bytes(kind, metrics.lower_bounds[1])) <= sort_key(kind, value)  # type: ignore[operator]
        if 1 in metrics.upper_bounds:
            assert sort_key(kind, from_bytes(kind, metrics.upper_bounds[1])) >= sort_key(kind, value)  # type: ignore[operator]
    if mode == "full" and numbers and kind not in (FLOAT, DOUBLE):
        assert metrics.lower_bounds[1] == to_bytes(kind, min(numbers, key=lambda v: sort_key(kind, v)))  # type: ignore[arg-type,return-value]
        assert metrics.upper_bounds[1] == to_bytes(kind, max(numbers, key=lambda v: sort_key(kind, v)))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("precision", [1, 9, 18, 19, 28])
@pytest.mark.parametrize(
    "values", [[0, -7, None, 5], [None, 5, 7], [None, -5, -7], [10**40, 3], [-(10**40), 3], [-1, -2], [None, None], []]
)
def test_decimals_of_any_width_have_exact_bounds_in_any_slice(precision: int, values: list[int | None]) -> None:
    kind = DecimalType(precision, 1)
    fits = 10**precision - 1
    numbers = [None if value is None else Decimal(max(-fits, min(fits, value))).scaleb(-1) for value in values]
    schema = Schema(NestedField(1, "c", kind))
    least_and_greatest = [Decimal(fits).scaleb(-1), Decimal(-fits).scaleb(-1)]
    batch = table_of([(value,) for value in (*least_and_greatest, *numbers, *least_and_greatest)], schema).to_batches()[
        0
    ]
    collector = MetricsCollector(schema, metrics_config(schema, {}))
    collector.update(batch.slice(2, len(numbers)))
    metrics = collector.finish()
    present = [number for number in numbers if number is not None]
    assert metrics.lower_bounds == ({1: to_bytes(kind, min(present))} if present else {})
    assert metrics.upper_bounds == ({1: to_bytes(kind, max(present))} if present else {})


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO])
@settings(max_examples=60)
@given(data=st.data())
def test_pruning_by_our_metrics_never_loses_a_row(file_format: FileFormat, data: st.DataObject) -> None:
    schema = data.draw(flat_schemas(max_columns=2))
    rows, _ = data.draw(tables(schema, orc=file_format is FileFormat.ORC))
    file = write(rows, schema, file_format, write_metadata_metrics_default="truncate(2)")
    expression = data.draw(expressions(schema, rows))
    kept = [keeps(expression, row) for row in rows]
    assert may_contain_match(expression, file) or not any(kept), str(expression)
    assert all(kept) or not must_all_match(expression, file), str(expression)


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abd"),
        ("a\U0010ffff\U0010ffffz", 3, "b"),
        ("\U0010ffff\U0010ffff", 1, None),
        ("ab\ud7ffx", 3, "ab\ue000"),
        ("a💖💖", 2, "a💗"),
        ("éé", 1, "ê"),
    ],
)
def test_text_rounds_up_by_whole_code_points_or_has_no_upper_bound(
    text: str, length: int, expected: str | None
) -> None:
    bound = upper_bound(STRING, text, MetricsMode(ModeKind.TRUNCATE, length))
    assert (None if bound is None else bound.decode()) == expected
    lower = lower_bound(STRING, text, MetricsMode(ModeKind.TRUNCATE, length))
    assert lower == text[:length].encode()


def test_bytes_round_up_or_have_no_upper_bound() -> None:
    assert upper_bound(BINARY, b"\x01\xff\xff", MetricsMode(ModeKind.TRUNCATE, 2)) == b"\x02"
    assert upper_bound(BINARY, b"\xff\xff", TRUNCATE_1) is None
    assert upper_bound(BINARY, b"\xff", TRUNCATE_1) == b"\xff"
    file = write([(b"\xff" * 20,)], Schema(NestedField(1, "b", BINARY)))
    assert file.lower_bounds == {1: b"\xff" * 16}
    assert file.upper_bounds == {}


@pytest.mark.parametrize("kind", [FLOAT, DOUBLE])
def test_nan_is_in_no_bound_and_zeros_stand_for_both(kind: IcebergType) -> None:
    schema = Schema(NestedField(1, "f", kind))
    file = write([(NAN,), (0.0,), (None,)], schema)
    assert file.lower_bounds is not None
    assert file.upper_bounds is not None
    pack = "<f" if kind == FLOAT else "<d"
    assert file.lower_bounds[1] == struct.pack(pack, -0.0)
    assert file.upper_bounds[1] == struct.pack(pack, 0.0)
    assert file.nan_value_counts == {1: 1}
    only_nan = write([(NAN,)], schema)
    assert only_nan.lower_bounds == only_nan.upper_bounds == {}


def test_uuids_are_bounded_as_unsigned_bytes() -> None:
    import uuid

    small, great = uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)
    file = write([(great,), (small,)], Schema(NestedField(1, "u", UUID)))
    assert file.lower_bounds == {1: small.bytes}
    assert file.upper_bounds == {1: great.bytes}


NESTED = Schema(
    NestedField(1, "s", StructType((NestedField(2, "x", INT), NestedField(3, "u", UNKNOWN)))),
    NestedField(4, "l", ListType(5, INT)),
    NestedField(6, "m", MapType(7, STRING, 8, INT)),
)


def test_structs_are_measured_with_their_nulls_and_lists_and_maps_are_not() -> None:
    rows: list[tuple[Any, ...]] = [((3, None), [1], [("k", 1)]), (None, None, None), ((None, None), [], [])]
    file = write(rows, NESTED)
    assert file.value_counts == {2: 3}
    assert file.null_value_counts == {2: 2}
    assert file.lower_bounds == file.upper_bounds == {2: (3).to_bytes(4, "little")}
    assert file.column_sizes is not None
    assert set(file.column_sizes) == {2, 5, 7, 8}


def test_geometry_has_a_bounding_box() -> None:
    def point(x: float, y: float) -> bytes:
        return POINT[:5] + struct.pack("<2d", x, y)

    file = write([(point(1, 5),), (point(3, -2),), (None,)], Schema(NestedField(1, "g", GeometryType())))
    assert file.lower_bounds == {1: struct.pack("<2d", 1, -2)}
    assert file.upper_bounds == {1: struct.pack("<2d", 3, 5)}


def test_modes_are_none_counts_truncate_and_full() -> None:
    assert parse_mode("none").kind is ModeKind.NONE
    assert parse_mode("Counts").kind is ModeKind.COUNTS
    assert parse_mode("truncate(20)") == MetricsMode(ModeKind.TRUNCATE, 20)
    assert parse_mode("full") == FULL
    for wrong in ("", "truncate", "truncate(0)", "truncate(-1)", "all"):
        with pytest.raises(InvalidInput, match="mode"):
            parse_mode(wrong)


def test_properties_choose_the_mode_of_each_column() -> None:
    schema = Schema(NestedField(1, "a", STRING), NestedField(2, "b", STRING), NestedField(3, "c", STRING))
    file = write(
        [("x" * 30, "y" * 30, "z")], schema,
        write_metadata_metrics_default="counts", write_metadata_metrics_column_a="full", write_metadata_metrics_column_c="none",
    )  # fmt: skip
    assert file.value_counts == {1: 1, 2: 1}
    assert file.lower_bounds == {1: b"x" * 30}


def test_only_the_first_hundred_columns_have_an_inferred_default() -> None:
    schema = Schema(*(NestedField(i, f"c{i}", LONG) for i in range(1, 121)))
    config = metrics_config(schema, {})
    assert config.mode(100) == DEFAULT_MODE
    assert config.mode(101).kind is ModeKind.NONE
    assert metrics_config(schema, {"write.metadata.metrics.default": "full"}).mode(120) == FULL
    fewer = metrics_config(schema, {"write.metadata.metrics.max-inferred-column-defaults": "2"})
    assert [fewer.mode(i).kind for i in (2, 3)] == [ModeKind.TRUNCATE, ModeKind.NONE]
    with pytest.raises(InvalidInput, match="max-inferred"):
        metrics_config(schema, {"write.metadata.metrics.max-inferred-column-defaults": "many"})


def test_columns_that_the_table_is_sorted_by_have_bounds() -> None:
    schema = Schema(NestedField(1, "a", STRING), NestedField(2, "b", STRING))
    order = build_sort_order(schema, ["b"])
    config = metrics_config(schema, {"write.metadata.metrics.default": "none"}, sort_order=order)
    assert config.mode(1).kind is ModeKind.NONE
    assert config.mode(2) == DEFAULT_MODE


def test_full_metrics_are_exact_for_every_column() -> None:
    assert all(mode == FULL for mode in full_metrics(NESTED).modes.values())
