"""Projects what a file holds to the schema that is asked for: by field id, at any depth, with promotions, defaults and
constants. https://iceberg.apache.org/spec/#column-projection"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from floeberg.arrow.columns.conversion import converter_for
from floeberg.arrow.columns.physical import repeat
from floeberg.arrow.columns.types import arrow_field, arrow_schema, arrow_type, is_list
from floeberg.arrow.formats.file_schema import FileField, find_child
from floeberg.arrow.variant.decode import assemble_variants
from floeberg.effects.leniencies import Leniency, tolerate
from floeberg.errors import DataFileCorrupt, FloebergError
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    UNSET,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
    VariantType,
)
from floeberg.spec.values.defaults import initial_value

Convert: TypeAlias = Callable[[pa.Array], pa.Array]
Make: TypeAlias = Callable[[int], pa.Array]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a projected column comes from: a column of the file, or nothing but its length."""

    index: int | None
    convert: Convert | None = None
    make: Make | None = None


class Projection:
    """A projection of one file, made once and applied to each of its batches.

    `constants` holds the physical values of columns that the file may lack: identity partition values.
    Raises DataFileCorrupt when the file lacks a required column or holds one as another type.
    """

    def __init__(
        self,
        fields: Sequence[FileField],
        schema: Schema,
        *,
        location: str,
        constants: Mapping[int, object] | None = None,
        resolver: type[Resolver] | None = None,
    ) -> None:
        self.schema = arrow_schema(schema)
        self._targets = schema.fields
        self._location = location
        found = (resolver or Resolver)(location, constants or {})
        self._sources = [found.source(fields, target, path="") for target in schema.fields]

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as the file gives it, projected."""
        arrays = []
        for target, source in zip(self._targets, self._sources, strict=True):
            try:
                arrays.append(column_of(source, batch))
            except (pa.ArrowException, OverflowError) as error:
                raise DataFileCorrupt(
                    f"{self._location}: column {target.name!r} cannot be read as {target.type}: {error}",
                    location=self._location,
                    column=target.name,
                ) from error
        if not arrays:
            return _without_columns(batch.num_rows)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _without_columns(rows: int) -> pa.RecordBatch:
    """A batch that has rows and no columns."""
    return pa.RecordBatch.from_struct_array(pa.nulls(rows, pa.struct([])))


def column_of(source: Source, batch: pa.RecordBatch) -> pa.Array:
    """A projected column of a batch."""
    if source.index is None:
        assert source.make is not None
        return source.make(batch.num_rows)
    array = batch.column(source.index)
    return array if source.convert is None else source.convert(array)


class Resolver:
    """Finds each target field in the file and how to turn what is there into it."""

    def __init__(self, location: str, constants: Mapping[int, object]) -> None:
        self._location = location
        self._constants = constants

    def source(self, fields: Sequence[FileField], target: NestedField, *, path: str) -> Source:
        data_type = target.type
        found = self.find(fields, target, path=path)
        if found is not None:
            index = next(i for i, field in enumerate(fields) if field is found)
            return Source(index, convert=self.convert(found, data_type, path=f"{path}{target.name}"))
        if target.field_id in self._constants:
            value = self._constants[target.field_id]
        else:
            value = self.default(target, path=path)
        return Source(None, make=lambda length: repeat(value, data_type, length))

    def find(self, fields: Sequence[FileField], target: NestedField, *, path: str) -> FileField | None:
        """The file's field for a target; an unknown column is never read, whatever lies there."""
        if isinstance(target.type, UnknownType):
            return None
        return find_child(fields, target)

    def default(self, target: NestedField, *, path: str) -> object:
        """The value of a column that is not there."""
        try:
            value = initial_value(target)
        except FloebergError as error:
            raise DataFileCorrupt(f"{self._location}: {error}", location=self._location) from error
        if value is UNSET and target.required:
            raise DataFileCorrupt(
                f"{self._location} lacks the required column {path}{target.name!r} (field id {target.field_id}), "
                "which has no initial default",
                location=self._location,
                column=target.name,
            )
        return None if value is UNSET else value

    def convert(self, field: FileField, target: IcebergType, *, path: str) -> Convert | None:
        """How to turn an array of the file's field into the target type; None when it is that already."""
        match target:
            case UnknownType():
                return self.converter(field.type, target)
            case VariantType() if field.is_struct:
                return lambda array: assemble_variants(plain(array), location=self._location, column=path)
            case StructType() if field.is_struct:
                return self._struct(field, target, path=path)
            case ListType() if is_list(field.type):
                return self._list(field, target, path=path)
            case MapType() if field.is_map:
                return self._map(field, target, path=path)
            case MapType() if is_list(field.type) and len(field.children[0].children) == 2:
                return self._map_of_pairs(field, target, path=path)
        if not field.children and not target.is_nested:
            convert = self.converter(field.type, target)
            if convert is not None:
                return lambda array: convert(plain(array))
        raise self.mismatch(field, target, path)

    def converter(self, source: pa.DataType, target: IcebergType) -> Convert | None:
        """How a primitive array becomes another."""
        return converter_for(source, target)

    def mismatch(self, field: FileField, target: IcebergType, path: str) -> FloebergError:
        """What to raise when there is no way."""
        return DataFileCorrupt(
            f"{self._location}: column {path!r} is {field.type} in the file and cannot be read as {target}",
            location=self._location,
            column=path,
        )

    def _struct(self, field: FileField, target: StructType, *, path: str) -> Convert:
        sources = [self.source(field.children, member, path=f"{path}.") for member in target.members]
        fields = [arrow_field(member) for member in target.members]

        def convert(array: pa.Array) -> pa.Array:
            array = plain(array)
            if not fields:
                return pa.array([{} if valid else None for valid in array.is_valid().to_pylist()], pa.struct([]))
            arrays = []
            for source in sources:
                if source.index is None:
                    assert source.make is not None
                    arrays.append(source.make(len(array)))
                else:
                    child = array.field(source.index)
                    arrays.append(child if source.convert is None else source.convert(child))
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)

        return convert

    def _child(self, field: FileField, target: NestedField, *, path: str) -> Convert | None:
        """The child of a list or map: there is but one, so whatever its id it is the target's."""
        if field.field_id is not None and field.field_id != target.field_id:
            tolerate(
                Leniency.OTHER_ELEMENT_ID,
                self._location,
                f"{target.name} of {path!r} has field id {field.field_id} in the file and {target.field_id} in the schema",
            )
        return self.convert(field, target.type, path=f"{path}.{target.name}")

    def _list(self, field: FileField, target: ListType, *, path: str) -> Convert:
        element = self._child(field.children[0], target.element, path=path)
        result = arrow_type(target)

        def convert(array: pa.Array) -> pa.Array:
            array = _plain_list(plain(array))
            return _relisted(array, array.values if element is None else element(array.values), result)

        return convert

    def _map(self, field: FileField, target: MapType, *, path: str) -> Convert:
        pairs = self._pairs(field.children, target, path=path)
        result = arrow_type(target)

        def convert(array: pa.Array) -> pa.Array:
            array = plain(array)
            return _relisted(array, pairs(array.keys, array.items), result)

        return convert

    def _map_of_pairs(self, field: FileField, target: MapType, *, path: str) -> Convert:
        """A map that the file holds as a list of (key, value) structs."""
        pairs = self._pairs(field.children[0].children, target, path=path)
        result = arrow_type(target)

        def convert(array: pa.Array) -> pa.Array:
            array = _plain_list(plain(array))
            return _relisted(array, pairs(array.values.field(0), array.values.field(1)), result)

        return convert

    def _pairs(
        self, children: Sequence[FileField], target: MapType, *, path: str
    ) -> Callable[[pa.Array, pa.Array], pa.Array]:
        key = self._child(children[0], target.key, path=path)
        value = self._child(children[1], target.value, path=path) if len(children) > 1 else None
        fields = [arrow_field(target.key), arrow_field(target.value)]

        def convert(keys: pa.Array, items: pa.Array) -> pa.Array:
            arrays = [keys if key is None else key(keys), items if value is None else value(items)]
            return pa.StructArray.from_arrays(arrays, fields=fields)

        return convert


