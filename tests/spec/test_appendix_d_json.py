"""Appendix D of the specification: JSON single-value serialization."""

from __future__ import annotations

import json
import re
import uuid
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, MetadataCorrupt
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
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    primitive_from_string,
)
from floeberg.spec.values.single_value import from_json, to_json

VECTORS = json.loads((Path(__file__).parents[1] / "golden" / "vectors" / "single_value_json.json").read_text())
LONGS = st.integers(-(2**63), 2**63 - 1)


def vector_type(text: str) -> IcebergType:
    """The types of the vectors, in their own shorthand."""
    if match := re.fullmatch(r"list<(.*)>(#\d+)?", text):
        return ListType(101, vector_type(match[1]))
    if match := re.fullmatch(r"map<(\w+),(.*)>(#\d+,#\d+)?", text):
        return MapType(102, vector_type(match[1]), 103, vector_type(match[2]))
    if match := re.fullmatch(r"struct<(.*)>", text):
        members = re.findall(r"(\d+):(?:\w+:)?(struct<[^>]*>|\w+)", match[1])
        return StructType(tuple(NestedField(int(i), f"f{i}", vector_type(name)) for i, name in members))
    return primitive_from_string(text)


# A negative scale is no type of ours: the specification's own table of types has none, and no engine writes one.
VALID = [case for case in VECTORS["valid"] if case[0] != "decimal(9,-20)"]


@pytest.mark.parametrize(("type_name", "text"), VALID)
def test_each_golden_value_survives(type_name: str, text: str) -> None:
    data_type = vector_type(type_name)
    assert to_json(data_type, from_json(data_type, json.loads(text))) == json.loads(text)


@pytest.mark.parametrize(("type_name", "text"), VECTORS["invalid"])
def test_each_invalid_golden_value_is_refused(type_name: str, text: str) -> None:
    with pytest.raises(MetadataCorrupt):
        from_json(vector_type(type_name), json.loads(text))


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        (BOOLEAN, True, True),
        (INT, 34, 34),
        (LONG, 34, 34),
        (FLOAT, 1.0, 1.0),
        (DOUBLE, 1.0, 1.0),
        (DecimalType(9, 2), Decimal("14.20"), "14.20"),
        (DecimalType(38, 30), Decimal("0E-30"), "0." + "0" * 30),
        (DATE, 17486, "2017-11-16"),
        (TIME, 81068123456, "22:31:08.123456"),
        (TIMESTAMP, 1510871468123456, "2017-11-16T22:31:08.123456"),
        (TIMESTAMPTZ, 1510871468123456, "2017-11-16T22:31:08.123456+00:00"),
        (TIMESTAMP_NS, 1510871468123456789, "2017-11-16T22:31:08.123456789"),
        (TIMESTAMPTZ_NS, 1510871468123456789, "2017-11-16T22:31:08.123456789+00:00"),
        (STRING, "iceberg", "iceberg"),
        (UUID, uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        (FixedType(4), b"\x00\x01\x02\xff", "000102ff"),
        (BINARY, b"\x00\x01\x02\xff", "000102ff"),
        (
            StructType((NestedField(1, "a", INT), NestedField(2, "b", STRING))),
            {"a": 1, "b": "bar"},
            {"1": 1, "2": "bar"},
        ),
        (ListType(1, INT), [1, 2, 3], [1, 2, 3]),
        (MapType(1, STRING, 2, INT), {"a": 1, "b": 2}, {"keys": ["a", "b"], "values": [1, 2]}),
        (GeometryType(), bytes.fromhex("01010000000000000000003e400000000000002440"), "POINT (30 10)"),
        (GeographyType(), bytes.fromhex("01010000000000000000003e400000000000002440"), "POINT (30 10)"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_each_row_of_the_table(data_type: IcebergType, value: object, expected: object) -> None:
    assert to_json(data_type, value) == expected
    assert from_json(data_type, expected) == value


SCALARS = [
    (BOOLEAN, st.booleans()),
    (INT, st.integers(-(2**31), 2**31 - 1)),
    (LONG, LONGS),
    (FLOAT, st.floats(width=32, allow_nan=False, allow_infinity=False)),
    (DOUBLE, st.floats(allow_nan=False, allow_infinity=False)),
    (DATE, st.integers(-(2**31), 2**31 - 1)),
    (TIME, st.integers(0, 86_400_000_000 - 1)),
    (TIMESTAMP, LONGS),
    (TIMESTAMPTZ, LONGS),
    (TIMESTAMP_NS, LONGS),
    (TIMESTAMPTZ_NS, LONGS),
    (STRING, st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)),
    (UUID, st.uuids()),
    (FixedType(3), st.binary(min_size=3, max_size=3)),
    (BINARY, st.binary(max_size=8)),
    (DecimalType(5, 2), st.integers(-99999, 99999).map(lambda n: Decimal(n).scaleb(-2))),
]


@st.composite
def typed_values(draw: st.DrawFn, depth: int = 2) -> tuple[IcebergType, object]:
    """A type and a value of it, nested up to a depth."""
    kind = draw(st.sampled_from(["scalar", "list", "map", "struct"] if depth else ["scalar"]))
    if kind == "scalar":
        data_type, values = draw(st.sampled_from(SCALARS))
        return data_type, draw(st.none() | values)
    if kind == "list":
        element, value = draw(typed_values(depth=depth - 1))
        return ListType(1, element), draw(st.lists(st.just(value), max_size=3))
    if kind == "map":
        key_type, keys = draw(st.sampled_from(SCALARS))
        value_type, value = draw(typed_values(depth=depth - 1))
        return MapType(1, key_type, 2, value_type), draw(st.dictionaries(keys, st.just(value), max_size=3))
    members = [draw(typed_values(depth=depth - 1)) for _ in range(draw(st.integers(0, 3)))]
    fields = tuple(NestedField(i + 1, f"f{i}", of) for i, (of, _) in enumerate(members))
    return StructType(fields), {f"f{i}": value for i, (_, value) in enumerate(members)}


@given(typed_values())
def test_every_value_survives_the_json_form(typed: tuple[IcebergType, object]) -> None:
    data_type, value = typed
    written = json.loads(json.dumps(to_json(data_type, value)))
    assert from_json(data_type, written) == value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["1", "2", "keys", "values"]), inner),
    max_leaves=6,
)
ALL_TYPES = [data_type for data_type, _ in SCALARS] + [
    UNKNOWN,
    VARIANT,
    GeometryType(),
    GeographyType(),
    ListType(1, INT, element_required=True),
    MapType(1, STRING, 2, INT),
    MapType(1, ListType(3, INT), 2, INT),
    StructType((NestedField(1, "a", INT, required=True), NestedField(2, "b", ListType(3, STRING)))),
]


