"""Views as a session keeps them: what they read, where, with which columns, and how Spark's view of the same name is told
to be still the one that was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from floeberg.catalogs.identifiers import Namespace
from floeberg.spark.host.calls.gateway import temporary_view_names
from floeberg.spark.host.calls.originals import original, spark_sql
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import GLOBAL_VIEWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW_MARK: Final = "floeberg.view"


@dataclass(frozen=True, slots=True)
class Place:
    """Where names of one part are looked up."""

    catalog: str
    namespace: Namespace


@dataclass(frozen=True, slots=True)
class ViewScope:
    """What names in a view's text mean: those of `temporary` (keys) are temporary views, the others are looked up in the
    place where the view was made."""

    place: Place
    temporary: frozenset[str] = frozenset()
    settings: tuple[tuple[str, str], ...] = ()
    """The settings that its text is read by, as Spark keeps them with a temporary view."""


@dataclass(frozen=True, slots=True)
class ViewColumns:
    """The columns of a view as they were when it was made: their names in its query, and what the view shows.

    `mode` is Spark's: COMPENSATION casts to the recorded types, BINDING refuses other types, TYPE EVOLUTION takes the
    types and EVOLUTION all columns as the query has them now.
    """

    query_names: tuple[str, ...]
    schema: StructType
    mode: str = "COMPENSATION"
    by_position: bool = False
    """Whether columns may be told by their places, because the names in the query were not recorded."""


@dataclass(frozen=True, slots=True)
class TextView:
    """A temporary view over our tables: its query as it was written, and what it meant there."""

    text: str
    scope: ViewScope
    columns: ViewColumns
    mark: str
    """What Spark's view of that name carries for as long as it is this one."""
    catalogs: frozenset[str] = frozenset()
    """The catalogs that its text reads from."""


@dataclass(frozen=True, slots=True)
class FrameView:
    """A temporary view made of a table's DataFrame, or of filters and projections on one."""

    frame: Any
    mark: str
    catalogs: frozenset[str] = frozenset()
    settings: tuple[tuple[str, str], ...] = ()
    """Over Spark Connect, which resolves the DataFrame when the view is made, the settings of that time."""


RememberedView: TypeAlias = TextView | FrameView


def temporary_views(spark: SparkSession) -> list[str]:
    """The names of Spark's own temporary views."""
    names = temporary_view_names(spark)
    if names is not None:
        return sorted(names)
    rows = spark_sql(spark, "SHOW VIEWS IN global_temp").collect()
    return sorted(row["viewName"] for row in rows if row["isTemporary"] and not row["namespace"])


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Whether Spark has a temporary view of that name, one that we remember among them."""
    return name.lower() in {one.lower() for one in temporary_views(spark)}


def marked(frame: DataFrame, mark: str) -> DataFrame:
    """The DataFrame with a mark that Spark keeps with a view of it, in the metadata of its first column."""
    fields = frame.schema.fields
    names = [f"c{number}" for number in range(len(fields))]
    columns = [
        F.col(name).alias(field.name, metadata={**field.metadata, **({VIEW_MARK: mark} if number == 0 else {})})
        for number, (name, field) in enumerate(zip(names, fields, strict=True))
    ]
    found: DataFrame = original(original(frame, "toDF")(*names), "select")(*columns)
    return found


def mark_of(spark: SparkSession, key: str) -> str | None:
    """The mark of Spark's temporary view; None where it has none, or there is no such view."""
    name = key.removeprefix(f"{GLOBAL_VIEWS}.")
    parts = (name,) if name == key else (GLOBAL_VIEWS, name)
    try:
        reader = original(spark, "read")  # over Connect, `spark.table` goes by the reader that we patch
        fields = original(reader, "table")(".".join(quote_name(part) for part in parts)).schema.fields
    except AnalysisException:
        return None
    return fields[0].metadata.get(VIEW_MARK) if fields else None
