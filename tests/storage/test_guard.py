from __future__ import annotations

import pytest

from floeberg.errors import PathEscape
from floeberg.storage.guard import Roots


def test_only_what_lies_strictly_below_a_root_passes():
    roots = ["s3://b/wh/t", "/wh"]
    assert Roots(roots).guard("s3a://b/wh/t/data/f") == "s3a://b/wh/t/data/f"
    assert Roots(roots).guard("file:/wh/x") == "file:/wh/x"
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
            Roots(roots).guard(outside)


def test_without_roots_nothing_passes():
    with pytest.raises(PathEscape):
        Roots([]).guard("/x")


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
    assert Roots([f"{tmp_path}/alias"]).guard(f"{tmp_path}/real/f")
    assert Roots([f"{tmp_path}/real"]).guard(f"{tmp_path}/alias/f")
