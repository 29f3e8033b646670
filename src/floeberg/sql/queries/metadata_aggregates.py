"""The SELECTs of a statement that ask for no more than metadata may know: count, min and max of a table's columns, by columns
that are a partition's.

Such a SELECT may run over fewer rows than the table has. For each group there is one with the least values and one with the
greatest, so that min and max are what they are over all rows; counts are sums of a column that says how many rows each
stands for. Columns outside of these functions must have one value in a whole file. The rest of the text stays: Spark filters,
groups and names the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from floeberg.sql.queries.join_keys import qualifiers
from floeberg.sql.queries.query_nodes import (
    Body,
    Expression,
    Join,
    OpaqueRelation,
    Pipe,
    Query,
    QueryRelation,
    Relation,
    Select,
    SetOperation,
    TableRelation,
)
from floeberg.sql.queries.references import References, Rewrite
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Kind, name_value, quote_name, words

_AGGREGATES: Final = words("COUNT MIN MAX")
_FUNCTIONS: Final = words(
    "COALESCE NVL IFNULL NULLIF ABS GREATEST LEAST CONCAT LOWER UPPER TRIM SUBSTR SUBSTRING LENGTH ROUND FLOOR CEIL "
    "DATE TO_DATE TO_TIMESTAMP DATE_ADD DATE_SUB DATEDIFF DATE_TRUNC YEAR MONTH DAY HOUR CURRENT_DATE CURRENT_TIMESTAMP "
    "DECIMAL"
)
"""Functions of single rows that give equal results for equal values."""
_BEFORE_PARENTHESIS: Final = words("CAST IN AND OR NOT WHEN THEN ELSE BETWEEN LIKE IS DISTINCT LIMIT BY")
"""What else may stand before a parenthesis, and is no function."""
_PUT_IN: Final = frozenset({"coalesce", "sum"})
"""Functions in the text that takes the place of a count."""
_WORDS: Final = words(
    "AND OR NOT IN IS NULL TRUE FALSE BETWEEN LIKE CASE WHEN THEN ELSE END AS ASC DESC NULLS FIRST LAST ALL DISTINCT FROM DIV "
    "DATE TIMESTAMP TIMESTAMP_NTZ TIMESTAMP_LTZ INTERVAL YEAR YEARS MONTH MONTHS WEEK WEEKS DAY DAYS HOUR HOURS MINUTE MINUTES "
    "SECOND SECONDS BOOLEAN TINYINT SMALLINT INT INTEGER BIGINT LONG FLOAT DOUBLE DECIMAL STRING BINARY CURRENT_DATE "
    "CURRENT_TIMESTAMP"
)
_SYMBOLS: Final = frozenset(
    ["(", ")", ",", "+", "-", "/", "%", "=", "==", "<>", "!=", "<", ">", "<=", ">=", "<=>", "||"]
)
ROWS: Final = "__floeberg_rows"
"""The column that says how many rows one stands for."""


def count_column(column: str) -> str:
    """The column that says how many values of a column one row stands for."""
    return f"__floeberg_count_{column}"


@dataclass(slots=True)
class AggregateQuery:
    """What a SELECT asks of its table, columns by name in lower case. With `rewrites` in its text it may be run over a summary
    of the table."""

    relation: TableRelation
    keys: set[str] = field(default_factory=set)
    counts: set[str] = field(default_factory=set)
    least: set[str] = field(default_factory=set)
    greatest: set[str] = field(default_factory=set)
    rewrites: list[Rewrite] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    """All functions that the SELECT calls, in lower case, which must be Spark's own."""

    @property
    def shown(self) -> str:
        """The functions as fb.explain shows them."""
        by = f" by {', '.join(sorted(self.keys))}" if self.keys else ""
        return (", ".join(dict.fromkeys(self.calls)) or "distinct values") + by


def metadata_aggregates(references: References, columns: Mapping[int, frozenset[str]]) -> list[AggregateQuery]:
    """The SELECTs over one table each that metadata may answer; `columns` are those of tables in lower case, by the identity
    of their relations."""
    if references.query is None:
        return []
    selects = {id(select): (select, tail) for select, tail in _all_selects(references, references.query)}.values()
    uses = Counter(id(relation) for select, _ in selects for relation in select.relations)
    found = []
    for select, tail in selects:
        relation = select.relations[0] if len(select.relations) == 1 else None
        if not isinstance(relation, TableRelation) or id(relation) not in columns or uses[id(relation)] > 1:
            continue
        if relation.sampled or relation.form != "relation" or (relation.alias is not None and relation.alias.columns):
            continue
        reader = _Reader(references, columns[id(relation)], AggregateQuery(relation))
        if reader.reads(select, tail):
            found.append(reader.query)
    return found