def plain(array: pa.Array) -> pa.Array:
    """An array without extension, dictionary or run-end encoding."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif isinstance(array, pa.DictionaryArray):
            array = _takeable(array.dictionary).take(array.indices)
        elif isinstance(array, pa.RunEndEncodedArray):
            array = _run_end_decode(array)
        else:
            return array


def _run_end_decode(array: pa.RunEndEncodedArray) -> pa.Array:
    ends = np.asarray(array.run_ends)
    positions = np.arange(array.offset, array.offset + len(array))
    return _takeable(array.values).take(pa.array(np.searchsorted(ends, positions, side="right")))


def _takeable(array: pa.Array) -> pa.Array:
    """Values in the common layout: pyarrow takes nothing from views of text and bytes."""
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def _is_list_view(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(data_type) or pa.types.is_large_list_view(data_type))


def _plain_list(array: pa.Array) -> pa.Array:
    """A list array of the common layout, from whichever it has; views, which may lie in any order, stay."""
    if pa.types.is_list(array.type) or _is_list_view(array.type):
        return array
    return array.cast(pa.list_(array.type.value_field))


def _relisted(array: pa.Array, child: pa.Array, result: pa.DataType) -> pa.Array:
    """The lists or maps of an array with another child of the same length."""
    if not _is_list_view(array.type):
        buffers = array.buffers()[:2]
        return pa.Array.from_buffers(
            result, len(array), buffers, null_count=array.null_count, offset=array.offset, children=[child]
        )
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    starts = np.asarray(array.offsets).astype(np.int64)
    sizes = np.where(valid, np.asarray(array.sizes), 0).astype(np.int64)
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    offsets = pa.array(np.concatenate([[0], ends]), pa.int64()).cast(pa.int32())
    inside = np.repeat(starts - (ends - sizes), sizes) + np.arange(total)
    buffers = [pa.array(valid).buffers()[1] if array.null_count else None, offsets.buffers()[1]]
    return pa.Array.from_buffers(
        result, len(array), buffers, null_count=array.null_count, children=[child.take(pa.array(inside, pa.int64()))]
    )
