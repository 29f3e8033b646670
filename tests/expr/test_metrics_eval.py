"""Evaluation on column metrics never loses a row, and proves only what is so."""

from __future__ import annotations

import math
import random
import uuid
from typing import Any

import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.build import col
from floeberg.expr.evaluate import keeps, order_key
from floeberg.expr.metrics_eval import may_contain_match, must_all_match
from floeberg.expr.nodes import FALSE, TRUE
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import BINARY, STRING
from floeberg.spec.values.single_value import to_bytes
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import (
    COLUMN_IDS,
    COLUMNS,
    POOLS,
    SCHEMA,
    random_expression,
    random_predicate,
    random_row,
    row_value,
    seeds,
)


def data_file(rows: int, **metrics: Any) -> DataFile:
    return DataFile(file_path="f", file_format=FileFormat.PARQUET, record_count=rows, file_size_in_bytes=1, **metrics)


def file_of(rows: list[dict[str, object]], rng: random.Random, columns: tuple[str, ...] = COLUMNS) -> DataFile:
    """A file with the metrics of the rows, now and then without some of them, with bounds cut as writers cut them."""
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    nans: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for column in columns:
        field_id, (data_type, _) = COLUMN_IDS[column], POOLS[column]
        if column == "st.x" and rng.random() < 0.5:  # some writers count only where the struct is there
            found = [row_value(row, column) for row in rows if row["st"] is not None]
        else:
            found = [row_value(row, column) for row in rows]
        real = sorted((v for v in found if v is not None and v == v), key=order_key)
        values[field_id] = len(found)
        nulls[field_id] = sum(v is None for v in found)
        if column in ("f", "d"):
            nans[field_id] = sum(v != v for v in found)
        if real:
            lower[field_id] = _cut(data_type, real[0], rng, up=False)
            high = _cut(data_type, real[-1], rng, up=True)
            if high is not None:
                upper[field_id] = high
    for counts in (values, nulls, nans, lower, upper):
        for field_id in list(counts):  # type: ignore[attr-defined]
            if rng.random() < 0.08:
                del counts[field_id]  # type: ignore[attr-defined]
    return data_file(
        len(rows),
        value_counts=values,
        null_value_counts=nulls,
        nan_value_counts=nans,
        lower_bounds=lower,
        upper_bounds=upper,
    )


def _cut(data_type: object, value: Any, rng: random.Random, *, up: bool) -> Any:
    """A bound, cut to one character or byte at times, and then rounded up when it is the upper one."""
    if data_type not in (STRING, BINARY) or len(value) < 2 or rng.random() < 0.5:
        return to_bytes(data_type, value)  # type: ignore[arg-type]
    head = value[:1]
    if not up:
        return to_bytes(data_type, head)  # type: ignore[arg-type]
    if data_type == STRING:
        return None if ord(head) >= 0x10FFFF else to_bytes(STRING, chr(ord(head) + 1))
    return None if head == b"\xff" else bytes([head[0] + 1])


