"""Expiring snapshots: what stays, and that everything that stays can be read (hazard 17)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.catalogs.base import LoadedTable
from floeberg.errors import InvalidInput
from floeberg.maintenance.expire import Expired, Expiry, expire_snapshots
from floeberg.spec.snapshots.snapshot import Snapshot

FAR = 2**62


def _table(memory: Catalog) -> Table:
    memory.create_namespace("db")
    return memory.create_table("db.t", "id BIGINT")


def _rows(numbers: range) -> pa.Table:
    return pa.table({"id": pa.array(list(numbers), pa.int64())})


def _expire(table: Table, expiry: Expiry) -> Expired:
    table.refresh()
    loaded = LoadedTable(table._pointer, table._state)
    expired = expire_snapshots(loaded.pointer, loaded.state, expiry)
    table.refresh()
    return expired


def test_only_the_newest_snapshot_stays_and_files_of_the_others_go() -> None:
    table = _table(catalog("m", type="memory"))
    table.append(_rows(range(1)))
    table.overwrite(_rows(range(1, 3)), where="true")
    expired = _expire(table, Expiry(older_than_ms=FAR))
    assert len(expired.snapshot_ids) == 1
    assert expired.deleted.data_files == 1
    assert expired.deleted.manifest_lists == 1
    assert table.scan().count() == 2


def test_snapshots_younger_than_the_limit_and_the_last_so_many_stay() -> None:
    table = _table(catalog("m", type="memory"))
    for number in range(4):
        table.append(_rows(range(number, number + 1)))
    assert _expire(table, Expiry()).snapshot_ids == ()
    assert len(_expire(table, Expiry(older_than_ms=FAR, retain_last=3)).snapshot_ids) == 1


def test_heads_of_branches_and_tags_are_never_expired() -> None:
    table = _table(catalog("m", type="memory"))
    table.append(_rows(range(1)))
    tagged = table.current_snapshot
    assert tagged is not None
    with table.manage_refs() as refs:
        refs.create_tag("kept")
    table.overwrite(_rows(range(5, 6)), where="true")
    with pytest.raises(InvalidInput, match="kept"):
        _expire(table, Expiry(snapshot_ids=[tagged.snapshot_id]))
    assert _expire(table, Expiry(older_than_ms=FAR)).snapshot_ids == ()
    assert table.scan(ref="kept").to_arrow().column("id").to_pylist() == [0]


def test_a_table_whose_files_others_may_use_is_left_alone() -> None:
    table = _table(catalog("m", type="memory"))
    table.append(_rows(range(1)))
    with table.update_properties() as update:
        update.set({"gc.enabled": "false"})
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        _expire(table, Expiry(older_than_ms=FAR))


def test_metadata_that_no_snapshot_needs_goes_when_asked() -> None:
    table = _table(catalog("m", type="memory"))
    table.append(_rows(range(1)))
    with table.update_schema() as update:
        update.add_column("s", "string")
    table.append(pa.table({"id": pa.array([7], pa.int64()), "s": ["x"]}))
    _expire(table, Expiry(older_than_ms=FAR, clean_expired_metadata=True))
    assert len(table.metadata.schemas) == 1
    assert table.scan().count() == 2


def test_specs_that_a_running_writer_may_have_begun_with_stay_until_files_are_written_under_a_newer_one() -> None:
    table = _table(catalog("m", type="memory"))
    for term in ("bucket(2, id)", "bucket(3, id)"):
        with table.update_spec() as update:
            for field in table.metadata.default_spec.fields:
                update.remove_field(field.name)
            update.add_field(term)
    _expire(table, Expiry(older_than_ms=FAR, clean_expired_metadata=True))
    assert [spec.spec_id for spec in table.metadata.partition_specs] == [0, 1, 2]
    table.append(_rows(range(1)))
    _expire(table, Expiry(older_than_ms=FAR, clean_expired_metadata=True))
    assert [spec.spec_id for spec in table.metadata.partition_specs] == [2]


@settings(max_examples=25)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["append", "overwrite", "delete", "branch", "tag", "expire"]), st.integers(1, 3)),
        min_size=3,
        max_size=12,
    )
)
def test_every_retained_snapshot_keeps_its_rows_whatever_came_before(steps: list[tuple[str, int]]) -> None:
    table = _table(catalog("m", type="memory"))
    rows_of = RowsOfSnapshots(table)
    rows_of.wrote("main", lambda _: [0, 1], table.append(_rows(range(2))))
    for number, (step, size) in enumerate(steps):
        branch = next((name for name, ref in table.refs.items() if ref.is_branch and name != "main"), "main")
        new = range(10 * number, 10 * number + size)
        below = 5 * number
        if step == "append":
            rows_of.wrote(branch, lambda rows, new=new: [*rows, *new], table.append(_rows(new), branch=branch))
        elif step == "overwrite":
            rows_of.wrote("main", lambda _, new=new: [*new], table.overwrite(_rows(new), where="true"))
        elif step == "delete":
            left = table.delete(where=f"id < {below}")
            rows_of.wrote("main", lambda rows, below=below: [row for row in rows if row >= below], left)
        elif step in ("branch", "tag"):
            with table.manage_refs() as refs:
                (refs.create_branch if step == "branch" else refs.create_tag)(f"{step}{number}")
        else:
            rows_of.check(_expire(table, Expiry(older_than_ms=FAR, retain_last=size)))
        table.refresh()
    rows_of.check(_expire(table, Expiry(older_than_ms=FAR)))


class RowsOfSnapshots:
    """A model: the rows that each snapshot had when it was committed."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._rows: dict[int, list[int]] = {}

    def wrote(self, branch: str, change: Callable[[list[int]], list[int]], snapshot: Snapshot | None) -> None:
        """Records a commit to a branch; one that had nothing to change made no snapshot."""
        if snapshot is not None:
            parent = snapshot.parent_snapshot_id
            self._rows[snapshot.snapshot_id] = change([] if parent is None else self._rows[parent])
            assert self._table.refs[branch].snapshot_id == snapshot.snapshot_id

    def check(self, expired: Expired) -> None:
        assert not {ref.snapshot_id for ref in self._table.refs.values()} & set(expired.snapshot_ids)
        assert expired.deleted.left == ()
        left = {snapshot.snapshot_id for snapshot in self._table.snapshots}
        assert left.isdisjoint(expired.snapshot_ids)
        for snapshot_id in left:
            rows = self._table.scan(snapshot_id=snapshot_id).to_arrow().column("id").to_pylist()
            assert sorted(rows) == sorted(self._rows[snapshot_id])
