"""Every manifest, list, Puffin file and deletion vector of the large golden collection."""

from __future__ import annotations

from collections import Counter

import pytest

from files.test_manifest import check_equal_in_fastavro, rewritten
from files.test_manifest_frame import check_against_fastavro as check_manifest
from files.test_manifest_list import check_against_fastavro as check_list
from floeberg.errors import ManifestCorrupt, PuffinCorrupt
from floeberg.files.avro_container import read_header
from floeberg.files.deletion_vector import decode_deletion_vector, encode_deletion_vector
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.files.puffin import DELETION_VECTOR_V1, read_blob, read_footer
from golden_collection.golden_files import shared_files

BROKEN = ("broken1.avro", "broken2.avro", "empty.avro")
NOT_PUFFIN = ("legacy-bare-deletion-vector.puffin", "corrupt_file.stats", "corrupt_file1.stats", "corrupt_file2.stats")


@pytest.mark.golden_shared
def test_every_golden_manifest_and_list_decodes_and_is_equal_when_written_again() -> None:
    seen: Counter[str] = Counter()
    for path in shared_files("**/*.avro"):
        data = path.read_bytes()
        if path.name in BROKEN:
            with pytest.raises(ManifestCorrupt):
                read_header(data)
            continue
        schema = read_header(data).metadata["avro.schema"]
        if b'"manifest_path"' in schema:
            seen["lists"] += 1
            check_list(data)
            _check_list_again(data)
        elif b'"data_file"' in schema:
            seen["manifests"] += 1
            check_manifest(data)
            if "duckdb-avro" not in str(path):  # has deleted entries without sequence number, which cannot be written
                check_equal_in_fastavro(*rewritten(data))
    assert seen["manifests"] >= 290
    assert seen["lists"] >= 260


def _check_list_again(data: bytes) -> None:
    manifests = read_manifest_list(data)
    version = 1 if any(manifest.added_rows_count is None for manifest in manifests) else 3
    again = write_manifest_list(manifests, format_version=version, snapshot_id=1, parent_snapshot_id=None)
    assert read_manifest_list(again) == manifests


@pytest.mark.golden_shared
def test_every_golden_puffin_file_is_read_and_every_vector_is_byte_exact() -> None:
    vectors = 0
    for path in (*shared_files("**/*.puffin"), *shared_files("**/*.stats")):
        data = path.read_bytes()
        if path.name in NOT_PUFFIN:
            with pytest.raises(PuffinCorrupt):
                read_footer(data)
            continue
        for blob in read_footer(data).blobs:
            content = read_blob(data, blob)
            if blob.type == DELETION_VECTOR_V1:
                vectors += 1
                bitmap = decode_deletion_vector(content, cardinality=int(blob.properties["cardinality"]))
                assert encode_deletion_vector(bitmap) == content
    assert vectors >= 3
