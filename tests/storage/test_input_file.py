from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.effects.system import system_effects
from floeberg.errors import FileNotFound, InvalidInput
from floeberg.storage.input_file import local_path, open_input
from floeberg.storage.local import LocalStore
from floeberg.storage.memory import MemoryStore
from floeberg.storage.ranges import read_coalesced

CONTENT = bytes(range(256)) * 4
STORE = MemoryStore(system_effects().clock)
STORE.write("memory://w/f", CONTENT)


@given(st.lists(st.tuples(st.sampled_from(["read", "seek", "end", "cur"]), st.integers(0, 1500))))
def test_it_reads_and_seeks_as_a_file_in_memory_does(steps):
    ours, oracle = open_input(STORE, "memory://w/f"), io.BytesIO(CONTENT)
    for action, number in steps:
        if action == "read":
            assert ours.read(number) == oracle.read(number)
        elif action == "seek":
            assert ours.seek(number) == oracle.seek(number)
        elif action == "cur":
            assert ours.seek(number, io.SEEK_CUR) == oracle.seek(number, io.SEEK_CUR)
        elif number <= len(CONTENT):
            assert ours.seek(-number, io.SEEK_END) == oracle.seek(-number, io.SEEK_END)
        assert ours.tell() == oracle.tell()
    assert ours.read() == oracle.read()


def test_pyarrow_reads_parquet_from_it():
    sink = io.BytesIO()
    table = pa.table({"a": list(range(1000)), "b": ["x"] * 1000})
    pq.write_table(table, sink)
    STORE.write("memory://w/t.parquet", sink.getvalue())
    assert pq.read_table(open_input(STORE, "memory://w/t.parquet"), columns=["a"]) == table.select(["a"])
    buffered = io.BufferedReader(open_input(STORE, "memory://w/t.parquet", size_bytes=len(sink.getvalue())))
    assert buffered.read() == sink.getvalue()


def test_what_is_not_there_is_noticed_at_once():
    with pytest.raises(FileNotFound):
        open_input(STORE, "memory://w/nope")
    with pytest.raises(InvalidInput):
        open_input(STORE, "memory://w/f").seek(-1)


def test_only_local_files_have_a_path(tmp_path):
    local = LocalStore(system_effects().ids)
    assert local_path(local, f"file:{tmp_path}/a b%20") == f"{tmp_path}/a b%20"
    assert local_path(STORE, "memory://w/f") is None


@given(st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(0, 300_000)), max_size=12))
def test_ranges_read_together_are_the_ranges(ranges):
    content = CONTENT * 2500
    requests = []

    def read(offset: int, length: int) -> bytes:
        requests.append((offset, length))
        return content[offset : offset + length]

    assert read_coalesced(read, ranges) == [content[offset : offset + length] for offset, length in ranges]
    assert len(requests) <= len(ranges)


def test_near_ranges_take_one_request():
    requests = []

    def read(offset: int, length: int) -> bytes:
        requests.append((offset, length))
        return bytes(length)

    read_coalesced(read, [(100, 10), (0, 50), (10_000_000, 5)])
    assert requests == [(0, 110), (10_000_000, 5)]
