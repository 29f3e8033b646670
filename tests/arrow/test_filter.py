"""Filters on whole columns say of each row what the row-wise oracle says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.arrow.columns.filter import filter_mask, referenced_ids
from floeberg.arrow.columns.types import arrow_schema
from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind
from floeberg.expr.build import bucket, col
from floeberg.expr.evaluate import evaluate
from floeberg.expr.nodes import FALSE, TRUE
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DOUBLE, LONG, STRING, UNKNOWN, NestedField, StructType
from floeberg.sql.conditions.filters import parse_where
from strategies.arrow_rows import expressions, flat_schemas, table_of, tables

NAN = float("nan")


def batch_of(rows: list[tuple[Any, ...]], schema: Schema) -> pa.RecordBatch:
    table = table_of(rows, schema).combine_chunks()
    return table.to_batches()[0] if rows else pa.RecordBatch.from_pylist([], schema=arrow_schema(schema))


@settings(max_examples=150)
@given(data=st.data())
def test_masks_equal_the_oracle_row_by_row(data: st.DataObject) -> None:
    schema = data.draw(flat_schemas())
    rows, _ = data.draw(tables(schema, max_rows=8))
    expression = data.draw(expressions(schema, rows))
    mask = filter_mask(expression, batch_of(rows, schema), schema)
    assert mask.to_pylist() == [evaluate(expression, row) for row in rows], str(expression)


NESTED = Schema(
    NestedField(1, "s", StructType((NestedField(2, "x", LONG), NestedField(3, "d", DOUBLE)))),
    NestedField(4, "u", UNKNOWN),
    NestedField(5, "t", STRING),
)
NESTED_ROWS: list[tuple[Any, ...]] = [
    ((1, NAN), None, "a"),
    (None, None, "b"),
    ((None, 0.0), None, None),
    ((3, -0.0), None, "c"),
]


@pytest.mark.parametrize(
    "where",
    ["s.x > 1", "s.x IS NULL", "NOT (s.x = 1)", "s.d = 0.0", "s.d > 5", "isnan(s.d)", "s.x IN (1, 3)", "t NOT IN ('a')",
     "u IS NULL", "u IS NOT NULL", "s IS NULL", "s.x = 3 OR t = 'b'"],
)  # fmt: skip
def test_struct_members_and_unknown_columns_filter_as_the_oracle_says(where: str) -> None:
    expression = bind(parse_where(where), NESTED)
    batch = batch_of(NESTED_ROWS, NESTED)
    expected = [evaluate(expression, row) for row in NESTED_ROWS]
    assert filter_mask(expression, batch, NESTED).to_pylist() == expected


def test_transforms_of_columns_filter_too() -> None:
    schema = Schema(NestedField(1, "x", LONG))
    rows: list[tuple[Any, ...]] = [(i,) for i in range(20)] + [(None,)]
    expression = bind(bucket(4, col("x")) == 1, schema)
    expected = [evaluate(expression, row) for row in rows]
    assert filter_mask(expression, batch_of(rows, schema), schema).to_pylist() == expected
    assert True in expected


def test_constants_keep_everything_or_nothing() -> None:
    batch = batch_of(NESTED_ROWS, NESTED)
    assert filter_mask(TRUE, batch, NESTED).to_pylist() == [True] * 4
    assert filter_mask(FALSE, batch, NESTED).to_pylist() == [False] * 4


def test_an_unbound_expression_is_refused() -> None:
    with pytest.raises(InvalidInput, match="bind"):
        filter_mask(parse_where("t = 'a'"), batch_of(NESTED_ROWS, NESTED), NESTED)
    with pytest.raises(InvalidInput, match="bind"):
        referenced_ids(parse_where("t = 'a'"))
