"""What the grammars share: which names are ours, and the clauses that several statements have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.partitions.sort_orders import SortTerm, parse_sort_term
from floeberg.spec.partitions.terms import PartitionTerm, parse_partition_term
from floeberg.sql.queries.references import References, find_references
from floeberg.sql.statements.statements import ColumnDefinition, ColumnPosition, Pairs
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, Span, line_and_column, string_value
from floeberg.sql.text.names import Name, Names

T = TypeVar("T")

_UNTIL_NEXT_CLAUSE: Final = frozenset({",", ")", ";", "COMMENT", "FIRST", "AFTER", "GENERATED"})


class NotOurs(Exception):
    """The statement is about something of Spark's; control flow inside this package."""


class Grammar:
    """A reader of statements over one cursor, for one session's names."""

    def __init__(self, cursor: Cursor, names: Names) -> None:
        self.cursor = cursor
        self.names = names

    # Names

    def table(self, what: str = "a table's name") -> Name:
        """A table's name that must be ours. Raises NotOurs."""
        name = self.cursor.multipart(what)
        if self.names.table(name.parts) is None:
            raise NotOurs
        self.cursor.owned = True
        return name

    def namespace(self) -> Name:
        """A namespace's name that must be ours. Raises NotOurs."""
        name = self.cursor.multipart("a namespace's name")
        if self.names.namespace(name.parts) is None:
            raise NotOurs
        self.cursor.owned = True
        return name

    def current_namespace(self) -> None:
        """Raises NotOurs when the session's current namespace is Spark's."""
        if self.names.namespace(()) is None:
            raise NotOurs
        self.cursor.owned = True

    # Existence

    def if_exists(self) -> bool:
        return self.cursor.accept("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        return self.cursor.accept("IF", "NOT", "EXISTS")

    # Literals

    def string(self, what: str) -> str:
        token = self.cursor.token
        if token.upper in (":", "?"):
            value = self.cursor.parameter()
            if isinstance(value, str):
                return value
        elif token.kind is Kind.STRING:
            return "".join(self.cursor.strings())
        raise self.cursor.error(f"expected {what} as a string", hint="write it in single quotes", token=token)

    def string_or_null(self, what: str) -> str | None:
        return None if self.cursor.accept("NULL") else self.string(what)

    def whole_number(self, what: str) -> int:
        token = self.cursor.token
        text = self.cursor.text(token).rstrip("lL")
        if token.kind is not Kind.NUMBER or not text.isdigit() or len(text) > 19:
            raise self.cursor.error(f"expected {what} as a whole number")
        self.cursor.advance()
        return int(text)

    # Lists

    def paths(self) -> tuple[tuple[str, ...], ...]:
        """`a, b.c`, with parentheses around if they are there."""
        parenthesis = self.cursor.accept("(")
        found = [self.cursor.multipart("a column's name").parts]
        while self.cursor.accept(","):
            found.append(self.cursor.multipart("a column's name").parts)
        if parenthesis:
            self.cursor.expect(")")
        return tuple(found)

    def properties(self) -> Pairs:
        """`('key' = 'value', key.b 5)`."""
        self.cursor.expect("(", hint="properties are written ('key' = 'value', …)")
        found: list[tuple[str, str]] = []
        while True:
            key = self.property_key()
            self.cursor.accept_any("=", "==")
            found.append((key, self._property_value(key)))
            if not self.cursor.accept(","):
                break
        self.cursor.expect(")", hint="properties are written ('key' = 'value', …)")
        return tuple(found)

    def property_keys(self) -> tuple[str, ...]:
        self.cursor.expect("(")
        found = [self.property_key()]
        while self.cursor.accept(","):
            found.append(self.property_key())
        self.cursor.expect(")")
        return tuple(found)

    def property_key(self) -> str:
        if self.cursor.at_kind(Kind.STRING):  # one literal: in `'key' 'value'` the next one is the value
            return string_value(self.cursor.text(self.cursor.advance()))
        return ".".join(self._loose_key())

    def _loose_key(self) -> list[str]:
        """`write.format.default` or `write.parquet.page-row-limit`: names joined by dots and dashes."""
        cursor = self.cursor
        parts = [cursor.name("a property's key")]
        while cursor.accept("."):
            part = cursor.name("a part of the property's key")
            while cursor.at("-") and cursor.peek().is_name:
                cursor.advance()
                part += "-" + cursor.name()
            parts.append(part)
        return parts

    def _property_value(self, key: str) -> str:
        cursor = self.cursor
        if cursor.at_kind(Kind.STRING) or cursor.at_any(":", "?"):
            return self.string(f"the value of property {key!r}")
        sign = "-" if cursor.accept("-") else ""
        if cursor.at_kind(Kind.NUMBER):
            return sign + cursor.text(cursor.advance())
        if not sign and cursor.at_any("TRUE", "FALSE"):
            return cursor.advance().upper.lower()
        raise cursor.error(f"expected a value for property {key!r}", hint="a string, a number, true or false")

    # Spans

    def span_until(self, first: int) -> Span:
        """From the token at that index to the last token read."""
        return Span(self.cursor.tokens[first].start, self.cursor.last_end)

    def rest(self, what: str) -> Span:
        """All that is left, without a closing semicolon."""
        cursor = self.cursor
        if cursor.at_end():
            raise cursor.error(f"expected {what}")
        start = cursor.start
        while not cursor.at_end():
            cursor.advance()
        return Span(start, cursor.last_end)

    def references(self, span: Span) -> References:
        return find_references(
            self.cursor.sql, self.names, cursor=self.cursor, args=self.cursor.args, span=(span.start, span.end)
        )

    # Columns

    def column_definitions(self, *, nested: bool = False) -> tuple[ColumnDefinition, ...]:
        """Definitions between commas, without the parentheses."""
        found = [self.column_definition(nested=nested)]
        while self.cursor.accept(","):
            found.append(self.column_definition(nested=nested))
        return tuple(found)

    def column_definition(self, *, nested: bool = False) -> ColumnDefinition:
        """`name TYPE [NOT NULL] [DEFAULT value] [COMMENT 'text'] [FIRST | AFTER sibling]`."""
        cursor = self.cursor
        self._refuse_constraint()
        path = cursor.multipart("a column's name").parts if nested else (cursor.name("a column's name"),)
        cursor.accept(":")
        type_span = self.type_span()
        required, comment, default, position = False, None, None, None
        while True:
            if cursor.accept("NOT", "NULL"):
                required = True
            elif cursor.accept("COMMENT"):
                comment = self.string("a comment")
            elif cursor.accept("DEFAULT"):
                default = self.default_value()
            elif nested and cursor.at_any("FIRST", "AFTER"):
                position = self.column_position()
            elif cursor.at_any("GENERATED", "PRIMARY", "CHECK", "UNIQUE", "REFERENCES", "CONSTRAINT"):
                raise self.unsupported(f"{cursor.token.upper} columns", "leave the clause out")
            else:
                break
        text = type_span.of(cursor.sql)
        return ColumnDefinition(path, text, type_span, required, comment, default, position)

    def _refuse_constraint(self) -> None:
        cursor = self.cursor
        named = cursor.at("CONSTRAINT") and cursor.peek(2).upper in ("PRIMARY", "CHECK", "UNIQUE", "FOREIGN")
        if named or cursor.at("CHECK", "(") or cursor.at("PRIMARY", "KEY") or cursor.at("FOREIGN", "KEY"):
            raise self.unsupported("table constraints", "leave them out; identifier fields: SET IDENTIFIER FIELDS")

    def column_position(self) -> ColumnPosition | None:
        if self.cursor.accept("FIRST"):
            return ColumnPosition()
        if self.cursor.accept("AFTER"):
            return ColumnPosition(self.cursor.name("a column's name"))
        return None

    def default_value(self) -> Span:
        """The value of DEFAULT, up to the next clause of the column."""
        cursor = self.cursor
        first = cursor.index
        while not cursor.at_end():
            upper = cursor.token.upper
            if upper in _UNTIL_NEXT_CLAUSE or (cursor.at("NOT", "NULL") and cursor.index > first):
                break
            if upper == "(":
                cursor.skip_parentheses()
            else:
                cursor.advance()
        if cursor.index == first:
            raise cursor.error("expected a value after DEFAULT")
        return self.span_until(first)

    def type_span(self) -> Span:
        """The text of a type; `sql.ddl.types` parses it."""
        cursor = self.cursor
        first = cursor.index
        word = cursor.name("a type").upper()
        if word in ("TIMESTAMP", "TIME") and cursor.at_any("WITH", "WITHOUT"):
            while not cursor.accept("ZONE"):
                if cursor.at_end():
                    raise cursor.error("expected TIME ZONE")
                cursor.advance()
        if cursor.at("("):
            cursor.skip_parentheses()
        elif not cursor.accept("<>") and cursor.at("<"):
            self._angle_brackets()
        if cursor.accept("COLLATE"):
            cursor.name("a collation")
        return self.span_until(first)

    def _angle_brackets(self) -> None:
        cursor = self.cursor
        opening = cursor.token
        depth = 0
        while True:
            if cursor.at("<"):
                depth += 1
            elif cursor.at(">"):
                depth -= 1
            elif cursor.at_kind(Kind.END):
                raise cursor.error("a type's < is not closed", token=opening)
            cursor.advance()
            if depth == 0:
                return

    # Transforms

    def partition_term(self) -> PartitionTerm:
        """`col`, `a.b`, `day(ts)` or `bucket(16, id)`."""
        first = self.cursor.index
        self._term_tokens()
        return self._parsed(first, parse_partition_term)

    def _term_tokens(self) -> None:
        self.cursor.multipart("a column or a transform such as day(ts)")
        if self.cursor.at("("):
            self.cursor.skip_parentheses()

    def sort_terms(self) -> tuple[SortTerm, ...]:
        """`a, day(b) DESC NULLS LAST`, with parentheses around if they are there."""
        parenthesis = self.cursor.accept("(")
        found = [self._sort_term()]
        while self.cursor.accept(","):
            found.append(self._sort_term())
        if parenthesis:
            self.cursor.expect(")")
        return tuple(found)

    def _sort_term(self) -> SortTerm:
        first = self.cursor.index
        self._term_tokens()
        self.cursor.accept_any("ASC", "DESC")
        if self.cursor.accept("NULLS"):
            self.cursor.expect_any("FIRST", "LAST")
        return self._parsed(first, parse_sort_term)

    def _parsed(self, first: int, parse: Callable[[str], T]) -> T:
        """What `parse` makes of the tokens since `first`, comments left out; its errors get the place."""
        cursor = self.cursor
        text = " ".join(cursor.text(token) for token in cursor.tokens[first : cursor.index]).replace(" . ", ".")
        try:
            return parse(text)
        except InvalidInput as wrong:
            where = line_and_column(cursor.sql, cursor.tokens[first].start)
            raise InvalidInput(
                f"SQL: {wrong} ({where})", position=cursor.tokens[first].start, text=cursor.sql
            ) from wrong

    # Refusals

    def unsupported(self, what: str, way_out: str) -> UnsupportedFeature:
        where = line_and_column(self.cursor.sql, self.cursor.start)
        return UnsupportedFeature(
            f"SQL: {what} are not supported ({where}); {way_out}", position=self.cursor.start, text=self.cursor.sql
        )
