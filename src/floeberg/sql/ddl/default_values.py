"""Literals of Spark SQL as default values of columns, both ways."""

from __future__ import annotations

import re
import uuid
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
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
    UuidType,
)
from floeberg.spec.values import temporal
from floeberg.spec.values.physical import check_value
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, quote_string, string_value, words

_TYPED: Final = words("DATE TIME TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ")
_SUFFIX: Final = re.compile(r"(?:bd|[lsydf])$", re.IGNORECASE)
_TIMESTAMPS: Final[dict[type[IcebergType], tuple[temporal.Unit, bool]]] = {
    TimestampType: ("us", False),
    TimestamptzType: ("us", True),
    TimestampNsType: ("ns", False),
    TimestamptzNsType: ("ns", True),
}


def take_default(ddl: Cursor, data_type: IcebergType) -> object:
    """The value of the literal that comes next, as a value of the type. Raises InvalidInput with the position: for
    expressions too, whose value depends on the moment they are computed."""
    start = ddl.token
    if ddl.accept("NULL"):
        return None
    try:
        return check_value(data_type, _take_value(ddl, data_type))
    except InvalidInput as error:
        if "position" in error.context:
            raise
        raise ddl.error(f"not a default for type {data_type}: {error}", token=start) from error


def _take_value(ddl: Cursor, data_type: IcebergType) -> object:
    start = ddl.token
    if ddl.accept_any("TRUE", "FALSE"):
        return start.upper == "TRUE"
    if ddl.at_kind(Kind.STRING):
        return _from_text(data_type, "".join(ddl.strings()))
    before_string = ddl.peek().kind is Kind.STRING
    if start.upper in _TYPED and before_string:
        ddl.advance()
        return _from_text(data_type, "".join(ddl.strings()))
    if start.upper == "X" and before_string and (found := _bytes(string_value(ddl.text(ddl.peek())))) is not None:
        ddl.advance()
        ddl.advance()
        return found
    sign = ddl.accept_any("+", "-") or ""
    if ddl.at_kind(Kind.NUMBER):
        return _number(data_type, sign + ddl.text(ddl.advance()))
    raise ddl.error(
        "DEFAULT takes a literal (a number, text, TRUE, FALSE, NULL, DATE '…', TIMESTAMP '…', X'…')", token=start
    )


def _bytes(digits: str) -> bytes | None:
    return bytes.fromhex(digits) if re.fullmatch(r"(?:[0-9a-fA-F]{2})*", digits) else None


def _number(data_type: IcebergType, text: str) -> object:
    number = _SUFFIX.sub("", text)
    if len(number) > 400:
        raise InvalidInput("the number is too long")
    if isinstance(data_type, (IntegerType, LongType)) and re.fullmatch(r"[+-]?[0-9]+", number):
        return int(number)
    if isinstance(data_type, DecimalType):
        return Decimal(number)
    if isinstance(data_type, (FloatType, DoubleType)):
        return float(number)
    raise InvalidInput(f"{text} is a number of another kind")


def _from_text(data_type: IcebergType, text: str) -> object:
    if isinstance(data_type, StringType):
        return text
    if isinstance(data_type, UuidType):
        if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
            raise InvalidInput(f"{text[:60]!r} is no uuid")
        return uuid.UUID(text)
    if isinstance(data_type, DateType):
        return temporal.parse_date(text)
    if isinstance(data_type, TimeType):
        return temporal.parse_time(text)
    if type(data_type) in _TIMESTAMPS:
        unit, zoned = _TIMESTAMPS[type(data_type)]
        # Without an offset the value would hang on a session's time zone, which a schema does not have.
        return temporal.parse_timestamp(_with_offset(text, zoned=zoned), unit=unit, zoned=zoned, allow_space=True)
    raise InvalidInput(f"{text[:60]!r} is text")


def _with_offset(text: str, *, zoned: bool) -> str:
    if zoned:
        text = re.sub(r"\s*(?:UTC|GMT|Z)$", "+00:00", text)
    return f"{text} 00:00:00" if re.fullmatch(r"[+-]?\d{4,6}-\d\d-\d\d", text) else text


def literal_text(data_type: IcebergType, value: object, *, exact: bool = False) -> str:
    """The value as a literal of Spark SQL that `take_default` reads again. Nanoseconds that Spark's type cannot hold
    are kept only with `exact`."""
    value = check_value(data_type, value)
    if isinstance(data_type, BooleanType):
        return "TRUE" if value else "FALSE"
    if isinstance(data_type, (StringType, UuidType)):
        return quote_string(str(value))
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(data_type, DateType) and isinstance(value, int):
        return f"DATE '{temporal.format_date(value)}'"
    if isinstance(data_type, TimeType) and isinstance(value, int):
        return f"TIME '{temporal.format_time(value)}'"
    if type(data_type) in _TIMESTAMPS and isinstance(value, int):
        unit, zoned = _TIMESTAMPS[type(data_type)]
        if unit == "ns" and not exact:
            value -= value % 1000
        word = "TIMESTAMP" if zoned else "TIMESTAMP_NTZ"
        return f"{word} '{temporal.format_timestamp(value, unit=unit, zoned=zoned)}'"
    return f"{value:f}" if isinstance(value, Decimal) else repr(value)
