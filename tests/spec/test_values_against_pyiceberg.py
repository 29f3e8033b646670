"""Values and transforms against PyIceberg as an oracle. Each difference stands below with its reason.

- Years outside 1 to 9999: PyIceberg goes through `datetime` and raises OverflowError; the format has no such limit.
- Hours that overflow an int: PyIceberg gives a number that no int column holds; here they raise (hazard 26).
- Trailing zeros of a fraction: Python pads to six digits, the Java writer drops them (`.38856`, not `.388560`).
- Nanosecond timestamps: PyIceberg has no JSON form for them and prints the bare number.
- UUIDs read from bounds: PyIceberg gives the 16 bytes, here a `uuid.UUID`.
- Large and small floats: Java, and so partition folders, print `1.0E10` where Python prints `10000000000.0`.
- Paths: PyIceberg leaves `~` and escapes `*`; `java.net.URLEncoder` does the reverse.
"""

from __future__ import annotations

import json
import uuid
from decimal import Decimal
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import conversions, types
from pyiceberg import transforms as oracle
from pyiceberg.partitioning import PartitionSpec as OracleSpec
from pyiceberg.table.sorting import SortOrder as OracleOrder

from floeberg.spec.partitions.sort_orders import sort_order_from_json, sort_order_to_json
from floeberg.spec.partitions.specs import escape, partition_spec_from_json, partition_spec_to_json
from floeberg.spec.partitions.transforms import Transform, parse_transform
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
)
from floeberg.spec.values.human import human_string
from floeberg.spec.values.physical import decimal_from_unscaled
from floeberg.spec.values.single_value import from_bytes, to_bytes, to_json

YEAR_1_US, YEAR_10000_US = -62_135_596_800_000_000, 253_402_300_800_000_000
IN_CALENDAR = st.integers(YEAR_1_US, YEAR_10000_US - 1)
NS = st.integers(-(2**63), 2**63 - 1)
TYPES: dict[IcebergType, tuple[Any, st.SearchStrategy[Any]]] = {
    BOOLEAN: (types.BooleanType(), st.booleans()),
    INT: (types.IntegerType(), st.integers(-(2**31) + 64, 2**31 - 1)),
    LONG: (types.LongType(), st.integers(-(2**63) + 64, 2**63 - 1)),
    FLOAT: (types.FloatType(), st.floats(width=32, allow_nan=False)),
    DOUBLE: (types.DoubleType(), st.floats(allow_nan=False)),
    DecimalType(9, 2): (
        types.DecimalType(9, 2),
        st.integers(-(10**8), 10**9 - 1).map(lambda n: decimal_from_unscaled(n, 2)),
    ),
    DecimalType(38, 5): (
        types.DecimalType(38, 5),
        st.integers(-(10**37), 10**38 - 1).map(lambda n: decimal_from_unscaled(n, 5)),
    ),
    DATE: (types.DateType(), st.integers(-719_162, 2_932_896)),
    TIME: (types.TimeType(), st.integers(0, 86_400_000_000 - 1)),
    TIMESTAMP: (types.TimestampType(), IN_CALENDAR),
    TIMESTAMPTZ: (types.TimestamptzType(), IN_CALENDAR),
    TIMESTAMP_NS: (types.TimestampNanoType(), NS),
    TIMESTAMPTZ_NS: (types.TimestamptzNanoType(), NS),
    STRING: (types.StringType(), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)),
    UUID: (types.UUIDType(), st.uuids()),
    FixedType(4): (types.FixedType(4), st.binary(min_size=4, max_size=4)),
    BINARY: (types.BinaryType(), st.binary(max_size=12)),
}
NANO = (TIMESTAMP_NS, TIMESTAMPTZ_NS)
typed = st.sampled_from(list(TYPES)).flatmap(lambda t: st.tuples(st.just(t), TYPES[t][1]))
NAMES = ["identity", "bucket[16]", "truncate[7]", "year", "month", "day", "hour", "void"]


