"""Replacing references leaves the rest of the text as it was."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import FloebergError
from floeberg.sql.queries.references import (
    References,
    Rewrite,
    TableReference,
    apply_rewrites,
    double_braces,
    find_references,
    replace_references,
)
from floeberg.sql.text.names import SessionNames, TableIdentifier
from spark_runs.sql_corpus import QUERIES, WITH_CTES

LAKE = SessionNames(frozenset({"lake"}))
IN_LAKE = SessionNames(frozenset({"lake"}), "lake", ("db",))


def replaced(sql: str, names: SessionNames = LAKE, *, escape_braces: bool = False) -> str:
    references = find_references(sql, names)
    numbers = {table.start: number for number, table in enumerate(references.tables)}
    return replace_references(
        sql, references, lambda table: f"{{t{numbers[table.start]}}}", escape_braces=escape_braces
    )


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM lake.db.t", "SELECT * FROM {t0} AS `t`"),
        ("SELECT * FROM lake.db.t x", "SELECT * FROM {t0} x"),
        ("SELECT * FROM lake.db.t AS x WHERE 1=1", "SELECT * FROM {t0} AS x WHERE 1=1"),
        ("SELECT * FROM lake.db.`t u`", "SELECT * FROM {t0} AS `t u`"),
        ("SELECT * FROM lake.db.t VERSION AS OF 5 x", "SELECT * FROM {t0} x"),
        ("SELECT * FROM lake.db.t TIMESTAMP AS OF '2024' WHERE a", "SELECT * FROM {t0} AS `t` WHERE a"),
        (
            "SELECT * FROM lake.db.t TABLESAMPLE (5 ROWS) WHERE a",
            "SELECT * FROM {t0} TABLESAMPLE (5 ROWS) AS `t` WHERE a",
        ),
        ("SELECT * FROM lake.db.t TABLESAMPLE (5 ROWS) x", "SELECT * FROM {t0} TABLESAMPLE (5 ROWS) x"),
        ("TABLE lake.db.t", "SELECT * FROM {t0} AS `t`"),
        ("TABLE lake.db.t UNION TABLE u", "SELECT * FROM {t0} AS `t` UNION TABLE u"),
        ("SELECT * FROM f(TABLE(lake.db.t))", "SELECT * FROM f(TABLE({t0}))"),
        (
            "SELECT lake.db.t.id, db.t.x, t.y FROM lake.db.t WHERE lake.db.t.z.w = 1",
            "SELECT `t`.id, `t`.x, t.y FROM {t0} AS `t` WHERE `t`.z.w = 1",
        ),
        ("SELECT lake.db.t.* FROM lake.db.t", "SELECT `t`.* FROM {t0} AS `t`"),
        ("SELECT lake.db.t.id FROM lake.db.t x", "SELECT lake.db.t.id FROM {t0} x"),
        (
            "SELECT * FROM lake.db.t WHERE EXISTS (SELECT 1 FROM lake.db.u WHERE db.u.id = lake.db.t.id)",
            "SELECT * FROM {t0} AS `t` WHERE EXISTS (SELECT 1 FROM {t1} AS `u` WHERE `u`.id = `t`.id)",
        ),
        (
            "SELECT * FROM lake.db.t ORDER BY lake.db.t.id",
            "SELECT * FROM {t0} AS `t` ORDER BY `t`.id",
        ),
        (
            "SELECT 'lake.db.t' /* lake.db.t */ FROM lake.db.t -- lake.db.t",
            "SELECT 'lake.db.t' /* lake.db.t */ FROM {t0} AS `t` -- lake.db.t",
        ),
        ("EXPLAIN SELECT * FROM lake.db.t", "EXPLAIN SELECT * FROM {t0} AS `t`"),
        ("SELECT * FROM lake.db.t.files", "SELECT * FROM {t0} AS `files`"),
        ("MERGE INTO o USING lake.db.t ON a = b", "MERGE INTO o USING {t0} AS `t` ON a = b"),
        (
            "SELECT * FROM lake.db.t JOIN LATERAL (SELECT lake.db.t.a) x",
            "SELECT * FROM {t0} AS `t` JOIN LATERAL (SELECT `t`.a) x",
        ),
        (
            "SELECT sum(lake.db.t.v) OVER (PARTITION BY db.t.k) FROM lake.db.t",
            "SELECT sum(`t`.v) OVER (PARTITION BY `t`.k) FROM {t0} AS `t`",
        ),
        ("SELECT * FROM lake.db.t JOIN u ON lake.db.t.a = u.a", "SELECT * FROM {t0} AS `t` JOIN u ON `t`.a = u.a"),
    ],
)
def test_references_are_replaced_in_the_text_as_written(sql: str, expected: str) -> None:
    assert replaced(sql) == expected


def test_the_same_name_of_two_namespaces_stays_apart() -> None:
    sql = "SELECT lake.a.t.id, lake.b.t.id FROM lake.a.t JOIN lake.b.t"
    text = replaced(sql)
    references = find_references(sql, LAKE)
    aliases = [table.given_alias for table in references.tables]
    assert len(set(aliases)) == 2
    assert (
        text
        == f"SELECT `{aliases[0]}`.id, `{aliases[1]}`.id FROM {{t0}} AS `{aliases[0]}` JOIN {{t1}} AS `{aliases[1]}`"
    )


def test_the_same_name_without_qualifiers_keeps_its_alias() -> None:
    assert replaced("SELECT * FROM lake.a.t JOIN lake.b.t") == "SELECT * FROM {t0} AS `t` JOIN {t1} AS `t`"


def test_braces_of_the_user_are_doubled_for_a_template() -> None:
    sql = "SELECT '{x}', a FROM lake.db.t WHERE b = '{' -- }"
    text = replaced(sql, escape_braces=True)
    assert text == "SELECT '{{x}}', a FROM {t0} AS `t` WHERE b = '{{' -- }}"
    assert text.format(t0="T") == "SELECT '{x}', a FROM T AS `t` WHERE b = '{' -- }"


def test_placeholders_of_the_user_are_relations_of_theirs() -> None:
    assert (
        replaced("SELECT * FROM {df} d JOIN lake.db.t ON d.a = t.a")
        == "SELECT * FROM {df} d JOIN {t0} AS `t` ON d.a = t.a"
    )


def test_functions_are_replaced_by_name_alone() -> None:
    sql = "SELECT lake.system.bucket(16, id) FROM lake.db.t"
    references = find_references(sql, LAKE)
    text = replace_references(sql, references, lambda t: "x", function_text=lambda f: f"my_{f.identifier.name}")
    assert text == "SELECT my_bucket(16, id) FROM x AS `t`"


def test_an_expression_of_a_statement_is_rewritten_by_its_scope() -> None:
    sql = "UPDATE lake.db.t SET a = lake.db.t.b + (SELECT max(db.u.x) FROM lake.db.u WHERE db.u.k = db.t.k)"
    start = sql.index("lake.db.t.b")
    table = TableIdentifier("lake", ("db", "t"))
    references = find_references(sql, LAKE, span=(start, len(sql)), scope=[(table, "target")], expression=True)
    text = replace_references(sql, references, lambda t: "{u}", span=(start, len(sql)))
    assert text == "`target`.b + (SELECT max(`u`.x) FROM {u} AS `u` WHERE `u`.k = `target`.k)"


@pytest.mark.parametrize(("sql", "tables"), QUERIES + WITH_CTES)
def test_what_is_not_ours_stays_byte_for_byte(sql: str, tables: list[str]) -> None:
    nothing = SessionNames(frozenset({"elsewhere"}))
    references = find_references(sql, nothing)
    assert not references
    assert replace_references(sql, references, lambda t: "never") == sql


def kept_pieces(sql: str, references: References) -> list[str]:
    """The text between the rewritten places."""
    spans = [(t.start, t.end) for t in references.tables] + [(q.start, q.end) for q in references.qualifiers]
    spans += [(t.alias_at, t.alias_at) for t in references.tables]
    position, pieces = 0, []
    for start, end in sorted(spans):
        pieces.append(sql[position : max(start, position)])
        position = max(end, position)
    return [piece for piece in (*pieces, sql[position:]) if piece]


NOISE = st.sampled_from([" ", "\n", "\t ", " /* lake.db.t */ ", " -- lake.db.t\n", " /* a /* b */ c */ ", "  \r\n "])


@given(st.data(), st.sampled_from([sql for sql, _ in QUERIES + WITH_CTES]))
def test_noise_between_tokens_changes_no_reference_and_is_kept(data: st.DataObject, sql: str) -> None:
    pieces = sql.split(" ")
    if any(mark in sql for mark in ("--", "/*", "'", '"', "`", "$")):
        pieces = [sql]
    noisy = "".join(piece + data.draw(NOISE) for piece in pieces)
    plain, found = find_references(sql, IN_LAKE), find_references(noisy, IN_LAKE)
    assert [t.parts for t in found.tables] == [t.parts for t in plain.tables]
    text = replace_references(noisy, found, lambda t: "§")
    position = 0
    for piece in kept_pieces(noisy, found):
        at = text.find(piece, position)
        assert at >= 0, (piece, text)
        position = at + len(piece)


WORDS = (
    "SELECT FROM WHERE JOIN ON lake.db.t lake.db.u x , ( ) a = 1 'lake.db.t' UNION WITH AS c TABLE IN EXISTS LEFT GROUP BY "
    "ORDER LIMIT VALUES CASE WHEN THEN END INSERT INTO BETWEEN AND OR NOT |> LATERAL VIEW VERSION OF {x} :p ? ; [ ] . *"
)


@given(st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join))
def test_any_words_are_read_or_refused_and_the_rest_is_kept(sql: str) -> None:
    try:
        references = find_references(sql, LAKE)
    except FloebergError:
        return
    for table in references.tables:
        assert "lake.db." in sql[table.start : table.end].replace(" ", "")
    marker = "§"
    text = replace_references(sql, references, lambda t: marker)
    assert text.count(marker) == len(references.tables)


@given(st.text(alphabet=string.printable, max_size=60))
def test_any_text_gives_references_or_an_error_of_ours(sql: str) -> None:
    try:
        references = find_references("SELECT * FROM lake.db.t " + sql, LAKE)
    except FloebergError:
        return
    assert apply_rewrites(sql, []) == sql
    assert isinstance(references.tables, tuple)


@given(st.text())
def test_doubled_braces_format_back(text: str) -> None:
    assert double_braces(text).format() == text


def test_a_reference_says_what_it_needs_to_be_replaced() -> None:
    (table,) = find_references("SELECT * FROM lake.db.t", LAKE).tables
    assert isinstance(table, TableReference)
    assert (table.given_alias, table.alias, table.form) == ("t", None, "relation")


def test_other_rewrites_have_their_braces_doubled_where_the_text_becomes_a_template() -> None:
    sql = "SELECT * FROM lake.db.t JOIN other.`a{b}` o"
    references = find_references(sql, SessionNames(frozenset({"lake"})))
    at = sql.index("other")
    more = [Rewrite(at, at + len("other.`a{b}`"), "`cat`.`other`.`a{b}`")]
    text = replace_references(sql, references, lambda t: "{u}", escape_braces=True, more=more)
    assert text == "SELECT * FROM {u} AS `t` JOIN `cat`.`other`.`a{{b}}` o"
    assert replace_references(sql, references, lambda t: "{u}", more=more).endswith("`a{b}` o")
