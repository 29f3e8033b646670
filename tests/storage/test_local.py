from __future__ import annotations

import os

import pytest

from floeberg.effects.system import SystemIds
from floeberg.errors import PreconditionFailed, StorageError, UnsupportedFeature, WriteRefused
from floeberg.storage.local import LocalStore


@pytest.fixture
def store() -> LocalStore:
    return LocalStore(SystemIds())


@pytest.fixture
def events(monkeypatch, tmp_path) -> list[str]:
    """What reaches the operating system, in order."""
    seen: list[str] = []

    def record(name, describe):
        real = getattr(os, name)

        def call(*args, **kwargs):
            result = real(*args, **kwargs)
            seen.append(describe(*args))
            return result

        monkeypatch.setattr(os, name, call)

    record("fsync", lambda fd: "sync " + ("folder" if os.path.isdir(f"/proc/self/fd/{fd}") else "file"))
    record("link", lambda *paths: "link")
    record("replace", lambda *paths: "rename")
    record("mkdir", lambda *paths: "mkdir")
    return seen


def test_create_syncs_the_content_before_the_name_and_the_folder_after(store, events, tmp_path):
    store.create(f"{tmp_path}/v1", b"x")
    assert events == ["sync file", "link", "sync folder"]


def test_write_and_replace_are_durable_when_they_return(store, events, tmp_path):
    store.write(f"{tmp_path}/f", b"x")
    assert events == ["sync file", "sync folder"]
    events.clear()
    store.replace(f"{tmp_path}/f", b"y")
    assert events == ["sync file", "rename", "sync folder"]


def test_new_folders_are_durable_in_their_parents(store, events, tmp_path):
    store.write(f"{tmp_path}/a/b/f", b"x")
    assert events == ["mkdir", "sync folder", "mkdir", "sync folder", "sync file", "sync folder"]


def test_syncing_can_be_switched_off_as_a_whole(events, tmp_path):
    LocalStore(SystemIds(), fsync=False).create(f"{tmp_path}/a/v1", b"x")
    assert [event for event in events if event.startswith("sync")] == []


def test_a_link_that_finds_itself_is_a_success(store, monkeypatch, tmp_path):
    """Over NFS the reply to the first request is lost and the second says EEXIST."""
    real = os.link

    def link_with_lost_reply(source, target):
        real(source, target)
        raise FileExistsError

    monkeypatch.setattr(os, "link", link_with_lost_reply)
    store.create(f"{tmp_path}/v1", b"mine")
    assert (tmp_path / "v1").read_bytes() == b"mine"
    assert os.listdir(tmp_path) == ["v1"]


def test_a_file_system_without_links_is_refused_with_the_way_out(store, monkeypatch, tmp_path):
    def no_links(source, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(UnsupportedFeature, match="SQL catalog"):
        store.create(f"{tmp_path}/v1", b"x")
    assert os.listdir(tmp_path) == []


def test_no_temporary_file_stays_after_a_refusal_or_a_failure(store, monkeypatch, tmp_path):
    (tmp_path / "taken").mkdir()
    for call in (store.create, store.replace):
        with pytest.raises(StorageError):
            call(f"{tmp_path}/taken", b"x")
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: real(fd) if os.path.isdir(f"/proc/self/fd/{fd}") else _full_disk())
    for call in (store.create, store.replace):
        with pytest.raises(StorageError, match="No space left"):
            call(f"{tmp_path}/hint", b"x")
    assert os.listdir(tmp_path) == ["taken"]


def _full_disk() -> None:
    raise OSError(28, "No space left on device")


def test_a_dangling_link_counts_as_taken(store, tmp_path):
    (tmp_path / "v1").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PreconditionFailed):
        store.create(f"{tmp_path}/v1", b"x")
    assert not (tmp_path / "nowhere").exists()


def test_replace_takes_the_place_of_a_link_and_leaves_its_target(store, tmp_path):
    (tmp_path / "target").write_bytes(b"safe")
    (tmp_path / "hint").symlink_to(tmp_path / "target")
    store.replace(f"{tmp_path}/hint", b"2")
    assert (tmp_path / "target").read_bytes() == b"safe"


def test_listing_follows_no_links(store, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"x")
    (tmp_path / "t").mkdir()
    (tmp_path / "t/link").symlink_to(tmp_path / "outside")
    (tmp_path / "t/file").symlink_to(tmp_path / "outside/secret")
    assert list(store.list(f"{tmp_path}/t")) == []


def test_a_folder_that_cannot_be_listed_is_an_error(store, monkeypatch, tmp_path):
    real = os.scandir

    def scandir(path):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    (tmp_path / "locked").mkdir()
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(StorageError, match="Permission denied"):
        list(store.list(str(tmp_path)))


def test_a_name_too_long_for_the_file_system_is_refused_and_cannot_be_read(store, tmp_path):
    with pytest.raises(WriteRefused, match="longer than the file system allows"):
        store.write(f"{tmp_path}/{'n' * 256}", b"x")


def test_errors_of_the_system_keep_their_words(store, tmp_path):
    (tmp_path / "f").write_bytes(b"x")
    with pytest.raises(StorageError, match=r"f/g"):
        store.write(f"{tmp_path}/f/g", b"x")
