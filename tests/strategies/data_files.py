"""Random data files, manifest entries and partition types."""

from __future__ import annotations

import math

from hypothesis import strategies as st
from msgspec import structs

from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import (
    DataFile,
    EntryStatus,
    FileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
)
from floeberg.spec.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    NestedField,
)
from strategies.schemas import values

PARTITION_TYPES = (
    BOOLEAN, INT, LONG, FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS, STRING, UUID,
    BINARY, DecimalType(9, 2), DecimalType(38, 10), FixedType(3), FixedType(16),
)  # fmt: skip

SNAPSHOT_ID = 3_051_729_675_574_597_004
_COUNT = st.integers(0, 2**63 - 1)
_SMALL = st.integers(0, 2**40)
_FIELD_ID = st.integers(1, 2**31 - 1)
_NAMES = st.sampled_from(["p", "a b", "1st", "größe", "x.y", "a_x20b", "partition"])
_counts = st.none() | st.dictionaries(_FIELD_ID, _COUNT, max_size=3)
_bounds = st.none() | st.dictionaries(_FIELD_ID, st.binary(max_size=20), max_size=3)


def partition_values(kind: IcebergType) -> st.SearchStrategy[object]:
    """Values of a partition field, NaN and the infinities included."""
    if isinstance(kind, FloatType | DoubleType):
        return st.floats(width=32 if isinstance(kind, FloatType) else 64)
    return values(kind)


@st.composite
def specs(draw: st.DrawFn) -> tuple[Schema, PartitionSpec]:
    """A schema and an identity spec over some of its columns, with names that Avro does not allow among them."""
    kinds = draw(st.lists(st.sampled_from(PARTITION_TYPES), max_size=4))
    schema = Schema(
        *(NestedField(place + 1, f"c{place}", kind) for place, kind in enumerate(kinds)),
        NestedField(99, "other", INT),
        schema_id=draw(st.integers(0, 3)),
    )
    names = draw(st.lists(_NAMES, min_size=len(kinds), max_size=len(kinds), unique=True))
    fields = tuple(
        PartitionField((place + 1,), 1000 + place, name, parse_transform("identity"))
        for place, name in enumerate(names)
    )
    return schema, PartitionSpec(draw(st.integers(0, 5)), fields)


@st.composite
def data_files(draw: st.DrawFn, schema: Schema, spec: PartitionSpec, content: ManifestContent) -> DataFile:
    """A file of that spec; delete manifests get position deletes, equality deletes and deletion vectors."""
    partition = tuple(draw(st.none() | partition_values(member.type)) for member in spec.partition_type(schema))
    file = DataFile(
        file_path=draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)),
        file_format=draw(st.sampled_from([FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO])),
        spec_id=spec.spec_id,
        partition=partition,
        record_count=draw(_SMALL),
        file_size_in_bytes=draw(_SMALL),
        column_sizes=draw(_counts),
        value_counts=draw(_counts),
        null_value_counts=draw(_counts),
        nan_value_counts=draw(_counts),
        lower_bounds=draw(_bounds),
        upper_bounds=draw(_bounds),
        key_metadata=draw(st.none() | st.binary(max_size=5)),
        split_offsets=draw(st.none() | st.lists(_COUNT, max_size=3).map(tuple)),
        sort_order_id=draw(st.none() | st.integers(0, 5)),
    )
    if content is ManifestContent.DATA:
        return structs.replace(file, first_row_id=draw(st.none() | _SMALL))
    match draw(st.integers(0, 2)):
        case 0:
            ids = draw(st.lists(_FIELD_ID, min_size=1, max_size=3).map(tuple))
            return structs.replace(file, content=FileContent.EQUALITY_DELETES, equality_ids=ids)
        case 1:
            return structs.replace(
                file, content=FileContent.POSITION_DELETES, referenced_data_file=draw(st.none() | st.text())
            )
    return structs.replace(
        file, content=FileContent.POSITION_DELETES, file_format=FileFormat.PUFFIN, referenced_data_file="s3://b/data",
        content_offset=draw(_SMALL), content_size_in_bytes=draw(_SMALL),
    )  # fmt: skip


@st.composite
def entries(draw: st.DrawFn, schema: Schema, spec: PartitionSpec, content: ManifestContent) -> ManifestEntry:
    """An entry that a manifest of this commit may hold."""
    status = draw(st.sampled_from(EntryStatus))
    explicit = status is not EntryStatus.ADDED or draw(st.booleans())
    return ManifestEntry(
        status=status,
        data_file=draw(data_files(schema, spec, content)),
        snapshot_id=draw(st.just(SNAPSHOT_ID) if not explicit else _COUNT),
        data_sequence_number=draw(_SMALL) if explicit else None,
        file_sequence_number=draw(_SMALL) if status is not EntryStatus.ADDED else None,
    )


@st.composite
def manifests(draw: st.DrawFn, *, contents: tuple[ManifestContent, ...] = tuple(ManifestContent)):
    """(schema, spec, content, entries) of a manifest."""
    schema, spec = draw(specs())
    content = draw(st.sampled_from(contents))
    return schema, spec, content, draw(st.lists(entries(schema, spec, content), max_size=3))


def comparable(value: object) -> object:
    """The value with NaN and the two zeros made equal to themselves only."""
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else (value, math.copysign(1.0, value))
    if isinstance(value, tuple):
        return tuple(map(comparable, value))
    if isinstance(value, ManifestEntry):
        file = value.data_file
        return (structs.replace(value, data_file=structs.replace(file, partition=())), comparable(file.partition))
    return value
