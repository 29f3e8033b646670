"""One contract, every store, by what it declares."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

import pytest
from pyarrow import fs

from floeberg.effects.protocols import Store
from floeberg.effects.system import system_effects
from floeberg.errors import FileNotFound, InvalidInput, PreconditionFailed, UnsupportedFeature
from floeberg.storage.hdfs import HdfsStore
from floeberg.storage.local import LocalStore
from floeberg.storage.memory import MemoryStore
from floeberg.storage.registry import StoreRegistry
from floeberg.testing.simulated import SimWorld

ODD_NAMES = [
    "plain.parquet",
    "with space",
    "a%20b",
    "100%",
    "s=a%2Fb",
    "s=x+y",
    "k=v&w",
    "q?u=1",
    "h#ash",
    "back\\slash",
    "glob*[x]{y}",
    "_hidden",
    ".dot",
    "..two",
    "three...",
    "co:lon",
    "quo\"te's",
    "tilde~^`|",
    "ümläut-日本-🧊",
    "$dollar;semi,comma@at!",
    "n" * 255,
]


@dataclass
class Place:
    """A store and an empty folder in it."""

    store: Store
    root: str

    def at(self, below: str) -> str:
        return f"{self.root}/{below}"


def _rename_if_absent(source: str, target: str) -> bool:
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    os.unlink(source)
    return True


@pytest.fixture(
    params=[
        "local",
        "local-uri",
        "memory",
        "sim",
        pytest.param("s3", marks=pytest.mark.s3),
        pytest.param("s3a", marks=pytest.mark.s3),
        "hdfs-rename",
        "hdfs-plain",
    ]
)
def place(request, tmp_path) -> Place:
    effects = system_effects()
    kind = request.param
    if kind == "local":
        return Place(LocalStore(effects.ids, fsync=False), f"{tmp_path}/wh")
    if kind == "local-uri":
        return Place(LocalStore(effects.ids), f"file://{tmp_path}/wh")
    if kind == "memory":
        return Place(MemoryStore(effects.clock), "memory://world/wh")
    if kind == "sim":
        return Place(SimWorld(1).process().store, "s3://bucket/wh")
    if kind.startswith("s3"):
        server = request.getfixturevalue("s3_server")
        root = f"{kind}://{server.new_bucket()}/wh"
        return Place(StoreRegistry(effects, server.options()).for_location(root), root)
    rename = _rename_if_absent if kind == "hdfs-rename" else None
    return Place(
        HdfsStore(fs.LocalFileSystem(), effects.ids, rename_if_absent=rename), f"hdfs://node:8020{tmp_path}/wh"
    )


def test_what_is_written_is_read_back_whole_and_in_parts(place):
    place.store.write(place.at("a/f"), b"0123456789")
    assert place.store.read(place.at("a/f")) == b"0123456789"
    assert place.store.read(place.at("a/f"), offset=3) == b"3456789"
    assert place.store.read(place.at("a/f"), offset=3, length=4) == b"3456"
    assert place.store.read(place.at("a/f"), offset=8, length=100) == b"89"
    assert place.store.read(place.at("a/f"), offset=10) == b""
    assert place.store.read(place.at("a/f"), offset=50, length=5) == b""
    assert place.store.read(place.at("a/f"), length=0) == b""
    assert place.store.read_ranges(place.at("a/f"), [(0, 2), (5, 1), (8, 9)]) == [b"01", b"5", b"89"]
    assert place.store.size(place.at("a/f")) == 10
    assert place.store.exists(place.at("a/f"))


def test_an_empty_file_is_a_file(place):
    place.store.write(place.at("empty"), b"")
    assert place.store.read(place.at("empty")) == b""
    assert place.store.size(place.at("empty")) == 0
    assert [info.size_bytes for info in place.store.list(place.root)] == [0]


def test_what_is_not_there_raises_file_not_found(place):
    for call in (
        lambda: place.store.read(place.at("nope")),
        lambda: place.store.read(place.at("nope"), offset=1, length=2),
        lambda: place.store.read(place.at("nope"), length=0),
        lambda: place.store.read_ranges(place.at("nope"), [(0, 1)]),
        lambda: place.store.size(place.at("nope")),
    ):
        with pytest.raises(FileNotFound, match="nope"):
            call()
    assert not place.store.exists(place.at("nope"))
    place.store.write(place.at("folder/f"), b"x")
    assert not place.store.exists(place.at("folder"))
    with pytest.raises(FileNotFound):
        place.store.read(place.at("folder"))
    with pytest.raises(FileNotFound):
        place.store.size(place.at("folder"))


def test_create_publishes_once(place):
    if not place.store.capabilities.create_if_absent:
        with pytest.raises(UnsupportedFeature):
            place.store.create(place.at("v1"), b"first")
        assert not place.store.exists(place.at("v1"))
        return
    place.store.create(place.at("metadata/v1"), b"first")
    with pytest.raises(PreconditionFailed, match="v1"):
        place.store.create(place.at("metadata/v1"), b"second")
    with pytest.raises(PreconditionFailed):
        place.store.create(place.at("metadata/v1"), b"first")
    assert place.store.read(place.at("metadata/v1")) == b"first"
    assert [info.location for info in place.store.list(place.root)] == [place.at("metadata/v1")]


def test_replace_writes_over_what_is_there(place):
    place.store.replace(place.at("hint"), b"1")
    place.store.replace(place.at("hint"), b"22")
    assert place.store.read(place.at("hint")) == b"22"
    assert [info.location for info in place.store.list(place.root)] == [place.at("hint")]


def test_delete_removes_one_file_and_forgives_absence(place):
    place.store.write(place.at("a"), b"x")
    place.store.write(place.at("ab"), b"x")
    place.store.delete(place.at("a"))
    place.store.delete(place.at("a"))
    place.store.delete(place.at("no/such/folder"))
    assert [info.location for info in place.store.list(place.root)] == [place.at("ab")]


def test_listing_is_recursive_by_whole_segments_in_the_form_of_the_prefix(place):
    for below in ("t/data/a=1/f", "t/data/a=2/g", "t/metadata/v1", "tt/x"):
        place.store.write(place.at(below), below.encode())
    found = list(place.store.list(place.at("t")))
    assert sorted(info.location for info in found) == [
        place.at(below) for below in ("t/data/a=1/f", "t/data/a=2/g", "t/metadata/v1")
    ]
    assert {info.size_bytes for info in found} == {12, 13}
    assert all(info.modified_ms > 1_500_000_000_000 for info in found)
    assert sorted(info.location for info in place.store.list(place.at("t/"))) == sorted(info.location for info in found)
    assert list(place.store.list(place.at("missing"))) == []


def test_folders_directly_below_are_listed_by_name(place):
    for below in ("db/t1/metadata/v1", "db/t2/x", "db/file", "db2/t3/x", "db/with space/x", "db/a%20b/x"):
        place.store.write(place.at(below), b"x")
    assert list(place.store.list_folders(place.at("db"))) == ["a%20b", "t1", "t2", "with space"]
    assert list(place.store.list_folders(place.root)) == ["db", "db2"]
    assert list(place.store.list_folders(place.at("missing"))) == []


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_odd_names_mean_themselves(place, name):
    location = place.at(f"data/{name}/f")
    place.store.write(location, b"x")
    assert place.store.read(location) == b"x"
    assert [info.location for info in place.store.list(place.root)] == [location]
    assert list(place.store.list_folders(place.at("data"))) == [name]
    place.store.delete(location)
    assert list(place.store.list(place.root)) == []


@pytest.mark.parametrize("pair", [("a b", "a%20b"), ("a+b", "a b"), ("a%2Fb", "a%252Fb"), ("é", "e\u0301"), ("A", "a")])
def test_names_that_differ_by_encoding_are_different_files(place, pair):
    for name in pair:
        place.store.write(place.at(name), name.encode())
    assert [place.store.read(place.at(name)) for name in pair] == [name.encode() for name in pair]


def test_a_megabyte_survives(place):
    content = bytes(range(256)) * 4096
    place.store.write(place.at("big"), content)
    assert place.store.read(place.at("big")) == content


def test_a_location_of_another_store_is_refused(place):
    if isinstance(place.store, MemoryStore | HdfsStore) or place.root.startswith("s3://bucket/"):
        return
    with pytest.raises(InvalidInput):
        place.store.read("gs://other/x")


def test_an_empty_folder_is_removed_where_the_store_has_folders_and_a_full_one_stays(tmp_path: pathlib.Path) -> None:
    store = LocalStore(system_effects().ids)
    store.write(f"{tmp_path}/ns/t/file", b"x")
    store.delete_folder(f"{tmp_path}/ns")
    assert list(store.list_folders(str(tmp_path))) == ["ns"]
    store.delete(f"{tmp_path}/ns/t/file")
    store.delete_folder(f"{tmp_path}/ns/t")
    store.delete_folder(f"{tmp_path}/ns")
    store.delete_folder(f"{tmp_path}/ns")
    assert list(store.list_folders(str(tmp_path))) == []
