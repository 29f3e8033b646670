"""Hazard 29: hostile bytes. Avro bombs, lengths beyond the end, huge counts, deep nesting, in bounded time and memory.

Metadata files have their own tests of the same hazard in tests/spec; these are about manifests, manifest lists, Puffin
files and deletion vectors.
"""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from floeberg.errors import FormatError, LimitExceeded, ManifestCorrupt
from floeberg.files.avro_container import Header, encode_long, read_blocks, read_header, write_container
from floeberg.files.deletion_vector import decode_deletion_vector, decode_positions
from floeberg.files.limits import DEFAULT_LIMITS
from floeberg.files.manifest_frame import decode_manifest
from floeberg.files.manifest_list import read_manifest_list
from floeberg.files.puffin import read_blob, read_footer
from golden_collection.golden_files import GOLDEN


def read_body(data: bytes, header: Header) -> tuple[int, bytes]:
    records, body = read_blocks(data, header)
    return records, bytes(body)


def _uncompressed(path: Path) -> bytes:
    """A golden file without compression: what is changed in it reaches the decoder."""
    data = path.read_bytes()
    header = read_header(data)
    metadata = {key: header.text(key) or "" for key in header.metadata if not key.startswith("avro.")}
    return write_container(header.metadata["avro.schema"], [read_body(data, header)], metadata=metadata, codec="null")


FOLDER = GOLDEN / "manifests"
MANIFESTS = [_uncompressed(FOLDER / "manifests" / f"{name}.avro") for name in (
    "trino_timetravel", "duckdb_iceberg_partition_decimal_smallint", "impala_airports_parquet", "presto_geometry_array",
)]  # fmt: skip
LISTS = [_uncompressed(FOLDER / "lists" / f"{name}.avro") for name in (
    "iceberg_cxx_partitioning_with_null_value", "duckdb_iceberg_iceberg_v1_deprecated", "presto_geometry_array",
)]  # fmt: skip
PACKED = [(FOLDER / "manifests" / f"{name}.avro").read_bytes() for name in ("trino_timetravel", "dremio_nation")]
PUFFINS = [path.read_bytes() for path in sorted((GOLDEN / "puffin").glob("*/*puffin*"))]
PUFFINS += [path.read_bytes() for path in sorted((GOLDEN / "puffin").glob("trino*"))]
VECTORS = [path.read_bytes() for path in sorted((GOLDEN / "puffin" / "java_deletes").glob("*position-index.bin"))]

_edits = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(["flip", "set", "cut", "insert", "truncate"]),
        st.binary(min_size=1, max_size=9),
    ),
    min_size=1,
    max_size=4,
)


def _mutated(data: bytes, edits: list[tuple[float, str, bytes]]) -> bytes:
    out = bytearray(data)
    for where, how, fresh in edits:
        at = int(where * len(out)) if out else 0
        match how:
            case "flip" if out:
                out[at] ^= fresh[0] or 1
            case "set":
                out[at : at + len(fresh)] = fresh
            case "cut":
                del out[at : at + len(fresh)]
            case "insert":
                out[at:at] = fresh
            case "truncate":
                del out[at:]
    return bytes(out)


_calm = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@_calm
@given(st.sampled_from(MANIFESTS + PACKED), _edits)
def test_a_changed_manifest_decodes_or_raises_a_format_error(data: bytes, edits) -> None:
    _only_format_errors(lambda: decode_manifest(_mutated(data, edits)))


@_calm
@given(st.sampled_from(MANIFESTS), _edits)
def test_changed_records_decode_or_raise_a_format_error(data: bytes, edits) -> None:
    _only_format_errors(lambda: decode_manifest(_with_other_records(data, edits)))


@_calm
@given(st.sampled_from(LISTS), _edits)
def test_changed_records_of_a_list_decode_or_raise_a_format_error(data: bytes, edits) -> None:
    _only_format_errors(lambda: read_manifest_list(_with_other_records(data, edits)))


