"""Primitive types and names in Avro, for manifests and data files: https://iceberg.apache.org/spec/#avro"""

from __future__ import annotations

import re
from typing import Final

from floeberg.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
)

AvroSchema = dict[str, object]

AVRO_PRIMITIVES: Final[dict[type[IcebergType], AvroSchema | str]] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
    UnknownType: "null",
    DateType: {"type": "int", "logicalType": "date"},
    TimeType: {"type": "long", "logicalType": "time-micros"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    TimestamptzType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    TimestampNsType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    TimestamptzNsType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
}
"""The types whose Avro form has no parameters."""

_DECIMAL_BYTES: Final = tuple(next(n for n in range(1, 17) if 10**p - 1 < 1 << (8 * n - 1)) for p in range(39))
_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def decimal_required_bytes(precision: int) -> int:
    """The least number of bytes that hold any decimal of that precision."""
    return _DECIMAL_BYTES[precision]


def avro_field_name(name: str) -> str:
    """A name that Avro allows: other characters become `_x` and their code, a leading digit gets `_` before it."""
    if _AVRO_NAME.fullmatch(name):
        return name
    out: list[str] = []
    for place, char in enumerate(name):
        if char.isascii() and (char.isalpha() or char == "_" or (char.isdigit() and place)):
            out.append(char)
        elif char.isascii() and char.isdigit():
            out.append("_" + char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            out += (f"_x{int.from_bytes(units[at : at + 2]):X}" for at in range(0, len(units), 2))
    return "".join(out)
