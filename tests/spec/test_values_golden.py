"""Specs, orders, bounds and partition folders of tables that other engines wrote."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from floeberg.errors import FloebergError
from floeberg.spec.partitions.sort_orders import sort_order_from_json, sort_order_to_json
from floeberg.spec.partitions.specs import partition_fields_from_json, partition_spec_from_json, partition_spec_to_json
from floeberg.spec.schemas.schema_json import schema_from_json
from floeberg.spec.types import UUID, IcebergType
from floeberg.spec.values.single_value import from_bytes, to_bytes

GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
EPOCH = dt.datetime(1970, 1, 1)
pytestmark = [
    pytest.mark.golden_shared,
    pytest.mark.skipif(not GOLDEN.is_dir(), reason="the golden tables beside the repository are missing"),
]


def metadata_documents() -> Iterator[dict[str, Any]]:
    for path in sorted(GOLDEN.rglob("*metadata.json*")):
        data = path.read_bytes()
        try:
            document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        except (ValueError, gzip.BadGzipFile):
            continue  # files that must be refused; the tests of metadata parsing hold them
        if isinstance(document, dict):
            yield document


def manifests() -> Iterator[tuple[Any, Any, list[dict[str, Any]]]]:
    """(schema, spec, data files) of every manifest whose header has both."""
    for path in sorted(GOLDEN.rglob("*.avro")):
        with path.open("rb") as handle:
            try:
                reader = fastavro.reader(handle)
                schema = schema_from_json(json.loads(reader.metadata["schema"]))
                spec = partition_fields_from_json(json.loads(reader.metadata["partition-spec"]))
                files = [entry["data_file"] for entry in reader]
            except (ValueError, KeyError, IndexError, EOFError, FloebergError):
                continue  # not a manifest, a damaged one, or one whose header lacks them
        yield schema, spec, files


def test_every_spec_and_order_survives_a_rewrite() -> None:
    count = 0
    for document in metadata_documents():
        for obj in document.get("partition-specs") or []:
            assert partition_spec_to_json(partition_spec_from_json(obj)) == obj
            count += 1
        for obj in document.get("sort-orders") or []:
            assert sort_order_to_json(sort_order_from_json(obj)) == obj
            count += 1
    assert count > 500


def test_every_bound_of_every_manifest_is_read() -> None:
    count = 0
    for schema, _, files in manifests():
        for file in files:
            for bounds in (file.get("lower_bounds"), file.get("upper_bounds")):
                for entry in bounds or []:
                    field = schema.find(entry["key"])
                    if field is None:
                        continue
                    value = from_bytes(field.type, entry["value"])
                    assert to_bytes(field.type, value) == entry["value"]
                    count += 1
    assert count > 1000


def physical(data_type: IcebergType, value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - EPOCH.date()).days
    if isinstance(value, dt.time):
        return (dt.datetime.combine(EPOCH, value) - EPOCH) // dt.timedelta(microseconds=1)
    return uuid.UUID(bytes=value) if data_type == UUID and isinstance(value, bytes) else value


def test_partition_folders_are_named_as_their_writers_named_them() -> None:
    matched = 0
    for schema, spec, files in manifests():
        members = spec.partition_type(schema).members
        for file in files:
            values = [physical(m.type, v) for m, v in zip(members, file["partition"].values(), strict=True)]
            if spec.fields and f"/{spec.fields[0].name}=" in file["file_path"]:
                assert f"/{spec.path(schema, values)}/" in file["file_path"]
                matched += 1
    assert matched > 100
