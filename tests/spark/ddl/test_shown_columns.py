"""DESCRIBE and SHOW COLUMNS of names that mean a tag, a snapshot or a metadata table."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def evolved(session: Any) -> str:
    """A table whose tag `first` is of before it got a second column."""
    name = "lake.db.evolved"
    session.sql(f"CREATE TABLE {name} (id BIGINT)")
    session.sql(f"INSERT INTO {name} VALUES (1L)")
    session.sql(f"ALTER TABLE {name} CREATE TAG first")
    session.sql(f"ALTER TABLE {name} CREATE BRANCH other")
    session.sql(f"ALTER TABLE {name} ADD COLUMN extra INT")
    return name


@pytest.mark.parametrize("part", ["", ".tag_first", ".branch_other", ".files", ".snapshots", ".position_deletes"])
def test_the_columns_that_are_shown_are_those_of_a_query(session: Any, evolved: str, part: str) -> None:
    queried = session.sql(f"SELECT * FROM {evolved}{part}").columns
    assert [row[0] for row in session.sql(f"SHOW COLUMNS IN {evolved}{part}").collect()] == queried
    assert [row[0] for row in session.sql(f"DESCRIBE {evolved}{part}").collect()] == queried


def test_the_columns_of_a_snapshot_are_its_own(session: Any, evolved: str) -> None:
    snapshot = session.lake.load_table("db.evolved").current_snapshot.snapshot_id
    shown = session.sql(f"SHOW COLUMNS IN {evolved}.snapshot_id_{snapshot}").collect()
    assert [row[0] for row in shown] == ["id"]
