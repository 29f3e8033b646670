"""Values of Debezium's JSON as values of a table's types: decimals and temporal types by the event's own schema; without one
only where the target type leaves no doubt."""

from __future__ import annotations

import base64
import binascii
import math
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UuidType,
)

ConnectSchema: TypeAlias = Mapping[str, Any]
"""A schema as Kafka Connect's JSON converter writes it: `{"type": "int32", "name": "io.debezium.time.Date", …}`."""
Decode: TypeAlias = Callable[[Any, IcebergType, ConnectSchema | None], Any]

_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_DAYS: Final = ("io.debezium.time.Date", "org.apache.kafka.connect.data.Date")
_LOCAL_US: Final = {
    "io.debezium.time.Timestamp": (1_000, 1),
    "org.apache.kafka.connect.data.Timestamp": (1_000, 1),
    "io.debezium.time.MicroTimestamp": (1, 1),
    "io.debezium.time.NanoTimestamp": (1, 1_000),
    "io.debezium.time.Time": (1_000, 1),
    "org.apache.kafka.connect.data.Time": (1_000, 1),
    "io.debezium.time.MicroTime": (1, 1),
    "io.debezium.time.NanoTime": (1, 1_000),
}
"""For each encoding the factor and divisor that make microseconds of it."""
_ISO: Final = (
    "io.debezium.time.ZonedTimestamp", "io.debezium.time.ZonedTime", "io.debezium.time.IsoDate",
    "io.debezium.time.IsoTime", "io.debezium.time.IsoTimestamp",
)  # fmt: skip
_MOST_SCALE: Final = 10_000
"""No database has decimals with more digits after the point."""
_LARGEST_FLOAT: Final = (2 - 2**-23) * 2.0**127
_TOO_EXACT: Final = "it has nanoseconds, and the column keeps microseconds"
_NANOSECONDS: Final = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")
_INT_RANGES: Final[dict[type[IcebergType], int]] = {IntegerType: 31, LongType: 63}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Undecodable(ValueError):
    """A value that does not fit its column; the message says why."""


def decode(value: Any, target: IcebergType, schema: ConnectSchema | None) -> Any:
    """A JSON value as Arrow takes it for a column of the target type. Raises Undecodable."""
    if value is None:
        return None
    try:
        found = _DECODERS[type(target)]
    except KeyError:
        raise Undecodable(f"Debezium's JSON is not decoded to {target}") from None
    return found(value, target, schema)


def _name(schema: ConnectSchema | None) -> str | None:
    return None if schema is None else schema.get("name")


def _misfit(value: Any, target: IcebergType, why: str = "") -> Undecodable:
    return Undecodable(f"{value!r:.60} is no {target}{why and f' ({why})'}")


def _whole(value: Any, target: IcebergType, schema: ConnectSchema | None) -> int:
    limit = 1 << _INT_RANGES[type(target)]
    if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
        raise _misfit(value, target)
    return value


def _floating(value: Any, target: IcebergType, schema: ConnectSchema | None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _misfit(value, target)
    try:
        found = float(value)
    except OverflowError:
        raise _misfit(value, target) from None
    is_cut = math.isinf(found) and not isinstance(value, float)
    if is_cut or (isinstance(target, FloatType) and math.isfinite(found) and abs(found) > _LARGEST_FLOAT):
        raise _misfit(value, target)
    return found


def _boolean(value: Any, target: IcebergType, schema: ConnectSchema | None) -> bool:
    if value not in (True, False, 0, 1):
        raise _misfit(value, target)
    return bool(value)


def _text(value: Any, target: IcebergType, schema: ConnectSchema | None) -> str:
    if not isinstance(value, str):
        raise _misfit(value, target)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _misfit(value, target, "it has half of a surrogate pair") from None
    return value


def _uuid(value: Any, target: IcebergType, schema: ConnectSchema | None) -> bytes:
    try:
        return uuid.UUID(_text(value, target, schema)).bytes
    except ValueError:
        raise _misfit(value, target) from None


def _base64(value: Any, target: IcebergType) -> bytes:
    try:
        return base64.b64decode(_text(value, target, None), validate=True)
    except (binascii.Error, ValueError):
        raise _misfit(value, target) from None


def _bytes(value: Any, target: IcebergType, schema: ConnectSchema | None) -> bytes:
    if schema is None or schema.get("type") != "bytes":
        raise _misfit(value, target, "its encoding is not known without a schema of type bytes")
    found = _base64(value, target)
    if isinstance(target, FixedType) and len(found) != target.length:
        raise _misfit(value, target)
    return found


def _decimal(value: Any, target: IcebergType, schema: ConnectSchema | None) -> Decimal:
    assert isinstance(target, DecimalType)
    if isinstance(value, dict) and value.keys() >= {"scale", "value"}:  # VariableScaleDecimal
        scale = _scale(value["scale"], value, target)
        return _fitted(int.from_bytes(_base64(value["value"], target), "big", signed=True), scale, target)
    if _name(schema) == _DECIMAL and schema is not None:
        scale = _scale((schema.get("parameters") or {}).get("scale", 0), value, target)
        return _fitted(int.from_bytes(_base64(value, target), "big", signed=True), scale, target)
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and schema is not None and schema.get("type") == "string"):
        raise _misfit(value, target, "bytes of a decimal need a schema, which holds the scale")
    try:
        sign, digits, exponent = Decimal(value).as_tuple()
    except InvalidOperation:
        raise _misfit(value, target) from None
    if not isinstance(exponent, int):
        raise _misfit(value, target)
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    return _fitted(unscaled, _scale(-exponent, value, target), target)


