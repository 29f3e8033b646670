"""Metadata columns of a table's DataFrame under the names that they have in a statement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from floeberg.spark.host.calls.shared_plans import with_own_columns
from floeberg.spark.read.frame_registry import remember, scan_of
from floeberg.spec.schemas.metadata_columns import CHANGELOG_COLUMNS, METADATA_COLUMN_NAMES
from floeberg.sql.queries.hidden_uses import PREFIX, statement_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HIDDEN_COLUMNS: Final = METADATA_COLUMN_NAMES - {column.name for column in CHANGELOG_COLUMNS}
"""The metadata columns that a query may name of any table."""

_NAME: Final = re.compile(rf"{PREFIX}\d+({'|'.join(sorted(HIDDEN_COLUMNS))})(?: AS \1(?!\w))?")


def renamed(frame: Any, columns: Sequence[str], reference: int) -> Any:
    """The frame with these columns under the names that the statement has for them."""
    result = with_own_columns(frame).withColumnsRenamed(
        {column: statement_name(reference, column) for column in columns}
    )
    scan = scan_of(frame)
    if scan is not None:
        remember(result, scan)
    return result


def with_own_names(frame: DataFrame) -> DataFrame:
    """The frame with the names that Spark makes of expressions, `max(_pos)`, as the user wrote them."""
    given = frame.columns
    names = [_NAME.sub(r"\1", name) for name in given]
    return frame if names == given else frame.toDF(*names)
