"""A condition prunes only when its literal is certain under Spark's coercion."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    FixedType,
    ListType,
    NestedField,
    StructType,
)
from floeberg.sql.conditions.condition_parser import parse_condition
from floeberg.sql.conditions.predicates import conjuncts
from floeberg.sql.conditions.to_expression import to_exact_expression, to_expression
from floeberg.sql.text.cursor import Args, Cursor

SCHEMA = Schema(
    NestedField(1, "i", INT),
    NestedField(2, "l", LONG),
    NestedField(3, "f", FLOAT),
    NestedField(4, "d", DOUBLE),
    NestedField(5, "p", DecimalType(10, 2)),
    NestedField(6, "s", STRING),
    NestedField(7, "b", BOOLEAN),
    NestedField(8, "y", BINARY),
    NestedField(9, "x", FixedType(2)),
    NestedField(10, "u", UUID),
    NestedField(11, "da", DATE),
    NestedField(12, "tz", TIMESTAMPTZ),
    NestedField(13, "nt", TIMESTAMP),
    NestedField(14, "ns", TIMESTAMP_NS),
    NestedField(15, "ti", TIME),
    NestedField(16, "st", StructType((NestedField(17, "a", INT), NestedField(18, "B", INT)))),
    NestedField(19, "xs", ListType(20, StructType((NestedField(21, "a", INT),)))),
    NestedField(22, "Dup", INT),
    NestedField(23, "dup", INT),
    NestedField(24, "q", DecimalType(38, 10)),
)


def expression(text: str, *, args: Args = None, exact: bool = False, **session: object) -> str:
    cursor = Cursor(text, args=args)
    condition = parse_condition(cursor, 0, len(cursor.tokens) - 1)
    options = {"ansi": True, "session_time_zone": "UTC"} | session
    convert = to_exact_expression if exact else to_expression
    return str(convert(conjuncts(condition), SCHEMA, **options))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i = 5", "i = 5"),
        ("i == 5L", "i = 5"),
        ("5 >= i", "i <= 5"),
        ("i <> 5Y", "i != 5"),
        ("i !> 5", "i <= 5"),
        ("i < -5", "i < -5"),
        ("i > 1.5", "i > 1.5"),
        ("i = '5'", "i = 5"),
        ("i < 1e3", "i < 1000.0D"),
        ("l = 3000000000", "l = 3000000000"),
        ("i <=> 5", "i = 5"),
        ("i <=> NULL", "i IS NULL"),
        ("i = NULL", "FALSE"),
        ("i IN (1, NULL)", "i IN (1)"),
        ("i NOT IN (1, NULL)", "FALSE"),
        ("NOT (i <=> 5)", "i IS NULL OR i != 5"),
        ("d > 0.1", "d > 0.1D"),
        ("d = 1", "d = 1.0D"),
        ("f = 0.5", "f = 0.5D"),
        ("p = 1.5", "p = 1.5"),
        ("p > 1.555", "p > 1.555"),
        ("s = 'a'", "s = 'a'"),
        ('s = "a"', "s = 'a'"),
        ("s LIKE 'ab%'", "s LIKE 'ab%'"),
        ("s NOT LIKE 'ab%'", "s NOT LIKE 'ab%'"),
        ("startswith(s, 'a_')", "startswith(s, 'a_')"),
        ("b", "b = TRUE"),
        ("NOT b", "b = FALSE"),
        ("b IS TRUE", "b = TRUE"),
        ("b IS NOT TRUE", "b IS NULL OR b != TRUE"),
        ("y = X'00FF'", "y = X'00FF'"),
        ("x = X'00FF'", "x = X'00FF'"),
        ("u = '00000000-0000-0000-0000-00000000000a'", "u = UUID '00000000-0000-0000-0000-00000000000a'"),
        ("da >= DATE '2024-01-01'", "da >= DATE '2024-01-01'"),
        ("da >= '2024-01-01'", "da >= DATE '2024-01-01'"),
        ("da = CAST('2024-01-01' AS DATE)", "da = DATE '2024-01-01'"),
        ("tz >= TIMESTAMP '2024-01-01 00:00:00'", "tz >= TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("tz >= '2024-01-01'", "tz >= TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("tz = TIMESTAMP '2024-01-01 02:00:00+02:00'", "tz = TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("tz < DATE '2024-01-01'", "tz < TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        ("nt >= TIMESTAMP_NTZ '2024-01-01 00:00:00.5'", "nt >= TIMESTAMP_NTZ '2024-01-01 00:00:00.5'"),
        ("nt >= '2024-01-01'", "nt >= TIMESTAMP_NTZ '2024-01-01 00:00:00'"),
        ("st.a = 1 AND ST.b > 2", "st.a = 1 AND st.B > 2"),
        ("I = 1", "i = 1"),
    ],
)
def test_certain_literals_become_predicates(text: str, expected: str) -> None:
    assert expression(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "f > 0.1",  # compared as double, and a float is never 0.1
        "f > 0.1D",
        "f = 16777217",
        "f = 0.1F",
        "d = 0.1F",
        "d = '0.1'",
        "i = '05'",
        "i = ' 5'",
        "i = '5.0'",
        "i = '3000000000'",
        "l = 9007199254740993D",
        "l < 123456789012345678901234567890.5",
        "p = 1.5D",
        "p = '1.5'",
        "q = 12345678901234567890123456789012.5",
        "s = 5",
        "s = 'a' COLLATE UTF8_LCASE",
        "s COLLATE UTF8_LCASE = 'a'",
        "s LIKE '%a'",
        "s LIKE 'a_b%'",
        "s LIKE 'a%' ESCAPE '/'",
        "s = 'it''s'",
        "s = 'a\\nb'",
        "s = 'a' 'b'",
        "s = r'a'",
        "upper(s) = 'A'",
        "s || 'a' = 'b'",
        "b = 'true'",
        "b > FALSE",
        "y < X'80'",
        "x = X'00'",
        "u > '00000000-0000-0000-0000-00000000000a'",
        "u = 'ABCDEF00-0000-0000-0000-00000000000a'",
        "da = '2024-1-1'",
        "da = '2024-02-30'",
        "da >= TIMESTAMP '2024-01-01 00:00:00'",
        "da = '2024-01-01 10:00:00'",
        "tz = '2024-01-01 1:00:00'",
        "tz = 'tomorrow'",
        "nt = '2024-01-01 00:00:00Z'",
        "ns = TIMESTAMP_NTZ '2024-01-01 00:00:00'",
        "ti = '10:00:00'",
        "xs.a = 1",
        "dup = 1",
        "missing = 1",
        "i",
        "st = 1",
        "i = l",
        "i + 1 = 2",
        "i = 1 + l",
        "i = 1 + 2 * 3",
        "i = 1 + 1L",
        "i = 1.0 + 1",
        "i = 2147483647 + 1",
        "i IN (1, 1 + f(1))",
        "-i = 1",
        "i = 1 = TRUE",
        "i IS DISTINCT FROM 1",
        "i IN (1, 'a')",
        "i IN (1, 2L)",
        "i IN (SELECT 1)",
        "(i, l) IN ((1, 2))",
        "EXISTS (SELECT 1)",
        "i = (SELECT 1)",
        "i = current_date",
        "i::int = 1",
        "xs[0] = 1",
        "tz BETWEEN '2024-01-01' AND now()",
    ],
)
def test_what_is_not_certain_prunes_nothing(text: str) -> None:
    assert expression(text) == "TRUE"


def test_a_named_zone_widens_by_hours_and_is_never_exact() -> None:
    text = "tz >= '2024-07-01' AND tz < '2024-07-02'"
    zone = "America/New_York"
    widened = "tz >= TIMESTAMP '2024-07-01 00:00:00+00:00' AND tz <= TIMESTAMP '2024-07-02 08:00:00+00:00'"
    assert expression(text, session_time_zone=zone) == widened
    assert expression(text, session_time_zone=zone, exact=True) == "None"
    assert expression(text, session_time_zone="-04:00", exact=True) == (
        "tz >= TIMESTAMP '2024-07-01 04:00:00+00:00' AND tz < TIMESTAMP '2024-07-02 04:00:00+00:00'"
    )
    assert expression(text, session_time_zone="Nowhere/Land") == "TRUE"


def test_an_instant_needs_no_zone() -> None:
    text = "tz = TIMESTAMP '2024-07-01 00:00:00Z'"
    assert expression(text, session_time_zone="America/New_York") == "tz = TIMESTAMP '2024-07-01 00:00:00+00:00'"


def test_without_ansi_lists_and_local_times_of_text_are_not_certain() -> None:
    assert expression("tz IN ('2024-01-01')", ansi=False) == "TRUE"
    assert expression("nt = '2024-01-01'", ansi=False) == "TRUE"
    assert expression("tz = '2024-01-01'", ansi=False) != "TRUE"


def test_other_collations_and_case_rules_are_kept() -> None:
    assert expression("s = 'a' AND s LIKE 'a%'", binary_strings=False) == "TRUE"
    assert expression("dup = 1 AND I = 2 AND Dup = 3", case_sensitive=True) == "dup = 1 AND Dup = 3"


def test_a_timestamp_literal_follows_the_sessions_timestamp_type() -> None:
    text = "nt = TIMESTAMP '2024-01-01 00:00:00'"
    local = "nt = TIMESTAMP_NTZ '2024-01-01 00:00:00'"
    assert expression(text, timestamp_ntz=True, session_time_zone="America/New_York") == local
    assert " AND " in expression(text, session_time_zone="America/New_York")


@pytest.mark.parametrize(
    ("value", "column", "expected"),
    [
        (5, "i", "i = 5"),
        (True, "b", "b = TRUE"),
        ("x", "s", "s = 'x'"),
        (0.5, "d", "d = 0.5D"),
        (Decimal("1.5"), "p", "p = 1.5"),
        (dt.date(2024, 1, 1), "da", "da = DATE '2024-01-01'"),
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "tz", "tz = TIMESTAMP '2024-01-01 00:00:00+00:00'"),
        (dt.datetime(2024, 1, 1), "tz", "TRUE"),
        (float("nan"), "d", "TRUE"),
        ([1], "i", "TRUE"),
        (None, "i", "TRUE"),
    ],
)
def test_parameters_are_what_spark_makes_of_them(value: object, column: str, expected: str) -> None:
    assert expression(f"{column} = :p", args={"p": value}) == expected


def test_exactness_is_all_or_nothing() -> None:
    assert expression("i = 1 AND s = 'a'", exact=True) == "i = 1 AND s = 'a'"
    assert expression("i = 1 AND f > 0.1", exact=True) == "None"
    assert expression("i = 1 OR (l = 2 AND f > 0.1)", exact=True) == "None"
    assert expression("i = 1 OR (l = 2 AND f > 0.1)") == "i = 1 OR l = 2"
    assert expression("upper(s) = 'A'", exact=True) == "None"
