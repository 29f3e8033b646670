"""Metadata columns in a statement's text: renamed for the statement, which stars leave out."""

from __future__ import annotations

import re

import pytest

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.sql.queries.hidden_columns import hidden_columns
from floeberg.sql.queries.hidden_uses import PREFIX, TableColumns
from floeberg.sql.queries.references import find_references, replace_references
from floeberg.sql.text.names import SessionNames

NAMES = SessionNames(catalogs=frozenset({"lake"}))
COLUMNS = TableColumns(frozenset({"id", "a"}), frozenset({"_file", "_pos", "_row_id"}))
OTHERS = {("plain",): frozenset({"p"}), ("with_pos",): frozenset({"_pos"})}


def rewritten(sql: str) -> str:
    references = find_references(sql, NAMES)
    hidden = hidden_columns(references, [COLUMNS] * len(references.tables), OTHERS.get)
    text = replace_references(sql, references, lambda table: table.parts[-1], more=hidden.rewrites)
    return re.sub(rf"`{PREFIX}(\d+)(_\w+)`", r"#\1\2", text)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM lake.db.t x", "SELECT * FROM t x"),
        ("SELECT *, _file FROM lake.db.t x", "SELECT * EXCEPT (#0_file), #0_file AS _file FROM t x"),
        ("SELECT * FROM lake.db.t x WHERE `_POS` > 1", "SELECT * EXCEPT (#0_pos) FROM t x WHERE #0_pos > 1"),
        ("SELECT * EXCEPT (a), _pos FROM lake.db.t x", "SELECT * EXCEPT (#0_pos, a), #0_pos AS _pos FROM t x"),
        ("SELECT * EXCEPT (_pos) FROM lake.db.t x", "SELECT * EXCEPT (_pos) FROM t x"),
        ("SELECT struct(*), count(DISTINCT *), count(*), _pos FROM lake.db.t x",
         "SELECT struct(* EXCEPT (#0_pos)), count(DISTINCT * EXCEPT (#0_pos)), count(*), #0_pos AS _pos FROM t x"),
        ("SELECT x.*, y.* FROM lake.db.t x, lake.db.u y WHERE y._pos = 1",
         "SELECT x.*, y.* EXCEPT (#1_pos) FROM t x, u y WHERE y.#1_pos = 1"),
        ("SELECT * FROM lake.db.t x NATURAL JOIN lake.db.u y WHERE x._pos = y._pos",
         "SELECT * EXCEPT (#0_pos, #1_pos) FROM t x NATURAL JOIN u y WHERE x.#0_pos = y.#1_pos"),
        ("SELECT * FROM lake.db.t x LEFT SEMI JOIN lake.db.u y ON x._pos = y._pos",
         "SELECT * EXCEPT (#0_pos) FROM t x LEFT SEMI JOIN u y ON x.#0_pos = y.#1_pos"),
        ("SELECT count(*), 2 * _pos FROM lake.db.t x", "SELECT count(*), 2 * #0_pos FROM t x"),
        ("SELECT * FROM (SELECT * FROM lake.db.t x WHERE _pos = 1) y",
         "SELECT * FROM (SELECT * EXCEPT (#0_pos) FROM t x WHERE #0_pos = 1) y"),
        ("SELECT '_file', * FROM lake.db.t x -- _pos", "SELECT '_file', * FROM t x -- _pos"),
        ("SELECT * FROM plain WHERE EXISTS (SELECT * FROM lake.db.t x WHERE _pos = plain.p)",
         "SELECT * FROM plain WHERE EXISTS (SELECT * EXCEPT (#0_pos) FROM t x WHERE #0_pos = plain.p)"),
        ("SELECT * FROM lake.db.t x WHERE EXISTS (SELECT * FROM plain WHERE p = _pos)",
         "SELECT * EXCEPT (#0_pos) FROM t x WHERE EXISTS (SELECT * FROM plain WHERE p = #0_pos)"),
        ("SELECT struct(a, x._pos), max(_pos), x._POS FROM lake.db.t x GROUP BY x._pos",
         "SELECT struct(a, x.#0_pos AS _pos), max(#0_pos), x.#0_pos AS _POS FROM t x GROUP BY x.#0_pos"),
        ("FROM lake.db.t x |> AGGREGATE max(_file) AS m GROUP BY _pos",
         "FROM t x |> AGGREGATE max(#0_file) AS m GROUP BY #0_pos AS _pos"),
        # What has a column of the name comes first.
        ("SELECT _pos FROM lake.db.t x, with_pos", "SELECT _pos FROM t x, with_pos"),
        ("SELECT _pos FROM lake.db.t x, (SELECT 1 AS _pos) y", "SELECT _pos FROM t x, (SELECT 1 AS _pos) y"),
        ("WITH c AS (SELECT _pos FROM lake.db.t x) SELECT _pos FROM c",
         "WITH c AS (SELECT #0_pos AS _pos FROM t x) SELECT _pos FROM c"),
        ("SELECT a AS _pos FROM lake.db.t x ORDER BY _pos", "SELECT a AS _pos FROM t x ORDER BY _pos"),
        ("SELECT a FROM lake.db.t x ORDER BY _pos", "SELECT a FROM t x ORDER BY #0_pos"),
        # What is no column.
        ("SELECT a _pos, f(_pos => a), transform(a, _pos -> _pos) FROM lake.db.t x",
         "SELECT a _pos, f(_pos => a), transform(a, _pos -> _pos) FROM t x"),
        ("SELECT a._pos, f(a)._pos FROM lake.db.t x", "SELECT a._pos, f(a)._pos FROM t x"),
        # Pipes drop the columns after their last use.
        ("FROM lake.db.t x |> WHERE _pos > 1 |> WHERE a > 1", "FROM t x |> WHERE #0_pos > 1 |> DROP #0_pos |> WHERE a > 1"),
        ("FROM lake.db.t x |> EXTEND _pos AS p |> SELECT *, _file |> WHERE p > 1",
         "FROM t x |> EXTEND #0_pos AS p |> SELECT * EXCEPT (#0_pos, #0_file), #0_file AS _file |> WHERE p > 1"),
        ("FROM lake.db.t x |> WHERE _pos > 1 |> SELECT *", "FROM t x |> WHERE #0_pos > 1 |> DROP #0_pos |> SELECT *"),
        ("FROM lake.db.t x |> AS y |> WHERE y._pos = 1", "FROM t x |> AS y |> WHERE y.#0_pos = 1 |> DROP #0_pos"),
        ("FROM lake.db.t x |> LEFT SEMI JOIN lake.db.u y ON x._pos = y._pos",
         "FROM t x |> LEFT SEMI JOIN u y ON x.#0_pos = y.#1_pos |> DROP #0_pos"),
        # A PIVOT consumes what it names.
        ("SELECT * FROM lake.db.t x PIVOT (max(_pos) FOR a IN (1))", "SELECT * FROM t x PIVOT (max(_pos) FOR a IN (1))"),
    ],
)  # fmt: skip
def test_metadata_columns_get_names_of_their_own_that_stars_leave_out(sql: str, expected: str) -> None:
    assert rewritten(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT _pos FROM lake.db.t x, lake.db.u y",
        "SELECT _pos FROM lake.db.t x, some_function() y",
        "SELECT _pos FROM lake.db.t x, unknown_table y",
    ],
)
def test_a_name_that_may_be_of_several_relations_is_refused(sql: str) -> None:
    with pytest.raises(InvalidInput, match=r"_pos \(line 1, column 8\) may be a column of x or of y: .*x\._pos"):
        rewritten(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM lake.db.t x JOIN lake.db.u y ON x._pos = y.id PIVOT (max(y.id) FOR a IN (1))",
        "FROM lake.db.t x JOIN lake.db.u y ON x._pos = y.id",
    ],
)
def test_what_cannot_be_hidden_is_refused(sql: str) -> None:
    with pytest.raises(
        UnsupportedFeature, match=r"_pos of lake\.db\.t cannot be hidden here; put the table into a subquery"
    ):
        rewritten(sql)
