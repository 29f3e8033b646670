"""Reads ORC data files, stripe by stripe, by the ids in their attributes: https://iceberg.apache.org/spec/#orc"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyarrow import orc

from floeberg.arrow.columns.conversion import Convert, converter_for, truncate_to_us
from floeberg.arrow.formats.file_schema import ORC_ID_KEY, FileField, file_fields, find_child
from floeberg.arrow.formats.io import open_source, reading
from floeberg.arrow.formats.projection import Projection, Resolver
from floeberg.arrow.formats.read_parquet import DEFAULT_BATCH_ROWS, FileBatch
from floeberg.arrow.formats.resolve_ids import resolve_ids
from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    FixedType,
    IcebergType,
    NestedField,
    TimestampType,
    TimestamptzType,
    TimeType,
    UnknownType,
)


class OrcResolver(Resolver):
    """What differs in ORC: times are longs, timestamps nanoseconds, fixed values binary of any length."""

    def converter(self, source: pa.DataType, target: IcebergType) -> Convert | None:
        if isinstance(target, (TimestampType, TimestamptzType)) and source.id == pa.timestamp("ns").id:
            exact = converter_for(pa.timestamp("us"), target)
            assert exact is not None
            return lambda array: exact(truncate_to_us(array.view(pa.timestamp("ns"))))
        if isinstance(target, TimeType) and source == pa.int64():
            return lambda array: array.view(pa.time64("us"))
        if isinstance(target, FixedType) and source == pa.binary():
            return lambda array: array.cast(pa.binary(target.length))
        return converter_for(source, target)


def read_orc(
    store: Store,
    location: str,
    schema: Schema,
    *,
    size_bytes: int | None = None,
    name_mapping: NameMapping | None = None,
    constants: Mapping[int, object] | None = None,
    byte_range: tuple[int, int] | None = None,
    batch_rows: int = DEFAULT_BATCH_ROWS,
) -> Iterator[FileBatch]:
    """The rows of a file in its order, projected to a schema. pyarrow does not tell where stripes lie, so a byte range
    selects the whole file when it begins at or before its start, and nothing otherwise.

    Raises DataFileCorrupt, also for timestamps outside 1677 to 2262, which pyarrow cannot hold.
    """
    if byte_range is not None and byte_range[0] > len(_ORC_MAGIC):
        return
    with reading(location):
        file = orc.ORCFile(open_source(store, location, size_bytes=size_bytes))
        fields = orc_fields(file, schema, location=location, name_mapping=name_mapping)
    read = _columns(fields, schema)
    projection = Projection(read, schema, location=location, constants=constants, resolver=OrcResolver)
    position = 0
    for stripe in range(file.nstripes):
        for batch in _stripe(file, stripe, read, location).to_batches(max_chunksize=batch_rows):
            yield FileBatch(position, projection.apply(batch))
            position += batch.num_rows


def orc_fields(file: Any, schema: Schema, *, location: str, name_mapping: NameMapping | None) -> tuple[FileField, ...]:
    """The columns of an ORC file with ids. Raises DataFileCorrupt."""
    return resolve_ids(
        file_fields(file.schema, location=location, id_key=ORC_ID_KEY),
        location=location,
        name_mapping=name_mapping,
        by_name=schema,
    )


_ORC_MAGIC = b"ORC"


def _columns(fields: tuple[FileField, ...], schema: Schema) -> tuple[FileField, ...]:
    """The top-level columns to read: ORC's reader prunes no deeper by ordinal. One at least, for the row count."""
    wanted: list[NestedField] = [field for field in schema.fields if not isinstance(field.type, UnknownType)]
    found = [find_child(fields, target) for target in wanted]
    kept = tuple(field for field in fields if any(field is other for other in found))
    return kept or tuple(replace(field) for field in fields[:1])


def _stripe(file: Any, stripe: int, read: tuple[FileField, ...], location: str) -> pa.Table:
    names = [field.name for field in read]
    try:
        # pyarrow takes a dot in a name for a path into a struct, so that such a column can't be selected alone.
        batch = file.reader.read_stripe(stripe, columns=None if any("." in name for name in names) else names)
    except pa.ArrowInvalid as error:
        if "out of range for nanosecond" in str(error):
            raise DataFileCorrupt(
                f"{location}: a timestamp in one of the columns {', '.join(names)} is outside 1677-09-21 to "
                f"2262-04-11, which the ORC reader cannot hold ({error}); rewrite the file as Parquet with another "
                "engine, or leave the column out",
                location=location,
            ) from error
        raise DataFileCorrupt(f"{location} cannot be read: {error}", location=location) from error
    except (pa.ArrowException, OSError) as error:
        raise DataFileCorrupt(f"{location} cannot be read: {error}", location=location) from error
    order = {name: i for i, name in enumerate(batch.schema.names)}
    return pa.Table.from_batches([batch.select([order[name] for name in names])])
