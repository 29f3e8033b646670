"""Hazard 6: the version hint is stale, gone or garbage. It is only a hint: whatever it says at any step, commits are judged
by the versions themselves."""

from __future__ import annotations

import pytest

from floeberg.catalogs import filesystem_pointer, versions
from floeberg.testing.crashes import quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.scheduler import SimulationFailed
from floeberg.testing.sim_catalogs import FILESYSTEM, LOCATION
from floeberg.testing.simulate import Player, run_history
from floeberg.testing.workload import Writer

HINT = f"{LOCATION}/metadata/version-hint.text"
HINTS = {
    "gone": None,
    "empty": b"",
    "garbage": b"\xff\x00 not a number",
    "huge": b"9" * 200,
    "negative": b"-3",
    "first version": b"1",
    "before the newest": b"4",
    "far ahead": b"4000",
    "with a line end": b"5\n",
}


def commit_with(hint: bytes | None, *, at: int | None) -> None:
    """One append, with the hint as given from the call of that number on, or again before every call."""
    player = Player("hint", quiet_setting(FILESYSTEM, 2))
    process = player.world.process("writer")
    writer = Writer(process.name, player.shared, player.world.seed, location=LOCATION)
    first = player.catalog.count() - 1

    def spoil() -> None:
        if at is None or process.calls == at:
            player.world.disk.remove(HINT)
            if hint is not None:
                player.world.disk.put(HINT, hint)

    player.world.pause = spoil
    player.write(process, writer, ["merge_append"])
    player.judge(first)
    assert [one.outcome for one in player.history.done] == ["committed"]


@pytest.mark.parametrize("hint", HINTS)
def test_whatever_the_hint_says_all_the_time_a_commit_is_what_it_is(hint):
    commit_with(HINTS[hint], at=None)


@pytest.mark.parametrize("hint", ["gone", "garbage", "first version", "far ahead"])
def test_whatever_becomes_of_the_hint_between_two_calls(hint):
    with decoded_once():
        for call in range(24):
            commit_with(HINTS[hint], at=call)


def test_two_writers_misled_by_the_hint_lose_nothing():
    """A history in which an old hint led to an old version whose successor's name was free again."""
    run_history(821)


def test_a_head_taken_from_the_hint_would_lose_commits(monkeypatch):
    def believing(store, folder):
        hinted = versions._hinted(store, folder)
        return (
            versions.find_head_by_listing(store, folder)
            if hinted is None
            else versions.published(store, folder, hinted)
        )

    monkeypatch.setattr(filesystem_pointer, "find_head", believing)
    with pytest.raises((SimulationFailed, AssertionError)):
        commit_with(b"4", at=None)


def test_versions_removed_out_of_order_would_lose_a_commit(monkeypatch):
    def only_the_dropped(self, version, new):
        from floeberg.catalogs.metadata_files import delete_dropped_metadata

        base = self._base_of[version.number] if version.number in getattr(self, "_base_of", {}) else None
        delete_dropped_metadata(self._stores, base, new)

    real = filesystem_pointer.FilesystemPointer._publish

    def remembering(self, version, new, *, base):
        self._base_of = {version.number: None if base is None else base.metadata}
        return real(self, version, new, base=base)

    monkeypatch.setattr(filesystem_pointer.FilesystemPointer, "_publish", remembering)
    monkeypatch.setattr(filesystem_pointer.FilesystemPointer, "_delete_old_versions", only_the_dropped)
    with pytest.raises(SimulationFailed, match="acknowledged and is not there"), decoded_once():
        run_history(821)
