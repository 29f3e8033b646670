"""`t.id` in an assignment is the column `id` of the table `t`, also where the table has a struct column `t`."""

from __future__ import annotations

from typing import Any


def test_the_tables_name_comes_before_a_struct_of_the_same_name(session: Any) -> None:
    session.sql("CREATE TABLE lake.db.t (id INT, t STRUCT<id: INT, z: INT>)")
    session.sql("INSERT INTO lake.db.t VALUES (1, named_struct('id', 10, 'z', 20))")
    session.sql("UPDATE lake.db.t SET t.id = 5, t.z = 6")
    row = session.table("lake.db.t").collect()[0]
    assert (row.id, tuple(row.t)) == (5, (10, 6))
