"""The JVM tells the names of temporary views without a statement: the same as the statement tells."""

from __future__ import annotations

from typing import Any

import pytest

from floeberg.spark.host import views
from floeberg.spark.host.calls.gateway import temporary_view_names
from floeberg.spark.host.views import temporary_views
from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="there the statement is the only way")
NAMES = ["plain", "Upper", "`x.y z`", "`a``b`", "`ü,'\"`"]


def test_the_jvm_and_the_statement_tell_the_same_names(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = temporary_views(session)
    for name in NAMES:
        session.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT 1 AS a")
    session.sql("CREATE GLOBAL TEMPORARY VIEW of_all_sessions AS SELECT 1 AS a")
    try:
        assert temporary_view_names(session.newSession()) == []
        told = temporary_views(session)
        monkeypatch.setattr(views, "temporary_view_names", lambda _: None)
        assert told == temporary_views(session)
        assert len(told) == len(before) + len(NAMES)
    finally:
        for name in NAMES:
            session.sql(f"DROP VIEW {name}")
        session.sql("DROP VIEW global_temp.of_all_sessions")
