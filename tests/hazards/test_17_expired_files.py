"""Hazard 17: expiry deletes files that retained snapshots, branches or tags still reach. Only what is reachable before and
not after, over all references and looked at again just before, is deleted."""

from __future__ import annotations

import random

import pytest
from msgspec import structs

from floeberg.api.catalog import catalog
from floeberg.commit.append import Append
from floeberg.errors import FloebergError
from floeberg.maintenance import reachable
from floeberg.testing.table_builder import TableBuilder


def history(seed: int) -> TableBuilder:
    """Random commits on branches and tags, with compactions, expired now and then."""
    chance = random.Random(seed)
    builder = TableBuilder(format_version=3, properties={"write.delete.mode": "merge-on-read"}).append((0,))
    branches = ["main"]
    for number in range(1, 12):
        branch = chance.choice(branches)
        match chance.randrange(6):
            case 0 | 1:
                builder.append((number,), (number + 100,), branch=branch)
            case 2:
                builder.table.delete(f"id < {chance.randint(0, 3)} or id = {number - 1}", branch=branch)
            case 3:
                builder.table.maintenance.compact(options={"rewrite-all": "true"}, branch=branch)
            case 4:
                branches.append(f"b{number}")
                builder.branch(branches[-1]).tag(f"t{number}")
            case _:
                builder.table.maintenance.expire_snapshots(older_than="2999-01-01", retain_last=1)
    builder.table.maintenance.expire_snapshots(older_than="2999-01-01", retain_last=1)
    return builder


def test_every_retained_snapshot_is_whole():
    for seed in range(6):
        builder = history(seed)
        assert builder.table.maintenance.check(read_rows=True).ok, seed
        for snapshot in builder.table.snapshots:
            builder.rows(snapshot_id=snapshot.snapshot_id)


def test_leaving_out_what_is_retained_would_break_one(monkeypatch):
    real = reachable._manifests

    def forgetful(workspace, snapshots):
        found = list(snapshots)
        return real(workspace, found if len(found) < 2 else found[-1:])

    monkeypatch.setattr(reachable, "_manifests", forgetful)
    builders = [history(seed) for seed in range(3)]
    monkeypatch.undo()
    assert not all(builder.table.maintenance.check(read_rows=True).ok for builder in builders)


def aliased(tmp_path) -> TableBuilder:
    """A file that an expired snapshot has by one spelling and the retained one by another."""
    lake = catalog("lake", type="filesystem", warehouse=str(tmp_path))
    builder = TableBuilder(in_catalog=lake).append((1,))
    (file,) = builder.data()
    builder.table.overwrite(builder.arrow([(2,)]))
    builder.table._commit(Append(files=[structs.replace(file, file_path=f"file://{file.file_path}")]))
    builder.table.maintenance.expire_snapshots(older_than="2999-01-01", retain_last=1)
    return builder


def test_a_file_that_a_retained_snapshot_has_under_another_spelling_stays(tmp_path):
    assert [row[0] for row in aliased(tmp_path).rows()] == [1, 2]


def test_paths_compared_as_text_would_lose_it(tmp_path, monkeypatch):
    monkeypatch.setattr(reachable, "path_of", lambda location: location)
    with pytest.raises(FloebergError):
        aliased(tmp_path).rows()
