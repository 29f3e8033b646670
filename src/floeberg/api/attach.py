"""Attaching Spark sessions. Spark is loaded only when it is asked for: pyspark is an optional dependency."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from floeberg.catalogs.base import CatalogBackend, LoadedTable
from floeberg.catalogs.identifiers import Namespace
from floeberg.effects.protocols import Effects
from floeberg.effects.system import system_effects
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.maintenance.file_work import FileWork
from floeberg.maintenance.imports.folders import SourceFile
from floeberg.maintenance.rewrite.compact import RewriteRequest, Rewritten
from floeberg.maintenance.rewrite.delete_files import DeleteRewriteRequest, RewrittenDeletes
from floeberg.maintenance.rewrite.engine import RewriteEngine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

_OLDEST_PYSPARK: Final = (4, 1)


@runtime_checkable
class AttachableCatalog(Protocol):
    """What `floeberg.catalog(…)` gives."""

    default_namespace: Namespace | None
    _backend: CatalogBackend

    @property
    def name(self) -> str: ...

    @property
    def table_defaults(self) -> Mapping[str, str]: ...

    @property
    def table_overrides(self) -> Mapping[str, str]: ...


def attach(spark: SparkSession, *catalogs: AttachableCatalog, effects: Effects | None = None) -> None:
    """Makes catalogs known to a Spark session: those given, and those of its settings `spark.sql.catalog.<name>.*`.

    From then on `spark.sql`, `spark.table`, `spark.read`, `df.writeTo` and so on understand their tables. Attaching again
    adds catalogs. Raises InvalidInput, also for a name that another catalog has in this session, and UnsupportedFeature for a
    kind of catalog that comes later.
    """
    state = spark_module("floeberg.spark.host.session_state")
    given = {}
    for one in catalogs:
        if not isinstance(one, AttachableCatalog):
            raise InvalidInput(f"attach takes catalogs made by floeberg.catalog(…), not {type(one).__name__}")
        given[one.name] = state.AttachedCatalog(
            one._backend, one.table_defaults, one.table_overrides, one.default_namespace
        )
    spark_module("floeberg.spark.entry.attach").attach(spark, given, effects=effects or system_effects())


def detach(spark: SparkSession) -> None:
    """Gives a session back to Spark as it was; a session that is not attached stays as it is."""
    spark_module("floeberg.spark.entry.attach").detach(spark)


def explain(frame: DataFrame) -> str:
    """What the scans behind a DataFrame read: files planned of files there, and why the others were left out."""
    found: str = spark_module("floeberg.spark.query.explain").explain(frame)
    return found


def to_spark(spark: SparkSession, table: LoadedTable, **asked: Any) -> DataFrame:
    """A table's rows as a DataFrame, for `Table.to_spark`."""
    frame: DataFrame = spark_module("floeberg.spark.entry.to_spark").to_spark(spark, table, **asked)
    return frame


def rewrite_on_spark(spark: SparkSession, table: LoadedTable, request: RewriteRequest, **told: Any) -> Rewritten:
    """Rewrites a table's data files by Spark jobs, for `Table.maintenance`."""
    done: Rewritten = spark_module("floeberg.spark.procedures.rewrites").rewrite_on_spark(spark, table, request, **told)
    return done


def convert_on_spark(
    spark: SparkSession, table: LoadedTable, request: DeleteRewriteRequest, **told: Any
) -> RewrittenDeletes:
    """Converts a table's equality deletes with a Spark job, for `Table.maintenance`."""
    module = spark_module("floeberg.spark.procedures.rewrites")
    done: RewrittenDeletes = module.convert_on_spark(spark, table, request, **told)
    return done


def spark_engine(spark: SparkSession, table: LoadedTable) -> RewriteEngine:
    """The engine that rewrites a table's files by Spark jobs."""
    engine: RewriteEngine = spark_module("floeberg.spark.procedures.rewrite_engine").SparkEngine(spark, table)
    return engine


def spark_work(spark: SparkSession, table: LoadedTable) -> FileWork:
    """Work on many files of a table by Spark's workers."""
    work: FileWork = spark_module("floeberg.spark.procedures.file_work").spark_work(spark, table)
    return work


def large_work(spark: SparkSession, table: LoadedTable) -> FileWork:
    """Work on files of a table, by Spark's workers where they are many."""
    work: FileWork = spark_module("floeberg.spark.procedures.file_work").large_work(spark, table)
    return work


def import_on_spark(
    spark: SparkSession, table: LoadedTable, files: Sequence[SourceFile], threads: int | None
) -> FileWork:
    """Work on files that are to be imported, by Spark's workers where they are many."""
    module = spark_module("floeberg.spark.procedures.file_work")
    work: FileWork = module.import_work(spark, table, files, threads)
    return work


def _check_pyspark() -> None:
    """Raises UnsupportedFeature for a PySpark that is too old, before anything of it is used."""
    version = str(importlib.import_module("pyspark").__version__)
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST_PYSPARK:
        raise UnsupportedFeature(
            f"PySpark {version} is too old: floeberg needs 4.1 or later; pip install --upgrade 'floeberg[spark]'"
        )


def spark_module(name: str) -> Any:
    """A module of the Spark engine. Raises UnsupportedFeature where PySpark is missing or too old."""
    try:
        _check_pyspark()
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "pyspark":
            raise UnsupportedFeature("Spark is not installed: pip install 'floeberg[spark]'") from error
        raise
