"""A rewrite whose files another process rewrites and expires, before they are read, is planned anew."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from floeberg.commit.row_delta import RowDelta
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.compact import RewriteRequest, rewrite_data_files
from floeberg.maintenance.rewrite.delete_files import DeleteRewriteRequest, convert_equality_deletes
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.testing.interrupted_engine import InterruptedEngine
from floeberg.testing.table_builder import TableBuilder


def rewritten_and_expired(builder: TableBuilder) -> None:
    other = builder.second()
    other.maintenance.compact(options={"rewrite-all": "true"})
    other.refresh()
    expire_snapshots(other._pointer, other._state, Expiry(older_than_ms=2**62, retain_last=1))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("partial", ["true", "false"])
def test_a_rewrite_of_data_files_is_planned_anew(version: int, partial: str) -> None:
    builder = TableBuilder(partition_by=["p"], format_version=version)
    builder.append((1, 0), (2, 1)).append((3, 0), (4, 1))
    table = builder.table.refresh()
    engine = InterruptedEngine(ArrowEngine(table._pointer), lambda: rewritten_and_expired(builder))
    options = {"rewrite-all": "true", "partial-progress.enabled": partial, "partial-progress.max-failed-commits": "10"}
    done = rewrite_data_files(table._pointer, table._state, engine, RewriteRequest(options=options))
    assert (done.rewritten_data_files > 0) == (partial == "false")
    builder.table.refresh()
    assert [row[0] for row in builder.rows()] == [1, 2, 3, 4]


class LateEngine(ArrowEngine):
    """An engine before whose first search for deleted rows others come."""

    def deleted_positions(self, tasks: Sequence[FileScanTask], metadata: TableMetadata):
        if others:
            others.pop()()
        return super().deleted_positions(tasks, metadata)


others: list = []


def test_a_conversion_of_equality_deletes_is_planned_anew() -> None:
    builder = TableBuilder().append((1,), (2,)).append((3,), (4,))
    builder.table._commit(RowDelta(added=[builder.equality_deletes((2,), (3,))]))
    table = builder.table.refresh()
    others.append(lambda: rewritten_and_expired(builder))
    convert_equality_deletes(table._pointer, table._state, LateEngine(table._pointer), DeleteRewriteRequest())
    assert not others
    builder.table.refresh()
    assert [row[0] for row in builder.rows()] == [1, 4]
