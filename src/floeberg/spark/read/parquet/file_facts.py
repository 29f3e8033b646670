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
_SIZE: Final = f"{ENGINE_PREFIX}key_size"
_FACT_SIZE: Final = f"{ENGINE_PREFIX}fact_size"
_FACT_KEY: Final = f"{ENGINE_PREFIX}fact_key"
MAX_WRITTEN_OUT: Final = 16
"""Facts of no more files are written into the query."""
_SQL_TYPES: Final = {pa.string(): "STRING", pa.int32(): "INT", pa.int64(): "BIGINT"}
_LOST: Final = (
    "a row comes from a file that was not planned, or whose size is not the recorded one: a file of the table was changed in "
    "place, or a manifest records a wrong size; check the table, or read it with the option scan-engine=arrow"
)


@dataclass(frozen=True, slots=True)
class FileKeys:
    """How rows find facts about their file: by its size where it is certain and no two are equal (a number joins quickly), else
    by its path and size. Both are by the recorded path; `paths` is None where the size tells."""

    sizes: Mapping[str, int]
    paths: Mapping[str, str] | None


def with_facts(
    spark: Any, frame: Any, keys: FileKeys, paths: Sequence[str], facts: Mapping[str, pa.Array], others: Sequence[str]
) -> Any:
    """The frame, which reads files, with a column for each fact and the other expressions. `facts` have a value for each of
    `paths`. A row whose file is not among them raises when its facts are read."""
    sizes = [keys.sizes[path] for path in paths]
    names = None if keys.paths is None else [keys.paths[path] for path in paths]
    if len(paths) <= MAX_WRITTEN_OUT or not facts:
        texts = [_written_out(name, sizes, names, fact) for name, fact in facts.items()]
        if None not in texts:
            return frame.selectExpr("*", *texts, *others) if texts or others else frame
    by_path = {} if names is None else {_FACT_KEY: pa.array(names, pa.string())}
    table = pa.table({_FACT_SIZE: pa.array(sizes, pa.int64()), **by_path, **facts})
    # Told otherwise, PySpark takes a time without a zone for an instant of the session's zone, which may lack that time.
    known = spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
    path = [] if names is None else [f"_metadata.file_path AS {_KEY}"]
    keyed = frame.selectExpr("*", f"_metadata.file_size AS {_SIZE}", *path, *others)
    same = F.col(_SIZE) == F.col(_FACT_SIZE)
    if names is not None:
        same = (F.col(_KEY) == F.col(_FACT_KEY)) & same
    joined = keyed.join(F.broadcast(known), same, "left")
    found = F.when(F.col(_FACT_SIZE).isNull(), F.raise_error(F.lit(_LOST))).otherwise(F.lit(True))
    return joined.where(found).drop(_KEY, _SIZE, _FACT_KEY, _FACT_SIZE)


def _written_out(name: str, sizes: Sequence[int], paths: Sequence[str] | None, fact: pa.Array) -> str | None:
    """A fact of few files as an expression, which needs no join. None if a value has no SQL literal."""
    kind = _SQL_TYPES.get(fact.type)
    values = [_literal(value) for value in fact.to_pylist()]
    texts = [] if paths is None else [_literal(path) for path in paths]
    if kind is None or None in values or None in texts:
        return None
    if paths is None:
        source, keys = "_metadata.file_size", [f"{size}L" for size in sizes]
    else:
        source = ""
        keys = [
            f"_metadata.file_path = {text} AND _metadata.file_size = {size}L"
            for text, size in zip(texts, sizes, strict=True)
        ]
    cases = " ".join(f"WHEN {key} THEN {value}" for key, value in zip(keys, values, strict=True))
    return f"CAST(CASE {source} {cases} ELSE raise_error('{_LOST}') END AS {kind}) AS {name}"


def _literal(value: Any) -> str | None:
    if isinstance(value, str):
        return (
            None if set(value) & set("'\\$") else f"'{value}'"
        )  # literals whose meaning depends on the session's settings
    return "NULL" if value is None else f"{value}L"