def _scale(scale: Any, value: Any, target: IcebergType) -> int:
    try:
        found = int(scale)
    except (TypeError, ValueError):
        raise _misfit(value, target, f"its scale is {scale!r:.20}") from None
    if abs(found) > _MOST_SCALE:
        raise _misfit(value, target, f"its scale is {found}")
    return found


def _fitted(unscaled: int, scale: int, target: DecimalType) -> Decimal:
    """Exactly the value, at the target's scale."""
    shift = target.scale - scale
    scaled, rest = (unscaled * 10**shift, 0) if shift >= 0 else divmod(unscaled, 10**-shift)
    if rest or abs(scaled) >= 10**target.precision:
        raise Undecodable(f"a decimal of unscaled value {unscaled} and scale {scale} does not fit {target}")
    digits = tuple(int(digit) for digit in str(abs(scaled)))
    return Decimal((1 if scaled < 0 else 0, digits, -target.scale))


def _date(value: Any, target: IcebergType, schema: ConnectSchema | None) -> int:
    name = _name(schema)
    if isinstance(value, int) and not isinstance(value, bool) and (schema is None or name in _DAYS):
        if not -(1 << 31) <= value < 1 << 31:
            raise _misfit(value, target)
        return value
    if isinstance(value, str) and (schema is None or name in _ISO):
        try:
            return date.fromisoformat(value.removesuffix("Z")).toordinal() - date(1970, 1, 1).toordinal()
        except ValueError:
            raise _misfit(value, target) from None
    raise _misfit(value, target)


def _micros(value: int, target: IcebergType, schema: ConnectSchema | None) -> int:
    name = _name(schema)
    if name not in _LOCAL_US:
        raise _misfit(value, target, "its unit is not known without a schema")
    factor, divisor = _LOCAL_US[name]
    micros, rest = divmod(value * factor, divisor)
    if rest:
        raise _misfit(value, target, _TOO_EXACT)
    if not -(1 << 63) <= micros < 1 << 63:
        raise _misfit(value, target)
    return micros


def _time(value: Any, target: IcebergType, schema: ConnectSchema | None) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        micros = _micros(value, target, schema)
    elif isinstance(value, str) and (schema is None or _name(schema) in _ISO):
        try:
            found = time.fromisoformat(value)
        except ValueError:
            raise _misfit(value, target) from None
        if found.utcoffset():
            raise _misfit(value, target, "it is of another zone than UTC, and the column keeps no zone")
        _refuse_nanoseconds(value, target)
        micros = ((found.hour * 60 + found.minute) * 60 + found.second) * 1_000_000 + found.microsecond
    else:
        raise _misfit(value, target)
    if not 0 <= micros < 86_400_000_000:
        raise _misfit(value, target)
    return micros


def _timestamp(value: Any, target: IcebergType, schema: ConnectSchema | None) -> int:
    zoned = isinstance(target, TimestamptzType)
    if isinstance(value, int) and not isinstance(value, bool):
        if zoned:
            raise _misfit(value, target, "its time has no zone; make the column timestamp_ntz")
        return _micros(value, target, schema)
    if not isinstance(value, str) or (schema is not None and _name(schema) not in _ISO):
        raise _misfit(value, target)
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise _misfit(value, target) from None
    _refuse_nanoseconds(value, target)
    if (found.tzinfo is not None) is not zoned:
        raise _misfit(value, target, "instants and local times are not mixed")
    since = (found if zoned else found.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _refuse_nanoseconds(value: str, target: IcebergType) -> None:
    """Python cuts what it reads to microseconds."""
    if _NANOSECONDS.search(value):
        raise _misfit(value, target, _TOO_EXACT)


def _list(value: Any, target: IcebergType, schema: ConnectSchema | None) -> list[Any]:
    assert isinstance(target, ListType)
    if not isinstance(value, list):
        raise _misfit(value, target)
    items = None if schema is None else schema.get("items")
    return [decode(one, target.element_type, items) for one in value]


def _map(value: Any, target: IcebergType, schema: ConnectSchema | None) -> list[tuple[Any, Any]]:
    assert isinstance(target, MapType)
    if not isinstance(value, dict):
        raise _misfit(value, target)
    inner = None if schema is None else schema.get("values")
    return [(decode(key, target.key_type, None), decode(one, target.value_type, inner)) for key, one in value.items()]


def _struct(value: Any, target: IcebergType, schema: ConnectSchema | None) -> dict[str, Any]:
    assert isinstance(target, StructType)
    if not isinstance(value, dict):
        raise _misfit(value, target)
    known = {member.name: member for member in target.members}
    if unknown := value.keys() - known.keys():
        raise Undecodable(f"field {min(unknown)!r} is not in {target}")
    inner = field_schemas(schema)
    return {name: decode(one, known[name].type, inner.get(name)) for name, one in value.items()}


def field_schemas(schema: ConnectSchema | None) -> dict[str, ConnectSchema]:
    """The schemas of a struct's fields by name; none where there is no schema."""
    found = None if schema is None else schema.get("fields")
    if not isinstance(found, list):
        return {}
    return {field["field"]: field for field in found if isinstance(field, dict) and isinstance(field.get("field"), str)}


_DECODERS: Final[dict[type[IcebergType], Decode]] = {
    BooleanType: _boolean,
    IntegerType: _whole,
    LongType: _whole,
    FloatType: _floating,
    DoubleType: _floating,
    StringType: _text,
    UuidType: _uuid,
    BinaryType: _bytes,
    FixedType: _bytes,
    DecimalType: _decimal,
    DateType: _date,
    TimeType: _time,
    TimestampType: _timestamp,
    TimestamptzType: _timestamp,
    ListType: _list,
    MapType: _map,
    StructType: _struct,
}
