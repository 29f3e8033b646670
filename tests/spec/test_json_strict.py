"""Strict JSON: hazard 29 for metadata."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import FormatError, LimitExceeded, MetadataCorrupt
from floeberg.spec.json.limits import Limits
from floeberg.spec.json.strict import check_depth, decode_object, decode_strict

_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(_values, st.sampled_from([None, 2]))
def test_what_json_can_say_is_read_as_the_standard_library_reads_it(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent).encode()
    assert decode_strict(text, where="x") == json.loads(text)


@given(_values, st.booleans())
def test_a_duplicate_key_is_found_at_any_depth(value: object, escaped: bool) -> None:
    key = '"\\u0061"' if escaped else '"a"'
    pair = f'{{"a":{json.dumps(value)},{key}:1}}'
    for text in (pair, f"[[{pair}]]", f'{{"x":{{"y":{pair}}}}}', f' {{ "n" : 1.50 , "v" : {pair} }} '):
        with pytest.raises(MetadataCorrupt, match="'a' twice"):
            decode_strict(text.encode(), where="x")


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":":","a":1}',
        b'{"a":"\\u0022\\u003a","a":1}',
        b'{"a\\"":1,"a\\"":2}',
        b'{"\\\\":1,"\\\\":2}',
        b'{"a":{"b":1},"a":{"b":1}}',
        '{"é":1,"\\u00e9":2}'.encode(),
    ],
)
def test_a_duplicate_key_is_found_whatever_the_texts_around_it(text: bytes) -> None:
    with pytest.raises(MetadataCorrupt, match="twice"):
        decode_strict(text, where="x")


@pytest.mark.parametrize(
    "text",
    [
        b"", b" ", b"{", b'{"a":', b'{"a":1,}', b"[1,]", b"{} {}", b"nul", b"NaN", b"Infinity", b"-Infinity", b"1e999",
        b"-1e999", b"01", b"+1", b"'a'", b'{"a":"\xff"}', b'{"\xff":1}', b'"\xed\xa0\x80"', b'"\\ud800 "', b'"\x01"',
        b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b"9" * 5000, b"/* */ {}", b"\x00",
    ],
)  # fmt: skip
def test_what_is_no_json_text_is_corrupt(text: bytes) -> None:
    with pytest.raises(MetadataCorrupt, match="file x is not valid JSON"):
        decode_strict(text, where="file x")


@pytest.mark.parametrize("text", [b"[" * 500_000, b'{"a":' * 500_000, b"[" * 900 + b"]" * 900])
def test_deep_nesting_never_ends_in_a_recursion_error(text: bytes) -> None:
    with pytest.raises(FormatError):
        check_depth(decode_strict(text, where="x"), where="x", limits=Limits())


def test_depth_is_bounded_exactly() -> None:
    limits = Limits(json_depth=10)
    check_depth(decode_strict(b"[" * 10 + b"]" * 10, where="x"), where="x", limits=limits)
    with pytest.raises(LimitExceeded, match="deeper than the 10 levels"):
        check_depth(decode_strict(b"[" * 11 + b"]" * 11, where="x"), where="x", limits=limits)


def test_size_is_bounded_before_anything_is_decoded() -> None:
    with pytest.raises(LimitExceeded, match="metadata bytes"):
        decode_strict(b"x" * 101, where="x", limits=Limits(metadata_bytes=100))


@pytest.mark.parametrize("text", [b"[]", b"1", b'"a"', b"null", b"true"])
def test_metadata_that_is_no_object_is_corrupt(text: bytes) -> None:
    with pytest.raises(MetadataCorrupt, match="must be a JSON object"):
        decode_object(text, where="x")


@given(st.binary(max_size=200))
def test_random_bytes_raise_format_errors_only(data: bytes) -> None:
    try:
        decode_strict(data, where="x")
    except FormatError:
        return
    assert msgspec.json.decode(data) == decode_strict(data, where="x")
