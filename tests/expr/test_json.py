"""Expressions in JSON: https://iceberg.apache.org/expressions-spec/ and the REST protocol's older form."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.errors import FloebergError, LimitExceeded, MetadataCorrupt
from floeberg.expr.bind import bind
from floeberg.expr.build import bucket, col, day
from floeberg.expr.evaluate import holds, keeps, value_of
from floeberg.expr.json import for_others, from_json, parse_json, to_json, write_json
from floeberg.expr.nodes import FALSE, TRUE, BoundPredicate, Expression, Not, Op, and_, fold
from floeberg.sql.conditions.filters import parse_where
from strategies.expressions import SCHEMA, random_expression, random_row, seeds


@settings(max_examples=60)
@given(seeds)
def test_the_typed_form_gives_the_expression_back(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(15):
        expression = random_expression(rng, transforms=True)
        read = parse_json(write_json(expression, typed=True))
        if read != expression:  # no type holds so many digits, or nanoseconds in such a year: they travel as text
            assert re.search(r"\d{39}|Decimal\('-?1E[+-]|value=-?92233\d{17}", repr(expression))
            assert bind(read, SCHEMA, physical_literals=True) == bind(expression, SCHEMA)


@settings(max_examples=60)
@given(seeds)
def test_the_form_of_terms_binds_to_the_same(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(15):
        expression = random_expression(rng, transforms=True)
        read = parse_json(write_json(expression))
        bound = bind(expression, SCHEMA)
        assert bind(read, SCHEMA, physical_literals=True) == bound
        assert bind(parse_json(write_json(bound)), SCHEMA, physical_literals=True) == bound
        assert bind(parse_json(write_json(bound, typed=True), schema=SCHEMA), SCHEMA) == bound


@pytest.mark.parametrize(
    ("where", "written"),
    [
        ("a > 3", {"type": "gt", "term": "a", "value": 3}),
        ("a <= 1.50", {"type": "lt-eq", "term": "a", "value": "1.50"}),
        ("a != 'x'", {"type": "not-eq", "term": "a", "value": "x"}),
        ("a IS NULL", {"type": "is-null", "term": "a"}),
        ("NOT isnan(a)", {"type": "not-nan", "term": "a"}),
        ("a IN (1, 2)", {"type": "in", "term": "a", "values": [1, 2]}),
        ("a NOT LIKE 'x%'", {"type": "not-starts-with", "term": "a", "value": "x"}),
        ("a = DATE '2024-01-01'", {"type": "eq", "term": "a", "value": "2024-01-01"}),
        ("a = X'00FF'", {"type": "eq", "term": "a", "value": "00FF"}),
        ("bucket(16, a) = 3", {"type": "eq", "term": {"type": "transform", "transform": "bucket[16]", "term": "a"}, "value": 3}),
        ("NOT (a = 1)", {"type": "not", "child": {"type": "eq", "term": "a", "value": 1}}),
        ("a = 1 AND TRUE", {"type": "and", "left": {"type": "eq", "term": "a", "value": 1}, "right": True}),
        ("TRUE", True),
    ],
)  # fmt: skip
def test_the_form_of_terms_is_javas(where: str, written: object) -> None:
    produced = to_json(parse_where(where))
    assert json.loads(json.dumps(produced).replace("00ff", "00FF")) == written
    assert from_json(written) == from_json(produced) or "00FF" in str(written)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ({"type": "true"}, TRUE), ({"type": "false"}, FALSE), (False, FALSE), ({"type": "literal", "value": True}, TRUE),
        ({"type": "GT_EQ", "term": {"type": "reference", "term": "a"}, "value": {"type": "literal", "value": 3}}, col("a") >= 3),
        ({"type": "lt", "left": {"type": "reference", "name": "a"}, "right": 3}, col("a") < 3),
        ({"type": "lt", "left": 3, "right": {"type": "reference", "name": "a"}}, col("a") > 3),
        ({"type": "eq", "left": {"type": "literal", "value": "x"}, "right": {"type": "reference", "name": "a"}}, col("a") == "x"),
        ({"type": "eq", "left": {"type": "reference", "id": 3}, "right": 1}, col("l") == 1),
        ({"type": "is-null", "child": {"type": "reference", "name": "a"}}, col("a").is_null()),
        ({"type": "in", "child": {"type": "reference", "name": "a"}, "values": {"type": "literals", "values": ["1.50"], "data-type": "decimal(9, 2)"}}, col("a").in_([Decimal("1.50")])),
        ({"type": "eq", "left": {"type": "apply", "function": "bucket", "arguments": [16, {"type": "reference", "name": "a"}]}, "right": 3}, bucket(16, "a") == 3),
        ({"type": "eq", "left": {"type": "apply", "function": ["day"], "arguments": [{"type": "reference", "name": "a"}]}, "right": {"type": "literal", "value": "2024-01-01", "data-type": "date"}}, parse_where("day(a) = DATE '2024-01-01'")),
    ],
)  # fmt: skip
def test_every_form_is_read(read: object, expected: Expression) -> None:
    assert from_json(read, schema=SCHEMA) == expected


@pytest.mark.parametrize(
    "malformed",
    [
        None, 3, "x", [], {}, {"type": 3}, {"type": "maybe"}, {"type": "not"}, {"type": "and", "left": True},
        {"type": "gt", "term": "a"}, {"type": "gt", "term": "a", "value": None}, {"type": "gt", "term": 3, "value": 3},
        {"type": "gt", "term": "a", "values": [1]}, {"type": "is-null", "term": "a", "value": 3}, {"type": "in", "term": "a", "value": 3},
        {"type": "in", "term": "a", "values": 3}, {"type": "in", "term": "a", "values": {"values": [1], "data-type": 3}},
        {"type": "gt", "term": "", "value": 3}, {"type": "gt", "term": {"type": "spiral"}, "value": 3},
        {"type": "gt", "term": {"type": "transform", "transform": "spiral", "term": "a"}, "value": 3},
        {"type": "gt", "term": {"type": "transform", "transform": 3, "term": "a"}, "value": 3},
        {"type": "gt", "term": {"type": "transform", "transform": "day", "term": {"type": "transform"}}, "value": 3},
        {"type": "gt", "left": {"type": "reference", "id": 3}, "right": 3}, {"type": "gt", "left": {"type": "reference", "name": 3}, "right": 3},
        {"type": "gt", "left": {"type": "reference", "name": "a"}, "right": {"type": "reference", "name": "b"}}, {"type": "gt", "left": 1, "right": 2},
        {"type": "gt", "left": {"type": "apply", "function": {"catalog": "mine", "identifier": ["f"]}, "arguments": []}, "right": 3},
        {"type": "gt", "left": {"type": "apply", "function": "day", "arguments": 3}, "right": 3},
        {"type": "gt", "left": {"type": "apply", "function": 3, "arguments": []}, "right": 3},
        {"type": "gt", "left": {"type": "reference", "name": "a"}, "right": {"type": "literal", "value": "x", "data-type": "date"}},
        {"type": "literal", "value": 3}, {"type": "starts-with", "term": "a", "value": 3}, {"type": "gt", "term": "a", "value": {"type": "x"}},
    ],
)  # fmt: skip
def test_malformed_json_is_refused(malformed: object) -> None:
    with pytest.raises(MetadataCorrupt):
        from_json(malformed)


def test_texts_that_are_no_json_or_nest_too_deep_are_refused() -> None:
    for data in (b"", b"{", b'{"type": "true", "type": "false"}', b"\xff"):
        with pytest.raises(MetadataCorrupt):
            parse_json(data)
    deep = b'{"type":"not","child":' * 100_000 + b"true" + b"}" * 100_000
    with pytest.raises(LimitExceeded):
        parse_json(deep)
    with pytest.raises((MetadataCorrupt, LimitExceeded)):
        parse_json(b'{"type":"not","child":' * 300 + b"true" + b"}" * 300)


def test_a_long_conjunction_nests_by_its_logarithm_and_comes_back() -> None:
    wide = and_(*(col("x") != i for i in range(5000)))
    assert parse_json(write_json(wide)) == wide


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["a", "day", "gt", "not", "date"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "term", "value", "values", "left", "right", "child", "id", "name", "transform", "data-type", "function", "arguments"]),
        inner | st.sampled_from(["gt", "in", "is-null", "not", "and", "reference", "apply", "literal", "transform", "literals"]),
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=200)
@given(_JSON)
def test_any_json_is_read_or_raises_an_error_of_ours(obj: object) -> None:
    try:
        from_json(obj, schema=SCHEMA)
    except FloebergError:
        return


def two_valued(expression: Expression, row: dict[str, object]) -> bool:
    """The specification's meaning: null and NaN are neither less nor greater, and differ from every literal."""

    def leaf(node: Expression) -> bool:
        if not isinstance(node, BoundPredicate):
            return node == TRUE
        value = value_of(node.term, row)
        if node.op in (Op.NOT_EQ, Op.NOT_IN, Op.NOT_STARTS_WITH) and value is None:
            return True
        if value != value and node.op in (Op.LT, Op.LT_EQ, Op.GT, Op.GT_EQ):
            return False
        return holds(node.op, value, node.literals) is True

    return fold(expression, leaf=leaf, every=all, some=any, negate=lambda value: not value)


@settings(max_examples=60)
@given(seeds)
def test_what_is_sent_to_others_keeps_every_row_that_is_kept_here(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        bound = bind(random_expression(rng), SCHEMA)
        row = random_row(rng)
        if keeps(bound, row):
            assert two_valued(for_others(Not(Not(bound))), row)
    assert str(for_others(bind(col("d") > 3, SCHEMA))) == "d > 3.0D OR isnan(d)"
    assert str(for_others(bind(day("ts") > "2024-01-01", SCHEMA))) == "days(ts) > DATE '2024-01-01'"
