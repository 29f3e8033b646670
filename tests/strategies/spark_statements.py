"""Random histories of views, CTEs, parameters and USE, as statements for our tables and for Spark's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

VIEWS = ("@v1", "@v2", "@v3")
CTES = ("t", "u", "c", *VIEWS)


@dataclass(frozen=True)
class Step:
    """A statement; `@` begins the names of temporary views, `#a` and `#b` stand for namespaces. With `reads` its rows and
    columns count."""

    text: str
    args: list[object] | dict[str, object] | None = None
    reads: bool = False


class Queries:
    """Queries with the columns `a` and `b`, and the parameters that they take."""

    def __init__(self, random: Random, parameters: str) -> None:
        self._random = random
        self._parameters = parameters
        self._ctes: list[str] = []
        self.positional: list[object] = []
        self.named: dict[str, object] = {}

    @property
    def args(self) -> list[object] | dict[str, object] | None:
        return {"?": self.positional, ":": self.named}.get(self._parameters) or None

    def relation(self) -> str:
        random = self._random
        known = ("#a.t", "#b.t", "#a.u", "t", "u", "t", *VIEWS, "global_temp.@g", "#a.pv")
        name = random.choice(self._ctes if self._ctes and random.random() < 0.4 else known)
        if self._parameters == "?" and random.random() < 0.2:
            self.positional.append(name)
            return "IDENTIFIER(?)"
        if self._parameters == ":" and random.random() < 0.2:
            return f"IDENTIFIER({self._mark(name)})"
        return name

    def _mark(self, value: object) -> str:
        if self._parameters == "?":
            self.positional.append(value)
            return "?"
        if self._parameters == ":":
            self.named[f"p{len(self.named)}"] = value
            return f":p{len(self.named) - 1}"
        return repr(value)

    def condition(self, column: str) -> str:
        return f"{column} {self._random.choice(('>', '<', '<>', '>='))} {self._mark(self._random.randrange(5))}"

    def query(self, depth: int = 2) -> str:
        random = self._random
        kinds = (
            ("plain", "where", "join", "in") if depth == 0 else ("plain", "join", "with", "with", "in", "sub", "union")
        )
        kind = random.choice(kinds)
        if kind == "plain":
            return f"SELECT a, b FROM {self.relation()}"
        if kind == "where":
            return f"SELECT a, b FROM {self.relation()} WHERE {self.condition('a')}"
        if kind == "join":
            left, right = self.relation(), self.relation()
            return f"SELECT x.a, y.b FROM {left} x JOIN {right} AS y ON x.a = y.a AND {self.condition('y.a')}"
        if kind == "in":
            outer, inner = self.relation(), self.relation()
            return f"SELECT a, b FROM {outer} WHERE a IN (SELECT a FROM {inner} WHERE {self.condition('a')})"
        if kind == "with":
            inner, name = self.query(depth - 1), random.choice(CTES)
            self._ctes.append(name)
            outer = self.query(depth - 1)
            self._ctes.pop()
            return f"WITH {name} AS ({inner}) {outer}"
        if kind == "sub":
            return f"SELECT a, b FROM ({self.query(depth - 1)}) AS q WHERE {self.condition('q.a')}"
        return f"({self.query(depth - 1)}) UNION ALL ({self.query(depth - 1)})"


def history(seed: int, length: int) -> Iterator[Step]:
    """Statements that make, replace, rename and drop views, change the tables, move about, and read."""
    random = Random(seed)
    yield Step("USE #a")
    for name in VIEWS:
        yield Step(f"CREATE OR REPLACE TEMP VIEW {name} AS {Queries(random, '').query(1)}")
    yield Step("CREATE OR REPLACE GLOBAL TEMP VIEW @g AS SELECT * FROM #b.t")
    yield Step("CREATE OR REPLACE VIEW #a.pv AS SELECT a, b FROM t")
    for number in range(length):
        yield from _change(random, number)
        queries = Queries(random, random.choice(("", "?", ":")))
        text = queries.query() if random.random() < 0.8 else f"SELECT * FROM {queries.relation()}"
        yield Step(text, queries.args, reads=True)


def _change(random: Random, number: int) -> Iterator[Step]:
    query = Queries(random, "").query(1)
    view = random.choice(VIEWS)
    star = f"SELECT * FROM {random.choice(('t', '#b.t', '#a.u', *VIEWS))}"
    yield Step(
        random.choice(
            (
                f"CREATE OR REPLACE TEMP VIEW {view} AS {query}",
                f"CREATE OR REPLACE TEMP VIEW {view} (a, b) AS {query}",
                f"CREATE OR REPLACE TEMP VIEW {view} AS {star}",
                f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {number} AS a, 'constant' AS b",
                f"ALTER VIEW {view} AS {query}",
                f"ALTER VIEW {view} RENAME TO {random.choice(VIEWS)}",
                f"DROP VIEW IF EXISTS {view}",
                f"CREATE OR REPLACE GLOBAL TEMP VIEW @g AS {query}",
                f"CREATE OR REPLACE VIEW #a.pv AS {query}",
                f"CREATE OR REPLACE VIEW #a.pv AS SELECT * FROM {random.choice(('t', '#b.t'))}",
                "USE #a",
                "USE #b",
                f"INSERT INTO #a.t (a, b) VALUES ({random.randrange(5)}, 'new {number}')",
                f"INSERT INTO #b.t (a, b) VALUES ({random.randrange(5)}, 'other {number}')",
                f"ALTER TABLE #{random.choice('ab')}.t ADD COLUMNS (more{number} INT)",
            )
        )
    )
