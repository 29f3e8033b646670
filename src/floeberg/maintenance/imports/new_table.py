"""A new table over files that are there: its columns as the files have them, and one commit that publishes both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.orc as orc

from floeberg.arrow.formats.io import open_source, reading
from floeberg.arrow.formats.read_parquet import open_parquet
from floeberg.catalogs.base import LoadedTable
from floeberg.effects.protocols import Store
from floeberg.errors import AlreadyExists, InvalidInput, NotFound, ValidationConflict
from floeberg.maintenance.file_work import FileWork
from floeberg.maintenance.imports.add_files import AddedFiles, ImportRequest, add_files
from floeberg.maintenance.imports.folders import SourceFile
from floeberg.spec.snapshots.manifest_entry import FileFormat
from floeberg.storage.location import Location, parse

SNAPSHOT_PROPERTIES: Final = {"gc.enabled": "false", "snapshot": "true"}
"""Of a table over the files of another: no maintenance deletes them."""
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def folder_schema(store_for: Callable[[str], Store], files: Sequence[SourceFile], file_format: FileFormat) -> pa.Schema:
    """The columns of the first file, and those of the partition folders that it lacks: int, bigint, date or string, as all
    names of folders are. Raises InvalidInput for Avro files, whose schema must be given."""
    first = files[0].location
    store = store_for(first)
    with reading(first):
        if file_format is FileFormat.PARQUET:
            schema = open_parquet(store, first).schema_arrow
        elif file_format is FileFormat.ORC:
            schema = orc.ORCFile(open_source(store, first)).schema
        else:
            raise InvalidInput(f"{first}: the columns of a table over Avro files must be given as a schema")
    known = {name.lower() for name in schema.names}
    for place, name in enumerate(files[0].columns):
        if name.lower() not in known:
            texts = [text for file in files if (text := file.partition[place][1]) is not None]
            schema = schema.append(pa.field(name, _type_of(texts)))
    return schema.remove_metadata()


def _type_of(texts: Sequence[str]) -> pa.DataType:
    if texts and all(_INTEGER.fullmatch(text) for text in texts):
        return pa.int32() if all(-(2**31) <= int(text) < 2**31 for text in texts) else pa.int64()
    return pa.date32() if texts and all(_DATE.fullmatch(text) for text in texts) else pa.string()


def refuse_overlap(name: str, location: str, source: Location) -> None:
    """Raises InvalidInput when a new table would lie among the files that it is made over."""
    own = parse(location)
    if own.is_within(source) or source.is_within(own):
        raise InvalidInput(
            f"{name}: the new table's location {location} and the source's {source.text} overlap, so that their files "
            "would mix; give another location"
        )


def publish_with_files(staged: LoadedTable, work: FileWork, request: ImportRequest) -> AddedFiles:
    """Publishes a staged table with files, in one commit. Raises what `add_files` raises, and AlreadyExists when the table was
    made meanwhile."""
    try:
        done = add_files(staged.pointer, staged.state, work, request)
        if done.state.metadata_location is None:
            staged.pointer.swap(staged.state, done.state.metadata)
    except ValidationConflict as conflict:
        if isinstance(conflict.__cause__, AlreadyExists | NotFound):
            raise conflict.__cause__ from None
        raise
    return done
