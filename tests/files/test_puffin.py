"""Puffin files, byte for byte as others write them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, LimitExceeded, PuffinCorrupt, UnsupportedFeature
from floeberg.files.compression import CorruptStream, lz4_compress, unlz4
from floeberg.files.limits import DecodeLimits
from floeberg.files.puffin import (
    THETA_SKETCH_V1,
    Blob,
    PuffinFooter,
    decode_blob,
    footer_length,
    read_blob,
    read_footer,
    write_puffin,
)
from golden_collection.golden_files import GOLDEN

FOLDER = GOLDEN / "puffin"
FILES = sorted([*FOLDER.glob("java_puffin/*"), *FOLDER.glob("go/*.puffin"), *FOLDER.glob("trino*")])
texts = st.text(st.characters(codec="utf-8"), max_size=10)
blobs = st.builds(
    Blob,
    type=texts,
    fields=st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple),
    data=st.binary(max_size=200),
    snapshot_id=st.integers(-1, 2**63 - 1),
    sequence_number=st.integers(-1, 2**63 - 1),
    compression_codec=st.sampled_from([None, "lz4", "zstd"]),
    properties=st.dictionaries(texts, texts, max_size=2),
)


def _blobs(data: bytes, footer: PuffinFooter) -> list[Blob]:
    return [
        Blob(
            type=blob.type, fields=blob.fields, data=read_blob(data, blob), snapshot_id=blob.snapshot_id,
            sequence_number=blob.sequence_number, compression_codec=blob.compression_codec, properties=blob.properties,
        )
        for blob in footer.blobs
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_golden_file_written_again_is_the_same_file(path) -> None:
    data = path.read_bytes()
    footer = read_footer(data)
    again = write_puffin(_blobs(data, footer), properties=footer.properties)
    if any(blob.compression_codec for blob in footer.blobs):  # compressors differ, contents may not
        assert _blobs(again.data, again.footer) == _blobs(data, footer)
    else:
        assert again.data == data
        assert again.footer == footer


def test_the_contents_are_those_that_the_reference_implementation_wrote() -> None:
    for name in ("sample-metric-data-uncompressed.bin", "sample-metric-data-compressed-zstd.bin"):
        data = (FOLDER / "java_puffin" / name).read_bytes()
        footer = read_footer(data)
        first, second = (read_blob(data, blob) for blob in footer.blobs)
        assert first == b"abcdefghi"
        assert second.startswith(b"some blob \x00 binary data ")
        assert footer.properties == {"created-by": "Test 1234"}


def test_theta_sketches_are_carried_with_their_properties() -> None:
    data = (FOLDER / "trino_theta.stats").read_bytes()
    footer = read_footer(data)
    assert {blob.type for blob in footer.blobs} == {THETA_SKETCH_V1}
    assert all(int(blob.properties["ndv"]) >= 0 for blob in footer.blobs)


@given(st.lists(blobs, max_size=3), st.dictionaries(texts, texts, max_size=2), st.booleans())
def test_blobs_of_any_type_come_back_as_they_were_written(given_blobs, properties, compress_footer) -> None:
    allowed = [blob for blob in given_blobs if blob.type != "deletion-vector-v1" or blob.compression_codec is None]
    written = write_puffin(allowed, properties=properties, compress_footer=compress_footer)
    footer = read_footer(written.data)
    assert footer == written.footer
    assert _blobs(written.data, footer) == allowed
    assert footer_length(written.data[-12:]) == written.footer_size_in_bytes


def test_the_footer_is_read_from_the_tail_alone() -> None:
    written = write_puffin([Blob(type="t", fields=(), data=b"x" * 100)])
    tail = written.data[-written.footer_size_in_bytes :]
    footer = read_footer(tail, file_size_in_bytes=len(written.data))
    assert footer == written.footer
    (blob,) = footer.blobs
    assert decode_blob(written.data[blob.offset : blob.offset + blob.length], blob) == b"x" * 100


def _file(payload: bytes, *, size: int | None = None, flags: bytes = bytes(4), end: bytes = b"PFA1") -> bytes:
    length = struct.pack("<i", len(payload) if size is None else size)
    return b"PFA1" + b"PFA1" + payload + length + flags + end


def _blob_json(**change: object) -> bytes:
    import json

    blob = {"type": "t", "fields": [1], "snapshot-id": 1, "sequence-number": 1, "offset": 4, "length": 0, **change}
    return json.dumps({"blobs": [{key: value for key, value in blob.items() if value != "absent"}]}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PFA1",
        _file(b"{}", end=b"PFA2"),
        _file(b'{"blobs":[]}', size=-1),
        _file(b'{"blobs":[]}', size=10_000),
        b"PFA0" + _file(b'{"blobs":[]}')[4:],
        b"PFA1" + b"XXXX" + _file(b'{"blobs":[]}')[8:],
        _file(b"not json"),
        _file(b"[]"),
        _file(b"{}"),
        _file(b'{"blobs":[],"blobs":[]}'),
        _file(b'{"blobs":[1]}'),
        _file(b'{"blobs":[],"properties":{"a":1}}'),
        _file(b"\x04\x22\x4d\x18garbage", flags=b"\x01\x00\x00\x00"),
        _file(_blob_json(offset=0)),
        _file(_blob_json(offset=4, length=1)),
        _file(_blob_json(length=-1)),
        _file(_blob_json(length="absent")),
        _file(_blob_json(offset=True)),
        _file(_blob_json(type=5)),
        _file(_blob_json(fields=["a"])),
        _file(_blob_json(**{"compression-codec": 1})),
        (FOLDER / "legacy-bare-deletion-vector.puffin").read_bytes(),
    ],
)
def test_a_malformed_file_is_corrupt(data: bytes) -> None:
    with pytest.raises(PuffinCorrupt):
        read_footer(data)


def test_flags_and_codecs_that_are_not_known_are_unsupported() -> None:
    with pytest.raises(UnsupportedFeature, match="flags 02000000"):
        read_footer(_file(b"{}", flags=b"\x02\x00\x00\x00"))
    (blob,) = read_footer(_file(_blob_json(**{"compression-codec": "gzip"}))).blobs
    with pytest.raises(UnsupportedFeature, match="gzip"):
        decode_blob(b"", blob)


def test_a_blob_that_does_not_decompress_is_corrupt() -> None:
    for codec in ("lz4", "zstd"):
        (blob,) = read_footer(_file(_blob_json(**{"compression-codec": codec}))).blobs
        with pytest.raises(PuffinCorrupt):
            decode_blob(b"", blob)
    with pytest.raises(PuffinCorrupt, match="footer says 0"):
        decode_blob(b"x", blob)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_blob_that_grows_beyond_the_limit_is_refused(codec: str) -> None:
    written = write_puffin([Blob(type="t", fields=(), data=bytes(5_000_000), compression_codec=codec)])
    with pytest.raises(LimitExceeded):
        read_blob(written.data, written.footer.blobs[0], limits=DecodeLimits(max_decoded_bytes=1_000_000))
    assert read_blob(written.data, written.footer.blobs[0]) == bytes(5_000_000)


def test_a_deletion_vector_is_never_compressed() -> None:
    with pytest.raises(InvalidInput, match="deletion-vector-v1"):
        write_puffin([Blob(type="deletion-vector-v1", fields=(), data=b"", compression_codec="zstd")])


@given(st.binary(max_size=1000))
def test_lz4_frames_state_their_size_and_come_back(data: bytes) -> None:
    frame = lz4_compress(data)
    assert struct.unpack_from("<Q", frame, 6)[0] == len(data)
    assert unlz4(frame, 1000) == data


def test_lz4_frames_of_other_writers_need_not_state_their_size() -> None:
    import cramjam

    assert unlz4(bytes(cramjam.lz4.compress(b"hello" * 100)), 10_000) == b"hello" * 100
    with pytest.raises(CorruptStream):
        unlz4(bytes(cramjam.lz4.compress(bytes(100_000))), 50_000)