@given(st.sampled_from(ALL_TYPES), json_values)
def test_any_json_gives_a_value_or_metadata_corrupt(data_type: IcebergType, obj: object) -> None:
    try:
        value = from_json(data_type, obj)
    except MetadataCorrupt:
        return
    to_json(data_type, value)


@given(st.sampled_from(ALL_TYPES), json_values | st.binary() | st.decimals() | st.uuids())
def test_any_object_is_written_or_refused_as_invalid_input(data_type: IcebergType, value: object) -> None:
    try:
        to_json(data_type, value)
    except InvalidInput:
        return


def test_a_missing_member_of_a_struct_stays_missing_and_a_null_one_null() -> None:
    """Seed 002: a member that a struct's default leaves out takes its own default."""
    struct = StructType((NestedField(1, "a", INT), NestedField(2, "b", INT)))
    assert from_json(struct, {}) == {}
    assert from_json(struct, {"1": None}) == {"a": None}
    assert to_json(struct, {}) == {}
    assert to_json(struct, (1, None)) == {"1": 1, "2": None}


def test_a_map_with_nested_keys_is_a_list_of_pairs() -> None:
    data_type = MapType(1, ListType(3, INT), 2, INT)
    obj = {"keys": [[1], [2]], "values": [1, None]}
    assert from_json(data_type, obj) == [([1], 1), ([2], None)]
    assert to_json(data_type, from_json(data_type, obj)) == obj


@pytest.mark.parametrize(
    ("data_type", "obj"),
    [
        (INT, 1.0),
        (INT, True),
        (INT, 2**31),
        (LONG, "1"),
        (FLOAT, "NaN"),
        (DOUBLE, float("inf")),
        (DOUBLE, 10**400),
        (DecimalType(9, 2), "14.2"),
        (DecimalType(9, 2), "1e999999999"),
        (DecimalType(9, 2), 14.20),
        (DATE, "2017-02-29"),
        (DATE, 17486),
        (TIME, "24:00:00"),
        (TIMESTAMP, "2017-11-16T22:31:08+00:00"),
        (TIMESTAMPTZ, "2017-11-16T22:31:08"),
        (TIMESTAMPTZ, "2017-11-16T14:31:08-08:00"),
        (TIMESTAMP, "2017-11-16 22:31:08"),
        (TIMESTAMP, "2017-11-16T22:31:08.1234567"),
        (UUID, "{f79c3e09-677c-4bbd-a479-3f349cb785e7}"),
        (BINARY, "0x00"),
        (MapType(1, STRING, 2, INT), {"keys": ["a", "a"], "values": [1, 2]}),
        (MapType(1, STRING, 2, INT), {"keys": [None], "values": [1]}),
        (ListType(1, INT, element_required=True), [None]),
        (VARIANT, {}),
        (UNKNOWN, 1),
        (GeometryType(), "POINT (1"),
    ],
)
def test_json_of_another_form_is_corrupt(data_type: IcebergType, obj: object) -> None:
    with pytest.raises(MetadataCorrupt):
        from_json(data_type, obj)


def test_nan_has_no_json_form() -> None:
    with pytest.raises(InvalidInput, match="no JSON form"):
        to_json(DOUBLE, float("nan"))
