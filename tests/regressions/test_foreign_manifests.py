"""Manifests and manifest lists of writers that do not keep to the specification, and that the reference reads."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import fastavro
import msgspec
import pytest
from polars.testing import assert_frame_equal

from floeberg.effects.leniencies import Leniency, gathered_leniencies
from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import read_header, write_container
from floeberg.files.manifest import WrittenManifest, write_manifest
from floeberg.files.manifest_frame import manifest_frame
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import IdentityTransform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import (
    DataFile,
    EntryStatus,
    FieldSummary,
    FileFormat,
    ManifestEntry,
    ManifestFile,
)
from floeberg.spec.types import LONG, DecimalType, FixedType, NestedField
from strategies.avro_variations import plain_records

SCHEMA = Schema(NestedField(1, "id", LONG), NestedField(2, "f", FixedType(3)), NestedField(3, "d", DecimalType(38, 5)))
SNAPSHOT_ID = 7


def spec_of(*columns: str) -> PartitionSpec:
    return PartitionSpec(
        0,
        tuple(
            PartitionField((SCHEMA.field(name).field_id,), 1000 + place, name, IdentityTransform())
            for place, name in enumerate(columns)
        ),
    )


def manifest(spec: PartitionSpec, partitions: list[tuple[Any, ...]], rows: list[int]) -> WrittenManifest:
    files = [
        DataFile(
            file_path=f"s3://bucket/{number}.parquet",
            file_format=FileFormat.PARQUET,
            record_count=count,
            file_size_in_bytes=100,
            partition=partition,
            spec_id=spec.spec_id,
            value_counts={1: count},
        )
        for number, (partition, count) in enumerate(zip(partitions, rows, strict=True))
    ]
    entries = [ManifestEntry(status=EntryStatus.ADDED, data_file=file, snapshot_id=SNAPSHOT_ID) for file in files]
    return write_manifest(entries, schema=SCHEMA, spec=spec, format_version=2, snapshot_id=SNAPSHOT_ID)


def again(data: bytes, change: Any, records: list[Any] | None = None, **metadata: str | None) -> bytes:
    """A container with another writer schema, and header values that are other or gone."""
    header = read_header(data)
    schema = msgspec.json.decode(header.metadata["avro.schema"])
    change(schema)
    plain = fastavro.parse_schema(schema)
    encoded = []
    for record in plain_records(data) if records is None else records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, plain, record)
        encoded.append(out.getvalue())
    kept = {k: v.decode() for k, v in header.metadata.items() if not k.startswith("avro.")} | metadata
    blocks = [(len(encoded), b"".join(encoded))]
    return write_container(
        msgspec.json.encode(schema), blocks, metadata={k: v for k, v in kept.items() if v is not None}, codec="null"
    )


def field(schema: Any, name: str) -> Any:
    return next(one for one in schema["fields"] if one["name"] == name)


def framed(data: bytes, listed: ManifestFile, spec: PartitionSpec) -> Any:
    return manifest_frame(data, listed, partition_type=spec.partition_type(SCHEMA))


@pytest.mark.parametrize("null_first", [True, False])
def test_a_data_file_that_the_schema_says_may_be_null_is_read(null_first: bool) -> None:
    spec = spec_of("id")
    written = manifest(spec, [(1,), (None,)], [5, 6])
    listed = written.to_manifest_file("s3://bucket/m.avro", 3)

    def change(schema: Any) -> None:
        one = field(schema, "data_file")
        one["type"] = ["null", one["type"]] if null_first else [one["type"], "null"]

    with gathered_leniencies() as tolerated:
        assert_frame_equal(framed(again(written.data, change), listed, spec), framed(written.data, listed, spec))
    assert {one.leniency for one in tolerated} == {Leniency.OPTIONAL_RECORD}
    records = plain_records(written.data)
    with pytest.raises(ManifestCorrupt), gathered_leniencies():
        framed(again(written.data, change, [records[0], {**records[1], "data_file": None}]), listed, spec)


def test_sequence_numbers_that_a_v2_manifest_leaves_out_are_inherited() -> None:
    spec = spec_of()
    written = manifest(spec, [()], [5])
    listed = written.to_manifest_file("s3://bucket/m.avro", 9)

    def change(schema: Any) -> None:
        schema["fields"] = [one for one in schema["fields"] if one["name"] in ("status", "data_file")]

    for version in ("2", None):
        data = again(written.data, change, **{"format-version": version})
        assert_frame_equal(framed(data, listed, spec), framed(written.data, listed, spec))


def test_summaries_that_the_schema_says_may_be_null_are_read_and_one_that_is_null_prunes_nothing() -> None:
    summary = FieldSummary(contains_null=False, lower_bound=b"a", upper_bound=b"b")
    listed = [manifest(spec_of(), [()], [1]).to_manifest_file(f"s3://b/{n}", 1) for n in range(2)]
    listed = [replace(one, partitions=(summary, summary)) for one in listed]
    data = write_manifest_list(listed, format_version=2, snapshot_id=1, parent_snapshot_id=None, sequence_number=1)

    def change(schema: Any) -> None:
        array = next(branch for branch in field(schema, "partitions")["type"] if branch != "null")
        array["items"] = ["null", array["items"]]

    records = plain_records(data)
    with gathered_leniencies() as tolerated:
        assert read_manifest_list(again(data, change)) == tuple(listed)
        records[1]["partitions"][0] = None
        found = read_manifest_list(again(data, change, records))
    assert [one.partitions for one in found] == [(summary, summary), None]
    assert {one.leniency for one in tolerated} == {Leniency.OPTIONAL_ITEM}


@pytest.mark.parametrize("seed", range(200))
def test_fixed_partition_values_are_read_with_and_without_a_length_before_them(seed: int) -> None:
    """Also where the bytes could be read both ways, which the manifest list's counts of rows decide."""
    rng = random.Random(seed)
    spec = spec_of("f", "id") if rng.random() < 0.5 else spec_of("id", "f")
    first = rng.choice((b"\x06", b"\x06", b"\x06", b"x"))
    count = rng.randint(1, 4)
    values = [rng.choice((None, first + rng.randbytes(1) + rng.choice((b"\xff", b"\x01")))) for _ in range(count)]
    others = [rng.choice((None, 1, 3, 500)) for _ in range(count)]
    pairs = zip(values, others, strict=True) if spec.fields[0].name == "f" else zip(others, values, strict=True)
    written = manifest(spec, list(pairs), [rng.choice((0, 1, 3, 64, 100, 9000)) for _ in range(count)])
    listed = written.to_manifest_file("s3://bucket/m.avro", 3)

    def as_bytes(schema: Any) -> None:
        file = field(schema, "data_file")["type"]
        union = field(field(file, "partition")["type"], "f")["type"]
        union[:] = [branch if branch == "null" else "bytes" for branch in union]

    # The bytes of the Java library: those of Avro's bytes, under a schema that says fixed.
    lengths = again(written.data, as_bytes)
    header = read_header(lengths)
    own_schema = read_header(written.data).metadata["avro.schema"]
    body = lengths[header.body_offset :]
    kept = {k: v.decode() for k, v in header.metadata.items() if not k.startswith("avro.")}
    empty = write_container(own_schema, [], metadata=kept, codec="null")
    body = body.replace(header.sync, read_header(empty).sync)
    with gathered_leniencies() as tolerated:
        expected = framed(written.data, listed, spec)
        assert not tolerated
        assert_frame_equal(framed(empty + body, listed, spec), expected)
    found = expected.get_column("partition").struct.unnest()
    assert found.get_column(str(next(one.field_id for one in spec.fields if one.name == "f"))).to_list() == values
    assert expected.get_column("record_count").to_list() == [
        record["data_file"]["record_count"] for record in plain_records(written.data)
    ]


def test_decimal_partition_values_that_are_plain_bytes_keep_all_their_digits() -> None:
    spec = spec_of("d")
    values = [Decimal("123456789012345678901234567890123.45678"), Decimal("-123456789012345678901234567890123.45679")]
    written = manifest(spec, [(value,) for value in values], [1, 1])

    def without_logical_type(schema: Any) -> None:
        (partition,) = field(field(schema, "data_file")["type"], "partition")["type"]["fields"]
        declared = next(branch for branch in partition["type"] if branch != "null")
        for key in ("logicalType", "precision", "scale"):
            del declared[key]

    data = again(written.data, without_logical_type)
    frame = framed(data, written.to_manifest_file("m.avro"), spec)
    assert frame.get_column("partition").struct.field("1000").to_list() == values
