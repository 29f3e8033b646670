"""A Python data source `iceberg` (and `floeberg`), for what reaches Spark past our methods: tables by path, in SQL that
we do not see and in sessions that are not attached. `spark.read.format("iceberg")` of an attached session does not come
here: it reads with Spark's own reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.static import open_static
from floeberg.effects.system import system_effects
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice, choose_snapshot
from floeberg.spark.entry.reader import is_path
from floeberg.spark.entry.source_writer import PathWriter
from floeberg.spark.host.types.spark_types import spark_field
from floeberg.spark.read.arrow_scan import table_files
from floeberg.spark.read.options import FrameOptions
from floeberg.spark.streaming.source import TableStreamSource
from floeberg.spark.workers.scan import SplitReader
from floeberg.storage.location import parse_from_user
from floeberg.storage.registry import StoreRegistry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FloebergSource(DataSource):  # type: ignore[misc]
    """A table by path: `spark.read.format("floeberg").load("/lake/db/t")`, and `df.write.format("floeberg")`. Options are
    those of a read or a write."""

    @classmethod
    def name(cls) -> str:
        return "floeberg"

    def schema(self) -> StructType:
        return StructType([spark_field(field) for field in self._chosen()[1].schema.fields])

    def reader(self, schema: StructType) -> DataSourceReader:
        table, chosen = self._chosen()
        found = StructType([spark_field(field) for field in chosen.schema.fields])
        if [(field.name, field.dataType) for field in schema] != [(field.name, field.dataType) for field in found]:
            raise InvalidInput(f"{self._path()}: a table has a schema; leave .schema(…) out and select columns instead")
        return PathReader(table, chosen, self._options())

    def writer(self, schema: StructType, overwrite: bool) -> PathWriter:
        options = {key: value for key, value in dict(self.options).items() if key.lower() != "path"}
        return PathWriter(self._path(), schema, overwrite=overwrite, options=options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        raise UnsupportedFeature(
            f"format({self.name()!r}): a stream reads a table by its name, in a session that is attached: "
            "floeberg.attach(spark)"
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        raise UnsupportedFeature(
            f"format({self.name()!r}): a stream writes a table by its name, in a session that is attached: "
            "floeberg.attach(spark)"
        )

    def _path(self) -> str:
        path = self.options.get("path")
        if path is None or not is_path(path):
            raise InvalidInput(
                f"format({self.name()!r}) needs the path of a table: .load('/lake/db/t'); names are known in sessions that are "
                "attached (floeberg.attach(spark))"
            )
        return str(path)

    def _chosen(self) -> tuple[LoadedTable, SnapshotChoice]:
        path = self._path()
        effects = system_effects()
        table = open_static(parse_from_user(path).text, stores=StoreRegistry(effects, {}), effects=effects)
        options = self._options()
        chosen = choose_snapshot(
            table.state.metadata, snapshot_id=options.snapshot_id, ref=options.ref, as_of_ms=options.as_of_ms
        )
        return table, chosen

    def _options(self) -> FrameOptions:
        """The options of a read. Raises InvalidInput for those that this source cannot honour."""
        given = {key: value for key, value in dict(self.options).items() if key.lower() != "path"}
        options = FrameOptions.of(given)
        if options.is_incremental:
            raise InvalidInput(f"format({self.name()!r}) reads ranges of snapshots in attached sessions only")
        if "timestampasof" in {key.lower() for key in given}:
            # The session's time zone, which the text may need, is not known here.
            raise InvalidInput("timestampAsOf is for attached sessions; give as-of-timestamp in milliseconds")
        return options


class IcebergSource(FloebergSource):
    """The same under the name that the Java runtime's users write."""

    @classmethod
    def name(cls) -> str:
        return "iceberg"


class FilePartition(InputPartition):  # type: ignore[misc]
    """The number of a planned file."""

    def __init__(self, number: int) -> None:
        super().__init__(number)


class PathReader(DataSourceReader):  # type: ignore[misc]
    """Reads the planned files, one in each task."""

    def __init__(self, table: LoadedTable, chosen: SnapshotChoice, options: FrameOptions) -> None:
        metadata = table.state.metadata
        ignore_scheme = options.ignore_scheme
        planned = plan_files(metadata, chosen, store_for=table.pointer.store_for, ignore_scheme=ignore_scheme)
        tasks = tuple(planned)
        self._split = SplitReader(
            table=table_files(table, chosen.schema, ignore_scheme=ignore_scheme, by_name=options.by_name),
            groups=tuple((task,) for task in tasks),
            projection=chosen.schema,
        )

    def partitions(self) -> list[InputPartition]:
        return [FilePartition(number) for number in range(len(self._split.groups))] or [FilePartition(-1)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if partition.value >= 0:
            yield from self._split(iter([pa.record_batch({"number": [partition.value]})]))


def register_source(spark: SparkSession) -> None:
    """Makes both names known to a session. Spark refuses that where another session of the application has the name, and an
    attached session does not need it."""
    for source in (FloebergSource, IcebergSource, TableStreamSource):
        try:
            spark.dataSource.register(source)
        except AnalysisException as error:
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
