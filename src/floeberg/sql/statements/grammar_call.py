"""CALL: https://iceberg.apache.org/docs/latest/spark-procedures/#usage"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.sql.queries.query_parser import QueryParser
from floeberg.sql.statements.call_statement import Argument, Call, ExpressionText, TemporalText
from floeberg.sql.statements.grammar import Grammar
from floeberg.sql.statements.statements import Statement
from floeberg.sql.text.lexer import Kind
from floeberg.sql.text.numbers import number_value

_TEMPORAL: Final = ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "DATE")
_CASTS: Final = {"STRING": str, "INT": int, "INTEGER": int, "BIGINT": int, "LONG": int}


class CallGrammar(Grammar):
    """CALL; the cursor is past the word."""

    def call(self) -> Statement:
        cursor = self.cursor
        procedure = self.table("a procedure's name")
        cursor.expect("(", hint="CALL catalog.system.procedure(table => 'db.t', …)")
        arguments: list[Argument] = []
        if not cursor.accept(")"):
            arguments.append(self._argument())
            while cursor.accept(","):
                arguments.append(self._argument())
            cursor.expect(")", hint="arguments are values or name => value, with commas between them")
        cursor.expect_end()
        self._check(arguments)
        return Call(procedure, tuple(arguments))

    def _check(self, arguments: list[Argument]) -> None:
        named: set[str] = set()
        for argument in arguments:
            if argument.name is None:
                if named:
                    raise self.cursor.error("a positional argument stands after a named one", hint="name them all")
            elif argument.name in named:
                raise self.cursor.error(f"argument {argument.name!r} is given twice")
            else:
                named.add(argument.name)

    def _argument(self) -> Argument:
        cursor = self.cursor
        name = None
        if cursor.token.is_name and cursor.peek().upper == "=>":
            name = cursor.name().lower()
            cursor.advance()
        first = cursor.index
        with suppress(InvalidInput):  # what is no literal is evaluated by Spark
            value = self._value()
            if cursor.at_any(",", ")"):
                return Argument(name, value)
        cursor.index = first
        QueryParser(cursor).expression()
        if cursor.index == first:
            raise cursor.error("expected an argument")
        return Argument(name, ExpressionText(self.span_until(first)))

    def _value(self) -> object:
        """A literal, map(…), array(…), a cast of a literal, or a parameter. Raises InvalidInput for anything else."""
        cursor = self.cursor
        upper = cursor.token.upper
        if cursor.at_kind(Kind.STRING):
            return "".join(cursor.strings())
        if cursor.at_kind(Kind.NUMBER) or upper in ("-", "+"):
            return self._number()
        if upper in ("TRUE", "FALSE", "NULL"):
            cursor.advance()
            return {"TRUE": True, "FALSE": False, "NULL": None}[upper]
        if upper in _TEMPORAL and cursor.peek().kind is Kind.STRING:
            cursor.advance()
            return TemporalText(upper.lower(), "".join(cursor.strings()))
        if upper in (":", "?"):
            return self._parameter()
        if cursor.peek().upper == "(":
            return self._function(upper)
        raise cursor.error("expected a literal")

    def _parameter(self) -> object:
        first = self.cursor.index
        value = self.cursor.parameter()
        return ExpressionText(self.span_until(first)) if value is None else value

    def _number(self) -> int | float | Decimal:
        cursor = self.cursor
        sign = -1 if cursor.accept_any("-", "+") == "-" else 1
        if not cursor.at_kind(Kind.NUMBER):
            raise cursor.error("expected a number")
        return sign * number_value(cursor.text(cursor.advance())).value

    def _function(self, upper: str) -> object:
        cursor = self.cursor
        if upper in ("MAP", "ARRAY"):
            cursor.index += 2
            values = self._values()
            if upper == "ARRAY":
                return values
            if len(values) % 2:
                raise cursor.error("map(…) takes keys and values in pairs")
            return dict(zip(map(_key, values[::2]), values[1::2], strict=True))
        if upper == "CAST":
            return self._cast()
        raise cursor.error("expected a literal")

    def _values(self) -> list[object]:
        if self.cursor.accept(")"):
            return []
        values = [self._value()]
        while self.cursor.accept(","):
            values.append(self._value())
        self.cursor.expect(")")
        return values

    def _cast(self) -> object:
        """CAST('…' AS TIMESTAMP), and of a literal to its own kind of type."""
        cursor = self.cursor
        cursor.expect("CAST", "(")
        value = self._value()
        cursor.expect("AS")
        word = cursor.name("a type").upper()
        cursor.expect(")")
        if isinstance(value, str) and word in _TEMPORAL:
            return TemporalText(word.lower(), value)
        if word in _CASTS and type(value) is _CASTS[word]:
            return value
        raise cursor.error("expected a literal")


def _key(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"map keys are strings, not {value!r}")
    return value
