"""Variants: decoded as their authors say, un-shredded to the very bytes, and never by more work than they have bytes."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.arrow.formats.open_file import read_file
from floeberg.arrow.variant.decode import assemble_variants, variant_to_json, variant_to_python
from floeberg.effects.system import SystemIds
from floeberg.errors import DataFileCorrupt, FormatError, LimitExceeded
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.types import INT, LONG, STRING, VARIANT, NestedField
from floeberg.storage.local import LocalStore
from golden_collection.golden_files import GOLDEN, shared_files

PLAIN = GOLDEN / "variant"
SHREDDED = GOLDEN / "shredded_variant"
EMPTY_METADATA = b"\x01\x00\x00"

# The dictionary has trailing commas, other forms of times, and numbers beyond doubles.
OTHER_TEXT = {
    "primitive_time": '"12:33:54.123456"',
    "primitive_timestamp": '"2025-04-16T16:34:56.78+00:00"',
    "primitive_timestampntz": '"2025-04-16T12:34:56.78"',
    "primitive_decimal16": "12345678912345678.90",
}


def expected_values() -> dict[str, Any]:
    text = (PLAIN / "data_dictionary.json").read_text()
    return json.loads(re.sub(r",(\s*})", r"\1", text), parse_float=Decimal)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", sorted(path.stem for path in PLAIN.glob("*.metadata")))
def test_the_project_s_own_variants_decode_as_it_says(name: str) -> None:
    metadata, value = (PLAIN / f"{name}.metadata").read_bytes(), (PLAIN / f"{name}.value").read_bytes()
    text = variant_to_json(metadata, value)
    if name in OTHER_TEXT:
        assert text == OTHER_TEXT[name]
        return
    expected = expected_values()
    if name == "long_string":
        assert text.startswith('"This string is for sure and certainly longer than 64 bytes')
        return
    found = json.loads(text, parse_float=Decimal)
    if name == "primitive_float":
        assert float(found) == pytest.approx(float(expected[name]))
    else:
        assert found == expected[name]


CASES = [
    case
    for case in json.loads((SHREDDED / "cases.json").read_text())
    if "parquet_file" in case and (SHREDDED / case["parquet_file"]).exists()
]


def split(content: bytes) -> tuple[bytes, bytes]:
    width = (content[0] >> 6) + 1
    size = int.from_bytes(content[1 : 1 + width], "little")
    start = 1 + width * (size + 2)
    end = start + int.from_bytes(content[1 + width * (size + 1) : start], "little")
    return content[:end], content[end:]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['case_number']}-{case['test']}")
def test_shredded_columns_give_the_stored_bytes_or_a_clear_error(case: dict[str, Any]) -> None:
    file = pq.ParquetFile(SHREDDED / case["parquet_file"], arrow_extensions_enabled=False)
    column = file.read().column("var").combine_chunks()
    if "error_message" in case:
        with pytest.raises(DataFileCorrupt, match="var"):
            assemble_variants(column, location="f", column="var")
        return
    found = assemble_variants(column, location="f", column="var").to_pylist()
    for row, name in zip(found, case.get("variant_files") or [case["variant_file"]], strict=True):
        if name is None:
            assert row is None
            continue
        metadata, value = split((SHREDDED / name).read_bytes())
        assert row == {"metadata": metadata, "value": value}


def test_a_sliced_shredded_column_gives_its_own_rows() -> None:
    column = pq.ParquetFile(SHREDDED / "case-126.parquet", arrow_extensions_enabled=False).read().column("var")
    column = pa.concat_arrays([column.combine_chunks()] * 2)
    whole = assemble_variants(column, location="f", column="var").to_pylist()
    for start in range(len(column)):
        part = assemble_variants(column.slice(start, 2), location="f", column="var")
        assert part.to_pylist() == whole[start : start + 2]


@pytest.mark.golden_shared
def test_a_trino_table_reads_as_impala_prints_it() -> None:
    files = shared_files("impala/trino_variant/**/*.parquet")
    vectors = json.loads(next(iter(shared_files("vectors/trino_variant_expected.json"))).read_text())
    expected = {row["id"]: row["json"] for row in vectors["rows"]}
    store = LocalStore(SystemIds())
    schema = Schema(NestedField(1, "id", INT), NestedField(2, "descr", STRING), NestedField(3, "v", VARIANT))
    seen = {}
    for path in files:
        schema = _schema_of(path)
        file = DataFile(file_path=str(path), file_format=FileFormat.PARQUET, record_count=0, file_size_in_bytes=0)
        for part in read_file(store, file, schema):
            for row in part.batch.to_pylist():
                values = list(row.values())
                variant = values[-1]
                seen[values[0]] = None if variant is None else variant_to_json(variant["metadata"], variant["value"])
    assert set(seen) == set(expected)
    for row_id, text in expected.items():
        if text is None or "unsupported-type" in text:
            assert (seen[row_id] is None) == (text is None)
            continue
        wanted = json.loads(text, parse_float=Decimal)
        if isinstance(wanted, str) and re.match(r"\d{4}-\d\d-\d\d ", wanted):
            wanted = wanted.replace(" ", "T").rstrip("0")
        assert json.loads(seen[row_id] or "", parse_float=Decimal) == wanted, row_id


def _schema_of(path: Path) -> Schema:
    """The file's own columns, the last one being the variant."""
    arrow = pq.ParquetFile(path, arrow_extensions_enabled=False).schema_arrow
    kinds = {pa.int32(): INT, pa.int64(): LONG, pa.string(): STRING}
    return Schema(
        *(
            NestedField(int(field.metadata[b"PARQUET:field_id"]), field.name, kinds.get(field.type, VARIANT))
            for field in arrow
        )
    )


