"""Metadata files: the content says whether they are compressed."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, LimitExceeded, MetadataCorrupt
from floeberg.files.metadata_file import codec_of_name, decode_metadata_file, encode_metadata_file, suffix_of
from floeberg.spec.json.limits import Limits


@given(st.binary(max_size=300).map(lambda data: b"{" + data), st.sampled_from(["none", "gzip"]))
def test_content_comes_back_whatever_the_codec(json: bytes, codec: str) -> None:
    assert decode_metadata_file(encode_metadata_file(json, codec)) == json


def test_the_same_json_gives_the_same_file() -> None:
    data = encode_metadata_file(b"{}", "gzip")
    assert data == encode_metadata_file(b"{}", "gzip")
    assert data[4:8] == bytes(4), "the time of writing is not in the file"


def test_names_say_the_codec_in_the_newer_and_the_older_form() -> None:
    assert [codec_of_name(n) for n in ("v1.metadata.json", "v1.gz.metadata.json", "v1.metadata.json.gz", "x.avro")] == [
        "none", "gzip", "gzip", None,
    ]  # fmt: skip
    assert (suffix_of("gzip"), suffix_of("none")) == (".gz.metadata.json", ".metadata.json")
    with pytest.raises(InvalidInput, match="use gzip or none"):
        suffix_of("zstd")


def test_files_of_several_gzip_members_are_one_text() -> None:
    assert decode_metadata_file(gzip.compress(b'{"a"', mtime=0) + gzip.compress(b":1}")) == b'{"a":1}'


PACKED = gzip.compress(b"{}", mtime=0)  # the same bytes in every test process


@pytest.mark.parametrize("data", [PACKED[:-3], b"\x1f\x8bgarbage", PACKED + b"rest"], ids=["cut", "garbage", "rest"])
def test_damaged_gzip_is_corrupt(data: bytes) -> None:
    with pytest.raises(MetadataCorrupt):
        decode_metadata_file(data, name="v1.gz.metadata.json")


def test_a_bomb_is_refused() -> None:
    bomb = gzip.compress(bytes(3_000_000))
    with pytest.raises(LimitExceeded):
        decode_metadata_file(bomb, limits=Limits(metadata_bytes=1_000_000))
    with pytest.raises(LimitExceeded):
        decode_metadata_file(b" " * 101, limits=Limits(metadata_bytes=100))