def _with_other_records(data: bytes, edits) -> bytes:
    """The file with its records changed and all of its framing right."""
    header = read_header(data)
    records, body = read_body(data, header)
    changed = [(records, _mutated(body, edits))]
    return write_container(header.metadata["avro.schema"], changed, metadata={}, codec="null")


@_calm
@given(st.sampled_from(LISTS), _edits)
def test_a_changed_manifest_list_decodes_or_raises_a_format_error(data: bytes, edits) -> None:
    _only_format_errors(lambda: read_manifest_list(_mutated(data, edits)))


@_calm
@given(st.sampled_from(PUFFINS), _edits)
def test_a_changed_puffin_file_decodes_or_raises_a_format_error(data: bytes, edits) -> None:
    changed = _mutated(data, edits)
    _only_format_errors(lambda: [read_blob(changed, blob) for blob in read_footer(changed).blobs])


@_calm
@given(st.sampled_from(VECTORS), _edits)
def test_a_changed_vector_with_a_right_checksum_decodes_or_raises_a_format_error(data: bytes, edits) -> None:
    body = data[4:8] + _mutated(data[8:-4], edits)
    blob = len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    _only_format_errors(lambda: (decode_positions(blob), list(decode_deletion_vector(blob))[:10]))


def _only_format_errors(action) -> None:
    try:
        action()
    except FormatError:
        return


@pytest.mark.parametrize("data", MANIFESTS, ids=range(len(MANIFESTS)))
def test_a_block_count_that_is_too_low_never_loses_entries_in_silence(data: bytes) -> None:
    header = read_header(data)
    records, body = read_body(data, header)
    for claimed in {0, records - 1, records + 1} - {records}:
        blocks = [(claimed, body)] if claimed else [(1, body[:1]), (records, body)]
        forged = write_container(header.metadata["avro.schema"], blocks, metadata={}, codec="null")
        with pytest.raises(ManifestCorrupt):
            decode_manifest(forged)


SCHEMA = (
    b'{"type":"record","name":"m","fields":[{"name":"status","type":"int","field-id":0},{"name":"data_file","field-id":2,'
    b'"type":{"type":"record","name":"r2","fields":[%s]}}]}'
)
OFFSETS = b'{"name":"split_offsets","type":{"type":"array","items":"long"},"field-id":132}'


@pytest.mark.parametrize(
    "body",
    [
        b"\x02" + encode_long(2**62),
        b"\x02" + encode_long(-(2**63)) + b"\x00",
        b"\x02" + encode_long(-(2**62)) + encode_long(2**62),
        b"\x02" + b"\xff" * 10,
    ],
)
def test_huge_array_counts_end_with_the_bytes(body: bytes) -> None:
    for decoder in ("auto", "fastavro"):
        with pytest.raises(ManifestCorrupt):
            decode_manifest(write_container(SCHEMA % OFFSETS, [(1, body)], metadata={}, codec="null"), decoder=decoder)


