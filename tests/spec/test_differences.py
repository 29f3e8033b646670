"""What a REST catalog is sent makes of the one state of a table the other, whatever changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.spec.changes.differences import updates_between, view_updates_between
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates_json import update_from_json, updates_to_json
from floeberg.spec.changes.view_builder import apply_view_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import table_metadata_to_json


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [str(one) for one in ids]})


def history(version: int) -> Iterator[TableMetadata]:
    """The states of a table that is changed in every way."""
    cat = fb.catalog("lake", type="memory")
    cat.create_namespace("db")
    table = cat.create_table("db.t", "id bigint, s string", format_version=version, properties={"a": "1"})
    changes: list[Callable[[], object]] = [
        lambda: table.append(rows(1, 2)),
        lambda: _in(table.update_schema(), lambda u: u.add_column("x", "struct<y: int, z: array<string>>")),
        lambda: _in(table.update_spec(), lambda u: u.add_field("bucket(4, id)")),
        lambda: _in(table.update_sort_order(), lambda u: u.order_by("id desc")),
        lambda: table.append(rows(3)),
        lambda: _in(table.manage_refs(), lambda r: (r.create_branch("b"), r.create_tag("q"))),
        lambda: table.append(rows(4), branch="b"),
        lambda: table.delete("id = 1"),
        lambda: _in(table.update_properties(), lambda u: (u.set({"b": "2"}), u.remove("a"))),
        lambda: _in(table.update_schema(), lambda u: (u.rename_column("s", "t"), u.drop_column("x"))),
        lambda: _in(table.update_spec(), lambda u: u.remove_field("bucket(4, id)")),
        lambda: _in(table.manage_refs(), lambda r: r.remove_tag("q")),
        lambda: _transaction(table),
        lambda: table.maintenance.expire_snapshots(older_than=10**15, retain_last=1),
        lambda: cat.replace_table("db.t", "id string, new int", partition_by=["new"]) and table.refresh(),
    ]
    if version < 3:
        changes.insert(4, lambda: _in(table.update_properties(), lambda u: u.set({"format-version": str(version + 1)})))
    yield table.metadata
    for change in changes:
        change()
        yield table.refresh().metadata


def _in(block, change: Callable) -> None:
    with block as update:
        change(update)


def _transaction(table) -> None:
    with table.transaction() as tx:
        tx.append(pa.table({"id": pa.array([7], pa.int64())}))
        tx.delete("id = 2")


def as_json(metadata: TableMetadata) -> dict:
    """Without what the catalog alone decides: times and the log of metadata files."""
    document = table_metadata_to_json(metadata)
    log = [entry["snapshot-id"] for entry in metadata.snapshot_log.documents]
    return {**document, "last-updated-ms": 0, "metadata-log": [], "snapshot-log": log, "last-column-id": 0}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_updates_make_the_new_state_of_the_old(version: int) -> None:
    states = list(history(version))
    assert len({id(one) for one in states}) == len(states)
    for base, new in [(None, states[0]), *pairwise(states), (states[0], states[0])]:
        updates = updates_between(base, new)
        sent = [update_from_json(one) for one in updates_to_json(updates)]
        assert as_json(apply_updates(base, sent, now_ms=0)) == as_json(new)
        assert (not updates) == (base is new)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_is_made_at_once_with_all_that_it_has(version: int) -> None:
    """As a staged table is created: of nothing. Its history before is not told."""
    for new in list(history(version))[:-1]:  # the last was replaced: its old specs need columns that are gone
        if version == 3 or new.format_version == version:
            made = apply_updates(None, updates_between(None, new), now_ms=0)
            assert made.snapshots == new.snapshots
            assert (made.refs, made.properties, made.location) == (new.refs, new.properties, new.location)
            assert made.current_schema.same_columns(new.current_schema)


def test_the_updates_of_views() -> None:
    cat = fb.catalog("lake", type="memory")
    cat.create_namespace("db")
    view = cat.create_view("db.v", "SELECT 1 AS a", "a int", properties={"k": "v"})
    states = [view.metadata]
    view = cat.create_view("db.v", "SELECT 1 AS a, 2 AS b", "a int, b int", replace=True)
    states.append(view.metadata)
    view.update_properties(set={"x": "y"}, remove=["k"])
    states.append(view.metadata)
    view = cat.create_view("db.v", "SELECT 3 AS a", "a int", replace=True)
    states.append(view.metadata)
    for base, new in [(None, states[0]), *pairwise(states)]:
        made = apply_view_updates(base, view_updates_between(base, new), now_ms=0)
        assert replace(made, version_log=new.version_log) == new
