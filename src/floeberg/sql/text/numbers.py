"""Number literals with the type that Spark gives them: https://spark.apache.org/docs/latest/sql-ref-literals.html"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput

_SUFFIX: Final = re.compile(r"(BD|[LSYFD])$", re.IGNORECASE)
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
MAX_DIGITS: Final = 400
"""Longer number literals are refused: Spark's decimals end at 38 digits and its doubles at 309."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number and its Spark type: tinyint, smallint, int, bigint, decimal, double or float."""

    value: int | float | Decimal
    type: str


def number_value(text: str) -> Number:
    """The number that an unsigned literal stands for. Raises InvalidInput when it is out of its type's range."""
    if len(text) > MAX_DIGITS:
        raise InvalidInput(f"number literal {text[:40]}… is too long")
    suffix = _SUFFIX.search(text)
    mark = suffix[1].upper() if suffix else ""
    digits = text[: suffix.start()] if suffix else text
    if mark in ("L", "S", "Y"):
        kind = {"L": "bigint", "S": "smallint", "Y": "tinyint"}[mark]
        return Number(int(digits), kind)
    if mark == "D":
        return Number(float(digits), "double")
    if mark == "F":
        return Number(float(digits), "float")
    if mark == "BD":
        return Number(Decimal(digits), "decimal")
    if "e" in digits.lower():
        return Number(float(digits), "double")
    if "." in digits:
        return Number(Decimal(digits), "decimal")
    whole = int(digits)
    if whole <= _INT_MAX:
        return Number(whole, "int")
    return Number(whole, "bigint") if whole <= _LONG_MAX else Number(Decimal(whole), "decimal")