@pytest.mark.parametrize("length", [2**62, 2**31, -1, -(2**63), 100])
def test_lengths_beyond_the_end_are_refused(length: int) -> None:
    path = b'{"name":"file_path","type":"string","field-id":100}'
    body = b"\x02" + encode_long(length) + b"short"
    for decoder in ("auto", "fastavro"):
        with pytest.raises(ManifestCorrupt):
            decode_manifest(write_container(SCHEMA % path, [(1, body)], metadata={}, codec="null"), decoder=decoder)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (b'{"name":"x","type":{"type":"array","items":"null"}}', ManifestCorrupt),
        (b'{"name":"x","type":{"type":"array","items":{"type":"record","name":"e","fields":[]}}}', ManifestCorrupt),
        (b'{"name":"x","type":{"type":"fixed","name":"f","size":99999999999999}}', ManifestCorrupt),
        (b'{"name":"x","type":{"type":"fixed","name":"f","size":0}}', ManifestCorrupt),
        (b'{"name":"x","type":["null","long","string"]}', ManifestCorrupt),
        (b'{"name":"x","type":"r2"}', ManifestCorrupt),
        (b'{"name":"x","type":' + b'{"type":"array","items":' * 5000 + b'"int"' + b"}" * 5000 + b"}", LimitExceeded),
        (b'{"name":"x","type":' + b'{"type":"array","items":' * 60 + b'"int"' + b"}" * 60 + b"}", LimitExceeded),
        (b'{"name":"record_count","type":"string","field-id":103}', ManifestCorrupt),
        (b'{"name":"x","type":{"type":"fixed","name":"f","size":4,"logicalType":"decimal","precision":99}}', ManifestCorrupt),
        (b'{"name":"a","type":"int","field-id":103},{"name":"b","type":"int","field-id":103}', ManifestCorrupt),
        (b"[[[", ManifestCorrupt),
    ],
)  # fmt: skip
def test_schemas_that_could_loop_or_grow_are_refused(fields: bytes, error: type[FormatError]) -> None:
    with pytest.raises(error):
        decode_manifest(write_container(SCHEMA % fields, [(1, b"\x02")], metadata={}, codec="null"))


@pytest.mark.parametrize("items", [b'"null"', b'{"type":"record","name":"e","fields":[]}'])
def test_arrays_of_nothing_are_refused_before_anything_counts_them(items: bytes) -> None:
    """2**40 items that take no bytes would keep a decoder busy for hours."""
    nothing = b'{"name":"x","type":{"type":"array","items":%s}}' % items
    body = b"\x02" + encode_long(2**40) + b"\x00"
    with pytest.raises(ManifestCorrupt, match="items take no bytes"):
        decode_manifest(write_container(SCHEMA % nothing, [(1, body)], metadata={}, codec="null"))


def test_definitions_that_use_each_other_do_not_unfold_without_end() -> None:
    """Thirty records, each of them twice in the next, would be a billion fields."""
    fields = [b'{"name":"a0","type":{"type":"record","name":"t0","fields":[{"name":"x","type":"int"}]}}']
    for number in range(1, 30):
        twice = b",".join(b'{"name":"%c","type":"t%d"}' % (letter, number - 1) for letter in b"xy")
        fields.append(b'{"name":"a%d","type":{"type":"record","name":"t%d","fields":[%s]}}' % (number, number, twice))
    with pytest.raises(LimitExceeded):
        decode_manifest(write_container(SCHEMA % b",".join(fields), [(1, b"\x02")], metadata={}, codec="null"))


def test_damaged_records_in_any_amount_never_reach_the_row_decoder(monkeypatch) -> None:
    monkeypatch.setattr("floeberg.files.avro_decode.FALLBACK_BYTES", 10)
    monkeypatch.setattr("floeberg.files.avro_decode._by_fastavro", lambda *_: pytest.fail("rows were decoded"))
    with pytest.raises(ManifestCorrupt):
        decode_manifest(
            write_container(SCHEMA % OFFSETS, [(1, b"\x02" + encode_long(99) + bytes(20))], metadata={}, codec="null")
        )


BOMBS = Path(__file__).parent / "bombs_29.py"


def test_every_bomb_is_refused_within_little_memory() -> None:
    """In a process of its own that may take a little more than the libraries and the bombs do."""
    ran = subprocess.run([sys.executable, str(BOMBS)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-3000:]
    assert ran.stdout.count("refused") >= 9


def test_the_limits_are_what_bounds_a_bomb() -> None:
    """Without a limit the same bytes would be decompressed: the limit is the protection, not luck."""
    assert DEFAULT_LIMITS.output_bytes(1_000) == DEFAULT_LIMITS.ratio_free_bytes
    assert DEFAULT_LIMITS.output_bytes(2**40) == DEFAULT_LIMITS.max_decoded_bytes
