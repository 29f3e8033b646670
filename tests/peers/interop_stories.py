"""Lives of tables as statements that our engine and the Java runtime both run: each must read what the other wrote.

`{t}` stands for the table, `{new}` for the end of its CREATE: version and modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MODES = ("copy-on-write", "merge-on-read")
ROWS = "SELECT * FROM {t}"
LINEAGE = "SELECT *, _row_id, _last_updated_sequence_number FROM {t}"


@dataclass(frozen=True)
class Story:
    """A table's life. What `reads` give is the same whoever wrote the table; row ids are each writer's own choice."""

    name: str
    version: int
    statements: tuple[str, ...]
    mode: str = MODES[0]
    reads: tuple[str, ...] = (ROWS,)
    file_format: str = "parquet"
    has_lineage: bool = False

    @property
    def lineage(self) -> tuple[str, ...]:
        return (LINEAGE,) if self.version > 2 or self.has_lineage else ()

    def on(self, table: str) -> Iterator[str]:
        """The statements for a table."""
        modes = ", ".join(f"'write.{verb}.mode' = '{self.mode}'" for verb in ("delete", "update", "merge"))
        new = f"TBLPROPERTIES ('format-version' = '{self.version}', 'write.format.default' = '{self.file_format}', {modes})"
        for statement in self.statements:
            yield statement.replace("{t}", table).replace("{new}", new)


ROW_LEVEL = (
    "CREATE TABLE {t} (id BIGINT, v INT, s STRING, d DECIMAL(9,2), p STRING) USING iceberg PARTITIONED BY (p, bucket(2, id)) {new}",
    "INSERT INTO {t} SELECT id, IF(id % 5 = 0, NULL, CAST(id AS INT)), concat('s', id), id / 4, "
    "element_at(array('a', 'b', NULL), CAST(id % 3 + 1 AS INT)) FROM range(24)",
    "INSERT INTO {t} VALUES (100, 1, NULL, NULL, 'new'), (101, NULL, 'x', 0.25, 'a')",
    "DELETE FROM {t} WHERE v % 7 = 0 OR s = 'x'",
    "UPDATE {t} SET v = v * 10, p = IF(id < 10, 'moved', p) WHERE id BETWEEN 5 AND 15",
    "MERGE INTO {t} t USING (SELECT id * 3 AS id, 'merged' AS s FROM range(12)) u ON t.id = u.id "
    "WHEN MATCHED AND t.id % 2 = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET s = u.s "
    "WHEN NOT MATCHED THEN INSERT (id, s, p) VALUES (u.id, u.s, 'b') "
    "WHEN NOT MATCHED BY SOURCE AND t.p = 'a' THEN UPDATE SET d = -1",
    "DELETE FROM {t} WHERE p = 'new'",
    "INSERT INTO {t} (id) VALUES (200)",
    "UPDATE {t} SET d = 9.99 WHERE id = 200 OR v IS NULL",
)

TRANSFORMS = (
    "CREATE TABLE {t} (id BIGINT, b BOOLEAN, i INT, it INT, lb BIGINT, lt BIGINT, s STRING, st STRING, sb STRING, c DECIMAL(9,2), "
    "ct DECIMAL(9,2), cb DECIMAL(18,4), x BINARY, xt BINARY, xb BINARY, ib INT) USING iceberg PARTITIONED BY "
    "(b, i, truncate(10, it), bucket(4, lb), truncate(100, lt), s, truncate(2, st), bucket(3, sb), c, truncate(50, ct), "
    "bucket(5, cb), x, truncate(1, xt), bucket(3, xb), bucket(7, ib)) {new}",
    "INSERT INTO {t} SELECT id, id % 2 = 0, IF(id = 3, NULL, CAST(id AS INT)), CAST(-3 - id AS INT), id - 2, -150 * id, "
    "element_at(array('', 'a b/c=%', 'ü', NULL), CAST(id % 4 + 1 AS INT)), IF(id = 1, '𝄞𝄞𝄞', concat('long ', id)), concat('é', id), "
    "IF(id = 2, NULL, id / 4), -1 - id / 3, id / 7, CAST(CAST(id AS STRING) AS BINARY), X'FF00', IF(id = 0, NULL, X'0001'), "
    "CAST(-id AS INT) FROM range(5)",
    "INSERT INTO {t} (id) VALUES (99)",
    "DELETE FROM {t} WHERE i = 1",
)

TIMES = (
    "CREATE TABLE {t} (id BIGINT, d DATE, dy DATE, dm DATE, dd DATE, db DATE, t TIMESTAMP, ty TIMESTAMP, tm TIMESTAMP, td TIMESTAMP, "
    "th TIMESTAMP, tb TIMESTAMP, n TIMESTAMP_NTZ, nd TIMESTAMP_NTZ, nh TIMESTAMP_NTZ) USING iceberg PARTITIONED BY "
    "(d, years(dy), months(dm), days(dd), bucket(3, db), t, years(ty), months(tm), days(td), hours(th), bucket(4, tb), "
    "n, days(nd), hours(nh)) {new}",
    "INSERT INTO {t} SELECT id, d, d, d, d, d, t, t, t, t, t, t, n, n, n FROM VALUES "
    "(1L, DATE '1969-12-31', TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'), "
    "(2L, DATE '1970-01-01', TIMESTAMP '1970-01-01 00:00:00', TIMESTAMP_NTZ '1970-01-01 00:00:00'), "
    "(3L, DATE '1000-02-28', TIMESTAMP '1000-02-28 01:02:03', TIMESTAMP_NTZ '1000-02-28 01:02:03'), "
    "(4L, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:00:00.000001', TIMESTAMP_NTZ '2024-02-29 12:00:00.000001'), "
    "(5L, NULL, NULL, NULL) AS v(id, d, t, n)",
    "DELETE FROM {t} WHERE d = DATE '1970-01-01'",
)

EVOLVED = (
    "CREATE TABLE {t} (id INT, gone STRING, f FLOAT, old STRING, dec DECIMAL(9,2)) USING iceberg {new}",
    "INSERT INTO {t} VALUES (1, 'x', 0.5, 'one', 1.25), (2, 'y', NULL, 'two', NULL)",
    "ALTER TABLE {t} DROP COLUMN gone",
    "ALTER TABLE {t} RENAME COLUMN old TO name",
    "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
    "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
    "ALTER TABLE {t} ALTER COLUMN dec TYPE DECIMAL(18,2)",
    "ALTER TABLE {t} ADD COLUMN gone INT FIRST",
    "ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id)",
    "INSERT INTO {t} VALUES (5, 3000000000, 0.1, 'three', 123456789.01)",
    "ALTER TABLE {t} REPLACE PARTITION FIELD bucket(4, id) WITH truncate(1, name) AS letter",
    "INSERT INTO {t} VALUES (NULL, 4, 1e300, NULL, NULL), (6, 5, double('NaN'), 'five', 0)",
    "DELETE FROM {t} WHERE id = 2 OR name = 'three'",
    "ALTER TABLE {t} DROP PARTITION FIELD letter",
    "UPDATE {t} SET name = coalesce(name, 'none'), gone = 0 WHERE gone IS NULL",
    "ALTER TABLE {t} WRITE ORDERED BY name DESC, id",
    "INSERT INTO {t} SELECT 1, id, id, 'sorted', 1 FROM range(10, 13)",
)

NESTED = (
    "CREATE TABLE {t} (id BIGINT, s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: INT, y: STRING>>, "
    "m MAP<STRING, STRUCT<k: INT>>, ll ARRAY<ARRAY<INT>>, mm MAP<INT, ARRAY<STRING>>) USING iceberg {new}",
    "INSERT INTO {t} VALUES (1, named_struct('a', 1, 'b', named_struct('c', 'z')), array(named_struct('x', 1, 'y', 'q'), NULL), "
    "map('k', named_struct('k', 5), 'n', NULL), array(array(1, NULL), NULL, array()), map(1, array('a', NULL))), "
    "(2, NULL, NULL, NULL, NULL, NULL), (3, named_struct('a', NULL, 'b', NULL), array(), map(), array(), map())",
    "ALTER TABLE {t} ADD COLUMN s.n DOUBLE",
    "ALTER TABLE {t} RENAME COLUMN s.a TO first",
    "ALTER TABLE {t} ADD COLUMN l.element.z INT",
    "ALTER TABLE {t} RENAME COLUMN m.value.k TO key",
    "ALTER TABLE {t} ALTER COLUMN l.element.x TYPE BIGINT",
    "INSERT INTO {t} VALUES (4, named_struct('first', 4, 'b', named_struct('c', 'y'), 'n', 0.5), "
    "array(named_struct('x', 3000000000, 'y', NULL, 'z', 7)), map('k', named_struct('key', 6)), NULL, NULL)",
    "UPDATE {t} SET s.n = 1.5 WHERE s.first = 1",
    "DELETE FROM {t} WHERE s.b.c = 'y' OR id = 3",
)

BRANCHED = (
    "CREATE TABLE {t} (id BIGINT, v STRING) USING iceberg {new}",
    "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('v', id) FROM range(6)",
    "ALTER TABLE {t} CREATE TAG first",
    "ALTER TABLE {t} CREATE BRANCH audit",
    "UPDATE {t}.branch_audit SET v = 'audited' WHERE id < 2",
    "DELETE FROM {t}.branch_audit WHERE id = 5",
    "INSERT INTO {t} VALUES (10, 'main')",
    "DELETE FROM {t} WHERE id = 0",
    "INSERT INTO {t}.branch_audit VALUES (20, 'branch')",
)
BRANCH_READS = (ROWS, "SELECT * FROM {t} VERSION AS OF 'audit'", "SELECT * FROM {t} VERSION AS OF 'first'")

UPGRADED = (
    "CREATE TABLE {t} (id BIGINT, v STRING) USING iceberg PARTITIONED BY (truncate(2, id)) {new}",
    "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, concat('v', id) FROM range(8)",
    "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '2')",
    "DELETE FROM {t} WHERE id IN (1, 4)",
    "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')",
    "DELETE FROM {t} WHERE id = 5",
    "UPDATE {t} SET v = 'new' WHERE id IN (2, 6)",
    "INSERT INTO {t} VALUES (9, 'nine')",
)

PARTITIONS = "SELECT partition, record_count, file_count FROM {t}.partitions"

STORIES = [
    *(
        Story(f"row_level_v{version}_{mode.replace('-', '_')}", version, ROW_LEVEL, mode)
        for version, mode in ((1, MODES[0]), (2, MODES[0]), (2, MODES[1]), (3, MODES[0]), (3, MODES[1]))
    ),
    *(Story(f"row_level_{kind}", 2, ROW_LEVEL, MODES[1], file_format=kind) for kind in ("orc", "avro")),
    *(Story(f"transforms_v{version}", version, TRANSFORMS, reads=(ROWS, PARTITIONS)) for version in (1, 2, 3)),
    *(Story(f"times_v{version}", version, TIMES, reads=(ROWS, PARTITIONS)) for version in (1, 3)),
    *(Story(f"evolved_v{version}", version, EVOLVED, MODES[version > 1]) for version in (1, 2, 3)),
    *(Story(f"nested_v{version}", version, NESTED, MODES[version > 2]) for version in (2, 3)),
    *(Story(f"branched_v{version}", version, BRANCHED, MODES[1], BRANCH_READS) for version in (2, 3)),
    Story("upgraded", 1, UPGRADED, MODES[1], has_lineage=True),
]
