"""Hazard 18: orphan removal compares paths as text, or does not count every kind of file, and deletes live ones. Paths are
compared normalised, what is unclear is an error, and one list of live files has all kinds."""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput
from floeberg.maintenance.live_files import live_files
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


def test_every_kind_of_file_is_live():
    builder = TableBuilder(format_version=3, properties={"write.delete.mode": "merge-on-read"})
    builder.append((1,), (2,)).delete("id = 1").branch("b").append((3,), branch="b")
    builder.table.maintenance.compact(options={"rewrite-all": "true"})
    table = builder.table
    found = set(live_files(table._pointer, table._state))
    stored = {info.location for info in table._pointer.store_for(table.location).list(table.location)}
    assert stored <= found
    for ending in (".metadata.json", ".avro", ".parquet", ".puffin", "version-hint.text"):
        assert any(location.endswith(ending) for location in found), ending
