"""Finding a table's newest version, whatever the hint says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.catalogs.versions import (
    HINT,
    HINT_CHECKSUM,
    SUFFIXES,
    Version,
    find_head,
    find_head_by_listing,
    listed_versions,
    published,
    version_of,
    write_hint,
)
from floeberg.effects.system import system_effects
from floeberg.storage.memory import MemoryStore

FOLDER = "memory://w/t/metadata"


def folder_of(*names: str, hint: bytes | None = None) -> MemoryStore:
    store = MemoryStore(system_effects().clock)
    for name in names:
        store.write(f"{FOLDER}/{name}", b"{}")
    if hint is not None:
        store.write(f"{FOLDER}/{HINT}", hint)
    return store


@pytest.mark.parametrize(
    "hint",
    [
        None,
        b"",
        b"3",
        b"3\n",
        b"1",
        b"2",
        b"4",
        b"99",
        b"0",
        b"-1",
        b"garbage",
        b"3.5",
        b"\xff\xfe",
        b"9" * 200,
        "٣".encode(),
    ],
)
def test_the_head_is_found_whatever_the_hint_says(hint: bytes | None) -> None:
    store = folder_of("v1.metadata.json", "v2.gz.metadata.json", "v3.metadata.json", hint=hint)
    assert find_head(store, FOLDER) == Version(3, ".metadata.json")


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 29))
def test_a_hint_of_any_age_leads_to_the_head_of_a_table_whose_old_versions_are_gone(
    head: int, hint: int, removed: int
) -> None:
    first = min(removed, head - 1) + 1
    store = folder_of(*(f"v{number}.metadata.json" for number in range(first, head + 1)), hint=str(hint).encode())
    assert find_head(store, FOLDER) == Version(head, ".metadata.json")
    assert find_head_by_listing(store, FOLDER) == Version(head, ".metadata.json")


def test_a_folder_without_versions_has_no_head_even_with_a_hint() -> None:
    assert find_head(folder_of(), FOLDER) is None
    assert find_head(folder_of(hint=b"7"), FOLDER) is None


def test_only_files_named_as_versions_directly_in_the_folder_are_versions() -> None:
    store = folder_of(
        "v2.metadata.json", "v01.metadata.json", "v.metadata.json", "v3.metadata.json.bak", "xv4.metadata.json",
        "sub/v9.metadata.json", "v٣.metadata.json", "00009-abc.metadata.json", "v5.json", "dropped-v6.metadata.json.gz",
        f"v{'9' * 30}.metadata.json",
    )  # fmt: skip
    assert listed_versions(store, FOLDER) == [Version(2, ".metadata.json")]
    assert find_head(store, FOLDER) == Version(2, ".metadata.json")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_codec_has_a_name_and_a_name_its_version(suffix: str) -> None:
    store = folder_of("v1.metadata.json", f"v2{suffix}")
    assert find_head(store, FOLDER) == Version(2, suffix)
    assert version_of(f"{FOLDER}/v2{suffix}") == Version(2, suffix)
    assert version_of(f"{FOLDER}/00002-x{suffix}") is None
    assert published(store, FOLDER, 2, but=suffix) is None


def test_of_two_files_of_one_version_both_ways_find_the_same_one() -> None:
    store = folder_of("v2.metadata.json.gz", "v2.gz.metadata.json", "v2.metadata.json")
    for first in SUFFIXES:
        assert find_head(store, FOLDER) == find_head_by_listing(store, FOLDER) == Version(2, first)
        store.delete(f"{FOLDER}/v2{first}")


def test_a_stale_hint_at_a_version_that_is_there_again_hides_newer_ones_only_from_who_trusts_it() -> None:
    store = folder_of("v5.metadata.json", "v20.metadata.json", hint=b"5")
    assert find_head(store, FOLDER) == Version(5, ".metadata.json")
    assert find_head_by_listing(store, FOLDER) == Version(20, ".metadata.json")


def test_a_hint_goes_forward_and_takes_a_stale_checksum_away() -> None:
    store = folder_of("v4.metadata.json", HINT_CHECKSUM, hint=b"3")
    write_hint(store, FOLDER, 4)
    assert store.read(f"{FOLDER}/{HINT}") == b"4"
    assert not store.exists(f"{FOLDER}/{HINT_CHECKSUM}")
    write_hint(store, FOLDER, 2)
    assert store.read(f"{FOLDER}/{HINT}") == b"4"


def test_a_hint_at_nothing_is_put_right() -> None:
    store = folder_of("v4.metadata.json", hint=b"77")
    write_hint(store, FOLDER, 4)
    assert store.read(f"{FOLDER}/{HINT}") == b"4"
