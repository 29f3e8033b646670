"""The deletes of a data file: positions and keys of rows that are no longer there.
https://iceberg.apache.org/spec/#row-level-deletes"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.columns.key_set import KeySet
from floeberg.arrow.columns.partition import column_by_id
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.formats.row_groups import row_group_filter
from floeberg.arrow.scan.delete_cache import DeleteCache
from floeberg.effects.leniencies import Leniency, tolerate
from floeberg.effects.protocols import Store
from floeberg.errors import DataFileCorrupt, InvalidInput, ManifestCorrupt, PuffinCorrupt
from floeberg.expr.nodes import BoundPredicate, BoundReference, Op
from floeberg.files.deletion_vector import bitmap_of, decode_deletion_vector
from floeberg.files.puffin import MAGIC as PUFFIN_MAGIC
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH, DELETE_FILE_POS
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.projection import prune_columns
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent
from floeberg.spec.types import UNSET, NestedField, StructType

StoreFor: TypeAlias = Callable[[str], Store]
Mask: TypeAlias = npt.NDArray[np.bool_]

POSITION_DELETE_SCHEMA: Final = Schema(DELETE_FILE_PATH, DELETE_FILE_POS)
_BITMAP_ENTRY_BYTES: Final = 200


@dataclass(frozen=True, slots=True)
class EqualityDeletes:
    """Deleted keys of one set of columns, which `key_schema` holds (and the structs around them)."""

    equality_ids: tuple[int, ...]
    key_schema: Schema
    keys: KeySet

    def deleted(self, batch: pa.RecordBatch, schema: Schema) -> Mask:
        """Which rows of a batch of a schema that holds the key columns are deleted."""
        return self.keys.contains([column_by_id(batch, schema, field_id) for field_id in self.equality_ids])


@dataclass(frozen=True, slots=True)
class RowDeletes:
    """What is deleted of one data file."""

    positions: BitMap64 | None = None
    equality: tuple[EqualityDeletes, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.positions) or bool(self.equality)

    def deleted(self, batch: pa.RecordBatch, schema: Schema, *, first_position: int) -> Mask | None:
        """Which rows of a batch, that begins at a position of the file, are deleted; None when none is."""
        mask = None
        if self.positions is not None:
            mask = deleted_positions(self.positions, first_position, batch.num_rows)
        for equality in self.equality:
            matched = equality.deleted(batch, schema)
            if matched.any():
                mask = matched if mask is None else mask | matched
        return mask


NO_DELETES: Final = RowDeletes()


def deleted_positions(positions: BitMap64, first: int, length: int) -> Mask | None:
    """Which of `length` rows from a position on are in the bitmap; None when none is."""
    if not positions.range_cardinality(first, first + length):
        return None
    window = BitMap64()
    window.add_range(first, first + length)
    found = np.frombuffer((positions & window).to_array(), dtype=np.uint64)
    mask: Mask = np.zeros(length, dtype=np.bool_)
    mask[found - np.uint64(first)] = True
    return mask


class DeleteLoader:
    """Loads the deletes of data files. What it reads is kept, within the cache's bound, for the other files it is for.

    `schemas` are the table's, the one that is read first, then the others from the newest to the oldest: a key column may
    have been dropped since. `ignore_scheme` compares the paths in position delete files without scheme and authority,
    which some engines write in another form than their manifests; by default they must be equal. `locate` says where a
    delete file lies, when the table was moved.
    """

    def __init__(
        self,
        store_for: StoreFor,
        schemas: Sequence[Schema],
        *,
        cache: DeleteCache | None = None,
        name_mapping: NameMapping | None = None,
        ignore_scheme: bool = False,
        locate: Callable[[str], str] | None = None,
    ) -> None:
        self._store_for = store_for
        self._locate = locate if locate is not None else _same
        self._schemas = tuple(schemas)
        self._cache = cache if cache is not None else DeleteCache()
        self._name_mapping = name_mapping
        self._path_key = _without_scheme if ignore_scheme else _same

    def load(self, data_file_path: str, delete_files: Iterable[DataFile]) -> RowDeletes:
        """The deletes for a data file, given the delete files that planning found to apply to it.

        A deletion vector holds what position deletes before it said, so they are not read beside one.
        Raises ManifestCorrupt for two vectors, DataFileCorrupt and PuffinCorrupt for what cannot be read.
        """
        files = list(delete_files)
        vectors = [file for file in files if file.is_deletion_vector]
        if len(vectors) > 1:
            raise ManifestCorrupt(f"{data_file_path} has {len(vectors)} deletion vectors; there may be one at most")
        positional = [f for f in files if f.content is FileContent.POSITION_DELETES and not f.is_deletion_vector]
        equality = [file for file in files if file.content is FileContent.EQUALITY_DELETES]
        if vectors:
            positions: BitMap64 | None = self._vector(vectors[0], data_file_path)
        else:
            positions = self._positions(positional, data_file_path)
        return RowDeletes(positions or None, self._equality(equality))

    def _place(self, file: DataFile) -> tuple[Store, DataFile]:
        """The store of a delete file, and the file under the name that it has there."""
        location = self._locate(file.file_path)
        return self._store_for(location), structs.replace(file, file_path=location)

    def _vector(self, file: DataFile, data_file_path: str) -> BitMap64:
        if file.referenced_data_file is not None and file.referenced_data_file != data_file_path:
            raise ManifestCorrupt(
                f"the deletion vector at {file.file_path} is for {file.referenced_data_file}, not for {data_file_path}"
            )
        if file.content_offset is None or file.content_size_in_bytes is None:
            raise ManifestCorrupt(f"the deletion vector at {file.file_path} has no content offset and size")
        key = ("vector", file.file_path, file.content_offset)
        return self._cache.get(key, lambda: read_deletion_vector(*self._place(file)), _bitmap_bytes)

    def _positions(self, files: Sequence[DataFile], data_file_path: str) -> BitMap64 | None:
        wanted = self._path_key(data_file_path)
        found: BitMap64 | None = None
        for file in files:
            by_path = self._position_file(file, wanted)
            if (bitmap := by_path.get(wanted)) is not None:
                found = bitmap if found is None else found | bitmap
        return found

    def _position_file(self, file: DataFile, wanted: str) -> Mapping[str, BitMap64]:
        # A file too large to be kept is read for each data file, but only where that one's deletes can be.
        alone = wanted if file.file_size_in_bytes > self._cache.max_bytes and self._path_key is _same else None
        key = ("positions", file.file_path, self._path_key is _same, alone)

        def load() -> dict[str, BitMap64]:
            raw = read_position_deletes(*self._place(file), data_file_path=alone)
            merged: dict[str, BitMap64] = {}
            for path, positions in raw.items():
                own = self._path_key(path)
                merged[own] = merged[own] | positions if own in merged else positions
            return merged

        return self._cache.get(key, load, lambda found: sum(map(_bitmap_bytes, found.values())))

    def _equality(self, files: Sequence[DataFile]) -> tuple[EqualityDeletes, ...]:
        by_ids: dict[tuple[int, ...], list[DataFile]] = {}
        for file in files:
            if not file.equality_ids:
                raise ManifestCorrupt(f"the equality delete file {file.file_path} has no equality ids")
            by_ids.setdefault(tuple(sorted(file.equality_ids)), []).append(file)
        return tuple(self._key_set(ids, group) for ids, group in by_ids.items())

    def _key_set(self, ids: tuple[int, ...], files: list[DataFile]) -> EqualityDeletes:
        schema = key_schema(self._schemas, ids)
        paths = tuple(sorted(file.file_path for file in files))

        def load() -> KeySet:
            tables = [
                read_equality_deletes(*self._place(file), schema, name_mapping=self._name_mapping) for file in files
            ]
            table = pa.concat_tables(tables)
            return KeySet([column_by_id(table, schema, field_id) for field_id in ids])

        key = ("equality", paths, ids, schema.fields_key)
        return EqualityDeletes(ids, schema, self._cache.get(key, load, lambda keys: keys.nbytes))


def read_deletion_vector(store: Store, file: DataFile) -> BitMap64:
    """A deletion vector, read by its place in the Puffin file. Raises PuffinCorrupt, also for a file that is a vector and
    nothing else: no reader could tell what it is."""
    if (file.content_offset or 0) < len(PUFFIN_MAGIC):
        raise PuffinCorrupt(
            f"{file.file_path}: a deletion vector at offset {file.content_offset or 0} is not in a Puffin file, which begins "
            "with its magic",
            location=file.file_path,
        )
    blob = store.read(file.file_path, offset=file.content_offset or 0, length=file.content_size_in_bytes)
    try:
        return decode_deletion_vector(blob, cardinality=file.record_count)
    except PuffinCorrupt as error:
        raise PuffinCorrupt(f"{file.file_path}: {error}", location=file.file_path) from error


def read_position_deletes(store: Store, file: DataFile, *, data_file_path: str | None = None) -> dict[str, BitMap64]:
    """The deleted positions by data file; of one data file, when it is named. The old `row` column is not read. A row
    without a path names no file and is ignored. Raises DataFileCorrupt for a path without a position."""
    positions: dict[str, list[npt.NDArray[np.int64]]] = {}
    skip = None if data_file_path is None else row_group_filter(_path_is(data_file_path), POSITION_DELETE_SCHEMA)
    for found in read_file(store, file, POSITION_DELETE_SCHEMA, row_group_filter=skip):
        batch = found.batch
        if nulls := batch.column(0).null_count:
            tolerate(
                Leniency.NULL_DELETE_PATH,
                file.file_path,
                f"has {nulls} position deletes without a path; they are ignored",
            )
            batch = batch.filter(batch.column(0).is_valid())
        paths, numbers = batch.column(0), batch.column(1)
        if numbers.null_count:
            raise DataFileCorrupt(f"{file.file_path}: a position delete without a position")
        for path, rows in _by_path(paths, numbers.to_numpy(zero_copy_only=False)):
            if data_file_path is None or path == data_file_path:
                positions.setdefault(path, []).append(rows)
    try:
        return {path: bitmap_of(np.concatenate(parts)) for path, parts in positions.items()}
    except InvalidInput as error:
        raise DataFileCorrupt(f"{file.file_path}: {error}", location=file.file_path) from error


def _path_is(path: str) -> BoundPredicate:
    column = DELETE_FILE_PATH
    reference = BoundReference(column.field_id, column.name, column.type, True, (0,), (column.name,))
    return BoundPredicate(Op.EQ, reference, (path,))


def _by_path(paths: pa.Array, positions: npt.NDArray[np.int64]) -> Iterable[tuple[str, npt.NDArray[np.int64]]]:
    encoded = paths.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if not names:
        return []
    if len(names) == 1:
        return [(names[0], positions)]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return zip(names, np.split(positions[order], ends[:-1]), strict=True)


def read_equality_deletes(
    store: Store, file: DataFile, schema: Schema, *, name_mapping: NameMapping | None = None
) -> pa.Table:
    """The key columns of an equality delete file; other columns it holds are not read. Raises DataFileCorrupt, also when
    it lacks a key column."""
    strict = Schema(*(_must_be_there(field) for field in schema.fields))
    batches = [found.batch for found in read_file(store, file, strict, name_mapping=name_mapping)]
    return pa.Table.from_batches(batches, schema=batches[0].schema if batches else arrow_schema(strict))


def key_schema(schemas: Sequence[Schema], equality_ids: Sequence[int]) -> Schema:
    """The columns of those ids and the structs around them, each from the first schema that has it.

    Raises ManifestCorrupt for an id that no schema of the table ever had.
    """
    fields: list[NestedField] = []
    left = list(equality_ids)
    for schema in schemas:
        here = [field_id for field_id in left if field_id in schema.by_id]
        left = [field_id for field_id in left if field_id not in schema.by_id]
        if here:
            for field in prune_columns(schema, here).fields:
                merge_field(fields, field)
    if left:
        raise ManifestCorrupt(f"equality deletes are by column id {left[0]}, which no schema of the table has")
    return Schema(*fields)


def merge_field(fields: list[NestedField], field: NestedField) -> None:
    """Adds a column that is not there; a struct that is there gets the members that it lacks."""
    for i, own in enumerate(fields):
        if own.field_id != field.field_id:
            continue
        if isinstance(own.type, StructType) and isinstance(field.type, StructType):
            members = list(own.type.members)
            for member in field.type.members:
                merge_field(members, member)
            if len(members) > len(own.type.members) or tuple(members) != own.type.members:
                fields[i] = replace(own, type=StructType(tuple(members)))
        return
    fields.append(field)


def _must_be_there(field: NestedField) -> NestedField:
    """The field as one that a file must hold, whatever its default is."""
    kind = field.type
    if isinstance(kind, StructType):
        kind = StructType(tuple(_must_be_there(member) for member in kind.members))
    return replace(field, type=kind, required=True, initial_default=UNSET)


def _bitmap_bytes(bitmap: BitMap64) -> int:
    return _BITMAP_ENTRY_BYTES + 2 * len(bitmap)


def _same(path: str) -> str:
    return path


def _without_scheme(path: str) -> str:
    """The path in a location, as compared between engines that disagree on schemes and hosts."""
    _, separator, rest = path.partition("://")
    if separator:
        return "/" + rest.partition("/")[2]
    return path.partition(":")[2] if path.startswith("file:") else path
