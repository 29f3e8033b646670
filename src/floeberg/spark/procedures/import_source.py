"""Where files are imported from: a table of Spark's own catalog, or a folder by its format and path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException

from floeberg.effects.protocols import Store
from floeberg.errors import InvalidInput, PathEscape
from floeberg.maintenance.imports.add_files import FORMATS, columns_of, file_format_of
from floeberg.maintenance.imports.folders import HIVE_NULL, SourceFile, list_folder, partition_of_folders
from floeberg.spark.host.calls.originals import original, spark_sql
from floeberg.spark.host.session import AttachedSession
from floeberg.spec.snapshots.manifest_entry import FileFormat
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import SESSION_CATALOG
from floeberg.storage.location import Location, parse, parse_encoded, parse_from_user

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NO_PARTITIONS: Final = "INVALID_PARTITION_OPERATION"
_KINDS: Final = ("MANAGED", "EXTERNAL")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSource:
    """The files to import, and of what they are: for a table of Spark's, also its kind and properties."""

    name: str
    """As SQL text."""
    files: Sequence[SourceFile]
    columns: tuple[str, ...]
    file_format: FileFormat
    location: Location
    is_managed: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)


def find_source(session: AttachedSession, text: str, store_for: Callable[[str], Store]) -> ImportSource:
    """The source that an argument names: `db.table` of Spark's catalog, or a folder such as `parquet.`/some/folder``.

    Raises InvalidInput for a table of ours, a view, or a table that is no plain Parquet, ORC or Avro files.
    """
    parts = parse_parts(text)
    if len(parts) == 2 and parts[0].lower() in FORMATS:
        files = list_folder(store_for, parts[1])
        return ImportSource(
            name=f"{parts[0]}.{quote_name(parts[1])}",
            files=files,
            columns=columns_of(files),
            file_format=file_format_of(parts[0]),
            location=parse_from_user(parts[1]),
        )
    if len(parts) > 1 and parts[0].lower() == SESSION_CATALOG:
        parts = parts[1:]
    elif session.names().table(parts) is not None:
        raise InvalidInput(f"{text} is an Iceberg table already; give a table of {SESSION_CATALOG}, or parquet.`path`")
    if len(parts) == 1:
        parts = (*session.spark_place().namespace, *parts)
    return _spark_table(session, tuple(parts))


def source_rows(session: AttachedSession, source: ImportSource) -> DataFrame:
    """The rows of a source as Spark reads them."""
    return spark_sql(session.spark, f"SELECT * FROM {source.name}")


def _spark_table(session: AttachedSession, parts: tuple[str, ...]) -> ImportSource:
    spark = session.spark
    name = ".".join(quote_name(part) for part in (SESSION_CATALOG, *parts))
    found = _described(spark, name)
    if found.get("type") not in _KINDS or "location" not in found:
        raise InvalidInput(f"{name} is a {str(found.get('type', 'table')).lower()} without files of its own to import")
    if found.get("bucket_columns"):
        raise InvalidInput(
            f"{name} is bucketed by Spark, which an Iceberg table cannot be; copy its rows (CREATE TABLE … AS)"
        )
    if original(spark.catalog, "isCached")(name):
        raise InvalidInput(f"{name} is cached, so that Spark does not say its files; UNCACHE TABLE it first")
    columns = tuple(found.get("partition_columns", ()))
    location = parse(found["location"])
    spark_sql(spark, f"REFRESH TABLE {name}")
    files = [parse_encoded(path) for path in spark_sql(spark, f"SELECT * FROM {name}").inputFiles()]
    return ImportSource(
        name=name,
        files=_partitioned(spark, name, columns, location, files),
        columns=columns,
        file_format=_format(name, found),
        location=location,
        is_managed=found["type"] == "MANAGED",
        properties=found.get("table_properties", {}),
    )


def _described(spark: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(spark_sql(spark, f"DESCRIBE TABLE EXTENDED {name} AS JSON").collect()[0][0])
    return found


def _format(name: str, found: Mapping[str, Any]) -> FileFormat:
    """The format of a table's files; a Hive table says it by the class that reads them."""
    provider = str(found.get("provider", "")).lower()
    hints = [provider] if provider != "hive" else [str(found.get(key, "")) for key in ("serde_library", "input_format")]
    for one in FORMATS:
        if any(one in hint.lower() for hint in hints):
            return one
    raise InvalidInput(f"{name} holds {provider or 'unknown'} files; Parquet, ORC and Avro files can be imported")


def _partitioned(
    spark: Any, name: str, columns: tuple[str, ...], root: Location, files: Sequence[Location]
) -> list[SourceFile]:
    """Each file with its partition: from its path if every partition lies where its name says, else as Spark reads it."""
    if not columns:
        return [SourceFile(file.text) for file in files]
    try:
        known: set[str] | None = {row[0] for row in spark_sql(spark, f"SHOW PARTITIONS {name}").collect()}
    except AnalysisException as error:
        if not str(error.getCondition()).startswith(_NO_PARTITIONS):
            raise
        known = None  # Spark itself takes partitions from paths
    found: list[SourceFile] = []
    try:
        for file in files:
            folder, _, _ = file.relative_to(root).rpartition("/")
            if known is not None and folder not in known:
                return _read_partitions(spark, name, columns)
            found.append(SourceFile(file.text, partition_of_folders(folder.split("/"), file.text)))
    except PathEscape:
        return _read_partitions(spark, name, columns)
    if len({file.location for file in found}) < len(found):
        return _read_partitions(spark, name, columns)
    return found


def _read_partitions(spark: Any, name: str, columns: tuple[str, ...]) -> list[SourceFile]:
    """Partitions with folders of their own: Spark says which file is in which. It reads no column for that, but every file;
    those without rows do not come out."""
    values = ", ".join(f"CAST({quote_name(column)} AS STRING)" for column in columns)
    rows = spark_sql(spark, f"SELECT DISTINCT _metadata.file_path, {values} FROM {name}").collect()
    return sorted(
        (
            SourceFile(
                parse_encoded(row[0]).text,
                tuple(
                    (column, None if text == HIVE_NULL else text) for column, text in zip(columns, row[1:], strict=True)
                ),
            )
            for row in rows
        ),
        key=lambda file: file.location,
    )
