"""Random queries over a fact `f(k, g, v)` and two dimensions `d(dk, x, s)` and `e(ek, y, k)`: joins of every kind, subqueries,
common table expressions and unions, some of which may leave out rows of one side and some of which may not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

Literal = Callable[[str, int], str]
"""The literal of a number in the type of a table's key columns."""


CONDITIONS: Final = {
    "f": ["v = 1", "v > 1", "v IS NULL", "v IS NOT NULL", "v IN (0, 2)", "coalesce(v, 1) = 1", "v <=> 1"],
    "d": ["x = 1", "x > 1", "x IS NULL", "x IS NOT NULL", "x IN (0, 2)", "coalesce(x, 1) = 1", "x <=> 1"],
    "e": ["y = 1", "y > 1", "y IS NULL", "y IS NOT NULL", "y IN (0, 2)", "coalesce(y, 1) = 1", "y <=> 1"],
}
SHAPES: Final = {
    "d": [
        "{t}", "(SELECT * FROM {t})", "(SELECT dk, x, s FROM {t} WHERE {c})", "(SELECT DISTINCT dk, x, s FROM {t})",
        "(SELECT * FROM {t} ORDER BY ALL LIMIT 4)", "(SELECT dk, max(x) AS x, s FROM {t} GROUP BY dk, s)",
        "(SELECT s AS dk, x, dk AS s FROM {t})", "(SELECT coalesce(dk, {one}) AS dk, x, s FROM {t})",
        "(SELECT dk, row_number() OVER (ORDER BY dk, x, s) AS x, s FROM {t})",
        "(SELECT * FROM {t} WHERE {c} UNION ALL SELECT {one}, 1, {two})",
        "(SELECT max(dk) AS dk, x, s FROM {t} GROUP BY x, s)", "(SELECT dk, x, s FROM {t} GROUP BY ROLLUP (dk, x, s))",
        "(SELECT dk, x, s FROM {t} WHERE {c} UNION SELECT s, x, dk FROM {t})",
    ],
    "f": [
        "{t}", "(SELECT * FROM {t})", "(SELECT k, g, v FROM {t} WHERE {c})", "(SELECT DISTINCT k, g, v FROM {t})",
        "(SELECT * FROM {t} ORDER BY ALL LIMIT 9)", "(SELECT k, max(v) AS v, g FROM {t} GROUP BY k, g)",
        "(SELECT g AS k, v, k AS g FROM {t})", "(SELECT k, g, count(*) OVER (PARTITION BY g) AS v FROM {t})",
        "(SELECT * FROM {t} WHERE {c} UNION ALL SELECT {one}, {two}, 2)",
        "(SELECT max(k) AS k, g, v FROM {t} GROUP BY g, v HAVING count(*) < 3)",
        "(SELECT k, g, v FROM {t} WHERE {c} UNION ALL SELECT g, k, v FROM {t})",
        "(SELECT k, g, v FROM {t} UNION ALL (SELECT g AS x, k, v FROM {t} WHERE {c}) UNION ALL SELECT k, g, v FROM {t})",
    ],
}  # fmt: skip
KINDS: Final = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"]


def random_query(chance: random.Random, literal: Literal) -> tuple[str, str]:
    """A query of a star or a snowflake, and the kind of its joins."""

    def relation(name: str) -> str:
        shape = chance.choice(SHAPES.get(name, ["{t}"])) if chance.random() < 0.5 else "{t}"
        condition = chance.choice(CONDITIONS[name])
        return shape.format(t=f"lake.db.{name}", c=condition, one=literal(name, 3), two=literal(name, 1))

    def conditions(names: Sequence[str], most: int) -> list[str]:
        found = [chance.choice(CONDITIONS[name]) for name in names for _ in range(chance.randrange(2))][:most]
        if len(found) > 1 and chance.random() < 0.2:
            found = [f"({found[0]} OR {found[1]})", *found[2:]]
        return found

    def joined(parts: Sequence[str]) -> str:
        return " AND ".join(parts) or "true"

    form = chance.choice(["join", "join", "join", "comma", "in", "exists", "snow", "cte", "union"])
    if form == "in":
        inner = joined(conditions(["d"], 2))
        negated = chance.choice(["", "", "NOT "])
        limit = chance.choice(["", "", " ORDER BY ALL LIMIT 2"])
        query = f"SELECT * FROM {relation('f')} f WHERE f.k {negated}IN (SELECT dk FROM lake.db.d WHERE {inner}{limit})"
        return query, f"{negated}in"
    if form == "exists":
        inner = joined([chance.choice(["dk = f.k", "f.k = d.dk", "dk = k"]), *conditions(["d"], 2)])
        negated = chance.choice(["", "", "NOT "])
        item = chance.choice(["1", "*", "dk", "count(*)"])
        query = f"SELECT * FROM {relation('f')} f WHERE {negated}EXISTS (SELECT {item} FROM lake.db.d WHERE {inner})"
        return query, f"{negated}exists"
    if form == "comma":
        where = joined(["k = dk", *conditions(["f", "d"], 2)])
        return f"SELECT * FROM {relation('f')} f, {relation('d')} d WHERE {where}", "comma"
    kind, other = chance.choice(KINDS), chance.choice(KINDS[:5])
    on = joined([chance.choice(["f.k = d.dk", "k = dk", "f.g = d.dk"]), *conditions(["f", "d"], 1)])
    seen = ["f"] if kind in ("SEMI JOIN", "ANTI JOIN") else ["f", "d"]
    if form == "snow":
        second = "d.s = e.ek" if kind not in ("SEMI JOIN", "ANTI JOIN") else chance.choice(["f.g = e.ek", "f.v = e.y"])
        where = joined(conditions([*seen, "e"], 3))
        query = (
            f"SELECT * FROM {relation('f')} f {kind} {relation('d')} d ON f.k = d.dk {other} lake.db.e ON {second} "
            f"WHERE {where}"
        )
        return query, f"{kind} {other}"
    where = joined(conditions(seen, 2))
    body = f"FROM {{f}} f {kind} {relation('d')} d ON {on} WHERE {where}"
    if form == "cte":
        again = chance.choice(
            ["", " UNION ALL SELECT k FROM c", f" UNION ALL SELECT k FROM c WHERE {joined(conditions(['f'], 1))}"]
        )
        return f"WITH c AS (SELECT * FROM {relation('f')} q) SELECT f.k {body.format(f='c')}{again}", f"cte {kind}"
    if form == "union":
        query = f"SELECT f.k {body.format(f='lake.db.f')} UNION ALL SELECT f.k {body.format(f=relation('f'))}"
        return query, f"union {kind}"
    return f"SELECT * {body.format(f=relation('f'))}", kind


_PLAIN: Final = ("JOIN", "SEMI JOIN", "comma", "in", "exists")
_BETWEEN: Final = re.compile(r"LIMIT|max\(|OVER|ROLLUP|count\(|coalesce\(dk|UNION")


def is_prunable(kind: str, sql: str) -> bool:
    """Whether a query joins in a way that lets files be left out, and nothing stands between a table and the join that forbids
    it."""
    return kind in _PLAIN and not _BETWEEN.search(sql)
