"""The columns of manifests and manifest lists: their field ids, older names, and the dtypes they are decoded to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_decode import physical_dtype
from floeberg.files.avro_wire import WireField, WireType

COUNTS: Final = pl.List(pl.Struct({"key": pl.Int32, "value": pl.Int64}))
BOUNDS: Final = pl.List(pl.Struct({"key": pl.Int32, "value": pl.Binary}))


@dataclass(frozen=True, slots=True)
class Column:
    """A column that we know. `required` ones may not be null in any record."""

    field_id: int
    name: str
    dtype: pl.DataType
    required: bool = False
    aliases: tuple[str, ...] = ()


_TEXTS: Final = {pl.String(), pl.Binary()}
"""Avro reads each of the two as the other."""
_I32: Final = pl.Int32()
_I64: Final = pl.Int64()

ENTRY_COLUMNS: Final = (
    Column(0, "status", _I32, True),
    Column(1, "snapshot_id", _I64),
    Column(3, "sequence_number", _I64),
    Column(4, "file_sequence_number", _I64),
)
DATA_FILE_ID: Final = 2
PARTITION_ID: Final = 102
DATA_FILE_COLUMNS: Final = (
    Column(134, "content", _I32),
    Column(100, "file_path", pl.String(), True),
    Column(101, "file_format", pl.String(), True),
    Column(103, "record_count", _I64, True),
    Column(104, "file_size_in_bytes", _I64, True),
    Column(108, "column_sizes", COUNTS),
    Column(109, "value_counts", COUNTS),
    Column(110, "null_value_counts", COUNTS),
    Column(137, "nan_value_counts", COUNTS),
    Column(125, "lower_bounds", BOUNDS),
    Column(128, "upper_bounds", BOUNDS),
    Column(131, "key_metadata", pl.Binary()),
    Column(132, "split_offsets", pl.List(pl.Int64)),
    Column(135, "equality_ids", pl.List(pl.Int32)),
    Column(140, "sort_order_id", _I32),
    Column(142, "first_row_id", _I64),
    Column(143, "referenced_data_file", pl.String()),
    Column(144, "content_offset", _I64),
    Column(145, "content_size_in_bytes", _I64),
)
SUMMARIES_ID: Final = 507
MANIFEST_FILE_COLUMNS: Final = (
    Column(500, "manifest_path", pl.String(), True),
    Column(501, "manifest_length", _I64, True),
    Column(502, "partition_spec_id", _I32, True),
    Column(517, "content", _I32),
    Column(515, "sequence_number", _I64),
    Column(516, "min_sequence_number", _I64),
    Column(503, "added_snapshot_id", _I64),
    Column(504, "added_files_count", _I32, aliases=("added_data_files_count",)),
    Column(505, "existing_files_count", _I32, aliases=("existing_data_files_count",)),
    Column(506, "deleted_files_count", _I32, aliases=("deleted_data_files_count",)),
    Column(512, "added_rows_count", _I64),
    Column(513, "existing_rows_count", _I64),
    Column(514, "deleted_rows_count", _I64),
    Column(519, "key_metadata", pl.Binary()),
    Column(520, "first_row_id", _I64),
)
SUMMARY_COLUMNS: Final = (
    Column(509, "contains_null", pl.Boolean(), True),
    Column(518, "contains_nan", pl.Boolean()),
    Column(510, "lower_bound", pl.Binary()),
    Column(511, "upper_bound", pl.Binary()),
)


def matcher(columns: Iterable[Column]) -> tuple[dict[int, Column], dict[str, Column]]:
    """The columns by field id and by name."""
    by_id = {column.field_id: column for column in columns}
    by_name = {name: column for column in by_id.values() for name in (column.name, *column.aliases)}
    return by_id, by_name


def match(field: WireField, by_id: Mapping[int, Column], by_name: Mapping[str, Column]) -> Column | None:
    """The column that a file's field is: by its id; by its name only where the writer gave no ids."""
    return by_name.get(field.name) if field.field_id is None else by_id.get(field.field_id)