def narrow_rows(rng: random.Random) -> list[dict[str, object]]:
    """Rows that share values, so that bounds exclude something and metrics prove something."""
    base = [random_row(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    return [dict(rng.choice(base)) for _ in range(rng.choice([1, 2, 5]))]


@settings(max_examples=120)
@given(seeds)
def test_no_row_is_lost_and_nothing_false_is_proved(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(4):
        rows = narrow_rows(rng)
        file = file_of(rows, rng)
        for _ in range(20):
            transforms = rng.random() < 0.3
            expression = random_expression(rng, depth=rng.choice([0, 0, 1, 2]), transforms=transforms)
            bound = bind(expression, SCHEMA)
            try:
                kept = [keeps(bound, row) for row in rows]
            except InvalidInput:  # a transform's result overflows
                continue
            assert may_contain_match(bound, file) or not any(kept), (str(bound), rows, file)
            assert not must_all_match(bound, file) or all(kept), (str(bound), rows, file)


def test_the_metrics_of_random_files_do_prove_things() -> None:
    rng = random.Random(3)
    skipped = proved = total = 0
    for _ in range(300):
        file = file_of(narrow_rows(rng), rng)
        for _ in range(10):
            bound = bind(random_predicate(rng, rng.choice(COLUMNS)), SCHEMA)
            total += 1
            skipped += not may_contain_match(bound, file)
            proved += must_all_match(bound, file)
    assert skipped > total // 4
    assert proved > total // 8


ID = COLUMN_IDS


def double_file(low: float | None, high: float | None, *, nulls: int | None = 0, nans: int | None = 0) -> DataFile:
    return data_file(
        10,
        value_counts={ID["d"]: 10},
        null_value_counts={} if nulls is None else {ID["d"]: nulls},
        nan_value_counts={} if nans is None else {ID["d"]: nans},
        lower_bounds={} if low is None else {ID["d"]: to_bytes(POOLS["d"][0], low)},
        upper_bounds={} if high is None else {ID["d"]: to_bytes(POOLS["d"][0], high)},
    )


@pytest.mark.parametrize(
    ("file", "where", "may", "must"),
    [
        (double_file(0.0, 2.0), "d > 3", False, False),
        (double_file(0.0, 2.0, nans=1), "d > 3", True, False),  # NaN is greater than 3
        (double_file(0.0, 2.0, nans=None), "d > 3", True, False),  # and may be there
        (double_file(0.0, 2.0, nans=1), "d < 3", True, False),
        (double_file(0.0, 2.0, nans=1), "d > -1", True, True),
        (double_file(4.0, 5.0, nans=1), "d < 3", False, False),
        (double_file(None, None, nans=10), "d > 3", True, True),
        (double_file(None, None, nans=10), "d != 3", True, True),
        (double_file(None, None, nans=10), "d <= 3", False, False),
        (double_file(None, None, nans=10), "isnan(d)", True, True),
        (double_file(None, None, nans=10), "NOT isnan(d)", False, False),
        (double_file(None, None, nans=5, nulls=5), "d < 3", False, False),
        (double_file(None, None, nans=5, nulls=5), "d > 3", True, False),
        (double_file(None, None, nulls=10), "d > 3", False, False),
        (double_file(None, None, nulls=10), "d != 3", False, False),
        (double_file(None, None, nulls=10), "NOT isnan(d)", True, True),
        (double_file(None, None, nulls=10), "d IS NULL", True, True),
        (double_file(None, None, nulls=10), "d IS NOT NULL", False, False),
        (double_file(0.0, 2.0, nulls=None), "d >= 0", True, False),
        (double_file(0.0, 2.0, nulls=1), "d >= 0", True, False),
        (double_file(0.0, 2.0, nulls=1), "d != 7", True, False),  # a null is not unequal to 7
        (double_file(0.0, 0.0), "d = -0.0D", True, True),
        (double_file(-0.0, 0.0), "d = 0", True, True),
        (double_file(0.0, 2.0), "d < -0.0D", False, False),
        (double_file(math.nan, math.nan), "d = 7", True, False),  # NaN bounds are not bounds
        (double_file(0.0, math.nan), "d > 7", True, False),
        (double_file(5.0, 1.0), "d = 7", True, False),  # nor are inverted ones
        (double_file(5.0, 1.0), "d >= 5", True, False),
        (double_file(0.0, 2.0, nulls=11), "d > 3", True, False),  # more nulls than values
        (data_file(10), "d > 3", True, False),
        (data_file(10), "d IS NULL", True, False),
        (data_file(0), "d > 3", False, True),
        (data_file(-1), "d > 3", True, False),
        (data_file(10, value_counts={ID["d"]: 0}, null_value_counts={ID["d"]: 0}), "d > 3", True, False),
        (data_file(10, lower_bounds={ID["d"]: b"\x00"}, upper_bounds={ID["d"]: b""}), "d > 3", True, False),
        (data_file(10, lower_bounds={ID["s"]: b"\xc3"}), "s = 'a'", True, False),  # a split character
    ],
)  # fmt: skip
def test_metrics_prove(file: DataFile, where: str, may: bool, must: bool) -> None:
    bound = bind(parse_where(where), SCHEMA)
    assert may_contain_match(bound, file) is may
    assert must_all_match(bound, file) is must


def int_file(low: int, high: int) -> DataFile:
    data_type = POOLS["l"][0]
    return data_file(
        5, value_counts={ID["l"]: 5}, null_value_counts={ID["l"]: 0},
        lower_bounds={ID["l"]: to_bytes(data_type, low)}, upper_bounds={ID["l"]: to_bytes(data_type, high)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("where", "may", "must"),
    [
        ("l < 10", False, False), ("l <= 10", True, False), ("l < 21", True, True), ("l <= 20", True, True),
        ("l > 20", False, False), ("l >= 20", True, False), ("l > 9", True, True), ("l >= 10", True, True),
        ("l = 9", False, False), ("l = 10", True, False), ("l != 9", True, True), ("l != 10", True, False),
        ("l IN (1, 30)", False, False), ("l IN (1, 15)", True, False), ("l NOT IN (1, 30)", True, True),
        ("l IS NULL", False, False), ("l IS NOT NULL", True, True), ("l > 9 AND l < 15", True, False), ("l > 9 OR i = 1", True, True),
        ("NOT (l > 20)", True, True), ("truncate(10, l) = 30", False, False), ("truncate(10, l) <= 20", True, True),
        ("bucket(4, l) = 3", True, False), ("bucket(4, l) IS NOT NULL", True, True),
    ],
)  # fmt: skip
def test_bounds_prove(where: str, may: bool, must: bool) -> None:
    bound = bind(parse_where(where), SCHEMA)
    assert may_contain_match(bound, int_file(10, 20)) is may
    assert must_all_match(bound, int_file(10, 20)) is must


def test_equal_bounds_prove_equality() -> None:
    for where in ("l = 7", "l IN (7, 8)", "l >= 7 AND l <= 7"):
        assert must_all_match(bind(parse_where(where), SCHEMA), int_file(7, 7))


def test_prefixes_are_proved_by_cut_bounds() -> None:
    def file(low: str, high: str) -> DataFile:
        return data_file(
            2, value_counts={ID["s"]: 2}, null_value_counts={ID["s"]: 0},
            lower_bounds={ID["s"]: low.encode()}, upper_bounds={ID["s"]: high.encode()},
        )  # fmt: skip

    starts, starts_not = bind(col("s").starts_with("ab"), SCHEMA), bind(col("s").not_starts_with("ab"), SCHEMA)
    assert must_all_match(starts, file("aba", "abz"))
    assert not may_contain_match(starts_not, file("aba", "abz"))
    assert may_contain_match(starts, file("a", "b"))
    assert not must_all_match(starts, file("a", "b"))
    assert not may_contain_match(starts, file("b", "c"))
    assert must_all_match(starts_not, file("b", "c"))


def test_bounds_after_a_promotion_are_read_by_their_length() -> None:
    as_int = data_file(
        1, value_counts={ID["l"]: 1}, null_value_counts={ID["l"]: 0},
        lower_bounds={ID["l"]: (5).to_bytes(4, "little")}, upper_bounds={ID["l"]: (9).to_bytes(4, "little")},
    )  # fmt: skip
    assert not may_contain_match(bind(col("l") > 9, SCHEMA), as_int)
    assert must_all_match(bind(col("l") > 4, SCHEMA), as_int)


def test_uuid_bounds_of_a_writer_that_orders_halves_as_signed_lose_nothing() -> None:
    upper_half = 5 << 64
    ids = [uuid.UUID(int=upper_half | 1), uuid.UUID(int=upper_half | ((1 << 64) - 1)), uuid.UUID(int=6 << 64)]
    file = data_file(3, lower_bounds={ID["u"]: ids[1].bytes}, upper_bounds={ID["u"]: ids[2].bytes})
    assert all(may_contain_match(bind(col("u") == value, SCHEMA), file) for value in ids)
    assert not may_contain_match(bind(col("u") == uuid.UUID(int=7 << 64), SCHEMA), file)


def test_a_null_struct_that_was_not_counted_makes_its_fields_null() -> None:
    uncounted = data_file(10, value_counts={ID["st.x"]: 7}, null_value_counts={ID["st.x"]: 0})
    assert may_contain_match(bind(col("st.x").is_null(), SCHEMA), uncounted)
    assert not must_all_match(bind(col("st.x").not_null(), SCHEMA), uncounted)
    missing = data_file(10, value_counts={ID["st.x"]: 0}, null_value_counts={ID["st.x"]: 0})
    assert may_contain_match(bind(col("st.x") == 1, SCHEMA), missing)  # its initial default may be 1


def test_constants_need_no_metrics_and_unbound_expressions_are_refused() -> None:
    assert may_contain_match(TRUE, data_file(1))
    assert not may_contain_match(FALSE, data_file(1))
    with pytest.raises(InvalidInput, match="not bound"):
        may_contain_match(col("l") > 1, data_file(1))