def _all_selects(references: References, query: Query) -> Iterator[tuple[Select, Sequence[Expression]]]:
    yield from _selects_of_query(query)
    for inner in references.walk.subqueries:
        yield from _selects_of_query(inner)
    for cte in references.walk.ctes:
        yield from _selects_of_query(cte.query)


def _selects_of_query(query: Query) -> Iterator[tuple[Select, Sequence[Expression]]]:
    yield from _selects(query.body, query.tail)


def _selects(body: Body, tail: Sequence[Expression]) -> Iterator[tuple[Select, Sequence[Expression]]]:
    if isinstance(body, Query):
        yield from _selects_of_query(body)
    elif isinstance(body, Select):
        yield body, tail
        for relation in body.relations:
            yield from _selects_of_relation(relation)
    elif isinstance(body, SetOperation):
        yield from _selects(body.left, ())
        yield from _selects(body.right, ())
    elif isinstance(body, Pipe):
        yield from _selects(body.source, ())
        for relation in body.relations:
            yield from _selects_of_relation(relation)
        for inner in body.queries:
            yield from _selects(inner, ())


def _selects_of_relation(relation: Relation) -> Iterator[tuple[Select, Sequence[Expression]]]:
    if isinstance(relation, QueryRelation):
        yield from _selects_of_query(relation.query)
    elif isinstance(relation, Join):
        yield from _selects_of_relation(relation.left)
        yield from _selects_of_relation(relation.right)
    elif isinstance(relation, OpaqueRelation):
        for inner in relation.relations:
            yield from _selects_of_relation(inner)


