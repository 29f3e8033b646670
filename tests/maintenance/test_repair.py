"""Repairs: each damage is made on purpose, found by name, repaired by choice, and the repair rolled back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import floeberg as fb
from floeberg.commit.refs import SetBranchSnapshot
from floeberg.errors import InvalidInput, ValidationConflict
from floeberg.maintenance.check_report import Problem
from floeberg.spec.snapshots.manifest_entry import ManifestEntry
from floeberg.testing.table_builder import TableBuilder
from lakes.damaged_tables import (
    ALL,
    CASES,
    Damage,
    clashing_row_ids,
    damage_entries,
    data_path,
    missing_data,
    missing_deletes,
    missing_manifest,
    table_to_damage,
    wrong_metrics,
)


def table(folder: Path, version: int) -> TableBuilder:
    return table_to_damage(fb.catalog("lake", warehouse=str(folder / "lake")), version)


@pytest.mark.parametrize(
    ("damage", "version"), CASES, ids=[f"{d.make.__name__}-{d.problem}-{d.action}-{v}" for d, v in CASES]
)
def test_a_damage_is_found_repaired_by_choice_and_the_repair_rolled_back(
    damage: Damage, version: int, tmp_path: Path
) -> None:
    builder = table(tmp_path, version)
    damage.make(builder)
    current = builder.table.metadata.current_snapshot_id
    assert current is not None
    asks = damage.asks or {}
    found = builder.table.maintenance.check(snapshot_ids=[current], **asks)
    assert damage.problem in {finding.problem for finding in found.findings}
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    planned = builder.table.maintenance.repair([damage.action], dry_run=True, **asks)
    assert planned.dry_run
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == files
    done = builder.table.maintenance.repair([damage.action], **asks)
    assert done.repairs == planned.repairs
    assert {one.action for one in done.repairs} == {damage.action}
    assert builder.rows() == damage.rows
    assert builder.table.scan(where="id >= 0").count() == len(damage.rows)
    head = builder.table.metadata.current_snapshot_id
    assert head is not None
    assert builder.table.maintenance.check(snapshot_ids=[head], **asks).findings == ()
    assert {path for path in tmp_path.rglob("*") if path.is_file()} >= files
    assert done.snapshot_id_before == current
    builder.table._commit(SetBranchSnapshot(snapshot_id=current, must_be_ancestor=False))
    again = builder.table.maintenance.check(snapshot_ids=[current], **asks)
    if damage.action != "drop-statistics":
        assert {(one.problem, one.location) for one in again.findings} == {
            (one.problem, one.location) for one in found.findings
        }


def test_new_row_ids_are_of_nobody_else(tmp_path: Path) -> None:
    builder = table(tmp_path, 3)
    clashing_row_ids(builder)
    builder.table.maintenance.repair(["renumber-rows"])
    ids = builder.table.scan(select=["id", "_row_id"]).to_arrow().to_pydict()["_row_id"]
    assert len({*ids}) == len(ALL)
    builder.append((9, 9))
    ids = builder.table.scan(select=["id", "_row_id"]).to_arrow().to_pydict()["_row_id"]
    assert len({*ids}) == len(ALL) + 1
    assert builder.table.maintenance.check(read_rows=True, snapshot_ids=[builder.table.metadata.current_snapshot_id]).ok


def test_summaries_are_right_after_a_repair_and_later_commits_go_on(tmp_path: Path) -> None:
    builder = table(tmp_path, 2)
    wrong_metrics(builder)
    builder.table.maintenance.repair(["recompute-metrics"])
    builder.append((7, 1)).delete("id = 5")
    snapshot = builder.table.metadata.current_snapshot
    assert snapshot is not None
    assert builder.rows() == [(1, 0), (3, 0), (4, 0), (6, 1), (7, 1)]
    assert (snapshot.summary["total-records"], snapshot.summary["total-data-files"]) == ("7", "4")
    assert builder.table.maintenance.check(snapshot_ids=[snapshot.snapshot_id]).findings == ()


def test_a_delete_is_kept_where_a_wrong_count_makes_it_look_bad(tmp_path: Path) -> None:
    builder = table(tmp_path, 3)

    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        file = entry.data_file
        return [structs.replace(entry, data_file=structs.replace(file, record_count=min(1, file.record_count)))]

    damage_entries(builder.table, change)
    done = builder.table.maintenance.repair(["recompute-metrics", "drop-deletes"])
    assert [one.problem for one in done.remaining] == [Problem.BAD_DELETE]
    assert builder.rows() == ALL
    assert builder.table.maintenance.repair(["recompute-metrics", "drop-deletes"]).repairs == ()


def test_a_repair_is_an_explicit_choice(tmp_path: Path) -> None:
    builder = table(tmp_path, 2)
    for wrong, said in (
        ([], "explicit choice"),
        (["nope"], "'nope' is no repair; there are drop-data"),
        (["restore", "drop-data"], "restore leaves the newest snapshot behind"),
    ):
        with pytest.raises(InvalidInput, match=said):
            builder.table.maintenance.repair(wrong)
    before = builder.table.metadata.current_snapshot_id
    for action in ("drop-data", "recompute-metrics", "restore", "drop-statistics"):
        assert builder.table.maintenance.repair([action]).repairs == ()
    assert builder.table.metadata.current_snapshot_id == before


def test_what_was_not_chosen_remains(tmp_path: Path) -> None:
    builder = table(tmp_path, 2)
    missing_data(builder)
    missing_deletes(builder)
    done = builder.table.maintenance.repair(["drop-data"])
    assert [one.problem for one in done.remaining] == [Problem.MISSING_FILE]
    assert len(done.repairs) == 1


def test_a_lost_manifest_needs_an_older_snapshot_and_a_broken_one_is_not_restored(tmp_path: Path) -> None:
    builder = table(tmp_path, 2)
    first = builder.table.metadata.snapshots[0].snapshot_id
    data_path(builder, 3).unlink()
    missing_manifest(builder)
    with pytest.raises(InvalidInput, match="choose restore"):
        builder.table.maintenance.repair(["drop-data"])
    with pytest.raises(InvalidInput, match=f"snapshot {first} is not whole"):
        builder.table.maintenance.repair(["restore"], snapshot_id=first)
    with pytest.raises(InvalidInput, match="no older snapshot of the branch is whole"):
        builder.table.maintenance.repair(["restore"])


def test_a_restore_never_undoes_a_commit_that_was_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = table(tmp_path, 2)
    missing_data(builder)
    other = builder.second()
    real = type(builder.table._pointer).swap
    done: list[int] = []

    def swap(pointer: Any, base: Any, new: Any) -> Any:
        if not done:
            done.append(1)
            other.append(builder.arrow([(8, 1)]))
        return real(pointer, base, new)

    monkeypatch.setattr(type(builder.table._pointer), "swap", swap)
    with pytest.raises(ValidationConflict, match="has changed since it was checked"):
        builder.table.maintenance.repair(["restore"])
