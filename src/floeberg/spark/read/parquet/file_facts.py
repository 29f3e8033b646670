"""Facts about files as columns of their rows: literals in the query for few files, a join with a small table for many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from floeberg.spec.schemas.rules import ENGINE_PREFIX

_KEY: Final = f"{ENGINE_PREFIX}key"
_FACT_KEY: Final = f"{ENGINE_PREFIX}fact_key"
MAX_WRITTEN_OUT: Final = 16
"""Facts of no more files are written into the query."""
_SQL_TYPES: Final = {pa.string(): "STRING", pa.int32(): "INT", pa.int64(): "BIGINT"}
_LOST: Final = (
    "a row comes from a file that was not planned, or whose size is not the recorded one: files of the table were changed in "
    "place; check the table, or read it with the option scan-engine=arrow"
)


@dataclass(frozen=True, slots=True)
class FileKeys:
    """How rows find facts about their file: by its size where no two sizes are equal (a number joins quickly), else by
    its path. `values` has the key of each file by its recorded path."""

    by_size: bool
    values: Mapping[str, int | str]

    @property
    def source(self) -> str:
        """The column that has the key."""
        return "_metadata.file_size" if self.by_size else "_metadata.file_path"


def with_facts(
    spark: Any, frame: Any, keys: FileKeys, paths: Sequence[str], facts: Mapping[str, pa.Array], others: Sequence[str]
) -> Any:
    """The frame, which reads files, with a column for each fact and the other expressions. `facts` have a value for each of
    `paths`. A row whose file is not among them raises when its facts are read."""
    values = [keys.values[path] for path in paths]
    if len(paths) <= MAX_WRITTEN_OUT or not facts:
        texts = [_written_out(name, keys.source, values, fact) for name, fact in facts.items()]
        if None not in texts:
            return frame.selectExpr("*", *texts, *others) if texts or others else frame
    key = pa.array(values, pa.int64() if keys.by_size else pa.string())
    table = pa.table({_FACT_KEY: key, **facts})
    # Told otherwise, PySpark takes a time without a zone for an instant of the session's zone, which may lack that time.
    known = spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
    keyed = frame.selectExpr("*", f"{keys.source} AS {_KEY}", *others)
    joined = keyed.join(F.broadcast(known), F.col(_KEY) == F.col(_FACT_KEY), "left")
    found = F.when(F.col(_FACT_KEY).isNull(), F.raise_error(F.lit(_LOST))).otherwise(F.lit(True))
    return joined.where(found).drop(_KEY, _FACT_KEY)


def _written_out(name: str, source: str, keys: Sequence[int | str], fact: pa.Array) -> str | None:
    """A fact of few files as an expression, which needs no join. None if a value has no SQL literal."""
    kind = _SQL_TYPES.get(fact.type)
    if kind is None:
        return None
    values = [_literal(value) for value in (*keys, *fact.to_pylist())]
    if None in values:
        return None
    cases = " ".join(
        f"WHEN {key} THEN {value}" for key, value in zip(values[: len(keys)], values[len(keys) :], strict=True)
    )
    return f"CAST(CASE {source} {cases} ELSE raise_error('{_LOST}') END AS {kind}) AS {name}"


def _literal(value: Any) -> str | None:
    if isinstance(value, str):
        return (
            None if set(value) & set("'\\$") else f"'{value}'"
        )  # literals whose meaning depends on the session's settings
    return "NULL" if value is None else f"{value}L"
