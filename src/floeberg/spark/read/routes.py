"""Which reader reads each file of a plan: Spark's own Parquet reader wherever it gives the right rows, the Arrow engine in
Python workers everywhere else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from floeberg.arrow.formats.file_schema import file_fields
from floeberg.arrow.formats.read_parquet import open_parquet
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.host.calls.own_functions import replaced
from floeberg.spark.read.deletes.equality import can_join
from floeberg.spark.read.parquet.columns import NativeColumn, native_column
from floeberg.spark.read.parquet.field_names import changed_types, renamed_ids, unsafe_ids, wrapped_ids
from floeberg.spark.read.parquet.metadata_columns import COMPUTED, LINEAGE
from floeberg.spark.read.parquet.partition_columns import partition_sources
from floeberg.spark.read.parquet.paths import hadoop_scheme, why_unread
from floeberg.spark.read.parquet.scan import GENERATED_INDEX, PlacedTask
from floeberg.spark.workers.scan import TableFiles
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import IS_DELETED
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.schemas.schema import Schema, walk_fields
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import NestedField
from floeberg.storage.location import Location, parse

SPARK_NAMES: Final = frozenset({"_metadata", GENERATED_INDEX.name})
"""Names that Spark's reader gives to columns of its own."""
_FUNCTIONS: Final = ("bit_get", "coalesce", "get", "raise_error", "shiftright")
"""Those of Spark by which rows of files are told from deleted ones, and columns get their values."""
MAX_FOOTERS: Final = 256
"""How many footers are read before Spark reads the files."""


@dataclass(slots=True)
class Routes:
    """The tasks of a plan by their reader."""

    plain: list[PlacedTask] = field(default_factory=list)
    with_position_deletes: list[PlacedTask] = field(default_factory=list)
    with_equality_deletes: list[PlacedTask] = field(default_factory=list)
    by_arrow: list[FileScanTask] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    """Why files are read by the Arrow engine, with their number."""
    as_stored: bool = False
    """Whether Spark's reader gives every column as users see it."""

    @property
    def native(self) -> list[PlacedTask]:
        """The files that Spark's own reader reads."""
        return [*self.plain, *self.with_position_deletes, *self.with_equality_deletes]

    @property
    def files(self) -> int:
        return len(self.plain) + len(self.with_position_deletes) + len(self.with_equality_deletes) + len(self.by_arrow)

    @property
    def is_native(self) -> bool:
        """Whether Spark's own reader reads some of the files."""
        return bool(self.plain or self.with_position_deletes or self.with_equality_deletes)

    @property
    def is_plain(self) -> bool:
        """Whether the whole plan is one scan of Spark's own reader without deletes."""
        return bool(self.plain) and not (self.with_position_deletes or self.with_equality_deletes or self.by_arrow)

    def arrow(self, task: FileScanTask, reason: str) -> None:
        self.by_arrow.append(task)
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


class ColumnChoice:
    """How the columns of a table are requested: under their own names or unique ones."""

    def __init__(self, spark: Any, metadata: TableMetadata, schema: Schema, *, with_nan: frozenset[int]) -> None:
        """`with_nan` are the top-level columns in which some file has NaN: no filter may be pushed down to them."""
        self._unsafe = unsafe_ids(metadata)
        self._changed = changed_types(metadata)
        self._renamed = renamed_ids(metadata)
        lowered = [field.name.lower() for field in schema.fields]
        self._twice = {field.field_id for field in schema.fields if lowered.count(field.name.lower()) > 1}
        self._schema = schema
        self._not_pushed = with_nan | wrapped_ids(metadata, spark) | LINEAGE

    def column(self, column: NestedField) -> NativeColumn | None:
        """How a column is requested of Spark; None where only the Arrow engine can read it."""
        trusted = self._unsafe is not None and column.field_id not in self._unsafe
        own_name = trusted and not {column.field_id} & (self._twice | self._not_pushed)
        if column.type.is_nested and not (own_name and self._is_never_renamed(column)):
            return None
        return native_column(column, own_name=own_name, changed=self._changed)

    def _is_never_renamed(self, column: NestedField) -> bool:
        return all(field.field_id not in self._renamed for field, _ in walk_fields([column]))

    def as_stored(self, projection: Schema) -> bool:
        """Whether Spark's reader gives every column as users see it, and by its field id whatever a query asks of it."""
        return all(
            column.field_id not in COMPUTED and (found := self.column(column)) is not None and found.is_as_stored
            for column in projection.fields
        )

    def why_not(self, projection: Schema) -> str | None:
        """Why these columns cannot be read by Spark's reader; None if they can."""
        for column in self._schema.fields:
            if column.name.lower() in SPARK_NAMES or column.name.lower().startswith(ENGINE_PREFIX):
                return f"a column is named {column.name}"
        for column in projection.fields:
            if column.field_id not in COMPUTED and self.column(column) is None:
                return f"column {column.name} ({column.type})"
        return None


