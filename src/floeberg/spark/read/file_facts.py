"""Facts about files, joined to their rows from a small table that every executor gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F

from floeberg.spark.read.compiled_columns import OWN_PREFIX
from floeberg.spark.read.parquet_scan import KEY, FileKeys

_FACT_KEY: Final = f"{OWN_PREFIX}fact_key"
_LOST: Final = (
    "a row comes from a file that was not planned, or whose size is not the recorded one: the table's files were changed in "
    "place; check the table, or read it with the option scan-engine=arrow"
)


def join_facts(spark: Any, frame: Any, keys: FileKeys, paths: Sequence[str], facts: Mapping[str, pa.Array]) -> Any:
    """The frame, which has the file's key, with a column for each fact. `facts` have a value for each of `paths`. A row
    whose file is not among them raises when it is read."""
    values = [keys.values[path] for path in paths]
    key = pa.array(values, pa.int64() if keys.by_size else pa.string())
    table = pa.table({_FACT_KEY: key, **facts})
    known = spark.createDataFrame(table)
    joined = frame.join(F.broadcast(known), F.col(KEY) == F.col(_FACT_KEY), "left")
    found = F.when(F.col(_FACT_KEY).isNull(), F.raise_error(F.lit(_LOST))).otherwise(F.lit(True))
    return joined.where(found).drop(_FACT_KEY)
