"""What the cache gives back is what was put into it, whatever the columns are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_frame import decode_manifest
from floeberg.scan.frame_cache import FrameCache
from golden_collection.golden_files import GOLDEN
from strategies.data_files import SNAPSHOT_ID, manifests

MANIFESTS = sorted((GOLDEN / "manifests" / "manifests").glob("*.avro"))


def check(frame: pl.DataFrame) -> None:
    cache = FrameCache()
    cache.keep("it", frame)
    for columns in (frozenset(frame.columns), frozenset(frame.columns[::2]), frozenset(["partition"])):
        assert_frame_equal(cache.frame("it", columns), frame.select(sorted(columns)))
    assert cache.held_columns("it") == frozenset(frame.columns)
    assert cache.frame("it", frozenset({"file_path", "elsewhere"})) is None


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_golden_manifests_come_back(path: Path) -> None:
    check(decode_manifest(path.read_bytes()))


@given(manifests())
def test_any_manifest_comes_back(made) -> None:
    schema, spec, content, listed = made
    written = write_manifest(
        listed, schema=schema, spec=spec, format_version=3, snapshot_id=SNAPSHOT_ID, content=content
    )
    check(decode_manifest(written.data, partition_type=spec.partition_type(schema)))


def test_many_files_take_little_room() -> None:
    """Paths and counts repeat themselves."""
    rows = 10_000
    frame = pl.DataFrame(
        {
            "file_path": [
                f"s3://bucket/warehouse/db/t/data/day=2024-01-01/{number:05}-part.parquet" for number in range(rows)
            ],
            "record_count": [1_000] * rows,
            "partition": [{"1000": 7}] * rows,
        }
    )
    cache = FrameCache()
    cache.keep("it", frame)
    assert cache.size_bytes * 5 < frame.estimated_size()
