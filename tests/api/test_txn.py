"""`txn` on the Arrow engine's writes and transactions: an application's version happens once."""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput
from floeberg.testing.table_builder import TableBuilder

CHANGES = {
    "append": lambda table, rows, txn: table.append(rows, txn=txn),
    "overwrite": lambda table, rows, txn: table.overwrite(rows, "id = 1", txn=txn),
    "overwrite_partitions": lambda table, rows, txn: table.overwrite_partitions(rows, txn=txn),
    "delete": lambda table, rows, txn: table.delete("id >= 2", txn=txn),
    "update": lambda table, rows, txn: table.update({"p": 7}, "id = 1", txn=txn),
    "upsert": lambda table, rows, txn: table.upsert(rows, on=["id"], txn=txn),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_version_happens_once(kind):
    builder = TableBuilder().append((1,), (2,))
    rows = builder.arrow([(5,)])
    assert CHANGES[kind](builder.table, rows, ("job", 1)) is not None
    builder.append((3,))
    before = builder.rows()
    assert CHANGES[kind](builder.table, rows, ("job", 1)) is None
    assert builder.rows() == before
    assert builder.table.txn_version("job") == 1


def test_a_change_that_finds_nothing_is_recorded():
    builder = TableBuilder().append((1,))
    assert builder.table.delete("id = 9", txn=("job", 1)).summary["total-records"] == "1"
    builder.append((9,))
    assert builder.table.delete("id = 9", txn=("job", 1)) is None
    assert len(builder.rows()) == 2


def test_a_whole_transaction_happens_once():
    builder = TableBuilder().append((1,))
    for _ in range(2):
        with builder.table.transaction(txn=("job", 1)) as tx:
            tx.append(builder.arrow([(2,)]))
            tx.delete("id = 1")
    assert builder.rows() == [(2, None, None)]
    with pytest.raises(InvalidInput, match="committed as a whole"), builder.table.transaction() as tx:
        tx.append(builder.arrow([(3,)]), txn=("job", 2))


def test_files_of_a_skipped_version_are_removed():
    builder = TableBuilder().append((1,))
    other = builder.second()
    store = builder.table._pointer.store_for(builder.table.location)
    with builder.table.transaction(txn=("job", 1)) as tx:
        tx.append(builder.arrow([(2,)]))
        other.append(builder.arrow([(2,)]), txn=("job", 1))
    data = [info.location for info in store.list(builder.table.location) if "/data/" in info.location]
    assert sorted(data) == [file.file_path for file in builder.data()]
