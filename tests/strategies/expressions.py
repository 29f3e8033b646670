"""Random rows, predicates and expressions, many to a seed: Hypothesis draws the seed, and shrinks it."""

from __future__ import annotations

import math
import random
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal

from hypothesis import strategies as st

from floeberg.expr.literals import Temporal, literal_from_physical
from floeberg.expr.nodes import (
    FALSE,
    PREFIX_OPS,
    SET_OPS,
    TRUE,
    UNARY_OPS,
    Expression,
    Not,
    Op,
    Predicate,
    Reference,
    Term,
    TransformTerm,
    and_,
    or_,
)
from floeberg.spec.partitions.transforms import Transform, parse_transform
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
    TIMESTAMPTZ_NS,
    UUID,
    DecimalType,
    FixedType,
    IcebergType,
    NestedField,
    StructType,
)

DECIMAL = DecimalType(9, 2)
FIXED = FixedType(2)
_INT_EXTREMES = (-(2**31), -(2**31) + 3, 2**31 - 1)
_LONG_EXTREMES = (-(2**63), -(2**63) + 3, 2**63 - 1)
_DAY_US = 86_400_000_000
_INSTANTS = [
    base + off for base in (-31_536_000_000_000, -_DAY_US, 0, _DAY_US, 31 * _DAY_US, 1_704_067_200_000_000)
    for off in (-1, 0, 1, 3_600_000_000)
]  # fmt: skip


def f32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


POOLS: dict[str, tuple[IcebergType, list[object]]] = {
    "b": (BOOLEAN, [True, False]),
    "i": (INT, [*range(-12, 13), *_INT_EXTREMES]),
    "l": (LONG, [*range(-12, 13), *_LONG_EXTREMES]),
    "f": (FLOAT, [math.nan, -math.inf, math.inf, -0.0, 0.0, 1.5, -1.5, f32(0.1), 3.0, f32(3.4028235e38)]),
    "d": (DOUBLE, [math.nan, -math.inf, math.inf, -0.0, 0.0, 1.5, -1.5, 0.1, 3.0, 5e-324, 1.7976931348623157e308]),
    "dec": (DECIMAL, [Decimal(n).scaleb(-2) for n in (*range(-120, 121, 7), 999_999_999, -999_999_999)]),
    "dt": (DATE, [-800, -366, -365, -32, -31, -30, -1, 0, 1, 30, 31, 364, 365, 366, 19723, *_INT_EXTREMES]),
    "tm": (TIME, [0, 1, 3_600_000_000, 86_399_999_999]),
    "ts": (TIMESTAMP, [*_INSTANTS, *_LONG_EXTREMES]),
    "tz": (TIMESTAMPTZ, [*_INSTANTS]),
    "ns": (TIMESTAMP_NS, [v * 1000 + o for v in _INSTANTS for o in (0, 1, 999)]),
    "tzns": (TIMESTAMPTZ_NS, [v * 1000 + o for v in _INSTANTS[:8] for o in (0, 1)]),
    "s": (STRING, ["", "a", "ab", "abc", "abcd", "abd", "b", "é", "\uffff", "\U0001f600", "ab\U0001f600c", "%_\\'"]),
    "u": (UUID, [uuid.UUID(int=n) for n in (0, 1, 1 << 63, 1 << 64, 1 << 127, (1 << 127) + 1, (1 << 128) - 1)]),
    "fx": (FIXED, [b"\x00\x00", b"\x00\x01", b"\x7f\xff", b"\x80\x00", b"\xff\xff"]),
    "bin": (BINARY, [b"", b"\x00", b"\x00\x01", b"\x7f", b"\x80", b"\xff", b"\xff\xff\xff", b"\x00\x01\x02"]),
    "st.x": (INT, [*range(-3, 4)]),
    "r": (LONG, [*range(-5, 6)]),
}  # fmt: skip
COLUMNS = tuple(POOLS)
COLUMN_IDS = {name: number for number, name in enumerate(COLUMNS, 1)}
STRUCT_ID = 100


def _field(name: str) -> NestedField:
    return NestedField(COLUMN_IDS[name], name.rpartition(".")[2], POOLS[name][0], required=name == "r")


SCHEMA = Schema(
    *(_field(name) for name in COLUMNS if "." not in name),
    NestedField(STRUCT_ID, "st", StructType((_field("st.x"),))),
)
TRANSFORMS: dict[str, list[str]] = {
    name: [
        "identity",
        *(["bucket[4]", "bucket[1]"] if name not in ("b", "f", "d") else []),
        *(["truncate[3]", "truncate[1]", "truncate[8]"] if name in ("i", "l", "dec", "s", "bin", "st.x", "r") else []),
        *(["year", "month", "day"] if name in ("dt", "ts", "tz", "ns", "tzns") else []),
        *(["hour"] if name in ("ts", "tz", "ns", "tzns") else []),
    ]
    for name in COLUMNS
}
COMPARISONS = (Op.LT, Op.LT_EQ, Op.GT, Op.GT_EQ, Op.EQ, Op.NOT_EQ)

seeds = st.integers(0, 2**32)


def random_value(rng: random.Random, column: str) -> object:
    """A value of the column in physical form, or None where it may be null."""
    if column != "r" and rng.random() < 0.12:
        return None
    return rng.choice(POOLS[column][1])