@dataclass(slots=True)
class _Reader:
    """Reads the expressions of one SELECT; what is not known to be harmless ends it."""

    references: References
    columns: frozenset[str]
    query: AggregateQuery
    aliases: set[str] = field(default_factory=set)

    @property
    def cursor(self) -> Cursor:
        return self.references.cursor

    def reads(self, select: Select, tail: Sequence[Expression]) -> bool:
        """Whether all of the SELECT is understood; `query` then says what it asks."""
        if not select.items or select.others or select.lateral_views or select.windowed:
            return False
        parts = [*select.items, select.where, select.group_by, select.having, *tail]
        if any(part is not None and part.subqueries for part in parts):
            return False
        if not all(self._item(item) for item in select.items):
            return False
        if not self._all(select.having, aggregates=True) or not self._all(select.where, aggregates=False):
            return False
        is_grouped = bool(self.query.calls or select.distinct or select.group_by)
        return (
            is_grouped
            and self._all(select.group_by, aggregates=False)
            and all(self._all(part, aggregates=True) for part in tail)
        )

    def _all(self, part: Expression | None, *, aggregates: bool) -> bool:
        return part is None or self._range(part.first, part.last, aggregates=aggregates)

    def _item(self, item: Expression) -> bool:
        """An item of the SELECT list. Without alias, a count must be all of it: its name is known then."""
        tokens = self.cursor.tokens
        last, has_alias = item.last, False
        if last - item.first > 1 and tokens[last - 1].is_name:
            before, is_word = tokens[last - 2], tokens[last - 1].upper in _WORDS
            has_as = before.upper == "AS"
            is_column = before.is_name and before.upper not in _WORDS and last - item.first == 2
            if has_as or (not is_word and (before.upper == ")" or is_column)):
                self.aliases.add(name_value(self.cursor.text(tokens[last - 1])).lower())
                last, has_alias = last - (2 if has_as else 1), True
        known = len(self.query.rewrites)
        if not self._range(item.first, last, aggregates=True):
            return False
        counts = self.query.rewrites[known:]
        if not counts or has_alias:
            return True
        whole = len(counts) == 1 and (counts[0].start, counts[0].end) == (
            tokens[item.first].start,
            tokens[last - 1].end,
        )
        if whole:
            name = quote_name(self.query.calls[-1])
            self.query.rewrites[-1] = Rewrite(counts[0].start, counts[0].end, f"{counts[0].text} AS {name}")
        return whole

    def _range(self, first: int, last: int, *, aggregates: bool) -> bool:
        tokens = self.cursor.tokens
        index = first
        while index < last:
            token = tokens[index]
            if token.is_name:
                after = self._call(index, last) if aggregates and self._at_aggregate(index, last) else None
                after = after or self._name(index, last)
                if after is None:
                    return False
                index = after
                continue
            if self._is_parameter(index, first, last):
                index += 2
                continue
            is_product = token.upper == "*" and index > first and tokens[index - 1].upper not in ("", ".", ",", "(")
            if token.kind not in (Kind.STRING, Kind.NUMBER) and token.upper not in _SYMBOLS and not is_product:
                return False
            index += 1
        return True

    def _is_parameter(self, index: int, first: int, last: int) -> bool:
        """Whether `:name` stands here, and not a path into a variant."""
        tokens = self.cursor.tokens
        if tokens[index].upper != ":" or index + 1 == last or tokens[index + 1].kind is not Kind.WORD:
            return False
        before = tokens[index - 1]
        return index == first or before.upper in _WORDS or not (before.is_name or before.upper in (")", "]"))

    def _at_aggregate(self, index: int, last: int) -> bool:
        tokens = self.cursor.tokens
        return tokens[index].upper in _AGGREGATES and index + 1 < last and tokens[index + 1].upper == "("

    def _call(self, index: int, last: int) -> int | None:
        """A call of count, min or max; the place after it, or None."""
        tokens, query = self.cursor.tokens, self.query
        function = tokens[index].upper
        query.functions.add(function.lower())
        if function == "COUNT":
            query.functions |= _PUT_IN
        inside = index + 2
        end = next((i for i in range(inside, last) if tokens[i].upper == ")"), last)
        if end == last or (
            end + 1 < len(tokens) and tokens[end + 1].upper in ("OVER", "FILTER", "WITHIN", "IGNORE", "RESPECT")
        ):
            return None
        start, stop = tokens[index].start, tokens[end].end
        if function == "COUNT" and end == inside + 1 and self.cursor.text(tokens[inside]) in ("*", "1"):
            query.calls.append("count(1)")
            query.rewrites.append(Rewrite(start, stop, f"coalesce(sum({quote_name(ROWS)}), 0L)"))
            return end + 1
        found = self._column(inside, end)
        if found is None or found[1] != end:
            return None
        column = found[0].lower()
        query.calls.append(f"{function.lower()}({found[0]})")
        if function == "COUNT":
            if any(start <= use.start < stop for use in self.references.qualifiers):
                return None
            query.counts.add(column)
            query.rewrites.append(Rewrite(start, stop, f"coalesce(sum({quote_name(count_column(column))}), 0L)"))
        else:
            (query.least if function == "MIN" else query.greatest).add(column)
        return end + 1

    def _column(self, index: int, last: int) -> tuple[str, int] | None:
        """The table's own column whose name starts here, as it is written, and the place after it."""
        tokens = self.cursor.tokens
        if tokens[index].is_constant:
            return None
        parts: list[str] = []
        while index < last and tokens[index].is_name:
            parts.append(name_value(self.cursor.text(tokens[index])))
            index += 1
            if index >= last or tokens[index].upper != ".":
                break
            index += 1
        if index < last and tokens[index].upper == "(":
            return None  # a function of another namespace
        relation = self.query.relation
        alias = relation.alias.name if relation.alias else None
        lowered = tuple(part.lower() for part in parts)
        is_own = len(parts) == 1 or lowered[:-1] in qualifiers(relation.name.parts, alias)
        return (parts[-1], index) if is_own and lowered and lowered[-1] in self.columns else None

    def _name(self, index: int, last: int) -> int | None:
        """A name that is no aggregate: a column, a keyword, a harmless function or an alias; the place after it, or None."""
        tokens = self.cursor.tokens
        token = tokens[index]
        if index + 1 < last and tokens[index + 1].upper == "(":
            if token.kind is not Kind.WORD:
                return None
            if token.upper in _FUNCTIONS:
                self.query.functions.add(token.upper.lower())
                return index + 1
            return index + 1 if token.upper in _BEFORE_PARENTHESIS else None
        found = self._column(index, last)
        if found is not None:
            self.query.keys.add(found[0].lower())
            return found[1]
        if index + 1 < last and tokens[index + 1].upper == ".":
            return None
        is_alias = name_value(self.cursor.text(token)).lower() in self.aliases
        return index + 1 if is_alias or (token.kind is Kind.WORD and token.upper in _WORDS) else None
