"""Random queries that name metadata columns, each twice: as a user writes it over a table of ours, and over a mirror that
has the same columns as ordinary ones under names that no other relation has, with every star written out."""

from __future__ import annotations

import random
from dataclasses import dataclass

VISIBLE = ("id", "k", "v")
HIDDEN = ("_pos", "_row_id", "_spec_id", "_last_updated_sequence_number", "_file")
NUMBERS = HIDDEN[:3]


@dataclass(frozen=True)
class Pair:
    """The same query for our table and for the mirror."""

    own: str
    mirror: str

    def __add__(self, other: Pair | str) -> Pair:
        if isinstance(other, str):
            return Pair(self.own + other, self.mirror + other)
        return Pair(self.own + other.own, self.mirror + other.mirror)

    def __radd__(self, other: str) -> Pair:
        return Pair(other + self.own, other + self.mirror)


@dataclass(frozen=True)
class From:
    """A FROM clause: its text, the aliases that it has, and the columns that a star gives."""

    text: Pair
    aliases: tuple[str, ...]
    star: tuple[str, ...]


class Queries:
    def __init__(self, seed: int, table: str, mirror: str) -> None:
        self.random = random.Random(seed)
        self.table = table
        self.mirror = mirror

    def query(self) -> Pair:
        shape = self.random.choice(
            (
                self.plain,
                self.plain,
                self.counted,
                self.grouped,
                self.nested,
                self.combined,
                self.piped,
                self.correlated,
                self.cte,
            )
        )
        return shape()

    def _relation(self, alias: str) -> Pair:
        hidden = ", ".join(f"m{name} AS {alias}{name}" for name in HIDDEN)
        return Pair(f"{self.table} {alias}", f"(SELECT {', '.join(VISIBLE)}, {hidden} FROM {self.mirror}) {alias}")

    def _from(self) -> From:
        one, two = self._relation("a"), self._relation("b")
        both = tuple(f"{alias}.{name}" for alias in "ab" for name in VISIBLE)
        kind = self.random.choice(("one", "one", "on", "using", "natural", "semi"))
        if kind == "one":
            return From(one, ("a",), tuple(f"a.{name}" for name in VISIBLE))
        if kind == "on":
            left, right = self._meta("a", NUMBERS[:1]), self._meta("b", NUMBERS[:1])
            return From(one + " JOIN " + two + " ON " + left + " = " + right, ("a", "b"), both)
        if kind == "using":
            return From(one + " JOIN " + two + " USING (id)", ("a", "b"), ("id", "a.k", "a.v", "b.k", "b.v"))
        if kind == "natural":
            return From(one + " NATURAL JOIN " + two, ("a", "b"), VISIBLE)
        on = self._meta("a", NUMBERS) + " = " + self._meta("b", NUMBERS)
        return From(one + " LEFT SEMI JOIN " + two + " ON " + on, ("a",), both[:3])

    def _meta(self, alias: str, among: tuple[str, ...] = HIDDEN, *, qualified: bool = True) -> Pair:
        name = self.random.choice(among)
        return Pair(f"{alias}.{name}" if qualified else name, f"{alias}.{alias}{name}")

    def _any_meta(self, source: From, among: tuple[str, ...] = HIDDEN) -> Pair:
        alias = self.random.choice(source.aliases)
        return self._meta(alias, among, qualified=len(source.aliases) > 1 or self.random.random() < 0.5)

    def _where(self, source: From) -> Pair:
        parts = [
            self._any_meta(source, NUMBERS) + f" {self.random.choice(('>', '<=', '<>'))} {self.random.randrange(4)}"
        ]
        if self.random.random() < 0.5:
            parts.append(Pair("a.id % 3 <> 0", "a.id % 3 <> 0"))
        joined = parts[0]
        for part in parts[1:]:
            joined = joined + self.random.choice((" AND ", " OR ")) + part
        return " WHERE " + joined

    def _starred(self, source: From) -> Pair:
        columns = ", ".join(source.star)
        own, form = self.random.choice(
            (
                ("*", "{}"),
                ("struct(*) AS s", "struct({}) AS s"),
                ("concat_ws(',', *) AS c", "concat_ws(',', {}) AS c"),
                ("to_json(struct(*)) AS j", "to_json(struct({})) AS j"),
            )
        )
        return Pair(own, form.format(columns))

    def plain(self) -> Pair:
        source = self._from()
        items = self._starred(source)
        if self.random.random() < 0.6:
            items = items + ", " + self._any_meta(source) + " AS m1"
        if self.random.random() < 0.4:
            items = items + ", sum(" + self._any_meta(source, NUMBERS) + ") OVER (PARTITION BY a.k) AS m2"
        return "SELECT " + items + " FROM " + source.text + self._where(source)

    def star_only(self) -> Pair:
        source = From(self._relation("a"), ("a",), tuple(f"a.{name}" for name in VISIBLE))
        return Pair("SELECT *", f"SELECT {', '.join(source.star)}") + " FROM " + source.text + self._where(source)

    def counted(self) -> Pair:
        source = self._from()
        counted = Pair("count(DISTINCT *)", f"count(DISTINCT {', '.join(source.star)})")
        items = counted + " AS n, max(" + self._any_meta(source) + ") AS m, count(*) AS c"
        return "SELECT " + items + " FROM " + source.text + self._where(source)

    def grouped(self) -> Pair:
        source = self._from()
        key = self._any_meta(source)
        grouping = self.random.choice((Pair("ALL", "ALL"), key + ", a.k", "ROLLUP (" + key + ", a.k)"))
        items = key + " AS g, a.k, count(*) AS n, max(" + self._any_meta(source, NUMBERS) + ") AS m"
        having = self.random.choice(("", " HAVING count(*) > 1"))
        return "SELECT " + items + " FROM " + source.text + self._where(source) + " GROUP BY " + grouping + having

    def nested(self) -> Pair:
        meta = self._meta("a", qualified=False)
        inner = Pair(f"SELECT *, {meta.own} AS m", f"SELECT {', '.join(VISIBLE)}, {meta.mirror} AS m")
        text = inner + " FROM " + self._relation("a")
        return "SELECT *, count(*) OVER () AS n FROM (" + text + ") s WHERE m IS NOT NULL"

    def combined(self) -> Pair:
        word = self.random.choice((" UNION ALL ", " INTERSECT ALL ", " EXCEPT ALL ", " UNION "))
        right = self.random.choice(
            (self.star_only(), Pair(f"TABLE {self.table}", f"SELECT id, k, v FROM {self.mirror}"))
        )
        return self.star_only() + word + right

    def cte(self) -> Pair:
        return "WITH c AS (" + self.star_only() + ") SELECT c.*, d.id AS other FROM c JOIN c d ON c.id = d.id"

    def correlated(self) -> Pair:
        outer = self._relation("a")
        left, right = self._meta("a", NUMBERS), self._meta("b", NUMBERS, qualified=False)
        inner = " FROM " + self._relation("b") + " WHERE " + right + " = " + left + " AND b.k = a.k"
        star = Pair("*", "a.id, a.k, a.v")
        if self.random.random() < 0.5:
            exists = self.random.choice((" WHERE EXISTS (SELECT *", " WHERE NOT EXISTS (SELECT *"))
            return "SELECT " + star + " FROM " + outer + exists + inner + ")"
        return "SELECT " + star + ", (SELECT max(b.id)" + inner + ") AS m FROM " + outer

    def piped(self) -> Pair:
        text = "FROM " + self._relation("a")
        columns = ", ".join(VISIBLE)
        extended = ""
        for _ in range(self.random.randrange(1, 4)):
            if self.random.random() < 0.5:
                text = (
                    text + " |> WHERE " + self._meta("a", NUMBERS, qualified=False) + f" <> {self.random.randrange(4)}"
                )
            else:
                text = text + " |> EXTEND " + self._meta("a", qualified=False) + f" AS e{len(extended)}"
                extended += f", e{len(extended)}"
        end = self.random.randrange(3)
        if end == 0:
            return text + Pair("", f" |> SELECT {columns}{extended}")
        if end == 1:
            meta = self._meta("a", qualified=False)
            return text + Pair(f" |> SELECT *, {meta.own} AS m", f" |> SELECT {columns}{extended}, {meta.mirror} AS m")
        return (
            text + " |> AGGREGATE max(" + self._meta("a", NUMBERS, qualified=False) + ") AS m, count(*) AS n GROUP BY k"
        )
