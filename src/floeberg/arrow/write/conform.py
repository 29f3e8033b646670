"""Conforms the caller's rows to the table: columns by name at any depth, exact conversions, write defaults for missing
columns, NOT NULL enforced. Raises InvalidInput, naming the column, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from floeberg.arrow.columns.conversion import Convert, converter_for
from floeberg.arrow.columns.types import arrow_schema, arrow_type
from floeberg.arrow.formats.file_schema import FileField, file_fields
from floeberg.arrow.formats.projection import Resolver, column_of, plain
from floeberg.arrow.variant.input import given_variants
from floeberg.arrow.write.advice import advice, advice_for_values
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    MAX_DECIMAL_PRECISION,
    UNSET,
    BinaryType,
    DecimalType,
    DoubleType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    NestedType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    UnknownType,
    UuidType,
    VariantType,
)
from floeberg.spec.values.defaults import write_value

DEFAULT_BATCH_ROWS: Final = 1 << 16
_INT_TYPES: Final = (IntegerType, LongType)
_BYTES_TYPES: Final = (BinaryType, FixedType, UuidType, GeometryType, GeographyType)
_ZONED: Final = (TimestamptzType, TimestamptzNsType)
_ZONELESS: Final = (TimestampType, TimestampNsType)


class Conformer:
    """Turns batches of one Arrow schema into batches of a table schema."""

    def __init__(self, source: pa.Schema, schema: Schema, *, case_sensitive: bool = True) -> None:
        self.schema = arrow_schema(schema)
        self._source = source
        self._targets = schema.fields
        fields = _named(
            file_fields(source, location="input", id_key=b""), schema.fields, case_sensitive=case_sensitive, path=""
        )
        resolver = _WriteResolver("input", {})
        self._sources = [resolver.source(fields, target, path="") for target in schema.fields]

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch that holds what the table's schema says. Raises InvalidInput."""
        arrays = []
        for target, source in zip(self._targets, self._sources, strict=True):
            try:
                array = column_of(source, batch)
            except (pa.ArrowException, OverflowError) as error:
                source_type = self._source.field(target.name).type if target.name in self._source.names else None
                raise InvalidInput(
                    f"column {target.name!r} does not fit type {target.type}: {error}"
                    f"{advice_for_values(target.name, source_type, target.type)}",
                    column=target.name,
                ) from error
            check_required(array, target, path=target.name)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def takes(self, source: pa.Schema) -> bool:
        """Whether batches of that schema are those that it was made for."""
        return bool(self._source.equals(source, check_metadata=True))

    def batches(self, data: Any, *, batch_rows: int = DEFAULT_BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The batches of a pyarrow Table, RecordBatch or RecordBatchReader, conformed."""
        given = data.to_batches() if isinstance(data, pa.Table) else data
        for batch in (given,) if isinstance(given, pa.RecordBatch) else given:
            for start in range(0, batch.num_rows, batch_rows):
                yield self.apply(batch.slice(start, batch_rows))


def conform(data: Any, schema: Schema, *, batch_rows: int = DEFAULT_BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """The batches of a pyarrow Table, RecordBatch or RecordBatchReader, conformed to a table schema."""
    return Conformer(data.schema, schema).batches(data, batch_rows=batch_rows)


class _WriteResolver(Resolver):
    """The rules of writing: nothing is guessed, and what the caller leaves out is the field's write default."""

    def find(self, fields: Sequence[FileField], target: NestedField, *, path: str) -> FileField | None:
        return next((field for field in fields if field.field_id == target.field_id), None)

    def default(self, target: NestedField, *, path: str) -> object:
        value = write_value(target)
        if value is UNSET and target.required:
            raise InvalidInput(
                f"column {path + target.name!r} is required, has no write default, and is not in the data",
                column=path + target.name,
            )
        return None if value is UNSET else value

    def convert(self, field: FileField, target: IcebergType, *, path: str) -> Convert | None:
        if isinstance(target, VariantType) and field.is_struct:
            return lambda array: given_variants(plain(array), column=path)
        return super().convert(field, target, path=path)

    def converter(self, source: pa.DataType, target: IcebergType) -> Convert | None:
        return write_converter(source, target)

    def mismatch(self, field: FileField, target: IcebergType, path: str) -> InvalidInput:
        variant = isinstance(target, VariantType)
        hint = "floeberg.variant_array makes variants" if variant else advice(path, field.type, target)
        return InvalidInput(
            f"column {path!r} is {field.type} in the data and cannot be written as {target}; {hint}",
            column=path,
        )


def write_converter(source: pa.DataType, target: IcebergType) -> Convert | None:
    """The exact conversion of what a caller gives, or None: text and bytes, instants and local times never mix."""
    types = pa.types
    if isinstance(target, UnknownType):
        return _only_nulls
    if types.is_null(source):
        return lambda array: pa.nulls(len(array), arrow_type(target))
    if isinstance(target, _INT_TYPES) and types.is_integer(source):
        return lambda array: array.cast(arrow_type(target))
    if isinstance(target, DoubleType) and source in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()):
        return lambda array: array.cast(pa.float64())
    if isinstance(target, DecimalType) and types.is_integer(source):
        widest = pa.decimal128(MAX_DECIMAL_PRECISION, target.scale)
        return lambda array: array.cast(widest).cast(arrow_type(target))
    is_text = types.is_string(source) or types.is_large_string(source) or types.is_string_view(source)
    if is_text != isinstance(target, StringType) and (is_text or isinstance(target, StringType)):
        return converter_for(source, target) if isinstance(target, UuidType) else None
    if types.is_timestamp(source) and (source.tz is not None) != isinstance(target, _ZONED):
        return None
    return converter_for(source, target)


