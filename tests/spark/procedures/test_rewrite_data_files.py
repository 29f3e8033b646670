"""CALL rewrite_data_files: by Spark's workers, the same rows and lineage as before."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from msgspec import structs

from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput
from floeberg.spec.partitions.specs import UNPARTITIONED
from floeberg.spec.schemas.projection import select
from floeberg.spec.snapshots.manifest_entry import FileContent


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def made(session: Any, name: str, version: int, *, properties: str = "") -> str:
    """`lake.db.<name>`: five files in each of two partitions, with deletes."""
    table = f"lake.db.{name}"
    session.sql(
        f"CREATE TABLE {table} (id BIGINT, p INT, v STRING, ts TIMESTAMP) USING iceberg PARTITIONED BY (p) TBLPROPERTIES "
        f"('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read' {properties})"
    )
    loaded = session.lake.load_table(f"db.{name}")
    for number in range(5):
        part = session.range(number * 20, number * 20 + 20).selectExpr(
            "id", "CAST(id % 2 AS INT) p", "concat('v', id) v", "timestamp_millis(id * 100000) ts"
        )
        loaded.append(part.toArrow().cast(loaded.scan().to_arrow().schema))
    session.sql(f"DELETE FROM {table} WHERE id % 7 = 0")
    return table


def contents(session: Any, table: str, version: int) -> list[tuple[Any, ...]]:
    lineage = ", _row_id, _last_updated_sequence_number" if version == 3 else ""
    return sorted(rows(session.sql(f"SELECT id, p, v, ts {lineage} FROM {table}")))


@pytest.mark.parametrize("version", [2, 3])
def test_rows_and_lineage_stay_whatever_the_layout(session: Any, version: int) -> None:
    table = made(session, f"layouts{version}", version)
    before = contents(session, table, version)
    answer = session.sql(f"CALL lake.system.rewrite_data_files('db.layouts{version}')")
    assert answer.columns == [
        "rewritten_data_files_count", "added_data_files_count", "rewritten_bytes_count", "failed_data_files_count",
        "removed_delete_files_count",
    ]  # fmt: skip
    ((rewritten, added, size, failed, _),) = rows(answer)
    assert (rewritten, added, failed) == (10, 2, 0)
    assert size > 0
    assert contents(session, table, version) == before
    for order in ("id DESC NULLS LAST", "zorder(id, v, ts)"):
        call = (
            f"CALL lake.system.rewrite_data_files(table => 'db.layouts{version}', sort_order => '{order}', "
            "options => map('rewrite-all', 'true', 'remove-dangling-deletes', 'true'))"
        )
        assert rows(session.sql(call))[0][:2] == (2, 2)
        assert contents(session, table, version) == before
    loaded = session.lake.load_table(f"db.layouts{version}")
    assert loaded.inspect.delete_files().num_rows == 0
    assert loaded.current_snapshot.summary["engine-name"] == "spark"
    loaded.maintenance.compact(strategy="sort", sort_order="id", options={"rewrite-all": "true"}, spark=session)
    ids = [row["id"] for row in loaded.scan(where="p = 1").to_arrow().to_pylist()]
    assert ids == sorted(ids)
    assert contents(session, table, version) == before


def test_a_condition_chooses_the_partition_and_rows_move_to_another_spec(session: Any) -> None:
    table = made(session, "chosen", 3)
    before = contents(session, table, 3)
    call = "CALL lake.system.rewrite_data_files(table => 'db.chosen', where => 'P = 1')"
    assert rows(session.sql(call))[0][:2] == (5, 1)
    session.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    call = "CALL lake.system.rewrite_data_files(table => 'db.chosen', options => map('rewrite-all', 'true'))"
    assert rows(session.sql(call))[0][0] == 6
    assert contents(session, table, 3) == before
    assert {file["spec_id"] for file in session.lake.load_table("db.chosen").inspect.files().to_pylist()} == {1}


def test_bad_arguments_are_refused_before_any_work(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.refused (id BIGINT)")
    for arguments, message in (
        ("options => map('nope', '1')", "unknown option"),
        ("where => 'nope = 1'", "nope"),
        ("where => 'id +'", "id"),
        ("strategy => 'magic'", "binpack or sort"),
        ("sort_order => 'zorder(id)'", "at least two"),
    ):
        with pytest.raises(InvalidInput, match=message):
            session.sql(f"CALL lake.system.rewrite_data_files(table => 'db.refused', {arguments})")


@pytest.mark.parametrize("version", [2, 3])
def test_delete_files_are_merged_and_equality_deletes_converted(session: Any, version: int) -> None:
    table = made(session, f"deletes{version}", 2)
    loaded = session.lake.load_table(f"db.deletes{version}")
    writer = TableWriter(loaded.metadata, loaded._pointer.store_for, loaded._pointer.effects.ids.uuid())
    of = next(iter(loaded.scan(where="p = 1").plan())).data_file
    keys = select(loaded.schema, ["id"])
    with_keys = RollingWriter(
        writer.store, keys, spec=UNPARTITIONED, new_location=lambda _: f"{loaded.location}/data/eq.parquet",
        content=FileContent.EQUALITY_DELETES, equality_ids=[1],
    )  # fmt: skip
    with_keys.write(pa.table({"id": [3, 5, 4]}))
    (deletes,) = with_keys.close()
    loaded._commit(RowDelta(added=[structs.replace(deletes, spec_id=of.spec_id, partition=of.partition)]))
    session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '{version}')")
    before = contents(session, table, 2)
    answer = session.sql(f"CALL lake.system.convert_equality_deletes('db.deletes{version}')")
    names = ("rewritten_delete_files", "added_delete_files", "rewritten_bytes", "added_bytes")
    assert answer.columns == [f"{name}_count" for name in names]
    assert rows(answer)[0][0] >= 1
    assert contents(session, table, 2) == before
    ((rewritten, added, _, _),) = rows(
        session.sql(f"CALL lake.system.rewrite_position_delete_files(table => 'db.deletes{version}')")
    )
    assert rewritten >= added
    assert contents(session, table, 2) == before
    found = loaded.refresh().inspect.delete_files().to_pylist()
    assert {file["content"] for file in found} == {1}
    assert len(found) == (2 if version == 2 else 10)
