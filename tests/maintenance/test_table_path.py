"""Tables under another path: the copy is whole and reads the same after the original is gone, whole or in steps."""

from __future__ import annotations

import csv
import datetime as dt
import random
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.commit.table_changes import ChangeStatistics
from floeberg.errors import InvalidInput
from floeberg.maintenance.table_path.rewrite import RewrittenPaths
from floeberg.spec.snapshots.statistics import StatisticsFile
from floeberg.testing.table_builder import TableBuilder
from lakes.maintained_tables import MERGE_ON_READ, changed_table

Rows = list[tuple[Any, ...]]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[fb.Catalog]:
    with fb.catalog("lake", warehouse=str(tmp_path / "lake")) as made:
        made.create_namespace("db")
        yield made


def copy(done: RewrittenPaths) -> set[str]:
    """Copies what the file list says; where to."""
    with open(done.file_list_location, newline="") as lines:
        pairs = [tuple(line) for line in csv.reader(lines)]
    for source, target in pairs:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.removeprefix("file://"), target)
    assert len({target for _, target in pairs}) == len(pairs)
    return {target for _, target in pairs}


def rows_of(table: fb.Table, snapshot_id: int) -> Rows:
    found = table.scan(snapshot_id=snapshot_id, metadata_columns=["_row_id"] if table.format_version > 2 else False)
    return sorted((tuple(row.values()) for row in found.to_arrow().to_pylist()), key=repr)


def check_copy(table: fb.Table, done: RewrittenPaths, target: Path) -> fb.Table:
    """The copy has every snapshot's rows and is whole, while nothing is at the old place."""
    expected = {one.snapshot_id: rows_of(table, one.snapshot_id) for one in table.snapshots}
    source = Path(table.location)
    source.rename(source.with_name("gone"))
    try:
        moved = fb.open_table(str(target / "metadata" / done.latest_version))
        assert {one.snapshot_id: rows_of(moved, one.snapshot_id) for one in moved.snapshots} == expected
        report = moved.maintenance.check(read_rows=True)
        assert [str(one) for one in report.errors] == []
        assert str(source) not in (target / "metadata" / done.latest_version).read_text()
        vectors = [path.read_bytes() for path in (target / "data").rglob("*.puffin")]
        assert not [one for one in vectors if str(source).encode() in one]
    finally:
        source.with_name("gone").rename(source)
    return moved


@pytest.mark.parametrize("version", [2, 3])
def test_a_copied_table_reads_the_same_when_the_original_is_gone(
    lake: fb.Catalog, tmp_path: Path, version: int
) -> None:
    table = changed_table(lake, "t", version).table
    statistics = Path(table.location) / "metadata" / "stats.puffin"
    statistics.write_bytes(b"statistics")
    assert table.current_snapshot is not None
    file = StatisticsFile(
        snapshot_id=table.current_snapshot.snapshot_id, statistics_path=str(statistics), file_size_in_bytes=10,
        file_footer_size_in_bytes=4, blob_metadata=(),
    )  # fmt: skip
    table._commit(ChangeStatistics(set=[file]))
    target = tmp_path / "elsewhere" / "much longer than before" / "t"
    done = table.maintenance.rewrite_table_path(table.location, str(target))
    copied = copy(done)
    assert done.latest_version == Path(table.metadata_location or "").name
    assert (done.rewritten_manifests > 5, done.rewritten_delete_files > 2) == (True, True)
    assert str(target / "metadata" / "stats.puffin") in copied
    moved = check_copy(table, done, target)
    assert moved.metadata.statistics[0].statistics_path == str(target / "metadata" / "stats.puffin")
    registered = fb.catalog("other", type="memory")
    registered.create_namespace("db")
    new = registered.register_table("db.t", moved.metadata_location or "")
    new.delete("id = 40")
    new.append(pa.table({"id": [99], "p": pa.array([0], pa.int32()), "v": ["new"]}))
    new.maintenance.compact(options={"rewrite-all": "true"})
    assert new.scan(where="id in (40, 99)").to_arrow().column("id").to_pylist() == [99]


def _row(rng: random.Random, number: int) -> tuple[Any, ...]:
    hour = dt.datetime(2026, 5, 1, rng.randint(0, 9), tzinfo=dt.UTC)
    return (number, dt.date(2026, 5, rng.randint(1, 2)), Decimal(rng.randint(1, 2)), rng.choice([None, hour]))