def test_python_values_have_python_types() -> None:
    def primitive(kind: int, payload: bytes) -> Any:
        return variant_to_python(EMPTY_METADATA, bytes([kind << 2]) + payload)

    assert primitive(11, struct.pack("<i", 1)) == datetime.date(1970, 1, 2)
    assert primitive(13, struct.pack("<q", 1)) == datetime.datetime(1970, 1, 1, 0, 0, 0, 1)
    assert primitive(12, struct.pack("<q", 0)) == datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert primitive(11, struct.pack("<i", 2**31 - 1)) == "+5881580-07-11"
    assert primitive(19, struct.pack("<q", 1)) == "1970-01-01T00:00:00.000000001"
    assert primitive(8, b"\x02" + struct.pack("<i", -5)) == Decimal("-0.05")
    assert primitive(17, struct.pack("<q", 1)) == datetime.time(0, 0, 0, 1)


def test_nan_and_infinity_are_text_in_json() -> None:
    value = bytes([7 << 2]) + struct.pack("<d", float("nan"))
    assert variant_to_json(EMPTY_METADATA, value) == '"nan"'


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_decode_or_raise_a_format_error(metadata: bytes, value: bytes) -> None:
    for first in (metadata, b"\x01" + metadata, EMPTY_METADATA):
        with contextlib.suppress(FormatError):
            variant_to_json(first, value)


def test_a_value_whose_parts_overlap_is_refused_in_bounded_time() -> None:
    # Each level is an array of two elements that are the same bytes: 2^60 nodes, were they all visited.
    value = b"\x00"
    for _ in range(60):
        body = value
        value = bytes([3 | (1 << 2)]) + b"\x02" + struct.pack("<HHH", 0, 0, len(body)) + body
    with pytest.raises(DataFileCorrupt, match="overlap"):
        variant_to_python(EMPTY_METADATA, value)


def test_a_value_that_nests_too_deep_is_refused() -> None:
    value = b"\x00"
    for _ in range(300):
        value = bytes([3 | (1 << 2)]) + b"\x01" + struct.pack("<HH", 0, len(value)) + value
    with pytest.raises(LimitExceeded, match="200 levels"):
        variant_to_python(EMPTY_METADATA, value)
