"""`spark.sql("… {x} …", x=frame)`: what a statement says of the frame is that of this frame, not of one that the session had
before."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.connect
@pytest.mark.parametrize("statement", ["SHOW COLUMNS IN {x}", "DESCRIBE TABLE {x}", "DESCRIBE TABLE EXTENDED {x}"])
def test_a_statement_shows_the_columns_of_its_own_frame(session: Any, statement: str) -> None:
    frames = [session.sql(f"SELECT {items}") for items in ("1 AS a, 'x' AS b", "2.5D AS c", "3L AS d, 4 AS e")]
    shown = [[row[0] for row in session.sql(statement, x=frame).collect()] for frame in frames]
    assert shown == [["a", "b"], ["c"], ["d", "e"]]