def random_row(rng: random.Random) -> dict[str, object]:
    row = {name: random_value(rng, name) for name in COLUMNS if "." not in name}
    row["st"] = None if rng.random() < 0.2 else {"x": random_value(rng, "st.x")}
    return row


def row_value(row: dict[str, object], column: str) -> object:
    if column != "st.x":
        return row[column]
    struct_value = row["st"]
    return None if struct_value is None else struct_value["x"]  # type: ignore[index]


def random_literal(rng: random.Random, column: str) -> object:
    """A literal of the column's type, or one that lies between its values or beyond them."""
    data_type, pool = POOLS[column]
    value = rng.choice([v for v in pool if v == v])
    if rng.random() < 0.7:
        return literal_from_physical(data_type, value)
    return _ODD.get(column, lambda rng, v: literal_from_physical(data_type, v))(rng, value)


def _odd_int(rng: random.Random, value: object) -> object:
    return rng.choice([Decimal("1.5"), Decimal("-0.5"), 10**30, -(10**30), 2.5, math.inf, -math.inf, Decimal("1e50")])


def _odd_float(rng: random.Random, value: object) -> object:
    return rng.choice([0.1, Decimal("0.1"), 3, 10**400, Decimal("-1e400"), 3.5e38, 1e-50, -1e-50, 16777217])


def _odd_timestamp(rng: random.Random, value: object) -> object:
    assert isinstance(value, int)
    return rng.choice(
        [Temporal(TIMESTAMP_NS, value * 1000 + 1), Temporal(DATE, value // _DAY_US), Temporal(TIMESTAMP, value)]
    )


_ODD: dict[str, Callable[[random.Random, object], object]] = {
    "i": _odd_int,
    "l": _odd_int,
    "st.x": _odd_int,
    "r": _odd_int,
    "dec": lambda rng, value: rng.choice([Decimal("0.005"), 1, 0.5, 10**20, Decimal("-1e60"), "1.25", 0.07]),
    "f": _odd_float,
    "d": _odd_float,
    "dt": lambda rng, value: rng.choice(
        [Temporal(TIMESTAMP, _DAY_US + 1), Temporal(TIMESTAMP, -_DAY_US), "2024-01-01"]
    ),
    "ts": _odd_timestamp,
}


def random_predicate(rng: random.Random, column: str, term: Term | None = None) -> Predicate:
    """A predicate on the column, or on a transform of it (given as the term, with literals of the column's values)."""
    data_type, _ = POOLS[column]
    ops = [*COMPARISONS, *COMPARISONS, *SET_OPS, *UNARY_OPS, *(PREFIX_OPS if data_type == STRING else ())]
    op = rng.choice(sorted(ops))
    term = term or Reference(column)
    if op in UNARY_OPS:
        return Predicate(op, term)
    if op in PREFIX_OPS:
        return Predicate(op, term, (rng.choice(["", "a", "ab", "abc", "abcd", "abcde", "é", "%", "\U0001f600"]),))
    count = rng.choice([0, 1, 1, 2, 3, 4]) if op in SET_OPS else 1
    return Predicate(op, term, tuple(random_literal(rng, column) for _ in range(count)))  # type: ignore[arg-type]


def transform_predicate(rng: random.Random, column: str, transform: Transform) -> Predicate:
    """A predicate on a transform of the column, its literals results of the transform."""
    data_type, pool = POOLS[column]
    term = TransformTerm(transform, Reference(column))
    op = rng.choice([*COMPARISONS, *sorted(SET_OPS), Op.IS_NULL, Op.NOT_NULL])
    if op in UNARY_OPS:
        return Predicate(op, term)
    results = [apply_or_none(transform, data_type, value) for value in rng.sample(pool, 3)]
    literals = tuple(
        literal_from_physical(transform.result_type(data_type), value) for value in results if value is not None
    )
    if op in SET_OPS:
        return Predicate(op, term, literals)
    return Predicate(op, term, literals[:1]) if literals else Predicate(Op.NOT_NULL, term)


def apply_or_none(transform: Transform, data_type: IcebergType, value: object) -> object:
    """The result, or None where it overflows."""
    try:
        return transform.apply(data_type, value)
    except ValueError:
        return None


def random_expression(
    rng: random.Random, columns: tuple[str, ...] = COLUMNS, *, depth: int = 3, transforms: bool = False
) -> Expression:
    """And, or, not over predicates; Not nodes stay where they are put."""
    kind = rng.random()
    if depth == 0 or kind < 0.35:
        column = rng.choice(columns)
        if transforms and rng.random() < 0.3 and len(TRANSFORMS[column]) > 1:
            return transform_predicate(rng, column, parse_transform(rng.choice(TRANSFORMS[column][1:])))
        return rng.choice([TRUE, FALSE]) if rng.random() < 0.03 else random_predicate(rng, column)
    if kind < 0.5:
        return Not(random_expression(rng, columns, depth=depth - 1, transforms=transforms))
    parts = [
        random_expression(rng, columns, depth=depth - 1, transforms=transforms) for _ in range(rng.choice([2, 2, 3]))
    ]
    return (and_ if kind < 0.75 else or_)(*parts)
