"""The check of a table: silent on whole tables, and naming what is wrong with broken ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from floeberg.errors import SnapshotNotFound
from floeberg.maintenance.check import check_table
from floeberg.maintenance.check_report import CheckReport, Problem, Severity
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent
from floeberg.spec.values.single_value import to_bytes
from golden_collection.golden_tables import WHOLE, copy_golden, open_golden
from lakes.broken_tables import change_entries, change_files


def check(name: str, folder: Path | None = None, **options: Any) -> CheckReport:
    table = open_golden(name, folder)
    options.setdefault("snapshot_ids", None)
    return check_table(table.metadata, table._pointer.store_for, **options)


def problems(report: CheckReport) -> set[tuple[Severity, Problem]]:
    return {(finding.severity, finding.problem) for finding in report.findings}


def current(name: str, folder: Path) -> CheckReport:
    """Of the current snapshot alone: the older ones share manifests that were changed."""
    metadata = open_golden(name, folder).metadata
    assert metadata.current_snapshot_id is not None
    return check(name, folder, snapshot_ids=[metadata.current_snapshot_id])


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_is_wrong_with_tables_of_other_writers(name: str) -> None:
    report = check(name)
    assert report.findings == ()
    assert report.ok
    assert report.data_files > 0
    assert report.snapshots == len(open_golden(name).snapshots)


def test_the_report_counts_what_was_looked_at() -> None:
    report = check("deletion_vectors")
    assert (report.snapshots, report.manifests, report.data_files, report.delete_files) == (5, 5, 2, 3)
    assert str(report).endswith("5 manifests, 2 data files, 3 delete files: 0 errors, 0 warnings")


def test_a_missing_data_file_is_an_error(tmp_path: Path) -> None:
    folder = copy_golden("partition_evolution", tmp_path)
    gone = next(folder.glob("data/c1=1/**/*.parquet"))
    gone.unlink()
    report = check("partition_evolution", folder)
    (finding,) = report.findings
    assert (finding.severity, finding.problem) == (Severity.ERROR, Problem.MISSING_FILE)
    assert finding.location.endswith(gone.name)
    assert not report.ok


def test_a_missing_manifest_and_a_missing_list_are_errors(tmp_path: Path) -> None:
    folder = copy_golden("gperov_test", tmp_path)
    for pattern in ("metadata/66ee5e5e*-m0.avro", "metadata/snap-1638951453256129678-*.avro"):
        (gone,) = folder.glob(pattern)
        gone.unlink()
    report = check("gperov_test", folder)
    assert problems(report) == {(Severity.ERROR, Problem.MISSING_FILE)}
    assert len(report.findings) == 2


def test_missing_old_metadata_and_statistics_are_warnings(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    next(folder.glob("metadata/00001-*.json")).unlink()
    next(folder.glob("metadata/*.stats")).write_bytes(b"other")
    report = check("deletion_vectors", folder)
    assert problems(report) == {(Severity.WARNING, Problem.MISSING_FILE), (Severity.WARNING, Problem.WRONG_SIZE)}
    assert report.ok


def test_a_truncated_parquet_file_is_of_wrong_size_and_unreadable(tmp_path: Path) -> None:
    folder = copy_golden("partition_evolution", tmp_path)
    file = next(folder.glob("data/c1=1/**/*.parquet"))
    file.write_bytes(file.read_bytes()[:200])
    wrong_size, unreadable = check("partition_evolution", folder).findings
    assert wrong_size.problem is Problem.WRONG_SIZE
    assert wrong_size.message == "has 200 bytes, its entry says 452"
    assert unreadable.problem is Problem.UNREADABLE
    assert file.name not in unreadable.message
    fast = check("partition_evolution", folder, read_footers=False)
    assert problems(fast) == {(Severity.ERROR, Problem.WRONG_SIZE)}


def test_wrong_rows_nulls_and_bounds_in_an_entry_are_found(tmp_path: Path) -> None:
    folder = copy_golden("gperov_test", tmp_path)

    def change(file: DataFile) -> DataFile:
        if file.record_count != 1808:
            return file
        assert file.lower_bounds is not None
        assert file.null_value_counts is not None
        kind = open_golden("gperov_test").schema.field("a").type
        return structs.replace(
            file,
            record_count=1809,
            null_value_counts={**file.null_value_counts, 2: 5},
            lower_bounds={**file.lower_bounds, 1: to_bytes(kind, 10**9)},
            upper_bounds={**(file.upper_bounds or {}), 1: b"abc"},
        )

    change_files("gperov_test", folder, change)
    report = current("gperov_test", folder)
    messages = [finding.message for finding in report.findings if finding.location.endswith("parquet")]
    assert "has 1808 rows, its entry says 1809" in messages
    assert "has 0 nulls in column b, its entry says 5" in messages
    assert any("in column a, its entry's lower bound is 1000000000" in message for message in messages)
    assert any(message.startswith("upper bound of column a: 3 bytes are not a value") for message in messages)
    assert (Severity.WARNING, Problem.WRONG_BOUNDS) in problems(report)


def test_counts_in_the_manifest_list_are_compared_with_the_manifest(tmp_path: Path) -> None:
    folder = copy_golden("gperov_test", tmp_path)
    change_entries(
        "gperov_test", folder, lambda entry: entry, lambda m: replace(m, added_files_count=40, manifest_length=1)
    )
    report = current("gperov_test", folder)
    assert problems(report) == {(Severity.ERROR, Problem.WRONG_COUNT), (Severity.ERROR, Problem.WRONG_SIZE)}
    assert "has 6 added files, its manifest list says 40" in {finding.message for finding in report.findings}


def test_a_deletion_vector_without_its_data_file_is_an_error(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)

    def change(file: DataFile) -> DataFile:
        gone = f"s3a://warehouse/deletion_vectors/data/gone-{file.content_offset}-{file.record_count}.parquet"
        return structs.replace(file, referenced_data_file=gone) if file.is_deletion_vector else file

    change_files("deletion_vectors", folder, change)
    report = current("deletion_vectors", folder)
    dangling = [finding for finding in report.errors if finding.problem is Problem.DANGLING_DELETE]
    assert len(dangling) == 2
    assert all("holds a deletion vector for s3a://warehouse/deletion_vectors/data/gone-" in f.message for f in dangling)


def test_a_position_delete_file_without_data_files_is_a_warning(tmp_path: Path) -> None:
    folder = copy_golden("gperov_test", tmp_path)

    def change(file: DataFile) -> DataFile:
        moved = file.file_path.replace("/data/", "/data/./")
        return file if file.content is not FileContent.DATA else structs.replace(file, file_path=moved)

    change_files("gperov_test", folder, change)
    report = current("gperov_test", folder)
    assert (Severity.WARNING, Problem.DANGLING_DELETE) in problems(report)
    assert any("that the snapshot does not have, such as s3://warehouse/gperov" in f.message for f in report.warnings)


def test_positions_beyond_the_end_of_a_data_file_are_an_error(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    change_files(
        "deletion_vectors",
        folder,
        lambda file: file if file.content is not FileContent.DATA else structs.replace(file, record_count=1),
    )
    report = current("deletion_vectors", folder)
    assert any(
        f.problem is Problem.BAD_DELETE and f.message.startswith("deletes position") and "has 1 rows" in f.message
        for f in report.errors
    )


def test_a_vector_of_another_cardinality_or_place_is_an_error(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    change_files(
        "deletion_vectors",
        folder,
        lambda file: file if not file.is_deletion_vector else structs.replace(file, record_count=file.record_count + 1),
    )
    report = current("deletion_vectors", folder)
    assert any("its manifest entry says" in f.message for f in report.errors if f.problem is Problem.BAD_DELETE)


def test_a_damaged_vector_is_an_error(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    for file in folder.glob("data/*.puffin"):
        data = bytearray(file.read_bytes())
        data[14] ^= 0xFF
        file.write_bytes(bytes(data))
    report = check("deletion_vectors", folder)
    assert (Severity.ERROR, Problem.BAD_DELETE) in problems(report)


def test_row_ids_that_two_files_share_are_an_error(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    change_files(
        "deletion_vectors",
        folder,
        lambda file: file if file.content is not FileContent.DATA else structs.replace(file, first_row_id=1),
    )
    report = current("deletion_vectors", folder)
    (finding,) = [f for f in report.findings if f.problem is Problem.DUPLICATE_ROW_IDS]
    assert "begins at row id 1" in finding.message


def test_row_ids_that_the_table_will_give_again_are_an_error(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    seen: list[str] = []

    def change(file: DataFile) -> DataFile:
        if file.content is not FileContent.DATA:
            return file
        seen.append(file.file_path)
        return structs.replace(file, first_row_id=10_000 * len(seen))

    change_files("deletion_vectors", folder, change)
    report = current("deletion_vectors", folder)
    found = [f for f in report.findings if f.problem is Problem.DUPLICATE_ROW_IDS]
    assert len(found) == len(seen)
    assert all("will give them again" in finding.message for finding in found)


def test_every_row_is_read_when_asked() -> None:
    for name in WHOLE:
        assert check(name, read_rows=True).findings == ()


def test_row_ids_that_rows_store_twice_are_found_when_rows_are_read(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    for file in folder.glob("data/*.parquet"):
        stored = pq.read_table(file)
        field = pa.field("_row_id", pa.int64(), metadata={b"PARQUET:field_id": b"2147483540"})
        ids = pa.array([3] * stored.num_rows, pa.int64())
        pq.write_table(stored.append_column(field, ids), file)
    assert not any(f.problem is Problem.DUPLICATE_ROW_IDS for f in check("deletion_vectors", folder).findings)
    found = [
        finding
        for finding in check("deletion_vectors", folder, read_rows=True).findings
        if finding.problem is Problem.DUPLICATE_ROW_IDS
    ]
    assert len(found) == 2
    assert all("row ids, such as 3, other rows of snapshot" in finding.message for finding in found)


def test_a_damaged_page_is_found_when_rows_are_read(tmp_path: Path) -> None:
    folder = copy_golden("partition_evolution", tmp_path)
    file = next(folder.glob("data/c1=1/**/*.parquet"))
    data = bytearray(file.read_bytes())
    data[4:40] = b"\xff" * 36
    file.write_bytes(bytes(data))
    assert check("partition_evolution", folder).findings == ()
    (finding,) = check("partition_evolution", folder, read_rows=True).findings
    assert finding.problem is Problem.UNREADABLE
    assert finding.location.endswith(file.name)


def test_a_file_that_stands_twice_is_an_error(tmp_path: Path) -> None:
    folder = copy_golden("partition_evolution", tmp_path)
    paths: list[str] = []

    def change(file: DataFile) -> DataFile:
        paths.append(file.file_path)
        return structs.replace(file, file_path=paths[0]) if len(paths) == 2 else file

    change_files("partition_evolution", folder, change)
    report = current("partition_evolution", folder)
    (finding,) = [f for f in report.errors if f.problem is Problem.DUPLICATE_FILE]
    assert finding.location == paths[0]


def test_an_encrypted_file_is_not_read(tmp_path: Path) -> None:
    folder = copy_golden("partition_evolution", tmp_path)
    change_files("partition_evolution", folder, lambda file: structs.replace(file, key_metadata=b"k", record_count=999))
    report = current("partition_evolution", folder)
    assert (Severity.WARNING, Problem.ENCRYPTED) in problems(report)
    assert not any("rows, its entry says" in finding.message for finding in report.findings)


def test_a_corrupt_manifest_is_named_and_the_rest_still_checked(tmp_path: Path) -> None:
    folder = copy_golden("gperov_test", tmp_path)
    (manifest,) = folder.glob("metadata/66ee5e5e*-m0.avro")
    manifest.write_bytes(manifest.read_bytes()[:100])
    report = check("gperov_test", folder)
    (finding,) = [f for f in report.findings if f.problem is Problem.UNREADABLE]
    assert finding.location.endswith(manifest.name)
    assert report.data_files == 7


def test_only_the_snapshots_asked_for_are_looked_at() -> None:
    metadata = open_golden("gperov_test").metadata
    report = check("gperov_test", snapshot_ids=[metadata.refs["test-branch"].snapshot_id])
    assert (report.snapshots, report.data_files, report.delete_files) == (1, 6, 1)
    with pytest.raises(SnapshotNotFound):
        check("gperov_test", snapshot_ids=[17])


def test_progress_is_told() -> None:
    told: list[tuple[str, int]] = []
    check("gperov_test", progress=lambda what, done: told.append((what, done)))
    assert {what for what, _ in told} == {"manifest lists", "manifests", "files", "snapshots"}
    assert max(done for what, done in told if what == "files") == 9


def test_nothing_is_written(tmp_path: Path) -> None:
    folder = copy_golden("deletion_vectors", tmp_path)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    check("deletion_vectors", folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
