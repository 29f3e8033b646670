"""Reads the rows of a file of any format, as its manifest entry describes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.arrow.formats.read_avro import read_avro
from floeberg.arrow.formats.read_orc import read_orc
from floeberg.arrow.formats.read_parquet import DEFAULT_BATCH_ROWS, FileBatch, RowGroupFilter, read_parquet
from floeberg.effects.protocols import Store
from floeberg.errors import UnsupportedFeature
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a file is read: rows in a batch at most, whether its columns are decoded in several threads, and whether the
    checksums of Parquet pages are verified."""

    batch_rows: int = DEFAULT_BATCH_ROWS
    use_threads: bool = True
    verify_checksums: bool = True


DEFAULT_OPTIONS: Final = ReadOptions()


def read_file(
    store: Store,
    file: DataFile,
    schema: Schema,
    *,
    name_mapping: NameMapping | None = None,
    table_schema: Schema | None = None,
    constants: Mapping[int, object] | None = None,
    row_group_filter: RowGroupFilter | None = None,
    byte_range: tuple[int, int] | None = None,
    options: ReadOptions = DEFAULT_OPTIONS,
    location: str | None = None,
) -> Iterator[FileBatch]:
    """The rows of a file in its order, projected to a schema, each batch with the position of its first row. `location`
    is where it lies, when that is another place than the manifest says (a table that was moved). `table_schema` is the whole
    one, by whose positions the columns of a Parquet file without field ids are found when there is no name mapping.

    Raises UnsupportedFeature for an encrypted file before a byte of it is read, DataFileCorrupt, FileNotFound.
    """
    if file.key_metadata is not None:
        raise UnsupportedFeature(
            f"{file.file_path} is encrypted (it has key metadata); encrypted tables are not supported",
            location=file.file_path,
        )
    size_bytes = file.file_size_in_bytes if file.file_size_in_bytes > 0 else None
    place = file.file_path if location is None else location
    match file.file_format:
        case FileFormat.PARQUET:
            return read_parquet(
                store,
                place,
                schema,
                size_bytes=size_bytes,
                name_mapping=name_mapping,
                table_schema=table_schema,
                constants=constants,
                row_group_filter=row_group_filter,
                byte_range=byte_range,
                batch_rows=options.batch_rows,
                use_threads=options.use_threads,
                verify_checksums=options.verify_checksums,
            )
        case FileFormat.ORC | FileFormat.AVRO:
            read = read_orc if file.file_format is FileFormat.ORC else read_avro
            return read(
                store,
                place,
                schema,
                size_bytes=size_bytes,
                name_mapping=name_mapping,
                constants=constants,
                byte_range=byte_range,
                batch_rows=options.batch_rows,
            )
    raise UnsupportedFeature(f"{file.file_path}: rows are not stored in {file.file_format} files")
