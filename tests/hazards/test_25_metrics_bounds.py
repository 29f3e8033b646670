"""Hazard 25: metrics too tight: truncated maxima, inverted or shared bounds, split UTF-8. Here: what they do to pruning."""

from __future__ import annotations

import random
import struct
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings

from floeberg.expr.bind import bind
from floeberg.expr.build import col
from floeberg.expr.evaluate import keeps, order_key
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.values.single_value import to_bytes
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import COLUMN_IDS, COLUMNS, POOLS, SCHEMA, random_expression, random_row, row_value, seeds


def file_of(
    rows: list[dict[str, object]], *, lower: dict[int, bytes], upper: dict[int, bytes], **counts: Any
) -> DataFile:
    return DataFile(
        file_path="f", file_format=FileFormat.PARQUET, record_count=len(rows), file_size_in_bytes=1,
        lower_bounds=lower, upper_bounds=upper, **counts,
    )  # fmt: skip


def bounds_of(rows: list[dict[str, object]]) -> tuple[dict[int, bytes], dict[int, bytes]]:
    lower, upper = {}, {}
    for column in COLUMNS:
        real = sorted((v for r in rows if (v := row_value(r, column)) is not None and v == v), key=order_key)
        if real:
            lower[COLUMN_IDS[column]] = to_bytes(POOLS[column][0], real[0])
            upper[COLUMN_IDS[column]] = to_bytes(POOLS[column][0], real[-1])
    return lower, upper


@settings(max_examples=60)
@given(seeds)
def test_scanning_with_a_predicate_is_filtering_a_full_scan(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5):
        files = []
        for _ in range(4):
            rows = [random_row(rng) for _ in range(rng.choice([1, 3]))]
            lower, upper = bounds_of(rows)
            files.append((rows, file_of(rows, lower=lower, upper=upper)))
        bound = bind(random_expression(rng, depth=2), SCHEMA)
        scanned = [row for rows, file in files if may_contain_match(bound, file) for row in rows if keeps(bound, row)]
        filtered = [row for rows, _ in files for row in rows if keeps(bound, row)]
        assert scanned == filtered, str(bound)


@settings(max_examples=40)
@given(seeds)
def test_inverted_bounds_are_ignored(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        rows = [random_row(rng) for _ in range(3)]
        lower, upper = bounds_of(rows)
        file = file_of(rows, lower=upper, upper=lower)
        bound = bind(random_expression(rng, depth=1), SCHEMA)
        if any(keeps(bound, row) for row in rows):
            assert may_contain_match(bound, file), (str(bound), rows)


@settings(max_examples=60)
@given(seeds)
def test_bytes_that_are_no_bounds_are_ignored(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        rows = [random_row(rng)]
        lower, upper = bounds_of(rows)
        for bounds in (lower, upper):
            for field_id in bounds:
                if field_id != COLUMN_IDS["bin"]:  # any bytes are a bound of binary
                    bounds[field_id] = b"\xff" * rng.choice([0, 3, 5, 7, 17, 40])
        file = file_of(rows, lower=lower, upper=upper)
        bound = bind(random_expression(rng, tuple(c for c in COLUMNS if c != "s"), depth=1), SCHEMA)
        if keeps(bound, rows[0]) and "dec" not in str(bound) and "fx" not in str(bound):
            assert may_contain_match(bound, file), (str(bound), rows)


@pytest.mark.parametrize(
    ("column", "lower", "upper", "value"),
    [
        ("s", b"abc", b"abd", "abcdef"),  # rounded up after cutting
        ("s", b"ab\xf0\x9f", None, "ab\U0001f600"),  # cut within a character
        ("s", b"\xff", b"\xff", "a"),
        ("s", b"\xef\xbf\xbf", b"\xf0\x9f\x98\x80", "\uffff"),  # by code point, not by UTF-16 unit
        ("bin", b"\x7f", b"\x80", b"\x7f\xff"),
        ("d", struct.pack("<d", 0.0), struct.pack("<d", 0.0), -0.0),
        ("d", struct.pack("<d", float("nan")), struct.pack("<d", float("nan")), 1.0),
        ("u", uuid.UUID(int=1 << 127).bytes, uuid.UUID(int=(1 << 127) - 1).bytes, uuid.UUID(int=5)),  # signed order
        ("dec", b"\x00", b"\x64", Decimal("0.50")),
        ("l", struct.pack("<i", 3), struct.pack("<i", 9), 5),  # written when the column was an int
    ],
)  # fmt: skip
def test_a_value_under_odd_bounds_is_found(column: str, lower: bytes, upper: bytes | None, value: object) -> None:
    field_id = COLUMN_IDS[column]
    file = file_of([{}], lower={field_id: lower}, upper={} if upper is None else {field_id: upper})
    for condition in (col(column) == value, col(column) >= value, col(column) <= value, col(column).in_([value])):
        assert may_contain_match(bind(condition, SCHEMA), file), str(condition)


def test_counts_that_contradict_each_other_prove_nothing() -> None:
    field_id = COLUMN_IDS["l"]
    bounds = {"lower": {field_id: to_bytes(POOLS["l"][0], 1)}, "upper": {field_id: to_bytes(POOLS["l"][0], 2)}}
    for values, nulls in ((5, 0), (0, 0), (1, 2), (-1, 0)):
        file = file_of([{}], **bounds, value_counts={field_id: values}, null_value_counts={field_id: nulls})  # type: ignore[arg-type]
        assert not must_all_match(bind(parse_where("l > 0"), SCHEMA), file) or values == -1
        assert may_contain_match(bind(parse_where("l IS NULL"), SCHEMA), file) or values == -1
