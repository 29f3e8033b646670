"""Random schemas and rows for tests of the Arrow engine, with values in physical form (see spec/types.py)."""

from __future__ import annotations

import math
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.types import arrow_schema
from floeberg.expr.nodes import (
    PREFIX_OPS,
    SET_OPS,
    UNARY_OPS,
    BoundPredicate,
    BoundReference,
    Expression,
    Op,
    and_,
    not_,
    or_,
)
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
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)

PRIMITIVES: tuple[IcebergType, ...] = (
    BOOLEAN, INT, LONG, FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS, STRING, UUID,
    BINARY, FixedType(5), DecimalType(9, 2), DecimalType(18, 4), DecimalType(38, 10), GeometryType(),
)  # fmt: skip
POINT = b"\x01\x01\x00\x00\x00" + bytes(16)

_ORC_US = (-(2**63) // 1000 + 1, (2**63 - 1) // 1000)
_US = (-62135596800000000, 253402300799999999)


def values(data_type: IcebergType, *, orc: bool = False) -> st.SearchStrategy[Any]:
    """Physical values of a type, extremes among them."""
    low, high = _ORC_US if orc else _US
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            limit = 10**precision - 1
            return st.integers(-limit, limit).map(lambda n: Decimal(n).scaleb(-scale, _WIDE))
        case FixedType(length=length):
            return st.binary(min_size=length, max_size=length)
        case GeometryType():
            return st.just(POINT)
        case StructType():
            return st.tuples(*(optional(m.type, required=m.required, orc=orc) for m in data_type.members))
        case ListType():
            return st.lists(optional(data_type.element_type, required=data_type.element_required, orc=orc), max_size=3)
        case MapType():
            return st.dictionaries(
                values(data_type.key_type, orc=orc),
                optional(data_type.value_type, required=data_type.value_required, orc=orc),
                max_size=3,
            ).map(lambda d: list(d.items()))
    return {
        BOOLEAN: st.booleans(),
        INT: st.integers(-(2**31), 2**31 - 1),
        LONG: st.integers(-(2**63), 2**63 - 1),
        FLOAT: st.floats(width=32),
        DOUBLE: st.floats(),
        DATE: st.integers(-719162, 2932896),
        TIME: st.integers(0, 86_399_999_999),
        TIMESTAMP: st.integers(low, high),
        TIMESTAMPTZ: st.integers(low, high),
        TIMESTAMP_NS: st.integers(-(2**63) + 1, 2**63 - 1),
        TIMESTAMPTZ_NS: st.integers(-(2**63) + 1, 2**63 - 1),
        STRING: st.text(max_size=30),
        UUID: st.uuids(),
        BINARY: st.binary(max_size=30),
    }[data_type]


def _wide() -> Any:
    from decimal import Context

    return Context(prec=60)


_WIDE = _wide()


def optional(data_type: IcebergType, *, required: bool, orc: bool = False) -> st.SearchStrategy[Any]:
    found = values(data_type, orc=orc)
    return found if required else st.none() | found


class _Ids:
    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        self.last += 1
        return self.last


@st.composite
def types(draw: Any, ids: _Ids, depth: int = 2) -> IcebergType:
    kind = draw(st.sampled_from(["primitive"] * 4 + (["struct", "list", "map"] if depth else [])))
    if kind == "primitive":
        return draw(st.sampled_from(PRIMITIVES))
    if kind == "struct":
        count = draw(st.integers(1, 3))
        return StructType(
            tuple(
                NestedField(ids.next(), f"m{i}", draw(types(ids, depth - 1)), draw(st.booleans())) for i in range(count)
            )
        )
    if kind == "list":
        return ListType(ids.next(), draw(types(ids, depth - 1)), draw(st.booleans()))
    key = draw(st.sampled_from([STRING, LONG, DATE, UUID, DecimalType(9, 2)]))
    return MapType(ids.next(), key, ids.next(), draw(types(ids, depth - 1)), draw(st.booleans()))


@st.composite
def schemas(draw: Any, max_columns: int = 4) -> Schema:
    ids = _Ids()
    count = draw(st.integers(1, max_columns))
    return Schema(*(NestedField(ids.next(), f"c{i}", draw(types(ids)), draw(st.booleans())) for i in range(count)))


@st.composite
def tables(
    draw: Any, schema: Schema, *, max_rows: int = 6, orc: bool = False
) -> tuple[list[tuple[Any, ...]], pa.Table]:
    """Rows in physical form, and the same as an Arrow table."""
    row = st.tuples(*(optional(f.type, required=f.required, orc=orc) for f in schema.fields))
    rows = draw(st.lists(row, max_size=max_rows))
    return rows, table_of(rows, schema)


def table_of(rows: list[tuple[Any, ...]], schema: Schema) -> pa.Table:
    columns = [array_of([row[i] for row in rows], field.type) for i, field in enumerate(schema.fields)]
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def same(left: Any, right: Any) -> bool:
    """Equality that holds for NaN, and not between zeros of different sign."""
    return canonical(left) == canonical(right)


def canonical(value: Any) -> Any:
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, dict):
        return [(key, canonical(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, uuid.UUID):
        return value.bytes
    return value


FILTER_TYPES: tuple[IcebergType, ...] = tuple(t for t in PRIMITIVES if not isinstance(t, GeometryType))


@st.composite
def predicates(draw: Any, schema: Schema, rows: list[tuple[Any, ...]]) -> Expression:
    """A bound predicate on a top-level primitive column; literals often are values that the rows have."""
    index = draw(st.sampled_from([i for i, f in enumerate(schema.fields) if not f.type.is_nested]))
    field = schema.fields[index]
    reference = BoundReference(field.field_id, field.name, field.type, field.required, (index,), (field.name,))
    here = [row[index] for row in rows if row[index] is not None]
    literal = st.sampled_from(here) | values(field.type) if here else values(field.type)
    ops = [op for op in Op if op not in PREFIX_OPS or field.type == STRING]
    if field.type not in (FLOAT, DOUBLE):
        ops = [op for op in ops if op not in (Op.IS_NAN, Op.NOT_NAN)]
    op = draw(st.sampled_from(ops))
    if op in UNARY_OPS:
        return BoundPredicate(op, reference)
    if op in SET_OPS:
        return BoundPredicate(op, reference, tuple(draw(st.lists(literal, min_size=1, max_size=3))))
    if op in PREFIX_OPS:
        return BoundPredicate(op, reference, (draw(literal)[: draw(st.integers(0, 3))],))
    return BoundPredicate(op, reference, (draw(literal),))


def expressions(schema: Schema, rows: list[tuple[Any, ...]]) -> st.SearchStrategy[Expression]:
    """Bound expressions of some depth."""
    return st.recursive(
        predicates(schema, rows),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: and_(*parts)),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: or_(*parts)),
            inner.map(not_),
        ),
        max_leaves=4,
    )


@st.composite
def flat_schemas(draw: Any, max_columns: int = 4) -> Schema:
    """Schemas of primitive columns that filters can ask about."""
    count = draw(st.integers(1, max_columns))
    return Schema(
        *(NestedField(i + 1, f"c{i}", draw(st.sampled_from(FILTER_TYPES)), draw(st.booleans())) for i in range(count))
    )
