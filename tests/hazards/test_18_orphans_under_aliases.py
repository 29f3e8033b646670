"""Hazard 18: orphan removal compares paths as text, or does not count every kind of file, and deletes live ones. Paths are
compared normalised, what is unclear is an error, and one list of live files has all kinds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from floeberg.errors import InvalidInput
from floeberg.maintenance import orphans, path_match
from floeberg.maintenance.live_files import live_files
from floeberg.maintenance.orphans import OrphanRequest, remove_orphan_files
from floeberg.maintenance.path_match import PathEquality, PrefixMismatch, orphans_among
from floeberg.testing.table_builder import TableBuilder

UNTOLD = PathEquality()
SPELLINGS = ("s3a://bucket/t/data/x.parquet", "s3n://bucket/t/data/x.parquet", "S3://bucket/t/data/x.parquet")


@pytest.mark.parametrize("recorded", ["s3://bucket/t/data/x.parquet", *SPELLINGS])
def test_a_live_file_under_any_spelling_is_live(recorded):
    for spelling in SPELLINGS:
        assert orphans_among([spelling], [recorded], UNTOLD, PrefixMismatch.ERROR) == []
    other = ["s3://bucket/t/data/y.parquet"]
    assert orphans_among([*SPELLINGS, *other], [recorded], UNTOLD, PrefixMismatch.ERROR) == other


def test_another_bucket_is_unclear_and_never_deleted_unasked():
    live = ["s3://bucket/t/x", "/t/y"]
    for unclear in ("s3://mirror/t/x", "gs://bucket/t/x", "hdfs://nn/t/y"):
        with pytest.raises(InvalidInput, match="equal_schemes"):
            orphans_among([unclear], live, UNTOLD, PrefixMismatch.ERROR)
        assert orphans_among([unclear], live, UNTOLD, PrefixMismatch.IGNORE) == []
        assert orphans_among([unclear], live, UNTOLD, PrefixMismatch.DELETE) == [unclear]
        assert orphans_among([unclear], [*live, unclear], UNTOLD, PrefixMismatch.ERROR) == []
        assert orphans_among([unclear], [unclear, *live], UNTOLD, PrefixMismatch.DELETE) == []
    told = PathEquality.of(None, {"mirror, other": "bucket"})
    assert orphans_among(["s3://mirror/t/x"], ["s3://bucket/t/x"], told, PrefixMismatch.ERROR) == []


@pytest.mark.parametrize("text", ["relative/x.parquet", "oss://bucket/x", "s3:///x"])
def test_a_path_that_is_not_understood_is_an_error(text):
    with pytest.raises(InvalidInput):
        orphans_among([], [text], UNTOLD, PrefixMismatch.ERROR)


def test_paths_compared_as_text_would_take_a_live_file(monkeypatch):
    monkeypatch.setattr(path_match, "parse", lambda text: SimpleNamespace(path=text, scheme="", authority=""))
    assert orphans_among([SPELLINGS[0]], ["s3://bucket/t/data/x.parquet"], UNTOLD, PrefixMismatch.ERROR) == [
        SPELLINGS[0]
    ]


def every_kind() -> TableBuilder:
    builder = TableBuilder(partition_by=["p"], format_version=3, properties={"write.delete.mode": "merge-on-read"})
    builder.append((1, 0), (2, 0)).delete("id = 1").branch("b").append((3, 0), branch="b")
    builder.table.maintenance.compact(options={"rewrite-all": "true"})
    builder.table.maintenance.compute_table_stats()
    builder.table.maintenance.compute_partition_stats()
    return builder


def removed(builder: TableBuilder) -> tuple[str, ...]:
    """What orphan removal takes of a table that has no orphans, however young they are."""
    table = builder.table
    request = OrphanRequest(dry_run=False, older_than_ms=2**50, force=True)
    return remove_orphan_files(table._pointer, table._state, request).locations


def test_every_kind_of_file_is_live():
    builder = every_kind()
    table = builder.table
    found = set(live_files(table._pointer, table._state))
    stored = {info.location for info in table._pointer.store_for(table.location).list(table.location)}
    assert stored <= found
    kinds = (".metadata.json", ".avro", ".parquet", ".puffin", "version-hint.text", ".stats")
    for ending in kinds:
        assert any(location.endswith(ending) for location in found), ending
    assert any("partition-stats" in location for location in found)
    assert removed(builder) == ()


@pytest.mark.parametrize("kind", [".stats", "partition-stats", ".puffin", ".avro"])
def test_a_kind_of_file_that_is_forgotten_would_be_deleted(kind, monkeypatch):
    builder = every_kind()

    def forgetful(pointer, state):
        return (location for location in live_files(pointer, state) if kind not in location)

    monkeypatch.setattr(orphans, "live_files", forgetful)
    found = removed(builder)
    assert found
    assert all(kind in location for location in found)
