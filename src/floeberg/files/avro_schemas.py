"""The Avro schemas of manifests and manifest lists, as they are written: https://iceberg.apache.org/spec/#manifests

Field ids, names, order, documentation and record names are those of the reference implementation, so that any reader
that goes by one of them finds its way.
"""

from __future__ import annotations

from typing import Final

from floeberg.errors import InvalidInput
from floeberg.files.avro_types import AVRO_PRIMITIVES, AvroSchema, avro_field_name, decimal_required_bytes
from floeberg.spec.types import DecimalType, FixedType, IcebergType, StructType, UuidType

DEFAULT_BLOCK_SIZE_IN_BYTES: Final = 64 * 1024 * 1024
"""What v1 requires in `block_size_in_bytes`, a field that no one reads."""


def _required(field_id: int, name: str, kind: object, doc: str | None = None) -> AvroSchema:
    return {"name": name, "type": kind, **({"doc": doc} if doc else {}), "field-id": field_id}


def _optional(field_id: int, name: str, kind: object, doc: str | None = None) -> AvroSchema:
    union = kind if kind == "null" else ["null", kind]
    return {"name": name, "type": union, **({"doc": doc} if doc else {}), "default": None, "field-id": field_id}


def _map(key_id: int, value_id: int, value: str) -> AvroSchema:
    members = [_required(key_id, "key", "int"), _required(value_id, "value", value)]
    pair = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": members}
    return {"type": "array", "items": pair, "logicalType": "map"}


def _list(element_id: int, element: object) -> AvroSchema:
    return {"type": "array", "items": element, "element-id": element_id}


_CONTENT: Final = _required(
    134, "content", "int", "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"
)
_FILE: Final = (
    _required(100, "file_path", "string", "Location URI with FS scheme"),
    _required(101, "file_format", "string", "File format name: avro, orc, or parquet"),
)
_PARTITION_DOC: Final = "Partition data tuple, schema based on the partition spec"
_SIZES: Final = (
    _required(103, "record_count", "long", "Number of records in the file"),
    _required(104, "file_size_in_bytes", "long", "Total file size in bytes"),
)
_BLOCK_SIZE: Final = _required(105, "block_size_in_bytes", "long")
_METRICS: Final = (
    _optional(108, "column_sizes", _map(117, 118, "long"), "Map of column id to total size on disk"),
    _optional(109, "value_counts", _map(119, 120, "long"), "Map of column id to total count, including null and NaN"),
    _optional(110, "null_value_counts", _map(121, 122, "long"), "Map of column id to null value count"),
    _optional(
        137, "nan_value_counts", _map(138, 139, "long"), "Map of column id to number of NaN values in the column"
    ),
    _optional(125, "lower_bounds", _map(126, 127, "bytes"), "Map of column id to lower bound"),
    _optional(128, "upper_bounds", _map(129, 130, "bytes"), "Map of column id to upper bound"),
    _optional(131, "key_metadata", "bytes", "Encryption key metadata blob"),
    _optional(132, "split_offsets", _list(133, "long"), "Splittable offsets"),
)
_EQUALITY_IDS: Final = _optional(135, "equality_ids", _list(136, "int"), "Equality comparison field IDs")
_SORT_ORDER_ID: Final = _optional(140, "sort_order_id", "int", "Sort order ID")
_FIRST_ROW_ID: Final = _optional(
    142, "first_row_id", "long", "The first row ID assigned to the first row in the data file"
)
_REFERENCED: Final = _optional(
    143, "referenced_data_file", "string",
    "Fully qualified location (URI with FS scheme) of a data file that all deletes reference",
)  # fmt: skip
_CONTENT_PLACE: Final = (
    _optional(144, "content_offset", "long", "The offset in the file where the content starts"),
    _optional(145, "content_size_in_bytes", "long", "The length of referenced content stored in the file"),
)


