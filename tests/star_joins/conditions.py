"""Random conditions on a table `f(id, k, g, v)` that ask other tables: `d` and `e` as in `queries`, and `w(n, lo, hi)`, which has
one row for each `n`."""

from __future__ import annotations

import random
from typing import Final

from star_joins.queries import CONDITIONS

_ONE_ROW: Final = "(SELECT {column} FROM lake.db.w WHERE n = {n})"


def random_condition(chance: random.Random, *, adds: bool, depth: int = 0) -> str:
    """A condition with subqueries; `adds` says that a number can be added to a key."""

    def one_row(column: str) -> str:
        if adds and chance.random() < 0.3:
            column += chance.choice([" + 1", " - 2", " + 1000000"])
        return chance.choice(["{}", "{}", "({})"]).format(_ONE_ROW.format(column=column, n=chance.randrange(5)))

    def of(name: str) -> str:
        return chance.choice(["true", *CONDITIONS[name]])

    key, number = chance.choice(["f.k", "k", "f.g", "g"]), chance.choice(["v", "f.v"])
    whole = [
        f"{key} IN (SELECT dk FROM lake.db.d WHERE {of('d')})",
        f"{key} NOT IN (SELECT dk FROM lake.db.d WHERE {of('d')})",
        f"{key} NOT IN (SELECT dk FROM lake.db.d WHERE dk IS NOT NULL AND {of('d')})",
        f"{key} IN (SELECT dk FROM lake.db.d JOIN lake.db.e ON s = ek WHERE {of('d')} AND {of('e')})",
        f"{key} IN (SELECT dk FROM lake.db.d WHERE s IN (SELECT ek FROM lake.db.e WHERE {of('e')}))",
        f"{key} IN (SELECT dk FROM lake.db.d WHERE dk {chance.choice(['>=', '<', '='])} {one_row('lo')})",
        f"{key} IN (SELECT k FROM lake.db.t WHERE v = 1)",
        f"EXISTS (SELECT 1 FROM lake.db.d WHERE dk = {key} AND {of('d')})",
        f"NOT EXISTS (SELECT 1 FROM lake.db.d WHERE dk = {key} AND {of('d')})",
        f"EXISTS (SELECT 1 FROM lake.db.d LEFT JOIN lake.db.e ON s = ek WHERE dk = {key} AND {of('d')})",
        f"EXISTS (SELECT 1 FROM lake.db.d, lake.db.e WHERE dk = f.g AND s = ek AND y = {number})",
        f"{key} {chance.choice(['=', '>=', '<', '<>', '<=>'])} (SELECT max(dk) FROM lake.db.d WHERE {of('d')})",
        f"{number} >= (SELECT min(x) FROM lake.db.d WHERE dk = f.k AND {of('d')})",
        f"{number} = (SELECT count(*) FROM lake.db.d WHERE dk = f.g)",
        f"{key} {chance.choice(['=', '==', '<', '<=', '>', '>=', '<>'])} {one_row('lo')}",
        f"{key} BETWEEN {one_row('lo')} AND {one_row('hi')}",
        f"{key} NOT BETWEEN {one_row('lo')} AND {one_row('hi')}",
        f"{number} IN (0, (SELECT n FROM lake.db.w WHERE n = 2))",
    ]
    if adds:  # Spark cannot push such a list of dates down to files (a ClassCastException)
        whole += [f"{key} IN ({one_row('hi')})", f"{key} IN ({one_row('hi')}, {one_row('lo')})"]
    first = chance.choice(whole)
    if depth == 2 or chance.random() < 0.5:
        return first
    other = random_condition(chance, adds=adds, depth=depth + 1)
    return chance.choice(
        [
            f"{first} AND {other}",
            f"{first} AND {other}",
            f"({first} OR {other})",
            f"{of('f')} AND {first}",
            f"NOT ({first}) AND {of('f')}",
            f"CASE WHEN v = 1 THEN {first} ELSE {other} END",
            f"({first}) IS NOT NULL AND {other}",
        ]
    )
