"""Metadata columns of a table's DataFrame packed into one struct, as a statement that names them reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from floeberg.spark.read.frame_registry import remember, scan_of
from floeberg.spec.metadata_columns import CHANGELOG_COLUMNS, METADATA_COLUMN_NAMES
from floeberg.sql.queries.hidden_columns import PACKED, packed_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HIDDEN_COLUMNS: Final = METADATA_COLUMN_NAMES - {column.name for column in CHANGELOG_COLUMNS}
"""The metadata columns that a query may name of any table."""

_PACKED: Final = re.compile(rf"{PACKED}(\d+)(\.?)")


def packed(frame: Any, columns: Sequence[str], reference: int) -> Any:
    """The frame with these columns as members of one struct."""
    result = frame.select("*", F.struct(*columns).alias(packed_name(reference))).drop(*columns)
    scan = scan_of(frame)
    if scan is not None:
        remember(result, scan)
    return result


def with_own_names(frame: DataFrame, columns: Mapping[int, Sequence[str]]) -> DataFrame:
    """The frame with the names that Spark makes of expressions, `max(_pos)`, without the struct's."""

    def own(match: re.Match[str]) -> str:
        return "" if match[2] else ", ".join(columns.get(int(match[1]), ()))

    given = frame.columns
    names = [_PACKED.sub(own, name) for name in given]
    return frame if names == given else frame.toDF(*names)
