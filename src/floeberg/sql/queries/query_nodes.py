"""The skeleton of a query: which tables it reads, in which scopes, under which conditions.

Expressions stay what they are in the text, a range of tokens; only the queries inside them are looked into.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from floeberg.sql.text.names import Name


@dataclass(slots=True)
class Expression:
    """Tokens `first` up to but without `last`, and the queries that stand inside."""

    first: int
    last: int
    subqueries: list[Query] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """`VERSION AS OF` or `TIMESTAMP AS OF`: the kind and the text of the expression."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Alias:
    """The alias of a relation; with a column list it renames the columns."""

    name: str
    columns: tuple[str, ...] = ()


@dataclass(slots=True)
class TableRelation:
    """A table by name. `start` to `end` covers name, time travel and options; an alias may go in at `alias_at`.

    `form` is relation, or table_query (TABLE t, the word included), or argument (TABLE t given to a function), or
    target.
    """

    name: Name
    start: int
    end: int
    alias_at: int
    alias: Alias | None = None
    time_travel: TimeTravel | None = None
    options: tuple[tuple[str, str], ...] = ()
    sampled: bool = False
    form: str = "relation"


@dataclass(slots=True)
class QueryRelation:
    """`(query) alias`, or a parenthesised relation that is a query."""

    query: Query
    alias: Alias | None = None
    sampled: bool = False
    lateral: bool = False


@dataclass(slots=True)
class OpaqueRelation:
    """A relation whose columns we do not follow: a function, VALUES, PIVOT, a placeholder."""

    alias: Alias | None = None
    expressions: list[Expression] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)


@dataclass(slots=True)
class Join:
    """`kind` is inner, cross, left, right, full, semi or anti."""

    left: Relation
    right: Relation
    kind: str
    on: Expression | None = None
    using: tuple[str, ...] = ()
    natural: bool = False
    lateral: bool = False
    nearest: bool = False
    """Whether `on` ranks the rows of the right side instead of being a condition."""
    comma: bool = False
    """Whether a comma makes it, and is taken to come before the joins after it."""


Relation: TypeAlias = TableRelation | QueryRelation | OpaqueRelation | Join


@dataclass(slots=True)
class Select:
    """One SELECT with its FROM. `others` are the expressions of the clauses that no conjunct comes from."""

    items: list[Expression] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    where: Expression | None = None
    group_by: Expression | None = None
    having: Expression | None = None
    others: list[Expression] = field(default_factory=list)
    distinct: bool = False
    lateral_views: bool = False
    windowed: bool = False


@dataclass(slots=True)
class SetOperation:
    """UNION, EXCEPT or INTERSECT; SHARED for several SELECTs of one FROM."""

    left: Body
    right: Body
    kind: str
    by_name: bool = False


@dataclass(slots=True)
class Pipe:
    """A body with `|>` steps; the steps are expressions, relations and queries in the body's scope."""

    source: Body
    steps: list[Expression] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    queries: list[Body] = field(default_factory=list)


@dataclass(slots=True)
class Values:
    """VALUES rows, which may hold subqueries."""

    rows: Expression


Body: TypeAlias = "Select | SetOperation | Pipe | Values | TableRelation | Query"


@dataclass(slots=True)
class Cte:
    """A named query of a WITH clause."""

    name: str
    columns: tuple[str, ...]
    query: Query


@dataclass(slots=True)
class Query:
    """A whole query: WITH, body, and what comes after (ORDER BY …); tokens `first` up to but without
    `last`. `limited` when LIMIT or OFFSET is there."""

    ctes: list[Cte]
    body: Body
    first: int = 0
    last: int = 0
    recursive: bool = False
    tail: list[Expression] = field(default_factory=list)
    limited: bool = False
