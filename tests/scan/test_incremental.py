"""An append scan gives the files that appends added between two snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.api.table import Table
from floeberg.commit.append import Append
from floeberg.commit.overwrite import Overwrite
from floeberg.errors import InvalidInput
from floeberg.expr.build import col
from floeberg.scan.incremental import plan_appends
from lakes.scan_tables import CountingStores, add_deletes, data_file, equality_delete, names, new_table


def appended_table(merge: bool = True) -> tuple[Table, dict[str, int]]:
    """Appends a, b, an overwrite of a by c, deletes, and an append d."""
    table = new_table(properties={"commit.manifest.min-count-to-merge": "2"} if merge else None)
    ids: dict[str, int] = {}

    def note(name: str) -> None:
        current = table.current_snapshot
        assert current is not None
        ids[name] = current.snapshot_id

    first = data_file(table, "a", id=(1, 9))
    for name, file in (("a", first), ("b", data_file(table, "b", id=(10, 19)))):
        table._commit(Append(files=[file], merge=merge))
        note(name)
    table._commit(Overwrite(removed=[first], added=[data_file(table, "c")]))
    note("c")
    add_deletes(table, equality_delete(table, "e", "id"))
    table._commit(Append(files=[data_file(table, "d", id=(30, 39))], merge=merge))
    note("d")
    return table, ids


def appended(table: Table, **options: Any) -> list[str]:
    return names(table, plan_appends(table.metadata, store_for=table._pointer.store_for, **options))


@pytest.mark.parametrize("merge", [True, False])
def test_only_files_of_appends_after_the_first_snapshot_are_planned(merge: bool) -> None:
    table, ids = appended_table(merge)
    assert appended(table) == ["a", "b", "d"]
    assert appended(table, from_snapshot_id=ids["a"]) == ["b", "d"]
    assert appended(table, from_snapshot_id=ids["a"], to_snapshot_id=ids["c"]) == ["b"]
    assert appended(table, from_snapshot_id=ids["c"]) == ["d"]
    assert appended(table, from_snapshot_id=ids["d"]) == []
    assert appended(table, where=col("id") > 25) == ["d"]


def test_deletes_are_not_applied_and_their_manifests_not_read() -> None:
    table, ids = appended_table(merge=False)
    stores = CountingStores(table)
    found = plan_appends(table.metadata, store_for=stores.store_for, from_snapshot_id=ids["c"])
    assert not found.has_deletes
    assert len(stores.calls) == 2


def test_a_snapshot_that_is_no_ancestor_is_refused() -> None:
    table, ids = appended_table()
    with pytest.raises(InvalidInput, match="is no ancestor"):
        appended(table, from_snapshot_id=ids["d"], to_snapshot_id=ids["a"])
    with pytest.raises(InvalidInput, match="nothing happened"):
        appended(new_table(), from_snapshot_id=5)
    assert appended(new_table()) == []
