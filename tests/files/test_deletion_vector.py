"""Deletion vectors: the reference implementation's bytes, and nothing that only looks like them."""

from __future__ import annotations

import json
import random
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from floeberg.errors import InvalidInput, LimitExceeded, PuffinCorrupt
from floeberg.files import roaring
from floeberg.files.deletion_vector import (
    MAX_POSITION,
    bitmap_of,
    decode_deletion_vector,
    decode_positions,
    encode_deletion_vector,
    write_deletion_vectors,
)
from floeberg.files.limits import DecodeLimits
from floeberg.files.puffin import read_blob, read_footer
from golden_collection.golden_files import GOLDEN

FOLDER = GOLDEN / "puffin"
EXPECTED = json.loads((FOLDER / "dv_expected.json").read_text())["files"]
BLOBS = [name for name, fact in EXPECTED.items() if fact["kind"].startswith("DV blob")]
BITMAPS = [name for name, fact in EXPECTED.items() if fact["kind"].startswith("portable")]


def _read(name: str) -> bytes:
    return (FOLDER / "java_deletes" / name).read_bytes()


def _framed(vector: bytes) -> bytes:
    body = b"\xd1\xd3\x39\x64" + vector
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def _check(positions: roaring.Positions, fact: dict[str, object]) -> None:
    assert len(positions) == fact["cardinality"]
    assert sum(map(int, positions)) == fact["sum"]
    assert positions[:5].tolist() == fact["first"]
    if fact.get("positions") is not None:
        assert positions.tolist() == fact["positions"]


@pytest.mark.parametrize("name", BLOBS)
def test_a_golden_vector_decodes_and_encodes_to_its_own_bytes(name: str) -> None:
    data, fact = _read(name), EXPECTED[name]
    _check(decode_positions(data, cardinality=fact["cardinality"]), fact)
    bitmap = decode_deletion_vector(data)
    assert np.array_equal(np.array(bitmap.to_array(), dtype=np.uint64), decode_positions(data))
    assert encode_deletion_vector(bitmap) == data
    assert encode_deletion_vector(bitmap_of(decode_positions(data))) == data


@pytest.mark.parametrize("name", BITMAPS)
def test_a_golden_bitmap_decodes_to_its_positions(name: str) -> None:
    _check(roaring.positions(_read(name)), EXPECTED[name])


def test_keys_above_31_bits_are_refused() -> None:
    with pytest.raises(PuffinCorrupt, match="above the 31 bits"):
        roaring.positions(_read("64maphighvals.bin"))
    with pytest.raises(PuffinCorrupt, match="above the 31 bits"):
        decode_deletion_vector(_framed(BitMap64([1 << 63]).serialize()))


@pytest.mark.parametrize("path", ["go/deletion-vector-v1.puffin", "trino_deletion_vector.puffin"])
def test_the_vectors_of_other_writers_encode_to_their_bytes(path: str) -> None:
    data = (FOLDER / path).read_bytes()
    for blob in read_footer(data).blobs:
        content = read_blob(data, blob)
        bitmap = decode_deletion_vector(content, cardinality=int(blob.properties["cardinality"]))
        assert encode_deletion_vector(bitmap) == content


_spans = st.tuples(st.integers(0, 5 << 32), st.integers(1, 70_000))


@settings(max_examples=50)
@given(st.lists(_spans, max_size=3), st.sets(st.integers(0, MAX_POSITION), max_size=50))
def test_any_positions_come_back_in_order(spans, singles) -> None:
    bitmap = BitMap64(singles)
    for start, length in spans:
        bitmap.add_range(start, start + length)
    blob = encode_deletion_vector(bitmap)
    assert decode_positions(blob, cardinality=len(bitmap)).tolist() == list(bitmap)
    assert decode_deletion_vector(blob) == bitmap


def test_empty_bitmaps_between_keys_are_read_as_the_reference_writes_them() -> None:
    one = BitMap64([5]).serialize()[12:]
    empty = struct.pack("<II", 12346, 0)
    vector = struct.pack("<QI", 2, 0) + empty + struct.pack("<I", 1) + one
    assert decode_positions(_framed(vector)).tolist() == [(1 << 32) + 5]
    assert list(decode_deletion_vector(_framed(vector))) == [(1 << 32) + 5]


def _blob(vector: bytes) -> list[bytes]:
    good = _framed(vector)
    return [
        good[:-1],
        good[:8],
        b"",
        good[:4] + b"XXXX" + good[8:],
        good[:-4] + bytes(4),
        b"\x00" * 4 + good[4:],
        good + b"\x00",
    ]


@pytest.mark.parametrize("blob", _blob(BitMap64([1, 2, 3]).serialize()))
def test_a_damaged_frame_is_corrupt(blob: bytes) -> None:
    with pytest.raises(PuffinCorrupt):
        decode_positions(blob)


