"""Tokens as Spark's lexer cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.sql.text.lexer import Kind, first_words, name_value, quote_name, string_value, tokenize


def texts(sql: str) -> list[str]:
    return [sql[token.start : token.end] for token in tokenize(sql)][:-1]


OPERATORS = "a <=> b a || b a |> b a :: int a -> b a => b a != b a <> b"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a.b", ["a", ".", "b"]),
        ("a -- x\n b", ["a", "b"]),
        ("a -- x \\\n still comment\n b", ["a", "b"]),
        ("a /* x /* y */ z */ b", ["a", "b"]),
        ("/*+ BROADCAST(t) */ a", ["/*+ BROADCAST(t) */", "a"]),
        ("'it''s' 'a\\'b' \"x\"\"y\"", ["'it''s'", "'a\\'b'", '"x""y"']),
        ("r'a\\' R\"b\"", ["r'a\\'", 'R"b"']),
        ("$$ a 'b $$ $t$ c $t$", ["$$ a 'b $$", "$t$ c $t$"]),
        ("`a``b`.`c d`", ["`a``b`", ".", "`c d`"]),
        ("1abc 1e5 1L 1.5 .5 1. 1.5e-3D 10BD 1y", ["1abc", "1e5", "1L", "1.5", ".5", "1.", "1.5e-3D", "10BD", "1y"]),
        ("db.1t t.1 1.x", ["db", ".", "1t", "t", ".1", "1", ".", "x"]),
        (
            "a<=>b a||b a|>b a::int a->b a=>b a!=b a<>b",
            OPERATORS.split(),
        ),
        ("a>=b>>c", ["a", ">=", "b", ">", ">", "c"]),
        (":p ? {df} {{", [":", "p", "?", "{df}", "{", "{"]),
        ("straße.größe", ["straße", ".", "größe"]),
    ],
)
def test_text_is_cut_where_spark_cuts_it(sql: str, expected: list[str]) -> None:
    assert texts(sql) == expected


@pytest.mark.parametrize("sql", ["'abc", "`abc", "/* abc", "SELECT 'a' /* /* */"])
def test_what_is_left_open_is_refused_with_its_place(sql: str) -> None:
    with pytest.raises(InvalidInput, match="line 1, column"):
        tokenize(sql)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'a'", "a"),
        ("'it''s'", "it's"),
        ("'a\\'b'", "a'b"),
        ("'a\\nb\\tc'", "a\nb\tc"),
        ("'\\u0041\\101\\0'", "AA\0"),
        ("'50\\%\\_x'", "50\\%\\_x"),
        ("'\\\\'", "\\"),
        ('"a""b"', 'a"b'),
        ("r'a\\n'", "a\\n"),
        ("$t$it's$t$", "it's"),
    ],
)
def test_string_literals_have_sparks_values(literal: str, value: str) -> None:
    assert string_value(literal) == value


def test_double_quotes_are_names_when_the_session_says_so() -> None:
    assert [token.kind for token in tokenize('"a"')][:-1] == [Kind.STRING]
    tokens = tokenize('"a""b"', double_quoted_identifiers=True)
    assert tokens[0].kind is Kind.QUOTED
    assert name_value('"a""b"') == 'a"b'


def test_first_words_do_not_read_the_rest() -> None:
    assert first_words("-- c\n /* x */ use lake.db 'open") == ["USE", "LAKE"]
    assert first_words("'open") == ["", ""]


@given(st.text(min_size=1))
def test_a_quoted_name_reads_back(name: str) -> None:
    quoted = quote_name(name)
    (token, _) = tokenize(quoted)
    assert token.kind is Kind.QUOTED
    assert name_value(quoted) == name


@given(st.text(alphabet="ab.1'\"`-/*+\\ \n$(){}eLr_", max_size=40))
def test_tokens_cover_the_text_in_order_or_it_is_refused(sql: str) -> None:
    try:
        tokens = tokenize(sql)
    except InvalidInput:
        return
    position = 0
    for token in tokens:
        assert position <= token.start <= token.end
        position = token.end
    assert position <= len(sql)