def is_field(field: WireField, field_id: int, name: str) -> bool:
    """Whether a file's field is the nested one of that id."""
    return field.field_id == field_id if field.field_id is not None else field.name == name


def check_kind(column: Column, wire: WireType) -> None:
    """Raises ManifestCorrupt unless values of that shape can be cast to the column's dtype."""
    is_text = wire.logical == "enum" and column.dtype == pl.String
    if (
        not wire.is_empty
        and not is_text
        and (wire.logical == "enum" or not _castable(physical_dtype(wire), column.dtype))
    ):
        raise ManifestCorrupt(
            f"column {column.name} (field id {column.field_id}) has Avro type {wire.kind}, which is not {column.dtype}",
            column=column.name,
        )


def has_nullable_items(wire: WireType) -> bool:
    """Whether a list of numbers, or the pairs of a map, may hold null by its schema, which it should not."""
    if wire.item is None:
        return False
    return wire.item.null_index is not None or any(field.type.null_index is not None for field in wire.item.fields)


def _castable(found: pl.DataType, wanted: pl.DataType) -> bool:
    if isinstance(wanted, pl.List):
        return isinstance(found, pl.List) and _castable(_inner(found), _inner(wanted))
    if isinstance(wanted, pl.Struct):
        if not isinstance(found, pl.Struct) or len(found.fields) != len(wanted.fields):
            return False
        return all(
            a.name == b.name and _castable(_instance(a.dtype), _instance(b.dtype))
            for a, b in zip(found.fields, wanted.fields, strict=True)
        )
    return found == wanted or (found.is_integer() and wanted.is_integer()) or {found, wanted} == _TEXTS


def _inner(dtype: pl.List) -> pl.DataType:
    return _instance(dtype.inner)


def _instance(dtype: object) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()  # type: ignore[operator]


def symbols_of(series: pl.Series, wire: WireType) -> pl.Series:
    """The texts that an enum's numbers stand for. Raises ManifestCorrupt."""
    texts = pl.Series(wire.symbols, dtype=pl.String)
    if len(numbers := series.drop_nulls()) and not numbers.is_between(0, len(texts) - 1).all():
        raise ManifestCorrupt(f"column {series.name} has a number of no symbol", column=series.name)
    return texts.gather(series.cast(pl.UInt32)).alias(series.name)


def without_null_items(series: pl.Series, column: Column) -> pl.Series:
    """A list of numbers or pairs without those that are null, or of which a part is: they say nothing. Raises
    ManifestCorrupt for equality ids, where one that is missing changes what is deleted."""

    def is_whole(item: object) -> bool:
        return None not in item.values() if isinstance(item, dict) else item is not None

    rows = series.to_list()
    kept = [None if row is None else [item for item in row if is_whole(item)] for row in rows]
    if kept != rows and column.name == "equality_ids":
        raise ManifestCorrupt("equality_ids hold null", column=column.name)
    return pl.Series(series.name, kept, dtype=series.dtype)


def nulls(name: str, dtype: pl.DataType, height: int) -> pl.Series:
    """A column of nulls."""
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, height)


def typed(found: Mapping[str, pl.Series], columns: Iterable[Column], height: int) -> dict[str, pl.Series]:
    """The columns in their dtypes; those that the file lacks are null. Raises ManifestCorrupt."""
    out: dict[str, pl.Series] = {}
    for column in columns:
        series = found.get(column.name)
        if series is None:
            if column.required and height:
                raise ManifestCorrupt(f"column {column.name} ({column.field_id}) is missing", column=column.name)
            series = nulls(column.name, column.dtype, height)
        elif series.dtype != column.dtype:
            try:
                series = series.cast(column.dtype, strict=True)
            except pl.exceptions.PolarsError as error:
                raise ManifestCorrupt(f"column {column.name} has a value out of range", column=column.name) from error
        if column.required and series.null_count():
            raise ManifestCorrupt(f"column {column.name} is null in some record", column=column.name)
        out[column.name] = series
    return out
