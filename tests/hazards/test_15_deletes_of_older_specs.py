"""Hazard 15: deletes written under the current spec for files of an older one. A delete file carries the spec and partition of
its data file, and a commit that says otherwise is refused."""

from __future__ import annotations

import pytest
from msgspec import structs

from floeberg.commit import delete_file_checks
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput
from floeberg.spec.snapshots.manifest_entry import ManifestContent
from floeberg.testing.table_builder import TableBuilder

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def evolved(version: int) -> TableBuilder:
    """Rows written under a partition by p, then the spec loses it."""
    builder = TableBuilder(partition_by=["p"], format_version=version, properties=MERGE_ON_READ)
    builder.append((1, 0), (2, 0), (3, 1), (4, 1))
    with builder.table.update_spec() as update:
        update.remove_field("p")
    return builder.append((5, 0), (6, 0))


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_lie_where_their_data_lies(version):
    builder = evolved(version).delete("id in (2, 3, 6)")
    places = {file.file_path: (file.spec_id, file.partition) for file in builder.data()}
    deletes = [entry.data_file for entry in builder.live(ManifestContent.DELETES)]
    assert len(deletes) == 3
    assert all((file.spec_id, file.partition) == places[file.referenced_data_file] for file in deletes)
    assert [row[0] for row in builder.rows()] == [1, 4, 5]


def misplaced(version: int) -> TableBuilder:
    builder = evolved(version)
    old = next(file for file in builder.data() if file.spec_id == 0)
    deletes = structs.replace(builder.deletes(old, 0), spec_id=builder.table.spec.spec_id, partition=())
    builder.table._commit(RowDelta(added=[deletes], view=builder.view()))
    return builder


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_of_another_spec_are_refused(version):
    with pytest.raises(InvalidInput, match="write deletes with the spec and partition of their data file"):
        misplaced(version)


def test_without_the_check_they_would_be_committed_where_no_reader_looks(monkeypatch):
    monkeypatch.setattr(delete_file_checks, "_check_place", lambda *given: None)
    builder = misplaced(2)
    (deletes,) = [entry.data_file for entry in builder.live(ManifestContent.DELETES)]
    (data,) = [file for file in builder.data() if file.file_path == deletes.referenced_data_file]
    assert (deletes.spec_id, deletes.partition) != (data.spec_id, data.partition)