def _array(values: list[int], card: int | None = None) -> bytes:
    head = struct.pack("<IIHHI", 12346, 1, 0, (len(values) if card is None else card) - 1, 16)
    return struct.pack("<QI", 1, 0) + head + struct.pack(f"<{len(values)}H", *values)


def _runs(*runs: tuple[int, int], card: int) -> bytes:
    head = struct.pack("<IBHH", 12347, 1, 0, card - 1) + struct.pack("<H", len(runs))
    return struct.pack("<QI", 1, 0) + head + b"".join(struct.pack("<HH", *run) for run in runs)


@pytest.mark.parametrize(
    "vector",
    [
        _array([3, 1]),
        _array([1, 1]),
        _array([1, 2], card=3),
        _array([1, 2, 3], card=2),
        _runs((5, 2), (6, 1), card=5),
        _runs((65_535, 1), card=2),
        _runs((0, 1), card=1),
        struct.pack("<QI", 1, 0) + struct.pack("<IIHHI", 12346, 1, 0, 5000, 16) + bytes(8192),
        struct.pack("<Q", 2**60),
        struct.pack("<Q", 1) + bytes(12),
        struct.pack("<QI", 1, 0) + struct.pack("<II", 12346, 2**31) + bytes(16),
        struct.pack("<QI", 2, 5) + struct.pack("<II", 12346, 0) + struct.pack("<I", 5) + struct.pack("<II", 12346, 0),
        b"short",
    ],
)
def test_a_vector_out_of_order_or_of_another_cardinality_is_corrupt(vector: bytes) -> None:
    for decode in (decode_positions, decode_deletion_vector):
        with pytest.raises(PuffinCorrupt):
            decode(_framed(vector))


def test_the_manifest_entrys_count_must_match() -> None:
    blob = encode_deletion_vector(BitMap64([1, 2]))
    with pytest.raises(PuffinCorrupt, match="entry says 3"):
        decode_deletion_vector(blob, cardinality=3)


def test_few_bytes_of_runs_do_not_become_billions_of_positions() -> None:
    bitmap = BitMap64()
    bitmap.add_range(0, 1 << 33)
    blob = encode_deletion_vector(bitmap)
    assert len(decode_deletion_vector(blob)) == 1 << 33
    with pytest.raises(LimitExceeded, match="8589934592 positions"):
        decode_positions(blob)
    with pytest.raises(LimitExceeded):
        decode_deletion_vector(blob, limits=DecodeLimits(max_decoded_bytes=100))


def test_a_puffin_file_of_vectors_says_where_each_is() -> None:
    vectors = {"s3://b/one": bitmap_of([1, 2]), "s3://b/two": bitmap_of(np.array([10**12, 7]))}
    written = write_deletion_vectors(vectors, properties={"created-by": "test"})
    footer = read_footer(written.data)
    for vector, blob in zip(written.vectors, footer.blobs, strict=True):
        assert (vector.content_offset, vector.content_size_in_bytes) == (blob.offset, blob.length)
        assert blob.properties == {"referenced-data-file": vector.referenced_data_file, "cardinality": "2"}
        assert (blob.snapshot_id, blob.sequence_number, blob.fields) == (-1, -1, (2147483645,))
        assert decode_deletion_vector(read_blob(written.data, blob)) == vectors[vector.referenced_data_file]


@pytest.mark.parametrize(
    "make",
    [
        lambda: encode_deletion_vector(BitMap64([MAX_POSITION + 1])),
        lambda: bitmap_of([-1]),
        lambda: bitmap_of(np.array([-1])),
        lambda: write_deletion_vectors({"f": BitMap64()}),
    ],
)
def test_what_no_vector_holds_is_refused(make) -> None:
    with pytest.raises(InvalidInput):
        make()


def test_the_quick_check_of_small_bitmaps_agrees_with_the_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(18)
    whole_only: list[object] = []
    quick: list[object] = []
    bitmaps = []
    for _ in range(300):
        found = BitMap64(rng.sample(range(rng.choice([70, 5_000, 1 << 17, 1 << 33])), rng.randint(0, 70)))
        data = bytearray(found.serialize())
        for _ in range(rng.randint(0, 2)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        bitmaps.append(bytes(data))
    assert sum(roaring._few_positions(data) is not None for data in bitmaps) > 30
    for answers in (quick, whole_only):
        for data in bitmaps:
            try:
                answers.append(roaring.cardinality(data))
            except (PuffinCorrupt, LimitExceeded) as error:
                answers.append(type(error))
        monkeypatch.setattr(roaring, "_few_positions", lambda data: None)
    assert quick == whole_only
