"""Texts that may hold a string that is not UTF-8.

Spark hands the constants of a condition to Parquet as Java strings, which have other characters in the place of bytes that are
not UTF-8: row groups are skipped although they hold the bytes. Such a string is only ever made from binary data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from floeberg.sql.text.cursor import Args

_MAKES_BYTES: Final = re.compile(
    r"\bX\s*['\"]|\b(?:BINARY|UNHEX|UNBASE64|FROM_BASE64|TO_BINARY|TRY_TO_BINARY|ENCODE|(?:TRY_)?AES_(?:EN|DE)CRYPT"
    r"|RANDOM_BYTES|TO_AVRO|TO_PROTOBUF)\b",
    re.IGNORECASE,
)


def may_hold_invalid_utf8(text: str, args: Args = None) -> bool:
    """Whether a statement or expression may have a string that is not UTF-8 among its constants."""
    if _MAKES_BYTES.search(text):
        return True
    values = args.values() if isinstance(args, Mapping) else args or ()
    return not all(isinstance(value, str | int | float) for value in values)