def route(
    spark: Any,
    tasks: Iterable[FileScanTask],
    files: TableFiles,
    *,
    projection: Schema,
    columns: ColumnChoice,
    unsure: Collection[str],
    engine: str | None = None,
) -> Routes:
    """The reader of each task. `unsure` are the paths of files that may lack the columns of their partition."""
    routes = Routes(as_stored=columns.as_stored(projection))
    footers, functions = _Footers(files, unsure), _Functions(spark)
    why_not = "asked for" if engine == "arrow" else columns.why_not(projection)
    keeps_deleted = any(column.field_id == IS_DELETED.field_id for column in projection.fields)
    seen: set[Location] = set()
    for task in tasks:
        placed, reason = (None, why_not) if why_not else _placed(spark, task, files, footers)
        if placed is None or reason is not None:
            routes.arrow(task, reason or "not reachable")
        elif placed.location in seen:  # which Spark's reader would read once
            routes.arrow(task, "files that the table has twice")
        elif (task.deletes or not routes.as_stored) and functions.why_not:
            routes.arrow(task, functions.why_not)
        elif not task.deletes:
            routes.plain.append(placed)
        elif keeps_deleted:
            routes.arrow(task, "deleted rows are asked for")
        elif not task.equality_deletes:
            routes.with_position_deletes.append(placed)
        elif can_join(task, files.schema) and all(
            columns.column(files.schema.by_id[i]) for d in task.equality_deletes for i in d.file.equality_ids or ()
        ):
            routes.with_equality_deletes.append(placed)
        else:
            routes.arrow(task, "equality deletes by such columns")
        if placed is not None:
            seen.add(placed.location)
    return routes


def _placed(
    spark: Any, task: FileScanTask, files: TableFiles, footers: _Footers
) -> tuple[PlacedTask | None, str | None]:
    file = task.data_file
    if file.file_format is not FileFormat.PARQUET:
        return None, f"{file.file_format} files"
    relocation = files.stores.relocation
    location = parse(file.file_path if relocation is None else relocation.apply(file.file_path))
    scheme = hadoop_scheme(spark, location)
    if scheme is None:
        return None, f"Spark has no file system for {location.scheme}"
    if (reason := why_unread(location)) is not None:
        return None, reason
    if not footers.allow(file):
        return None, "files without field ids or columns of their partition, or too many to look at"
    return PlacedTask(task, location, scheme), None


class _Functions:
    """What the names of Spark's functions mean, asked of Spark where files are first read by them."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    @cached_property
    def why_not(self) -> str | None:
        """Why files cannot be read by these functions; None if there is no reason."""
        others = replaced(self._spark, _FUNCTIONS)
        return f"a temporary function named {others[0]}" if others else None


class _Footers:
    """Facts that only the files know: field ids, which imported files lack, and the columns of their partition, which some
    writers leave out. For files that should have both, one footer of each spec and kind of name stands for all."""

    def __init__(self, files: TableFiles, unsure: Collection[str]) -> None:
        self._files = files
        self._unsure = unsure
        self._looked_at = 0
        self._asked: dict[tuple[int, str], bool] = {}

    def allow(self, file: DataFile) -> bool:
        """Whether Spark's reader gives the right rows of the file; false if finding out would take too long."""
        if self._files.name_mapping is None and file.file_path not in self._unsure:
            kind = _kind_of_name(file.file_path)
            if not partition_sources(self._files.specs[file.spec_id]) and kind == _BY_TABLE_WRITERS:
                return True
            if (file.spec_id, kind) not in self._asked:
                self._asked[file.spec_id, kind] = self._is_whole(file)
            if self._asked[file.spec_id, kind]:
                return True
        self._looked_at += 1
        return self._looked_at <= MAX_FOOTERS and self._is_whole(file)

    def _is_whole(self, file: DataFile) -> bool:
        key = (file.file_path, file.file_size_in_bytes, file.spec_id)
        if key not in _whole:
            if len(_whole) >= _MAX_REMEMBERED:
                _whole.clear()
            store = self._files.stores.store_for(file.file_path)
            fields = file_fields(open_parquet(store, file.file_path).schema_arrow, location=file.file_path)
            ids = {found.field_id for found in fields}
            _whole[key] = None not in ids and partition_sources(self._files.specs[file.spec_id]) <= ids
        return _whole[key]


def _kind_of_name(path: str) -> str:
    """A file's name without what differs between the files of one writer: imported files have other names than those that
    were written into the table, which have field ids."""
    name = path.rpartition("/")[2]
    if _WRITTEN_INTO_TABLE.match(name):
        return _BY_TABLE_WRITERS
    return _NUMBERS.sub("0", name)


_BY_TABLE_WRITERS: Final = "table"
_WRITTEN_INTO_TABLE: Final = re.compile(r"\d{5}-\d+-.*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}.*\.parquet$")
"""As the Java library and others name the files that they write into a table."""
_NUMBERS: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9]+")

_whole: dict[tuple[str, int, int], bool] = {}
"""Facts from footers; a file never changes."""
_MAX_REMEMBERED: Final = 4096
