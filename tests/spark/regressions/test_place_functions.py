"""The functions of PySpark that say where a session stands."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from floeberg.api.attach import attach, detach
from floeberg.errors import UnsupportedFeature

NAMES = ("current_catalog", "current_database", "current_schema")


@pytest.mark.connect
def test_functions_of_pyspark_say_where_the_session_stands_as_sql_does(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.here (id INT)")
    session.sql("INSERT INTO lake.db.here VALUES (1)")
    for place in ("lake.db", "spark_catalog.default"):
        session.sql(f"USE {place}")
        try:
            wanted = session.sql(f"SELECT {', '.join(f'{name}()' for name in NAMES)} FROM lake.db.here")
            frame = session.table("lake.db.here")
            found = frame.select(*(getattr(F, name)() for name in NAMES))
            assert found.collect() == wanted.collect()
            assert frame.where(F.current_database() == place.split(".")[1]).count() == 1
            assert frame.withColumn("p", F.current_catalog()).collect()[0].p == place.split(".")[0]
        finally:
            session.sql("USE spark_catalog.default")


def test_they_are_refused_when_sessions_stand_in_different_places(session: Any, is_connect: bool) -> None:
    if is_connect:
        pytest.skip("a session over Connect has no second one beside it")
    other = session.newSession()
    attach(other, session.lake)
    try:
        other.sql("USE lake.db")
        with pytest.raises(UnsupportedFeature, match=r"spark\.sql"):
            F.current_schema()
        session.sql("USE lake.db")
        assert other.range(1).select(F.current_schema()).collect()[0][0] == "db"
    finally:
        session.sql("USE spark_catalog.default")
        detach(other)
    assert session.range(1).select(F.current_schema()).collect()[0][0] == "default"
