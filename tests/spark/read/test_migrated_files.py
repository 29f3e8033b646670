"""Files as Hive and Spark left them in partitioned tables: their partition columns are in the folder's name, not in the file.
https://iceberg.apache.org/spec/#column-projection"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floeberg.api.table import Table
from floeberg.commit.append import Append
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat

Rows = list[tuple[Any, ...]]
FIRST: Rows = [(1, "x", "a"), (2, None, "a"), (3, "y", None), (4, "z", "ü/1"), (5, "own", "a"), (6, "own", "b")]
"""id, v and p; p of the first four is known from their partition only, 5 and 6 are in files of ours."""
MODES = [(1, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")]


def migrated(session: Any, folder: Path, version: int, mode: str) -> Table:
    """A table with files that lack `p`, with and without field ids, and with files that have it."""
    mapping = [{"field-id": number, "names": [name]} for number, name in enumerate(("id", "v", "p"), 1)]
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    table: Table = session.lake.create_table(
        f"db.migrated_{version}", "id bigint, v string, p string", partition_by=["p"], format_version=version,
        properties={**properties, "schema.name-mapping.default": json.dumps(mapping)},
    )  # fmt: skip
    files = [imported(folder, FIRST[:2]), imported(folder, FIRST[2:3]), imported(folder, FIRST[3:4], with_ids=True)]
    table._commit(Append(files=files))
    table.append(pa.table({name: [row[n] for row in FIRST[4:]] for n, name in enumerate(("id", "v", "p"))}))
    return table.refresh()


def imported(folder: Path, rows: Rows, *, with_ids: bool = False) -> DataFile:
    """A file with the columns id and v, in the partition that its rows have in common."""
    fields = [
        pa.field(name, kind, metadata={"PARQUET:field_id": str(number)} if with_ids else None)
        for number, (name, kind) in enumerate((("id", pa.int64()), ("v", pa.string())), 1)
    ]
    path = folder / f"part-{rows[0][0]}.parquet"
    pq.write_table(pa.table([[row[0] for row in rows], [row[1] for row in rows]], schema=pa.schema(fields)), path)
    size = path.stat().st_size
    return DataFile(
        file_path=str(path), file_format=FileFormat.PARQUET, partition=(rows[0][2],), record_count=len(rows),
        file_size_in_bytes=size,
    )  # fmt: skip


def by_both(session: Any, table: Table, where: str = "TRUE") -> Rows:
    """The rows that match, on which both engines agree."""
    query = f"SELECT id, v, p FROM lake.db.migrated_{table.format_version} WHERE {where}"
    found = sorted(tuple(row) for row in session.sql(query).collect())
    scan = table.refresh().scan() if where == "TRUE" else table.refresh().scan(where=where)
    assert sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist()) == found, where
    return found


@pytest.mark.parametrize(("version", "mode"), MODES)
def test_a_column_that_a_file_lacks_has_the_value_of_its_partition(
    session: Any, tmp_path: Path, version: int, mode: str
) -> None:
    table = migrated(session, tmp_path, version, mode)
    name = f"lake.db.migrated_{version}"
    assert by_both(session, table) == FIRST
    wanted = {
        "p = 'a'": [1, 2, 5], "p IS NULL": [3], "p <> 'a'": [4, 6], "p = 'ü/1'": [4], "p > 'a' AND v = 'z'": [4],
        "p IS NOT NULL AND id < 3": [1, 2], "p IN ('b', 'ü/1')": [4, 6],
    }  # fmt: skip
    for where, ids in wanted.items():
        assert [row[0] for row in by_both(session, table, where)] == ids, where
    counted = session.sql(f"SELECT p, count(*), max(v) FROM {name} GROUP BY p ORDER BY p").collect()
    assert [tuple(row) for row in counted] == [(None, 1, "y"), ("a", 3, "x"), ("b", 1, "own"), ("ü/1", 1, "z")]
    assert tuple(session.sql(f"SELECT min(p), max(p), count(p) FROM {name}").collect()[0]) == ("a", "ü/1", 5)

    session.sql(f"UPDATE {name} SET v = concat('in ', p) WHERE id IN (2, 4)")
    session.sql(f"DELETE FROM {name} WHERE id = 5 OR p IS NULL")
    session.sql(
        f"MERGE INTO {name} t USING (SELECT 1L AS id, 'a' AS p UNION ALL SELECT 9L, 'n') s ON t.id = s.id AND t.p = s.p "
        "WHEN MATCHED THEN UPDATE SET p = 'moved' WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, s.p)"
    )
    changed: Rows = [(1, "x", "moved"), (2, "in a", "a"), (4, "in ü/1", "ü/1"), (6, "own", "b"), (9, None, "n")]
    assert by_both(session, table) == changed
    assert by_both(session, table, "p = 'moved' OR p = 'ü/1'") == [changed[0], changed[2]]
