from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput, PathEscape
from floeberg.storage.relocation import Relocation


def test_the_longest_prefix_wins_by_whole_segments_however_the_scheme_is_spelled():
    moved = Relocation.of({"s3://old/wh": "/new", "s3://old/wh/db/t": "file:/elsewhere/"})
    assert moved.apply("s3a://old/wh/db/x/f") == "/new/db/x/f"
    assert moved.apply("s3://old/wh/db/t/f%20 g") == "file:/elsewhere/f%20 g"
    assert moved.apply("s3://old/wh") == "/new"
    assert moved.apply("s3://old/wh2/f") == "s3://old/wh2/f"
    assert moved.apply("s3://old/wh//f") == "/new//f"
    assert Relocation.of({}).apply("/x") == "/x"


def test_targets_may_be_relative_to_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Relocation.of({"hdfs://h/wh": "here"}).apply("hdfs://h/wh/t") == f"{tmp_path}/here/t"


def test_relative_recorded_paths_are_mapped_or_refused_with_the_way_out():
    moved = Relocation.of({"data/t": "/golden/t"})
    assert moved.apply("data/t/metadata/v1") == "/golden/t/metadata/v1"
    assert moved.apply("./data//t") == "/golden/t"
    assert Relocation.of({".": "/golden"}).apply("data/t") == "/golden/data/t"
    with pytest.raises(InvalidInput, match="relocate"):
        moved.apply("data/t2/x")
    with pytest.raises(PathEscape):
        moved.apply("data/t/../../etc")
