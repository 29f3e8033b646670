"""A frame of a table returns the same rows whatever the session's settings are when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

BY_FIELD_ID: Final = "spark.sql.parquet.fieldId.read.enabled"
CHANGES: Final[dict[str, Callable[[Any], object]]] = {
    "RESET": lambda spark: spark.sql("RESET"),
    "RESET of one": lambda spark: spark.sql(f"/* all */ RESET {BY_FIELD_ID}"),
    "SET": lambda spark: spark.sql(f"SET {BY_FIELD_ID} = false"),
    "set": lambda spark: spark.conf.set(BY_FIELD_ID, "false"),
    "unset": lambda spark: spark.conf.unset(BY_FIELD_ID),
    "another reader": lambda spark: spark.conf.set("spark.sql.sources.useV1SourceList", ""),
    "records": lambda spark: [
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false"),
        spark.conf.set("spark.sql.parquet.recordLevelFilter.enabled", "true"),
    ],
    "zone": lambda spark: spark.conf.set("spark.sql.session.timeZone", "Pacific/Apia"),
    "literals": lambda spark: [
        spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ"),
        spark.conf.set("spark.sql.ansi.enabled", "false"),
    ],
}


@pytest.fixture
def table(session: Any) -> Iterator[str]:
    """A table with renamed and promoted columns, defaults, zeros of both signs, deletes and lineage."""
    before = dict(session.conf.getAll)
    name = "lake.db.t"
    session.sql(f"CREATE TABLE {name} (id INT, x DOUBLE, a INT, n INT) TBLPROPERTIES ('format-version'='3')")
    session.sql(
        f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, -0.0D, 10, 1), (2, 1.5D, 20, 2), (3, 0.0D, 30, 3)"
    )
    session.sql(f"ALTER TABLE {name} RENAME COLUMN a TO b")
    session.sql(f"ALTER TABLE {name} ALTER COLUMN n TYPE BIGINT")
    session.sql(f"ALTER TABLE {name} ADD COLUMN ts TIMESTAMP DEFAULT TIMESTAMP '2020-06-01 12:00:00+00:00'")
    session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    session.sql(f"DELETE FROM {name} WHERE id = 2")
    yield name
    for key, value in before.items():
        if session.conf.isModifiable(key) and session.conf.get(key, None) != value:
            session.conf.set(key, value)
    for key in session.conf.getAll.keys() - before.keys():
        session.conf.unset(key)
    session.sql(f"DROP TABLE {name}")


@pytest.mark.connect
def test_a_frame_returns_its_rows_after_settings_change(session: Any, table: str) -> None:
    def frames() -> list[Any]:
        return [
            session.sql(f"SELECT id, b, n, unix_micros(ts), _row_id FROM {table} ORDER BY id"),
            session.sql(f"SELECT id, b FROM {table} WHERE x = 0 ORDER BY id"),
            session.table(table).where("x >= 0 AND b IN (10, 30)").select("b").orderBy("b"),
        ]

    def rows(found: list[Any]) -> list[list[tuple[Any, ...]]]:
        return [[tuple(row) for row in frame.collect()] for frame in found]

    micros = 1_591_012_800_000_000
    expected = [[(1, 10, 1, micros, 0), (3, 30, 3, micros, 2)], [(1, 10), (3, 30)], [(10,), (30,)]]
    assert rows(frames()) == expected
    for name, change in CHANGES.items():
        made = frames()
        change(session)
        assert rows(made) == expected, name
        assert rows(frames()) == expected, name
