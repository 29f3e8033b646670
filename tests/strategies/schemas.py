"""Hypothesis strategies for types and schemas."""

from __future__ import annotations

import uuid
from decimal import Decimal

from hypothesis import strategies as st

from floeberg.spec import types as t
from floeberg.spec.schemas.projection import assign_fresh_ids
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, IcebergType, ListType, MapType, NestedField, StructType

V2_PRIMITIVES = (
    t.BOOLEAN, t.INT, t.LONG, t.FLOAT, t.DOUBLE, t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ, t.STRING, t.UUID, t.BINARY,
    t.FixedType(3), t.DecimalType(9, 2), t.DecimalType(38, 0),
)  # fmt: skip
V3_PRIMITIVES = (
    *V2_PRIMITIVES, t.TIMESTAMP_NS, t.TIMESTAMPTZ_NS, t.UNKNOWN, t.VARIANT, t.GeometryType(), t.GeometryType("EPSG:3857"),
    t.GeographyType(), t.GeographyType("OGC:CRS84", "karney"),
)  # fmt: skip

names = st.text(
    st.characters(codec="utf-8", exclude_characters=".", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8
)

_LONGS = st.integers(-(2**63), 2**63 - 1)
_VALUES = {
    t.BooleanType: st.booleans(),
    t.IntegerType: st.integers(-(2**31), 2**31 - 1),
    t.LongType: _LONGS,
    t.FloatType: st.floats(width=32, allow_nan=False, allow_infinity=False),
    t.DoubleType: st.floats(allow_nan=False, allow_infinity=False),
    t.DateType: st.integers(-(2**31), 2**31 - 1),
    t.TimeType: st.integers(0, 86_400_000_000 - 1),
    t.TimestampType: _LONGS,
    t.TimestamptzType: _LONGS,
    t.TimestampNsType: _LONGS,
    t.TimestamptzNsType: _LONGS,
    t.StringType: st.text(st.characters(codec="utf-8"), max_size=8),
    t.UuidType: st.integers(0, 2**128 - 1).map(lambda number: uuid.UUID(int=number)),
    t.BinaryType: st.binary(max_size=8),
}


def values(data_type: IcebergType) -> st.SearchStrategy[object]:
    """Values of a primitive type that has a JSON form."""
    if isinstance(data_type, t.FixedType):
        return st.binary(min_size=data_type.length, max_size=data_type.length)
    if isinstance(data_type, t.DecimalType):
        top = 10**data_type.precision - 1
        return st.integers(-top, top).map(
            lambda number: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -data_type.scale))
        )
    return _VALUES.get(type(data_type), st.none())


def data_types(primitives=V3_PRIMITIVES, *, defaults: bool = False) -> st.SearchStrategy[IcebergType]:
    """Types of any shape; their field ids are not unique yet."""
    return st.recursive(
        st.sampled_from(primitives),
        lambda inner: st.one_of(
            st.builds(ListType, st.just(0), inner, st.booleans()),
            st.builds(MapType, st.just(0), inner, st.just(0), inner, st.booleans()),
            members(inner, defaults=defaults).map(StructType),
        ),
        max_leaves=6,
    )


@st.composite
def members(draw, inner, *, defaults: bool = False, max_size: int = 4):
    result = []
    for name in draw(st.lists(names, min_size=1, max_size=max_size, unique=True)):
        data_type = draw(inner)
        required = draw(st.booleans()) and not isinstance(data_type, t.UnknownType)
        initial = write = UNSET
        if defaults and data_type.is_primitive:
            initial, write = (draw(st.one_of(st.just(UNSET), st.none(), values(data_type))) for _ in range(2))
        doc = draw(st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=5)))
        result.append(NestedField(0, name, data_type, required, doc, initial, write))
    return tuple(result)


def schemas(primitives=V3_PRIMITIVES, *, defaults: bool = False, max_size: int = 5) -> st.SearchStrategy[Schema]:
    """Schemas with fresh ids."""
    return members(data_types(primitives, defaults=defaults), defaults=defaults, max_size=max_size).map(with_fresh_ids)


def with_fresh_ids(fields: tuple[NestedField, ...]) -> Schema:
    from floeberg.spec.schemas.projection import IdCounter, assign_fresh_type_ids

    struct = assign_fresh_type_ids(StructType(fields), IdCounter(0).next_id)
    assert isinstance(struct, StructType)
    return assign_fresh_ids(Schema(*struct.members))
