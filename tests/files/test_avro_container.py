"""Avro containers: the same bytes for the same records, whatever blocks and codecs others use."""

from __future__ import annotations

import io

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, LimitExceeded, ManifestCorrupt, UnsupportedFeature
from floeberg.files.avro_container import (
    Header,
    blocked,
    encode_long,
    read_blocks,
    read_header,
    read_long,
    write_container,
)
from floeberg.files.compression import avro_codec
from floeberg.files.limits import DEFAULT_LIMITS, DecodeLimits

SCHEMA = b'{"type":"record","name":"r","fields":[{"name":"s","type":"string"}]}'
CODECS = ("null", "deflate", "snappy", "zstandard")


def read_body(data: bytes, header: Header, limits: DecodeLimits = DEFAULT_LIMITS) -> tuple[int, bytes]:
    records, body = read_blocks(data, header, limits)
    return records, bytes(body)


def _records(count: int, size: int = 10) -> list[bytes]:
    return [encode_long(size) + f"{number:0{size}}".encode() for number in range(count)]


def _write(count: int, codec: str = "null", size: int = 10) -> bytes:
    return write_container(SCHEMA, blocked(_records(count, size)), metadata={"k": "v"}, codec=codec)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_comes_back_from_its_bytes(number: int) -> None:
    assert read_long(encode_long(number), 0) == (number, len(encode_long(number)))


@pytest.mark.parametrize("codec", CODECS)
def test_a_general_avro_reader_reads_every_codec(codec: str) -> None:
    data = _write(20_000, codec)
    reader = fastavro.reader(io.BytesIO(data))
    assert [row["s"] for row in reader] == [f"{number:010}" for number in range(20_000)]
    assert reader.metadata["k"] == "v"


@pytest.mark.parametrize("codec", CODECS)
def test_we_read_every_codec_of_another_writer(codec: str) -> None:
    out = io.BytesIO()
    rows = [{"s": f"{number:010}"} for number in range(5_000)]
    fastavro.writer(out, fastavro.schema.parse_schema(_parsed()), rows, codec=codec, sync_interval=100)
    data = out.getvalue()
    assert read_body(data, read_header(data)) == (5_000, b"".join(_records(5_000)))


def _parsed() -> dict[str, object]:
    return {"type": "record", "name": "r", "fields": [{"name": "s", "type": "string"}]}


def test_the_same_records_give_the_same_bytes() -> None:
    assert _write(100, "deflate") == _write(100, "deflate")


def test_codecs_go_by_the_names_of_table_properties() -> None:
    assert [avro_codec(name) for name in ("gzip", "UNCOMPRESSED", "zstd", "snappy")] == [
        "deflate", "null", "zstandard", "snappy",
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="gzip"):
        avro_codec("brotli")


def test_an_unknown_codec_is_unsupported() -> None:
    data = _write(1).replace(b"avro.codec\x08null", b"avro.codec\x08lzma")
    with pytest.raises(UnsupportedFeature, match="lzma"):
        read_body(data, read_header(data))


def test_an_encrypted_file_is_unsupported() -> None:
    with pytest.raises(UnsupportedFeature, match="encrypted"):
        read_header(b"AGS1" + bytes(100))


@pytest.mark.parametrize("codec", CODECS)
def test_every_truncation_is_found(codec: str) -> None:
    data = _write(50, codec)
    whole = read_body(data, read_header(data))
    start = read_header(data).body_offset
    for end in range(start + 1, len(data)):
        with pytest.raises(ManifestCorrupt):
            read_body(data[:end], read_header(data[:end]))
    assert whole[0] == 50


@pytest.mark.parametrize("codec", ["snappy", "zstandard", "deflate"])
def test_a_damaged_block_is_found_or_decodes_to_other_bytes(codec: str) -> None:
    data = bytearray(_write(50, codec))
    data[read_header(bytes(data)).body_offset + 8] ^= 0xFF
    try:
        _, body = read_body(bytes(data), read_header(bytes(data)))
    except ManifestCorrupt:
        return
    assert body != b"".join(_records(50))


def test_a_block_cannot_claim_more_records_than_bytes() -> None:
    data = write_container(SCHEMA, [(10**9, b"\x00")], metadata={}, codec="null")
    with pytest.raises(ManifestCorrupt, match="claims 1000000000 records"):
        read_body(data, read_header(data))


def test_a_block_of_few_bytes_cannot_hold_many_records() -> None:
    data = write_container(SCHEMA, [(3, b"\x00\x00")], metadata={}, codec="null")
    with pytest.raises(ManifestCorrupt, match="2 bytes claims 3 records"):
        read_body(data, read_header(data))


def test_a_wrong_sync_marker_is_found() -> None:
    data = bytearray(_write(50))
    data[-1] ^= 1
    with pytest.raises(ManifestCorrupt, match="sync marker"):
        read_body(bytes(data), read_header(bytes(data)))


def test_a_wrong_checksum_of_a_snappy_block_is_found() -> None:
    data = bytearray(_write(50, "snappy"))
    data[-17] ^= 1
    with pytest.raises(ManifestCorrupt, match="checksum of a snappy block"):
        read_body(bytes(data), read_header(bytes(data)))


@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard"])
def test_a_bomb_is_refused_by_size_and_by_ratio(codec: str) -> None:
    data = write_container(SCHEMA, [(1, bytes(4_000_000))], metadata={}, codec=codec)
    for limits in (
        DecodeLimits(max_decoded_bytes=1_000_000),
        DecodeLimits(max_ratio=2, ratio_free_bytes=1_000),
    ):
        with pytest.raises(LimitExceeded, match="more than"):
            read_body(data, read_header(data), limits)


def test_header_claims_are_checked_against_what_is_there() -> None:
    for header in (
        b"Obj\x01" + encode_long(10**12),
        b"Obj\x01" + encode_long(1) + encode_long(2**40) + b"k",
        b"Obj\x01" + encode_long(1) + encode_long(-5),
        b"Obj\x01" + b"\xff" * 11,
        b"Obj\x01\x00short",
        b"Obj\x02",
    ):
        with pytest.raises(ManifestCorrupt):
            read_header(header)


@pytest.mark.parametrize(("count", "size"), [(1, -101), (-1, 100)])
def test_negative_numbers_of_one_and_two_bytes_are_refused(count: int, size: int) -> None:
    """The bytes behind them would make a block if their signs were not looked at."""
    data = write_container(b'"long"', [], metadata={}, codec="null")
    header = read_header(data)
    block = encode_long(count) + encode_long(size) + b"\x02" * 100 + header.sync
    assert len(encode_long(size)) == 2
    with pytest.raises(ManifestCorrupt, match="claims"):
        read_blocks(data + block, header)
    whole = encode_long(1) + encode_long(100) + b"\x02" * 100 + header.sync
    assert read_blocks(data + whole, header) == (1, bytearray(b"\x02" * 100))