@given(typed)
def test_bytes_are_equal(case: tuple[IcebergType, Any]) -> None:
    data_type, value = case
    data = to_bytes(data_type, value)
    assert data == conversions.to_bytes(TYPES[data_type][0], value)
    read = conversions.from_bytes(TYPES[data_type][0], data)
    assert from_bytes(data_type, data) == (uuid.UUID(bytes=read) if data_type == UUID else read)


@given(typed)
def test_json_is_equal_but_for_zeros_at_the_end_of_fractions(case: tuple[IcebergType, Any]) -> None:
    data_type, value = case
    if data_type in NANO or (isinstance(value, float) and abs(value) == float("inf")):
        return
    theirs = conversions.to_json(TYPES[data_type][0], value)
    if data_type == FLOAT:
        theirs = json.loads(json.dumps(theirs))
        assert to_bytes(FLOAT, to_json(FLOAT, value)) == to_bytes(FLOAT, theirs)
        return
    assert to_json(data_type, value) == _without_zeros(data_type, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_transforms_take_the_same_types(name: str) -> None:
    for data_type, (theirs, _) in TYPES.items():
        assert parse_transform(name).can_transform(data_type) == oracle.parse_transform(name).can_transform(theirs)


@given(typed, st.sampled_from(NAMES))
def test_transforms_give_the_same(case: tuple[IcebergType, Any], name: str) -> None:
    data_type, value = case
    ours, theirs = parse_transform(name), oracle.parse_transform(name)
    if not ours.can_transform(data_type):
        return
    result = ours.apply(data_type, value)
    assert result == theirs.transform(TYPES[data_type][0])(value)
    if not _prints_otherwise(ours, data_type, value):
        text = theirs.to_human_string(TYPES[data_type][0], result)
        assert ours.to_human_string(ours.result_type(data_type), result) == _without_zeros(data_type, text)


def _prints_otherwise(transform: Transform, data_type: IcebergType, value: object) -> bool:
    """Where PyIceberg prints another text than the Java writer."""
    if data_type in NANO and str(transform) == "identity":
        return True
    if data_type == TIME:
        return True
    return isinstance(value, float)


def _without_zeros(data_type: IcebergType, text: Any) -> Any:
    if data_type not in (TIME, TIMESTAMP, TIMESTAMPTZ) or not isinstance(text, str) or "." not in text:
        return text
    clock, _, zone = text.partition("+")
    return clock.rstrip("0") + (f"+{zone}" if zone else "")


def test_floats_print_as_java_does_and_pyiceberg_does_not() -> None:
    assert human_string(DOUBLE, 1e10) == "1.0E10"
    assert oracle.IdentityTransform().to_human_string(types.DoubleType(), 1e10) == "10000000000.0"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_paths_escape_as_pyiceberg_but_for_tilde_and_star(text: str) -> None:
    assert escape(text) == quote_plus(text, safe="").replace("~", "%7E").replace("%2A", "*")


@given(st.lists(st.sampled_from(NAMES), max_size=5))
def test_specs_and_orders_read_each_others_json(names: list[str]) -> None:
    fields = [{"source-id": i, "field-id": 1000 + i, "name": f"f{i}", "transform": t} for i, t in enumerate(names)]
    spec = partition_spec_from_json({"spec-id": 4, "fields": fields})
    theirs = OracleSpec.model_validate_json(json.dumps(partition_spec_to_json(spec)))
    assert partition_spec_from_json(json.loads(theirs.model_dump_json())) == spec
    terms = [
        {"source-id": i, "transform": t, "direction": "desc", "null-order": "nulls-first"} for i, t in enumerate(names)
    ]
    order = sort_order_from_json({"order-id": 1 if terms else 0, "fields": terms})
    other = OracleOrder.model_validate_json(json.dumps(sort_order_to_json(order)))
    assert sort_order_from_json(json.loads(other.model_dump_json())) == order


def test_decimal_bounds_of_38_digits_are_equal() -> None:
    value = Decimal("-" + "9" * 33 + ".99999")
    assert to_bytes(DecimalType(38, 5), value) == conversions.to_bytes(types.DecimalType(38, 5), value)
