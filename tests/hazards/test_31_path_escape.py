"""Hazard 31: a name or a recorded path leads out of the table, to be written or deleted.

A corpus of hostile names and paths is tried on a local folder and in memory: whatever passes the guard may change
nothing outside the root.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from floeberg.effects.protocols import Store
from floeberg.effects.system import system_effects
from floeberg.errors import FloebergError, InvalidInput, PathEscape
from floeberg.storage.guard import Roots
from floeberg.storage.local import LocalStore
from floeberg.storage.location import check_segment, child, join, parse
from floeberg.storage.memory import MemoryStore
from floeberg.storage.registry import StoreRegistry

UP = [
    "..",
    "../",
    "..//",
    "./..",
    "../.",
    "..\\",
    "..%2f",
    "%2e%2e",
    "%2e%2e/",
    "%2e%2e%2f",
    "..%5c",
    "..;",
    ". .",
    ".. ",
]
UP += [" ..", "...", "....", "..\t", "..\n", "\u2024\u2024", "\uff0e\uff0e", "..\u2215", "..\uff0f", "%252e%252e%252f"]
UP += ["%c0%ae%c0%ae", "..%00", "..\x00", "..#", "..?", "~", "~root", "$HOME", "%HOME%", "..\u202e", "\\\\host\\share"]
TARGETS = ["secret", "t2/data/f", "etc/passwd"]
NAMES = [
    "", ".", "..", "/", "//", "a/b", "/etc/passwd", "../t2", "..\\t2", "a\0b", "a\nb", "a\x7f", "\ud800", "x" * 256, "é" * 200,
    *UP,
]  # fmt: skip


def paths_below(root: str, outside: str) -> Iterator[str]:
    """Recorded paths, for a table at `root` with forbidden files at and beside `outside`."""
    for up in UP:
        for target in TARGETS:
            yield f"{root}/{up}/{target}"
            yield f"{root}/data/{up}/../{target}"
        yield f"{root}/{up * 3}"
        yield f"{root}{up}"
    for depth in range(1, 9):
        yield f"{root}/{'../' * depth}secret"
        yield f"{root}/data/./{'x/../' * depth}../../t2/data/f"
        yield f"{root}//{'..//' * depth}secret"
    yield from (root, f"{root}/", f"{root}/.", f"{root}/data/..", f"{root}2/data/f", f"{root}-old/f", f"{root}.bak")
    yield from (outside, f"{outside}/secret", f"{outside}/t2/data/f", "/", "//", "/etc/passwd", "/../etc/passwd", "")
    yield from (
        "secret",
        "../secret",
        "./secret",
        "data/f",
        "C:\\secret",
        "\\\\host\\secret",
        "~/.ssh/id",
        "file:secret",
    )
    yield from (f"{root}/link/f", f"{root}/link/../secret", f"{root}/data/link2/t2/data/f")


def schemes(root: str) -> Iterator[str]:
    """The same paths under other schemes."""
    bare = parse(root).path
    for scheme in (
        "http://h",
        "ftp://h",
        "s3:/",
        "s3://",
        "s3://b",
        "gs://b",
        "hdfs://h",
        "jar:file:",
        "data:,",
        "memory:",
    ):
        yield f"{scheme}{bare}/data/f"
    yield from (
        f"file://host{bare}/f",
        f"file:{bare}/../secret",
        f"FILE:{bare}/../t2/data/f",
        f"file:///{bare}/../secret",
    )


@dataclass
class World:
    """A table's folder among others, the store, and what lies outside the folder."""

    store: Store
    root: str
    outside: str
    state_outside: Callable[[], dict[str, bytes]]
    is_jailed: Callable[[str], bool]
    """Whether acting on a location stays among the files of this test, however broken the guard under test is."""


def local_world(tmp_path) -> World:
    root = f"{tmp_path}/wh/t"
    store = LocalStore(system_effects().ids, fsync=False)
    for below in ("secret", "wh/secret", "wh/t2/data/f", "wh/t-old/f", "wh/t.bak", "etc/passwd", "wh/t/data/f"):
        store.write(f"{tmp_path}/{below}", below.encode())
    os.symlink(f"{tmp_path}/wh/t2/data", f"{root}/link")
    os.symlink(f"{tmp_path}/wh", f"{root}/data/link2")

    def state_outside() -> dict[str, bytes]:
        files = (os.path.join(folder, name) for folder, _, names in os.walk(tmp_path) for name in names)
        return {path: Path(path).read_bytes() for path in files if not path.startswith(root + "/")}

    def is_jailed(location: str) -> bool:
        real = os.path.realpath(store.path(location))
        return real.startswith(os.path.realpath(tmp_path) + "/")

    return World(store, root, f"{tmp_path}/wh", state_outside, is_jailed)


