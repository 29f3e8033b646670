"""Manifests may record a wrong size of a file. Its rows are read, but never get the facts and deletes of another file whose
recorded size is their file's real one: what needs to know their file is an error."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from msgspec import structs

from floeberg.api.table import Table
from floeberg.commit.append import Append

pytestmark = pytest.mark.connect


def _table(session: Any, name: str, difference: int | None) -> Table:
    """Two files of one size; the first has another one recorded."""
    plain = {"write.parquet.compression-codec": "uncompressed"}
    source = session.lake.create_table(f"db.{name}_source", "id int", properties=plain)
    for first in (100, 200):
        source.append(pa.table({"id": pa.array(range(first, first + 10), pa.int32())}))
    files = [task.data_file for task in source.scan().plan()]
    assert files[0].file_size_in_bytes == files[1].file_size_in_bytes
    wrong = 0 if difference is None else files[0].file_size_in_bytes + difference
    table: Table = session.lake.create_table(
        f"db.{name}", "id int", format_version=3, properties={"write.delete.mode": "merge-on-read"}
    )
    table._commit(Append(files=[structs.replace(files[0], file_size_in_bytes=wrong), files[1]]))
    return table


@pytest.mark.parametrize(("name", "difference"), [("zero", None), ("short", -4), ("long", 100)])
def test_rows_of_a_file_whose_recorded_size_is_wrong_take_no_other_files_facts(
    session: Any, name: str, difference: int | None
) -> None:
    table = _table(session, f"size_{name}", difference)
    sql = f"lake.db.size_{name}"
    ids = [*range(100, 110), *range(200, 210)]
    for statement in (f"SELECT _file FROM {sql}", f"DELETE FROM {sql} WHERE id IN (103, 206)"):
        with pytest.raises(Exception, match="whose size is not the recorded one"):
            session.sql(statement).collect()
    assert sorted(row.id for row in session.sql(f"SELECT id FROM {sql}").collect()) == ids
    table.refresh().delete(where="id in (103, 206)")  # on Arrow, a file is known by its path
    left = [n for n in ids if n not in (103, 206)]
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == left
    with pytest.raises(Exception, match="whose size is not the recorded one"):
        session.sql(f"SELECT id FROM {sql}").collect()
    by_arrow = session.read.option("scan-engine", "arrow").table(sql)
    assert sorted(row.id for row in by_arrow.collect()) == left