def _only_nulls(array: pa.Array) -> pa.Array:
    if array.null_count != len(array):
        raise pa.ArrowInvalid("a column of unknown type holds nothing but nulls")
    return pa.nulls(len(array))


def _named(
    fields: Sequence[FileField], targets: Sequence[NestedField], *, case_sensitive: bool, path: str
) -> tuple[FileField, ...]:
    """The caller's columns with the ids that the table gives to their names. Raises InvalidInput for others."""
    fold = (lambda name: name) if case_sensitive else str.lower
    by_name = {fold(target.name): target for target in targets}
    seen: set[str] = set()
    named = []
    for field in fields:
        name = fold(field.name)
        if name in seen:
            raise InvalidInput(f"column {path + field.name!r} is in the data twice", column=path + field.name)
        seen.add(name)
        if name not in by_name:
            known = ", ".join(target.name for target in targets[:30])
            raise InvalidInput(
                f"the table has no column {path + field.name!r} (it has: {known}); add it to the schema or drop it "
                "from the data",
                column=path + field.name,
            )
        named.append(_identified(field, by_name[name], case_sensitive=case_sensitive, path=path))
    return tuple(named)


def _identified(field: FileField, target: NestedField, *, case_sensitive: bool, path: str) -> FileField:
    children = field.children
    inner = target.type
    below = f"{path}{field.name}."
    if isinstance(inner, StructType) and field.is_struct:
        children = _named(children, inner.members, case_sensitive=case_sensitive, path=below)
    elif (isinstance(inner, ListType) and len(children) == 1) or (isinstance(inner, MapType) and len(children) == 2):
        children = tuple(
            _identified(child, child_target, case_sensitive=case_sensitive, path=below)
            for child, child_target in zip(children, inner.fields, strict=True)
        )
    return replace(field, field_id=target.field_id, children=children)


def check_required(array: pa.Array, field: NestedField, *, path: str) -> None:
    """Raises InvalidInput when a required field, at any depth, is null where its parent is not."""
    if field.required and array.null_count:
        raise InvalidInput(f"column {path!r} is required and {array.null_count} of its values are null", column=path)
    kind = field.type
    if not isinstance(kind, NestedType) or not _has_required(kind):
        return
    if isinstance(kind, StructType):
        valid = array.is_valid() if array.null_count else None
        for i, member in enumerate(kind.members):
            child = array.field(i)
            check_required(child if valid is None else child.filter(valid), member, path=f"{path}.{member.name}")
        return
    for child, child_field in zip(_elements(array), kind.fields, strict=True):
        check_required(child, child_field, path=f"{path}.{child_field.name}")


def _elements(array: pa.Array) -> list[pa.Array]:
    """What lies in the lists or maps that are not null."""
    if pa.types.is_list(array.type):
        return [array.flatten()]
    array = array.drop_null() if array.null_count else array
    if not len(array):
        return [array.keys.slice(0, 0), array.items.slice(0, 0)]
    first, last = array.offsets[0].as_py(), array.offsets[len(array)].as_py()
    return [array.keys.slice(first, last - first), array.items.slice(first, last - first)]


def _has_required(kind: NestedType) -> bool:
    stack = list(kind.fields)
    while stack:
        field = stack.pop()
        if field.required:
            return True
        if isinstance(field.type, NestedType):
            stack.extend(field.type.fields)
    return False
