"""The results of queries in a form that does not depend on the order of rows, and those of plain Spark that are kept.

PYTHONPATH=tests python -m tpcds.results        runs the 99 queries on plain Spark and keeps their digests (`make tpcds-plain`)
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from spark_runs.spark_session import spark_session
from tpcds.lake import TpcDs

KEPT_SCALE: Final = 0.2
_KEPT: Final = Path(__file__).with_name("plain_spark.json")


class Result(NamedTuple):
    """How many rows a query gave, and the digest of them all."""

    rows: int
    digest: str


def result_of(frame: Any) -> Result:
    """The rows as a multiset; floating-point sums depend on the order of rows in their last digits."""
    rows = sorted(repr(tuple(_rounded(value) for value in row)) for row in frame.collect())
    return Result(len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest())


def _rounded(value: Any) -> Any:
    return (
        float(f"{value:.9g}")
        if isinstance(value, float)
        else value.normalize()
        if isinstance(value, Decimal)
        else value
    )


def kept_results() -> dict[int, Result]:
    """What plain Spark gave at `KEPT_SCALE`."""
    return {int(number): Result(*found) for number, found in json.loads(_KEPT.read_text()).items()}


def plain_results(spark: Any, data: TpcDs) -> dict[int, Result]:
    """What plain Spark gives over Parquet without the deleted rows."""
    data.build_plain(spark)
    spark.sql("USE spark_catalog.plain")
    found = {number: result_of(spark.sql(text)) for number, text in data.queries()}
    spark.sql("USE spark_catalog.default")
    data.drop_plain(spark)
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, spark_session() as session:
        found = plain_results(session, TpcDs(Path(folder), scale=KEPT_SCALE))
    lines = ",\n".join(f'"{number}": {json.dumps(list(found[number]))}' for number in sorted(found))
    _KEPT.write_text(f"{{\n{lines}\n}}\n")
