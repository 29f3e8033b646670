"""Rows are found by their keys, whatever the types and number of key columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.arrow.columns.key_lookup import KeyLookup
from floeberg.errors import InvalidInput

KEYS = st.tuples(st.integers(-3, 3), st.sampled_from(["", "a", "b", "é"]), st.booleans())


def columns(keys: list[tuple[int | None, str | None, bool | None]]) -> list[pa.Array]:
    return [
        pa.array([key[0] for key in keys], pa.int64()),
        pa.array([key[1] for key in keys], pa.string()),
        pa.array([key[2] for key in keys], pa.bool_()),
    ]


@given(st.lists(KEYS, unique=True), st.lists(KEYS | st.just((None, "a", True)) | st.just((1, None, None))))
def test_each_row_is_found_by_its_key(source: list[tuple[int, str, bool]], asked: list[tuple[int, str, bool]]) -> None:
    lookup = KeyLookup(columns(source), ["i", "s", "b"])
    found = lookup.find(columns(asked))
    assert list(found) == [source.index(key) if key in source else -1 for key in asked]


def test_keys_that_are_there_twice_or_null_are_refused() -> None:
    with pytest.raises(InvalidInput, match="i=1, s='a'"):
        KeyLookup(columns([(1, "a", True), (2, "a", True), (1, "a", True)]), ["i", "s", "b"])
    with pytest.raises(InvalidInput, match="'s' holds nulls"):
        KeyLookup(columns([(1, None, True)]), ["i", "s", "b"])
