"""Avro blocks that are deflated: whichever library inflates them, the bytes, the bound and the errors are the same."""

from __future__ import annotations

import random
import zlib

import pytest

from floeberg.errors import LimitExceeded
from floeberg.files.compression import CorruptStream, avro_decompressor, compress_avro_block

SMALL = b"a manifest's record, one of many"
LARGE = random.Random(7).randbytes(300_000)
DENSE = bytes(2_000_000)
"""More than the room that is likely to do: inflated again, with all the room there may be."""


@pytest.mark.parametrize("plain", [b"", SMALL, LARGE, DENSE], ids=["none", "small", "large", "dense"])
def test_a_deflated_block_is_inflated(plain: bytes) -> None:
    packed = compress_avro_block("deflate", plain)
    assert bytes(avro_decompressor("deflate")(packed, len(plain))) == plain
    assert bytes(avro_decompressor("deflate")(memoryview(packed), 10**9)) == plain


@pytest.mark.parametrize("plain", [SMALL, LARGE, DENSE], ids=["small", "large", "dense"])
def test_a_block_that_holds_more_than_it_may_is_refused(plain: bytes) -> None:
    with pytest.raises(LimitExceeded):
        avro_decompressor("deflate")(compress_avro_block("deflate", plain), len(plain) - 1)


@pytest.mark.parametrize("plain", [SMALL, LARGE, DENSE], ids=["small", "large", "dense"])
def test_a_block_that_is_cut_or_no_deflate_is_corrupt(plain: bytes) -> None:
    packed = compress_avro_block("deflate", plain)
    with pytest.raises(CorruptStream, match="ends before its end"):
        avro_decompressor("deflate")(packed[:-1], 10**9)
    with pytest.raises(CorruptStream, match="not a deflate stream"):
        avro_decompressor("deflate")(b"\xff" * 20, 10**9)


def test_a_checksum_that_a_writer_left_behind_is_passed_over() -> None:
    for plain in (SMALL, DENSE):
        assert bytes(avro_decompressor("deflate")(zlib.compress(plain)[2:], len(plain))) == plain
