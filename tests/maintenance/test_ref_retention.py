"""What expiry keeps by the age of branches, tags and snapshots, and by `history.expire.*`.

https://iceberg.apache.org/spec/#snapshot-retention-policy
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.api.catalog import catalog
from floeberg.api.table import Table
from floeberg.catalogs.base import LoadedTable
from floeberg.commit.refs import Retention
from floeberg.effects.system import SystemClock, system_effects
from floeberg.errors import InvalidInput
from floeberg.maintenance.expire import Expired, Expiry, expire_snapshots
from floeberg.spec.metadata.table_metadata import TableMetadata

DAY = 24 * 60 * 60 * 1000
BEGIN = 1_700_000_000_000


class SetClock(SystemClock):
    """Wall time that the test moves."""

    def __init__(self) -> None:
        self.time_ms = BEGIN

    def now_ms(self) -> int:
        return self.time_ms


class Aged:
    """A table in memory whose commits are a day apart."""

    def __init__(self, properties: dict[str, str] | None = None) -> None:
        self.clock = SetClock()
        lake = catalog("m", type="memory", effects=replace(system_effects(), clock=self.clock))
        lake.create_namespace("db")
        self.table: Table = lake.create_table("db.t", "id BIGINT", properties=properties)

    def append(self, *ids: int, branch: str = "main") -> int:
        """Appends rows, then a day passes."""
        snapshot = self.table.append(pa.table({"id": pa.array(ids, pa.int64())}), branch=branch)
        assert snapshot is not None
        self.clock.time_ms += DAY
        return snapshot.snapshot_id

    def expire(self, expiry: Expiry | None = None) -> Expired:
        loaded = LoadedTable(self.table._pointer, self.table._state)
        expired = expire_snapshots(loaded.pointer, loaded.state, expiry or Expiry())
        self.table.refresh()
        return expired

    def left(self) -> list[int]:
        return [snapshot.snapshot_id for snapshot in self.table.snapshots]

    def ids(self, ref: str) -> list[int]:
        return sorted(self.table.scan(ref=ref).to_arrow().column("id").to_pylist())


def test_snapshots_older_than_five_days_go_by_default() -> None:
    aged = Aged()
    commits = [aged.append(number) for number in range(8)]
    assert set(aged.expire().snapshot_ids) == set(commits[:3])
    assert aged.left() == commits[3:]
    assert aged.ids("main") == list(range(8))


def test_the_age_of_snapshots_is_a_property() -> None:
    aged = Aged({"history.expire.max-snapshot-age-ms": str(2 * DAY)})
    commits = [aged.append(number) for number in range(6)]
    aged.expire()
    assert aged.left() == commits[4:]


def test_the_least_number_of_snapshots_is_a_property_and_comes_before_their_age() -> None:
    aged = Aged({"history.expire.max-snapshot-age-ms": "1", "history.expire.min-snapshots-to-keep": "3"})
    commits = [aged.append(number) for number in range(6)]
    aged.expire()
    assert aged.left() == commits[3:]


def test_arguments_come_before_properties_and_a_branch_before_either() -> None:
    aged = Aged({"history.expire.min-snapshots-to-keep": "5"})
    commits = [aged.append(number) for number in range(4)]
    with aged.table.manage_refs() as refs:
        refs.create_branch("long", retention=Retention(min_snapshots_to_keep=3))
    aged.append(9)
    aged.expire(Expiry(older_than_ms=2**62, retain_last=1))
    assert aged.left() == [*commits[1:], aged.table.refs["main"].snapshot_id]


def test_a_branch_keeps_its_snapshots_by_its_own_age() -> None:
    aged = Aged()
    commits = [aged.append(number) for number in range(3)]
    with aged.table.manage_refs() as refs:
        refs.create_branch("short", retention=Retention(max_snapshot_age_ms=2 * DAY))
        refs.rollback_to_snapshot(commits[0])
    of_branch = [aged.append(10 + number, branch="short") for number in range(4)]
    aged.expire(Expiry(older_than_ms=BEGIN))
    assert aged.left() == [commits[0], *of_branch[2:]], "main keeps what is not older than the argument, its head"
    assert aged.ids("short") == [0, 1, 2, 10, 11, 12, 13]


def test_a_tag_goes_when_its_snapshot_is_older_than_it_may_be() -> None:
    aged = Aged()
    tagged = aged.append(1)
    with aged.table.manage_refs() as refs:
        refs.create_tag("week", max_ref_age_ms=7 * DAY)
    aged.append(2)
    aged.clock.time_ms = BEGIN + 7 * DAY
    aged.expire()
    assert set(aged.table.refs) == {"main", "week"}, "just as old as it may be"
    assert aged.ids("week") == [1]
    aged.clock.time_ms += 1
    assert aged.expire().snapshot_ids == (tagged,)
    assert set(aged.table.refs) == {"main"}


def test_a_branch_that_is_too_old_goes_with_its_snapshots_and_their_files() -> None:
    aged = Aged()
    aged.append(1)
    with aged.table.manage_refs() as refs:
        refs.create_branch("trial", retention=Retention(max_ref_age_ms=3 * DAY))
    trial = aged.append(2, branch="trial")
    newest = aged.append(3)
    aged.clock.time_ms += 5 * DAY
    expired = aged.expire()
    assert set(aged.table.refs) == {"main"}
    assert trial in expired.snapshot_ids
    assert expired.deleted.data_files == 1, "the file that only the branch reached"
    assert aged.left() == [newest]
    assert aged.ids("main") == [1, 3]


def test_the_age_of_references_is_a_property_and_main_is_exempt() -> None:
    aged = Aged({"history.expire.max-ref-age-ms": str(DAY)})
    aged.append(1)
    with aged.table.manage_refs() as refs:
        refs.create_tag("old")
        refs.create_tag("audit", max_ref_age_ms=400 * DAY)
    aged.clock.time_ms += 300 * DAY
    aged.expire()
    assert set(aged.table.refs) == {"main", "audit"}
    assert aged.ids("main") == aged.ids("audit") == [1]


def test_a_property_that_is_no_number_is_refused_and_nothing_goes() -> None:
    aged = Aged({"history.expire.max-ref-age-ms": "a week"})
    commits = [aged.append(number) for number in range(2)]
    with pytest.raises(InvalidInput, match=r"history\.expire\.max-ref-age-ms must be a number"):
        aged.expire(Expiry(older_than_ms=2**62))
    assert aged.left() == commits


@settings(max_examples=40)
@given(
    steps=st.lists(st.sampled_from(["append", "append", "branch", "tag", "on branch"]), min_size=3, max_size=10),
    ages=st.lists(st.integers(0, 12), min_size=4, max_size=4),
    least=st.integers(1, 3),
    wait=st.integers(0, 6),
)
def test_what_stays_is_what_the_retention_policy_says(steps: list[str], ages: list[int], least: int, wait: int) -> None:
    """The oracle reads the specification's policy line by line, without sharing code with the expiry."""
    aged = Aged(
        {
            "history.expire.max-snapshot-age-ms": str(ages[0] * DAY),
            "history.expire.min-snapshots-to-keep": str(least),
            "history.expire.max-ref-age-ms": str(ages[1] * DAY),
        }
    )
    aged.append(0)
    for number, step in enumerate(steps):
        if step == "append":
            aged.append(number)
        elif step == "on branch":
            branches = [name for name, ref in aged.table.refs.items() if ref.is_branch]
            aged.append(number, branch=branches[number % len(branches)])
        else:
            with aged.table.manage_refs() as refs:
                if step == "tag":
                    refs.create_tag(f"t{number}", max_ref_age_ms=ages[2] * DAY + 1 if number % 2 else None)
                else:
                    own = Retention(max_snapshot_age_ms=ages[3] * DAY + 1, min_snapshots_to_keep=2)
                    refs.create_branch(f"b{number}", retention=own if number % 2 else None)
    aged.clock.time_ms += wait * DAY
    refs_left, snapshots_left = policy(aged.table.metadata, aged.clock.now_ms())
    aged.expire()
    assert set(aged.table.refs) == refs_left
    assert set(aged.left()) == snapshots_left


