"""Temporary views that all sessions of an application share."""

from __future__ import annotations

from typing import Any

import floeberg as fb


def _ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


def test_a_global_view_sees_new_rows_prunes_and_can_be_dropped(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.watched (id BIGINT)")
    session.sql("INSERT INTO lake.db.watched VALUES (1L)")
    session.sql("USE lake.db")
    session.sql("CREATE GLOBAL TEMPORARY VIEW seen_by_all AS SELECT id FROM watched WHERE id < 10")
    session.sql("USE spark_catalog")
    session.sql("INSERT INTO lake.db.watched VALUES (2L)")
    session.sql("INSERT INTO lake.db.watched VALUES (20L)")
    assert _ids(session.sql("SELECT * FROM global_temp.seen_by_all")) == [1, 2]
    assert _ids(session.table("global_temp.seen_by_all")) == [1, 2]
    frame = session.sql("SELECT v.id FROM GLOBAL_TEMP.Seen_By_All v WHERE v.id = 2")
    assert _ids(frame) == [2]
    assert "1 files planned of 3" in fb.explain(frame)
    session.sql("CREATE OR REPLACE GLOBAL TEMPORARY VIEW seen_by_all AS SELECT id + 1 AS id FROM lake.db.watched")
    assert _ids(session.sql("SELECT * FROM global_temp.seen_by_all")) == [2, 3, 21]
    session.range(2).createOrReplaceGlobalTempView("seen_by_all")
    assert _ids(session.sql("SELECT * FROM global_temp.seen_by_all")) == [0, 1]
    session.sql("DROP VIEW global_temp.seen_by_all")
    assert not session.catalog.dropGlobalTempView("seen_by_all")


def test_other_attached_sessions_share_it_and_those_without_the_catalog_read_what_spark_has(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.shared (id BIGINT)")
    session.sql("CREATE GLOBAL TEMP VIEW shared_rows AS SELECT id FROM lake.db.shared")
    session.sql("INSERT INTO lake.db.shared VALUES (1L)")
    from floeberg.spark.host.session import session_of

    state = session_of(session).state
    other = session.newSession()
    fb.attach(other, fb.Catalog(state.catalogs["lake"].backend))
    try:
        assert _ids(other.sql("SELECT * FROM global_temp.shared_rows")) == [1]
    finally:
        fb.detach(other)
    third = session.newSession()
    assert _ids(third.sql("SELECT * FROM global_temp.shared_rows")) == []
    session.catalog.dropGlobalTempView("shared_rows")