def memory_world() -> World:
    root = "memory://w/wh/t"
    store = MemoryStore(system_effects().clock)
    for below in ("secret", "wh/secret", "wh/t2/data/f", "wh/t-old/f", "wh/t.bak", "wh/t/data/f"):
        store.write(f"memory://w/{below}", below.encode())

    def state_outside() -> dict[str, bytes]:
        # Every object there is, straight from the dictionary: a listing would need a well-formed prefix.
        return {uri: content for uri, (content, _) in store._objects.items() if not uri.startswith(root + "/")}

    return World(store, root, "memory://w/wh", state_outside, lambda location: True)


@pytest.fixture(params=["local", "memory"])
def world(request, tmp_path) -> World:
    return local_world(tmp_path) if request.param == "local" else memory_world()


def corpus(world: World) -> list[str]:
    paths = [*paths_below(world.root, world.outside), *schemes(world.root)]
    return list(dict.fromkeys(paths))


def find_escapes(world: World, guard: Callable[[list[str], str], str]) -> list[str]:
    """The paths that passed the guard and changed something outside the root; raises on errors that are not ours.
    A path that would leave the files of this test is noted and never acted on."""
    escapes = []
    before = world.state_outside()
    for path in corpus(world):
        try:
            location = guard([world.root], path)
            if not world.is_jailed(location):
                escapes.append(path)
                continue
        except FloebergError:
            continue
        for act in (world.store.delete, lambda location: world.store.write(location, b"hostile")):
            with suppress(FloebergError):
                act(location)
        if world.state_outside() != before:
            escapes.append(path)
            before = world.state_outside()
    return escapes


def guard_inside(roots, location):
    return Roots(roots).guard(location)


def test_no_path_of_the_corpus_changes_anything_outside_the_root(world):
    assert len(corpus(world)) >= 200
    assert find_escapes(world, guard_inside) == []


def test_what_belongs_to_the_table_still_passes(world):
    for below in ("data/f", "metadata/v1.metadata.json", "data/s=..%2Fx/f", "data/... /f", "data/a b/%2e%2e/f"):
        location = join(world.root, below)
        assert guard_inside([world.root], location) == location


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_name_becomes_a_path_outside_its_parent(name, world):
    try:
        location = child(world.root, name)
    except (PathEscape, InvalidInput):
        return
    assert Roots([world.root]).contains(location)
    assert parse(location).path.rpartition("/")[0] == parse(world.root).path


def by_prefix(roots: list[str], location: str) -> str:
    if not any(location.startswith(root) for root in roots):
        raise PathEscape(location)
    return location


def without_links(roots: list[str], location: str) -> str:
    if not any(parse(location).is_within(parse(root)) for root in roots):
        raise PathEscape(location)
    return location


def test_the_corpus_finds_a_guard_that_compares_text(world):
    assert find_escapes(world, by_prefix) != []


def test_the_corpus_finds_a_guard_that_forgets_links(tmp_path):
    assert any("link" in path for path in find_escapes(local_world(tmp_path), without_links))


def test_the_names_find_a_join_without_checks(monkeypatch):
    def escaped(check: Callable[[str], str]) -> bool:
        for name in NAMES:
            try:
                location = f"/wh/db/{check(name)}"
                if not Roots(["/wh/db"]).contains(location):
                    return True
            except FloebergError:
                continue
        return False

    assert not escaped(check_segment)
    assert escaped(lambda name: name)


def test_schemes_outside_the_allow_list_are_not_read_either():
    registry = StoreRegistry(system_effects(), allowed_schemes=["s3", "memory"])
    for location in ("/etc/passwd", "file:///etc/passwd", "hdfs://h/x", "http://169.254.169.254/", "gs://b/x"):
        with pytest.raises(InvalidInput):
            registry.for_location(location)
