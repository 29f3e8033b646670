from __future__ import annotations

import pytest

from floeberg.errors import PathEscape
from floeberg.storage.guard import Roots, guard_inside


def test_only_what_lies_strictly_below_a_root_passes():
    roots = ["s3://b/wh/t", "/wh"]
    assert guard_inside(roots, "s3a://b/wh/t/data/f") == "s3a://b/wh/t/data/f"
    assert guard_inside(roots, "file:/wh/x") == "file:/wh/x"
    for outside in (
        "s3://b/wh/t",
        "s3://b/wh/t2/f",
        "s3://b2/wh/t/f",
        "/wh",
        "/wh/../etc/x",
        "/whx/f",
        "gs://b/wh/t/f",
    ):
        with pytest.raises(PathEscape, match="outside the roots"):
            guard_inside(roots, outside)


def test_without_roots_nothing_passes():
    with pytest.raises(PathEscape):
        guard_inside([], "/x")


def test_a_link_inside_a_root_does_not_lead_out_of_it(tmp_path):
    (tmp_path / "wh").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "wh/link").symlink_to(tmp_path / "outside")
    roots = Roots([f"{tmp_path}/wh"])
    assert not roots.contains(f"{tmp_path}/wh/link/f")
    assert roots.contains(f"{tmp_path}/wh/link"), "the link itself may be deleted"
    assert roots.contains(f"{tmp_path}/wh/new/f")


def test_a_root_that_is_reached_through_a_link_still_counts(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    assert guard_inside([f"{tmp_path}/alias"], f"{tmp_path}/real/f")
    assert guard_inside([f"{tmp_path}/real"], f"{tmp_path}/alias/f")
