"""Stars that leave out metadata columns, as text."""

from __future__ import annotations

import pytest

from floeberg.sql.queries.hidden_columns import columns_of, named_columns, star_rewrites
from floeberg.sql.queries.references import find_references, replace_references
from floeberg.sql.text.names import SessionNames

NAMES = SessionNames(catalogs=frozenset({"lake"}))
KNOWN = ("_file", "_pos", "_row_id")


def rewritten(sql: str) -> str:
    references = find_references(sql, NAMES)
    named = named_columns(references, KNOWN)
    hidden = {id(table): columns_of(table, named) for table in references.tables}
    return replace_references(sql, references, lambda table: table.parts[-1], more=star_rewrites(references, hidden))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM lake.db.t x", "SELECT * FROM t x"),
        ("SELECT *, _file FROM lake.db.t x", "SELECT * EXCEPT (`x`.`_file`), _file FROM t x"),
        ("SELECT * FROM lake.db.t x WHERE `_POS` > 1", "SELECT * EXCEPT (`x`.`_pos`) FROM t x WHERE `_POS` > 1"),
        ("SELECT * EXCEPT (a), _pos FROM lake.db.t x", "SELECT * EXCEPT (`x`.`_pos`, a), _pos FROM t x"),
        ("SELECT x.*, y.* FROM lake.db.t x, lake.db.u y WHERE y._pos = 1",
         "SELECT x.*, y.* EXCEPT (`y`.`_pos`) FROM t x, u y WHERE y._pos = 1"),
        ("SELECT * FROM lake.db.t x LEFT SEMI JOIN lake.db.u y ON x._pos = y._pos",
         "SELECT * EXCEPT (`x`.`_pos`) FROM t x LEFT SEMI JOIN u y ON x._pos = y._pos"),
        ("SELECT count(*), 2 * _pos FROM lake.db.t x", "SELECT count(*), 2 * _pos FROM t x"),
        ("SELECT * FROM (SELECT * FROM lake.db.t x WHERE _pos = 1) y",
         "SELECT * FROM (SELECT * EXCEPT (`x`.`_pos`) FROM t x WHERE _pos = 1) y"),
        ("SELECT '_file', * FROM lake.db.t x -- _pos", "SELECT '_file', * FROM t x -- _pos"),
        ("SELECT * FROM other WHERE EXISTS (SELECT * FROM lake.db.t x WHERE _pos = other.p)",
         "SELECT * FROM other WHERE EXISTS (SELECT * EXCEPT (`x`.`_pos`) FROM t x WHERE _pos = other.p)"),
    ],
)  # fmt: skip
def test_stars_leave_out_the_metadata_columns_that_are_named(sql: str, expected: str) -> None:
    assert rewritten(sql) == expected