def manifest_entry_schema(partition_type: StructType, format_version: int) -> AvroSchema:
    """The schema of a manifest of that format version whose files have partitions of that type."""
    partition = _required(
        102, "partition", partition_schema(partition_type), None if format_version == 1 else _PARTITION_DOC
    )
    sequence_numbers: tuple[AvroSchema, ...] = (
        _optional(3, "sequence_number", "long"),
        _optional(4, "file_sequence_number", "long"),
    )
    members: tuple[AvroSchema, ...]
    match format_version:
        case 1:
            members = (*_FILE, partition, *_SIZES, _BLOCK_SIZE, *_METRICS, _SORT_ORDER_ID)
            sequence_numbers = ()
        case 2:
            members = (_CONTENT, *_FILE, partition, *_SIZES, *_METRICS, _EQUALITY_IDS, _SORT_ORDER_ID, _REFERENCED)
        case 3:
            members = (
                _CONTENT, *_FILE, partition, *_SIZES, *_METRICS, _EQUALITY_IDS, _SORT_ORDER_ID, _FIRST_ROW_ID,
                _REFERENCED, *_CONTENT_PLACE,
            )  # fmt: skip
        case _:
            raise _unknown_version(format_version)
    data_file = {"type": "record", "name": "r2", "fields": list(members)}
    fields = [
        _required(0, "status", "int"),
        _optional(1, "snapshot_id", "long"),
        *sequence_numbers,
        _required(2, "data_file", data_file),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def partition_schema(partition_type: StructType) -> AvroSchema:
    """The record `r102`; a named type that occurs again is referred to by its name, as Avro requires."""
    seen: set[str] = set()
    names: set[str] = set()
    fields: list[AvroSchema] = []
    for member in partition_type:
        kind = _avro_type(member.type)
        if isinstance(kind, dict) and isinstance(name := kind.get("name"), str):
            kind = name if name in seen else kind
            seen.add(name)
        avro_name = avro_field_name(member.name)
        if avro_name in names:
            avro_name = f"{avro_name}_{member.field_id}"
        names.add(avro_name)
        field = (_required if member.required else _optional)(member.field_id, avro_name, kind)
        if avro_name != member.name:
            field_id = field.pop("field-id")
            field |= {"iceberg-field-name": member.name, "field-id": field_id}
        fields.append(field)
    return {"type": "record", "name": "r102", "fields": fields}


def _avro_type(kind: IcebergType) -> AvroSchema | str:
    if isinstance(kind, DecimalType):
        name = f"decimal_{kind.precision}_{kind.scale}"
        size = decimal_required_bytes(kind.precision)
        fixed = {"type": "fixed", "name": name, "size": size}
        return {**fixed, "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if isinstance(kind, FixedType):
        return {"type": "fixed", "name": f"fixed_{kind.length}", "size": kind.length}
    if isinstance(kind, UuidType):
        return {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}
    if (known := AVRO_PRIMITIVES.get(type(kind))) is not None:
        return known
    raise InvalidInput(f"a partition field cannot be of type {kind}", type=str(kind))


_SUMMARY: Final[AvroSchema] = {
    "type": "record",
    "name": "r508",
    "fields": [
        _required(509, "contains_null", "boolean", "True if any file has a null partition value"),
        _optional(518, "contains_nan", "boolean", "True if any file has a nan partition value"),
        _optional(510, "lower_bound", "bytes", "Partition lower bound for all files"),
        _optional(511, "upper_bound", "bytes", "Partition upper bound for all files"),
    ],
}
_MANIFEST: Final = (
    _required(500, "manifest_path", "string", "Location URI with FS scheme"),
    _required(501, "manifest_length", "long", "Total file size in bytes"),
    _required(502, "partition_spec_id", "int", "Spec ID used to write"),
)
_MANIFEST_V2: Final = (
    _required(517, "content", "int", "Contents of the manifest: 0=data, 1=deletes"),
    _required(515, "sequence_number", "long", "Sequence number when the manifest was added"),
    _required(516, "min_sequence_number", "long", "Lowest sequence number in the manifest"),
)
_ADDED_BY: Final = _required(503, "added_snapshot_id", "long", "Snapshot ID that added the manifest")
_SUMMARIES: Final = _optional(507, "partitions", _list(508, _SUMMARY), "Summary for each partition")
_KEY_METADATA: Final = _optional(519, "key_metadata", "bytes", "Encryption key metadata blob")
_FILE_COUNTS: Final = (
    (504, "added_files_count", "int", "Added entry count"),
    (505, "existing_files_count", "int", "Existing entry count"),
    (506, "deleted_files_count", "int", "Deleted entry count"),
)
_ROW_COUNTS: Final = (
    (512, "added_rows_count", "long", "Added rows count"),
    (513, "existing_rows_count", "long", "Existing rows count"),
    (514, "deleted_rows_count", "long", "Deleted rows count"),
)
_LIST_FIRST_ROW_ID: Final = _optional(
    520, "first_row_id", "long", "Starting row ID to assign to new rows in ADDED data files"
)


def manifest_list_schema(format_version: int) -> AvroSchema:
    """The schema of a manifest list of that format version."""
    fields: list[AvroSchema]
    match format_version:
        case 1:
            files = [_optional(*field) for field in _FILE_COUNTS]
            rows = [_optional(*field) for field in _ROW_COUNTS]
            fields = [*_MANIFEST, _ADDED_BY, *files, _SUMMARIES, *rows, _KEY_METADATA]
        case 2 | 3:
            counts = [_required(*field) for field in (*_FILE_COUNTS, *_ROW_COUNTS)]
            fields = [*_MANIFEST, *_MANIFEST_V2, _ADDED_BY, *counts, _SUMMARIES, _KEY_METADATA]
            fields += [_LIST_FIRST_ROW_ID] if format_version == 3 else []
        case _:
            raise _unknown_version(format_version)
    return {"type": "record", "name": "manifest_file", "fields": fields}


def _unknown_version(format_version: int) -> InvalidInput:
    return InvalidInput(
        f"cannot write metadata of format version {format_version}; use 1, 2 or 3", version=format_version
    )