@pytest.mark.parametrize("seed", range(5))
def test_a_copy_that_follows_in_steps_is_always_whole(lake: fb.Catalog, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    version = rng.choice([1, 2, 3])
    schema = "id bigint, d date, n decimal(9,2), ts timestamp"
    builder = TableBuilder(
        schema, partition_by=["d", "n", "hour(ts)"], format_version=version, in_catalog=lake,
        properties={**(MERGE_ON_READ if version > 1 else {}), "commit.manifest.min-count-to-merge": "3"},
    )  # fmt: skip
    table, target, copied_version, number = builder.table, tmp_path / "copy" / "t", None, 0
    for _ in range(4):
        for _ in range(rng.randint(1, 4)):
            change = rng.choice(["append", "append", "delete", "compact", "expire", "manifests"])
            if change == "append":
                builder.append(*(_row(rng, number + n) for n in range(4)))
                number += 4
            elif change == "delete" and number:
                table.delete(
                    f"id % 5 = {rng.randint(0, 4)}"
                    if False
                    else f"id in ({rng.randrange(number)}, {rng.randrange(number)})"
                )
            elif change == "compact":
                table.maintenance.compact(options={"rewrite-all": "true"})
            elif change == "manifests":
                table.maintenance.rewrite_manifests()
            elif change == "expire" and number:
                table.maintenance.expire_snapshots(older_than="2999-01-01", retain_last=2)
        table.refresh()
        latest = Path(table.metadata_location or "").name
        if latest == copied_version:
            continue
        known = (
            copied_version
            if copied_version in {Path(e.metadata_file).name for e in table.metadata.metadata_log}
            else None
        )
        done = table.maintenance.rewrite_table_path(
            f"file://{table.location}",
            str(target),
            start_version=known,
            staging_location=str(tmp_path / f"staging-{latest}"),
        )
        copied = copy(done)
        if known is not None:
            assert str(target / "metadata" / known) not in copied
        check_copy(table, done, target)
        copied_version = latest


def test_an_older_version_is_copied_as_it_was(lake: fb.Catalog, tmp_path: Path) -> None:
    builder = TableBuilder(in_catalog=lake).append((1, 0, "a"))
    version = Path(builder.table.metadata_location or "").name
    builder.append((2, 0, "b"))
    done = builder.table.maintenance.rewrite_table_path(
        builder.table.location, str(tmp_path / "copy"), end_version=version, create_file_list=False
    )
    assert (done.latest_version, done.file_list_location, done.rewritten_manifests) == (version, "N/A", 1)
    done = builder.table.maintenance.rewrite_table_path(
        builder.table.location, str(tmp_path / "copy"), end_version=version
    )
    copy(done)
    assert fb.open_table(str(tmp_path / "copy/metadata" / version)).scan().count() == 1


def test_what_does_not_fit_is_refused_and_leaves_nothing(lake: fb.Catalog, tmp_path: Path) -> None:
    builder = TableBuilder(in_catalog=lake).append((1, 0, "a"))
    table = builder.table
    rewrite = table.maintenance.rewrite_table_path
    here, there = table.location, str(tmp_path / "copy")
    for wrong, match in (
        ({"source_prefix": f"{here}x", "target_prefix": there}, "is not below the source prefix"),
        ({"source_prefix": here, "target_prefix": f"file://{here}/"}, "are both"),
        ({"source_prefix": here, "target_prefix": "somewhere"}, "relative path"),
        ({"source_prefix": here, "target_prefix": there, "end_version": "v99.metadata.json"}, "has no version 'v99"),
        (
            {"source_prefix": here, "target_prefix": there, "start_version": Path(table.metadata_location or "").name},
            "is not before",
        ),
    ):
        with pytest.raises(InvalidInput, match=match):
            rewrite(**wrong)
    outside = tmp_path / "outside"
    outside.mkdir()
    file = Path(builder.data()[0].file_path)
    shutil.copyfile(file, outside / "a.parquet")
    table.maintenance.add_files(str(outside))
    with pytest.raises(InvalidInput, match=r"outside/a\.parquet is not below"):
        rewrite(here, there, staging_location=str(tmp_path / "staging"))
    assert not [path for path in (tmp_path / "staging").rglob("*") if path.is_file()]
    assert not list(Path(here).rglob("copy-table-staging*"))
