"""JSON single-value serialization: https://iceberg.apache.org/spec/#json-single-value-serialization"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
)
from floeberg.spec.values import temporal
from floeberg.spec.values.human import shortest_float32
from floeberg.spec.values.physical import check_value, wrong_value
from floeberg.spec.values.wkt import wkb_from_wkt, wkt_from_wkb

_DECIMAL: Final = re.compile(r"[+-]?\d{1,80}(?:\.\d{1,80})?(?:[Ee][+-]?\d{1,4})?", re.ASCII)
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})*", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


def to_json(data_type: IcebergType, value: object) -> object:
    """The JSON form of a value, as Python builtins; null for None. A struct given as a dict (by field name) writes the
    members it has, given as a tuple all of them. Raises InvalidInput."""
    if value is None:
        return None
    if isinstance(data_type, StructType):
        return _struct_to_json(data_type, value)
    if isinstance(data_type, ListType):
        if not isinstance(value, (list, tuple)):
            raise wrong_value(data_type, value)
        return [_required(data_type.element_required, to_json(data_type.element_type, item)) for item in value]
    if isinstance(data_type, MapType):
        return _map_to_json(data_type, value)
    writer = _WRITERS.get(type(data_type))
    if writer is None:
        raise InvalidInput(f"values of type {data_type} have no JSON form but null", type=str(data_type))
    return writer(data_type, check_value(data_type, value))


def from_json(data_type: IcebergType, obj: object) -> object:
    """The value of a JSON form. A struct becomes a dict by field name of the members that are given: a missing one
    takes that member's own default. A map becomes a dict, or a list of pairs when its keys are nested.
    Raises MetadataCorrupt."""
    if obj is None:
        return None
    try:
        if isinstance(data_type, StructType):
            return _struct_from_json(data_type, obj)
        if isinstance(data_type, ListType):
            if not isinstance(obj, (list, tuple)):
                raise wrong_value(data_type, obj)
            return [_required(data_type.element_required, from_json(data_type.element_type, item)) for item in obj]
        if isinstance(data_type, MapType):
            return _map_from_json(data_type, obj)
        reader = _READERS.get(type(data_type))
        if reader is None:
            raise InvalidInput(f"values of type {data_type} have no JSON form but null", type=str(data_type))
        return check_value(data_type, reader(data_type, obj))
    except InvalidInput as error:
        raise MetadataCorrupt(f"not a JSON value of type {data_type}: {error}", **error.context) from error


def _struct_to_json(data_type: StructType, value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        if unknown := [name for name in value if data_type.field(str(name)) is None]:
            raise InvalidInput(f"{data_type} has no field {unknown[0]!r}")
        given = [(field, value[field.name]) for field in data_type.members if field.name in value]
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and len(value) == len(data_type.members):
        given = list(zip(data_type.members, value, strict=True))
    else:
        raise wrong_value(data_type, value)
    return {str(field.field_id): _required(field.required, to_json(field.type, item)) for field, item in given}


def _struct_from_json(data_type: StructType, obj: object) -> dict[str, object]:
    if not isinstance(obj, Mapping):
        raise wrong_value(data_type, obj)
    return {
        field.name: _required(field.required, from_json(field.type, obj[str(field.field_id)]))
        for field in data_type.members
        if str(field.field_id) in obj
    }


def _map_to_json(data_type: MapType, value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        pairs: Iterable[object] = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = value
    else:
        raise wrong_value(data_type, value)
    keys: list[object] = []
    values: list[object] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise wrong_value(data_type, pair)
        keys.append(_required(True, to_json(data_type.key_type, pair[0])))
        values.append(_required(data_type.value_required, to_json(data_type.value_type, pair[1])))
    return {"keys": keys, "values": values}


def _map_from_json(data_type: MapType, obj: object) -> object:
    keys, values = (obj.get("keys"), obj.get("values")) if isinstance(obj, Mapping) else (None, None)
    if not isinstance(keys, list) or not isinstance(values, list) or len(keys) != len(values):
        raise InvalidInput("a map is an object with arrays `keys` and `values` of one length")
    pairs = [
        (
            _required(True, from_json(data_type.key_type, key)),
            _required(data_type.value_required, from_json(data_type.value_type, value)),
        )
        for key, value in zip(keys, values, strict=True)
    ]
    if data_type.key_type.is_nested:
        return pairs
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidInput("a map has the same key twice")
    return result


def _required(required: bool, value: object) -> object:
    if required and value is None:
        raise InvalidInput("null where a value is required")
    return value


def _number(data_type: IcebergType, value: object) -> object:
    assert isinstance(value, float)
    if not math.isfinite(value):
        raise InvalidInput(f"{value} has no JSON form", type=str(data_type))
    return float(shortest_float32(value)) if isinstance(data_type, FloatType) else value


def _same(data_type: IcebergType, value: object) -> object:
    return value


def _finite(data_type: IcebergType, obj: object) -> object:
    if isinstance(obj, float) and not math.isfinite(obj):
        raise wrong_value(data_type, obj)
    return obj


def _text(data_type: IcebergType, obj: object) -> str:
    if not isinstance(obj, str):
        raise wrong_value(data_type, obj)
    return obj


def _decimal_from_text(data_type: IcebergType, obj: object) -> Decimal:
    text = _text(data_type, obj)
    if not _DECIMAL.fullmatch(text):
        raise wrong_value(data_type, obj)
    value = Decimal(text)
    assert isinstance(data_type, DecimalType)
    if value.as_tuple().exponent != -data_type.scale:
        raise InvalidInput(f"{text!r} has another scale than {data_type}", type=str(data_type))
    return value


def _hex_from_text(data_type: IcebergType, obj: object) -> bytes:
    text = _text(data_type, obj)
    if not _HEX.fullmatch(text):
        raise wrong_value(data_type, obj)
    return bytes.fromhex(text)


def _uuid_from_text(data_type: IcebergType, obj: object) -> uuid.UUID:
    text = _text(data_type, obj)
    if not _UUID.fullmatch(text):
        raise wrong_value(data_type, obj)
    return uuid.UUID(text)


def _hex(data_type: IcebergType, value: object) -> str:
    assert isinstance(value, bytes)
    return value.hex()


def _instant_from_text(data_type: IcebergType, obj: object) -> int:
    text = _text(data_type, obj)
    unit, zoned = _TIMESTAMPS[type(data_type)]
    if zoned and temporal.split_timestamp(text)[1] not in (0, None):
        raise InvalidInput(f"{text[:60]!r}: the zone offset must be +00:00", type=str(data_type))
    return temporal.parse_timestamp(text, unit=unit, zoned=zoned)


def _instant(data_type: IcebergType, value: object) -> str:
    assert isinstance(value, int)
    unit, zoned = _TIMESTAMPS[type(data_type)]
    return temporal.format_timestamp(value, unit=unit, zoned=zoned)


def _date(data_type: IcebergType, value: object) -> str:
    assert isinstance(value, int)
    return temporal.format_date(value)


def _time(data_type: IcebergType, value: object) -> str:
    assert isinstance(value, int)
    return temporal.format_time(value)


def _wkt(data_type: IcebergType, value: object) -> str:
    assert isinstance(value, bytes)
    return wkt_from_wkb(value)


_TIMESTAMPS: Final[dict[type[IcebergType], tuple[temporal.Unit, bool]]] = {
    TimestampType: ("us", False),
    TimestamptzType: ("us", True),
    TimestampNsType: ("ns", False),
    TimestamptzNsType: ("ns", True),
}

_Convert = Callable[[IcebergType, object], object]

_WRITERS: Final[dict[type[IcebergType], _Convert]] = {
    BooleanType: _same,
    IntegerType: _same,
    LongType: _same,
    FloatType: _number,
    DoubleType: _number,
    DecimalType: lambda _, value: f"{value:f}",
    DateType: _date,
    TimeType: _time,
    **dict.fromkeys(_TIMESTAMPS, _instant),
    StringType: _same,
    UuidType: lambda _, value: str(value),
    FixedType: _hex,
    BinaryType: _hex,
    GeometryType: _wkt,
    GeographyType: _wkt,
}

_READERS: Final[dict[type[IcebergType], _Convert]] = {
    BooleanType: _same,
    IntegerType: _same,
    LongType: _same,
    FloatType: _finite,
    DoubleType: _finite,
    DecimalType: _decimal_from_text,
    DateType: lambda data_type, obj: temporal.parse_date(_text(data_type, obj)),
    TimeType: lambda data_type, obj: temporal.parse_time(_text(data_type, obj)),
    **dict.fromkeys(_TIMESTAMPS, _instant_from_text),
    StringType: _text,
    UuidType: _uuid_from_text,
    FixedType: _hex_from_text,
    BinaryType: _hex_from_text,
    GeometryType: lambda data_type, obj: wkb_from_wkt(_text(data_type, obj)),
    GeographyType: lambda data_type, obj: wkb_from_wkt(_text(data_type, obj)),
}