def policy(metadata: TableMetadata, now_ms: int) -> tuple[set[str], set[int]]:
    """The references and snapshots that the specification's snapshot retention policy keeps."""
    settings = {name: int(value) for name, value in metadata.properties.items() if name.startswith("history.expire.")}
    times = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in metadata.snapshots}
    parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in metadata.snapshots}
    refs: set[str] = set()
    kept: set[int] = set()
    in_history: set[int] = set()
    for name, ref in metadata.refs.items():
        ref_age = settings["history.expire.max-ref-age-ms"] if ref.max_ref_age_ms is None else ref.max_ref_age_ms
        if name != "main" and now_ms - times[ref.snapshot_id] > ref_age:
            continue
        refs.add(name)
        kept.add(ref.snapshot_id)
        in_history.add(ref.snapshot_id)
        if not ref.is_branch:
            continue
        age = (
            settings["history.expire.max-snapshot-age-ms"]
            if ref.max_snapshot_age_ms is None
            else ref.max_snapshot_age_ms
        )
        least = settings["history.expire.min-snapshots-to-keep"]
        least = least if ref.min_snapshots_to_keep is None else ref.min_snapshots_to_keep
        lineage = list(_lineage(ref.snapshot_id, parents))
        in_history.update(lineage)
        kept.update(lineage[:least])
        kept.update(one for one in lineage if now_ms - times[one] <= age)
    young = now_ms - settings["history.expire.max-snapshot-age-ms"]
    kept.update(one for one, time_ms in times.items() if one not in in_history and time_ms >= young)
    return refs, kept


def _lineage(head: int, parents: dict[int, int | None]) -> Iterator[int]:
    current: int | None = head
    while current is not None and current in parents:
        yield current
        current = parents[current]
