"""`floeberg check`: its report and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from golden_collection.golden_tables import arguments, copy_golden


def test_a_whole_table_exits_with_0(floeberg) -> None:  # type: ignore[no-untyped-def]
    code, out, err = floeberg("check", *arguments("deletion_vectors"))
    assert code == 0
    assert out.endswith("5 snapshots, 5 manifests, 2 data files, 3 delete files: 0 errors, 0 warnings\n")
    assert err == ""


def test_errors_exit_with_1_and_name_the_file(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = copy_golden("deletion_vectors", tmp_path)
    gone = next(folder.glob("data/*.parquet"))
    gone.unlink()
    code, out, _ = floeberg("check", *arguments("deletion_vectors", folder))
    assert code == 1
    assert f"error: missing-file: s3a://warehouse/deletion_vectors/data/{gone.name} is not there\n" in out
    code, out, _ = floeberg("check", *arguments("deletion_vectors", folder), "--fast", "--json")
    assert code == 1
    report = json.loads(out)
    assert not report["ok"]
    assert [finding["problem"] for finding in report["findings"]] == ["missing-file"]


def test_warnings_exit_with_1_only_when_asked(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = copy_golden("deletion_vectors", tmp_path)
    next(folder.glob("metadata/00001-*.json")).unlink()
    code, out, _ = floeberg("check", *arguments("deletion_vectors", folder))
    assert code == 0
    assert "warning: missing-file" in out
    assert floeberg("check", *arguments("deletion_vectors", folder), "--strict").code == 1


def test_one_snapshot_can_be_checked(floeberg) -> None:  # type: ignore[no-untyped-def]
    out = floeberg("check", *arguments("gperov_test"), "--snapshot", "5231658854638766100").out
    assert "1 snapshots, 1 manifests, 6 data files" in out
    assert floeberg("check", *arguments("gperov_test"), "--snapshot", "17").code == 3
