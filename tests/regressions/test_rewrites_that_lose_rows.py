"""A rewrite that reads fewer rows than the manifests say commits nothing, and leaves nothing behind."""

from __future__ import annotations

import pytest
from msgspec import structs

from floeberg.errors import InvalidInput
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.compact import RewriteRequest, rewrite_data_files
from floeberg.maintenance.rewrite.engine import RewritePlan, RewrittenGroup
from floeberg.maintenance.rewrite.file_groups import FileGroup
from floeberg.testing.table_builder import TableBuilder


class Losing(ArrowEngine):
    """An engine that loses a row of every group."""

    def rewrite(self, group: FileGroup, plan: RewritePlan) -> RewrittenGroup:
        found = super().rewrite(group, plan)
        (file,) = found.files
        return RewrittenGroup(group=group, files=(structs.replace(file, record_count=file.record_count - 1),))


@pytest.mark.parametrize("partial", ["true", "false"])
def test_lost_rows_are_noticed_before_the_commit(partial: str) -> None:
    builder = TableBuilder().append((1,), (2,)).append((3,))
    table = builder.table
    store = table._pointer.store_for(table.location)
    before = {info.location for info in store.list(table.location)}
    request = RewriteRequest(options={"rewrite-all": "true", "partial-progress.enabled": partial})
    with pytest.raises(InvalidInput, match="have 3 rows by their manifests, and 2 were read"):
        rewrite_data_files(table._pointer, table._state, Losing(table._pointer), request)
    assert {info.location for info in store.list(table.location)} == before
    assert [row[0] for row in builder.rows()] == [1, 2, 3]
