"""Manifest lists of every version and writer."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list as pyiceberg_read

from floeberg.errors import InvalidInput, ManifestCorrupt
from floeberg.files.avro_container import read_header
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.spec.snapshots.manifest_entry import FieldSummary, ManifestContent, ManifestFile
from golden_collection.golden_files import GOLDEN

LISTS = sorted((GOLDEN / "manifests" / "lists").glob("*.avro"))
COUNTS = ("added_files_count", "existing_files_count", "deleted_files_count")
ROWS = ("added_rows_count", "existing_rows_count", "deleted_rows_count")
_bytes = st.none() | st.binary(max_size=10)
_long = st.integers(0, 2**63 - 1)
_count = st.integers(0, 2**31 - 1)
summaries = st.builds(
    FieldSummary,
    contains_null=st.booleans(),
    contains_nan=st.none() | st.booleans(),
    lower_bound=_bytes,
    upper_bound=_bytes,
)
manifest_files = st.builds(
    ManifestFile,
    manifest_path=st.text(st.characters(codec="utf-8"), max_size=20),
    manifest_length=_long,
    partition_spec_id=_count,
    content=st.sampled_from(ManifestContent),
    sequence_number=_long,
    min_sequence_number=_long,
    added_snapshot_id=_long,
    **dict.fromkeys(COUNTS, _count),
    **dict.fromkeys(ROWS, _long),
    partitions=st.none() | st.lists(summaries, max_size=3).map(tuple),
    key_metadata=_bytes,
    first_row_id=st.none() | _long,
)


def _write(manifests: list[ManifestFile], format_version: int, **more: object) -> bytes:
    settings = {"snapshot_id": 5, "parent_snapshot_id": None, "sequence_number": 7, "first_row_id": 0, **more}
    return write_manifest_list(manifests, format_version=format_version, **settings)


def check_against_fastavro(data: bytes) -> None:
    """Every column equals what a general Avro reader finds, under its newer or its older name."""
    found = read_manifest_list(data)
    assert found == read_manifest_list(data, decoder="fastavro")
    for ours, theirs in zip(found, fastavro.reader(io.BytesIO(data)), strict=True):
        for name in ("manifest_path", "manifest_length", "partition_spec_id", "added_snapshot_id", *ROWS):
            assert getattr(ours, name) == theirs.get(name), name
        for name in COUNTS:
            assert getattr(ours, name) == theirs.get(name, theirs.get(name.replace("files", "data_files")))
        for name in ("content", "sequence_number", "min_sequence_number"):
            assert getattr(ours, name) == theirs.get(name, 0), name
        listed = theirs.get("partitions")
        assert (ours.partitions is None) == (listed is None)
        for summary, expected in zip(ours.partitions or (), listed or (), strict=True):
            assert (summary.contains_null, summary.contains_nan, summary.lower_bound, summary.upper_bound) == (
                expected["contains_null"], expected.get("contains_nan"), expected["lower_bound"], expected["upper_bound"],
            )  # fmt: skip


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_a_golden_list_decodes_to_what_a_general_avro_reader_finds(path: Path) -> None:
    check_against_fastavro(path.read_bytes())


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_a_golden_list_written_again_reads_equal(path: Path, tmp_path: Path) -> None:
    manifests = read_manifest_list(path.read_bytes())
    format_version = 1 if any(manifest.added_rows_count is None for manifest in manifests) else 3
    data = _write(list(manifests), format_version)
    assert read_manifest_list(data) == manifests
    copy = tmp_path / "list.avro"
    copy.write_bytes(data)
    theirs = list(pyiceberg_read(PyArrowFileIO().new_input(str(copy))))
    assert [(m.manifest_path, m.content, m.sequence_number, m.added_files_count) for m in theirs] == [
        (m.manifest_path, m.content, m.sequence_number, m.added_files_count) for m in manifests
    ]


@settings(max_examples=60)
@given(st.lists(manifest_files, max_size=3), st.sampled_from([1, 2, 3]))
def test_a_list_comes_back_as_it_was_written(manifests: list[ManifestFile], format_version: int) -> None:
    if format_version == 1:
        manifests = [replace(m, content=ManifestContent.DATA) for m in manifests]
    found = read_manifest_list(_write(manifests, format_version))
    expected = [
        replace(
            manifest,
            first_row_id=manifest.first_row_id if format_version == 3 and manifest.content == 0 else None,
            **({"sequence_number": 0, "min_sequence_number": 0} if format_version == 1 else {}),
        )
        for manifest in manifests
    ]
    assert list(found) == expected


@pytest.mark.parametrize(
    ("format_version", "expected"),
    [
        (1, {"snapshot-id": "5", "parent-snapshot-id": "null", "format-version": "1"}),
        (2, {"snapshot-id": "5", "parent-snapshot-id": "null", "sequence-number": "7", "format-version": "2"}),
        (3, {"snapshot-id": "5", "parent-snapshot-id": "null", "sequence-number": "7", "first-row-id": "0",
             "format-version": "3"}),
    ],
)  # fmt: skip
def test_the_header_is_that_of_the_reference_implementation(format_version: int, expected: dict[str, str]) -> None:
    metadata = read_header(_write([], format_version)).metadata
    assert {key: value.decode() for key, value in metadata.items() if not key.startswith("avro.")} == expected


def test_a_golden_list_decodes_to_what_its_own_project_says() -> None:
    (path,) = (GOLDEN / "manifests" / "icebird").glob("snap-*.avro")
    (expected,) = json.loads(path.with_suffix(".json").read_text())
    (found,) = read_manifest_list(path.read_bytes())
    assert found.manifest_path == expected["manifest_path"]
    assert (found.manifest_length, found.added_rows_count) == (
        expected["manifest_length"],
        expected["added_rows_count"],
    )


WHOLE = ManifestFile(
    manifest_path="m", manifest_length=1, partition_spec_id=0, added_snapshot_id=1, sequence_number=1, min_sequence_number=1,
    **dict.fromkeys((*COUNTS, *ROWS), 0),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "format_version"),
    [
        ({"added_snapshot_id": None}, 2),
        ({"sequence_number": -1}, 3),
        ({"min_sequence_number": -1}, 2),
        ({"existing_rows_count": None}, 3),
        ({"content": ManifestContent.DELETES}, 1),
        ({"added_snapshot_id": None}, 1),
    ],
)
def test_a_manifest_that_lacks_what_the_version_requires_is_refused(
    change: dict[str, object], format_version: int
) -> None:
    with pytest.raises(InvalidInput, match="manifest m"):
        _write([replace(WHOLE, **change)], format_version)


def test_counts_are_found_under_their_older_names_where_there_are_no_ids() -> None:
    names = {
        "manifest_path": "string",
        "manifest_length": "long",
        "partition_spec_id": "int",
        "added_data_files_count": "int",
    }
    schema = {"type": "record", "name": "l", "fields": [{"name": name, "type": kind} for name, kind in names.items()]}
    out = io.BytesIO()
    row = {"manifest_path": "m", "manifest_length": 1, "partition_spec_id": 0, "added_data_files_count": 3}
    fastavro.writer(out, fastavro.parse_schema(schema), [row])
    (found,) = read_manifest_list(out.getvalue())
    assert found.added_files_count == 3


def test_a_manifest_is_no_manifest_list() -> None:
    data = (GOLDEN / "manifests" / "manifests" / "presto_geometry_array.avro").read_bytes()
    with pytest.raises(ManifestCorrupt, match="no manifest list"):
        read_manifest_list(data)
