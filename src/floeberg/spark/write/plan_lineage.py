"""Which columns of a query come from marked ones, read from the text of Spark's analyzed plan.

A column's metadata is lost by most operators; the plan has them all, on classic sessions and over Spark Connect. What cannot
be read counts as coming from a marked column.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from floeberg.spark.host.types.exact_types import CUT_PREFIX, NESTED

_INDENT: Final = re.compile(r"((?::  |   )*)(:- |\+- )?(?=\S)")
_ID: Final = re.compile(r"#(\d+)L?")
_LAST_ID: Final = re.compile(r"#(\d+)L?$")
_SUBQUERY: Final = re.compile(r"(?:subquery|exists|list)#(\d+)")
_CAST_OR_ID: Final = re.compile(r"\b(?:try_)?cast\(|#(\d+)L?")
_MARKED: Final = re.compile(rf"{CUT_PREFIX}([a-z_]+)_\d+#(\d+)$")
_SUM: Final = re.compile(r" [+-] (?!INTERVAL '[^']*' (?:YEAR|MONTH))")
_TRUNCATED: Final = re.compile(r"\.\.\. \d+ more fields")
_OPENING: Final = {"(": ")", "[": "]"}
_SET_OPERATIONS: Final = ("Union", "Intersect", "Except")
_ONE_SIDED: Final = ("LeftSemi", "LeftAnti")


class _Unreadable(Exception):
    """The plan has a part that cannot be followed."""


@dataclass(slots=True)
class _Node:
    text: str
    children: list[_Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        return re.split(r"\W", self.text, maxsplit=1)[0]


def marked_columns(explained: str) -> list[bool] | None:
    """For the columns of an `EXPLAIN EXTENDED`, whether each has values from a marked column that are not cast to their own
    type; None when that cannot be read."""
    plan = explained.partition("== Analyzed Logical Plan ==\n")[2].partition("\n== Optimized Logical Plan")[0]
    try:
        if _TRUNCATED.search(plan):
            raise _Unreadable
        lineage = _Lineage()
        found = lineage.of(_tree(plan.split("\n")[1:]))
    except _Unreadable:
        return None
    return [bool(lineage.kinds.get(each)) for each in found]


def has_marks(explained: str) -> bool:
    """Whether the query reads a marked column at all."""
    return CUT_PREFIX in explained


def _tree(lines: Sequence[str]) -> _Node:
    root: _Node | None = None
    path: list[_Node] = []
    for line in lines:
        match = _INDENT.match(line)
        if root is not None and (match is None or match[2] is None):
            path[-1].text += f" {line.strip()}"  # a name or text with a line break
            continue
        node = _Node(line if match is None else line[match.end() :])
        if root is None or match is None:
            root, path = node, [node]
            continue
        depth = len(match[1]) // 3 + 1
        if depth == len(path) + 1:
            path.append(path[-1])  # the plan of a subquery is indented once more
        if depth > len(path):
            raise _Unreadable
        path[depth - 1].children.append(node)
        path[depth:] = [node]
    if root is None:
        raise _Unreadable
    return root


class _Lineage:
    """The types of the marked columns that each expression id has values of."""

    def __init__(self) -> None:
        self.kinds: dict[str, frozenset[str]] = {}
        self._ctes: dict[str, list[str]] = {}

    def of(self, root: _Node) -> list[str]:
        """The ids of a tree's columns. A subquery may name what is read after it, so it is read until nothing changes."""
        while True:
            before = dict(self.kinds)
            found = self._outputs(root)
            if self.kinds == before:
                return found

    def _outputs(self, node: _Node) -> list[str]:
        below = [self._outputs(child) for child in node.children]
        self._read_subqueries(node, below[: -2 if node.name == "Join" else -1])
        lists = [list(_pieces(text)) for text in _lists(node.text)]
        name = node.name
        known = {each for ids in below for each in ids}
        if name in ("Project", "Aggregate") and lists:
            return [self._define(piece, known) for piece in lists[0 if name == "Project" else -1]]
        if name == "Window" and lists and below:
            return [*below[-1], *(self._define(piece, known) for piece in lists[0])]
        if name in _SET_OPERATIONS:
            return self._same(below[0], below[1:])
        if name == "Join" and len(below) > 1:
            return below[-2] if any(kind in node.text for kind in _ONE_SIDED) else [*below[-2], *below[-1]]
        if name == "View" and lists and below:
            return self._same([_last_id(piece) for piece in lists[-1]], below[-1:])
        if name == "CTERelationDef" and below:
            self._ctes[node.text.split()[1].rstrip(",")] = below[-1]
            return below[-1]
        if name == "CTERelationRef" and lists:
            own = [_last_id(piece) for piece in lists[0]]
            query = self._ctes.get(node.text.split()[1].rstrip(","))
            if query is None:
                raise _Unreadable
            return self._same(own, [query])
        return self._other(node, lists, below)

    def _other(self, node: _Node, lists: Sequence[Sequence[str]], below: Sequence[list[str]]) -> list[str]:
        """Filters, sorts and limits keep their columns; whatever else makes new ones makes them of all that it names, or of
        every column when it names none."""
        known = {each for ids in below for each in ids}
        named = _ID.findall(node.text)
        new = [each for each in named if each not in known]
        if not below:
            return new
        if node.name in ("Filter", "Sort", "Deduplicate") or not new:
            return below[-1]
        used = [each for each in named if each in known] or list(known)
        kinds = frozenset(kind for each in used for kind in self.kinds.get(each, ()))
        for each in new:
            self._add(each, kinds)
        made = [_last_id(piece) for piece in lists[-1]] if lists else new
        return [*below[-1], *made] if node.name == "Generate" else made

    def _read_subqueries(self, node: _Node, plans: Sequence[list[str]]) -> None:
        """The plans of a node's subqueries stand before that of its rows."""
        kinds = frozenset(kind for ids in plans for each in ids for kind in self.kinds.get(each, ()))
        for number in _SUBQUERY.findall(node.text):
            self._add(number, kinds)

    def _define(self, piece: str, known: Container[str]) -> str:
        """The id that an item of a list has; it takes the types of what it is made of. So do other new ids in the item: a
        bracket in a name or text may make one item of several."""
        own = _last_id(piece)
        marked = _MARKED.search(piece)
        kinds = self._of_text(piece) if marked is None else frozenset({marked[1]})
        for each in {own, *_ID.findall(piece)}:
            if each == own or each not in known:
                self._add(each, kinds)
        return own

    def _same(self, own: list[str], others: Sequence[list[str]]) -> list[str]:
        for other in others:
            if len(other) != len(own):
                raise _Unreadable
            for mine, theirs in zip(own, other, strict=True):
                self._add(mine, self.kinds.get(theirs, frozenset()))
        return own

    def _add(self, number: str, kinds: frozenset[str]) -> None:
        if kinds:
            self.kinds[number] = self.kinds.get(number, frozenset()) | kinds

    def _of_text(self, text: str) -> frozenset[str]:
        found: set[str] = set()
        at = 0
        while (match := _CAST_OR_ID.search(text, at)) is not None:
            at = match.end()
            if match[1] is not None:
                found |= self.kinds.get(match[1], frozenset())
            elif (end := _closing(text, at - 1)) is not None:
                value, _, target = text[at:end].rpartition(" as ")
                found |= {kind for kind in self._of_text(value) if not _is_own_cast(kind, value, target)}
                at = end + 1
        return frozenset(found)


def _is_own_cast(kind: str, value: str, target: str) -> bool:
    """Whether a cast is one to the value's own type: Spark itself adds only casts to another, and around sums with an
    interval, unless it is one of months."""
    if any(_SUM.match(value, place) for place in _outside_brackets(value)):
        return False
    return "timestamp" in target if kind == NESTED else kind == target


def _last_id(piece: str) -> str:
    found = _LAST_ID.search(piece)
    if found is None:
        raise _Unreadable
    return found[1]


def _lists(text: str) -> Iterator[str]:
    """What stands between the square brackets of a line that stand in nothing else."""
    at = 0
    while (start := _first(text, at)) is not None:
        end = _closing(text, start)
        if end is None:
            raise _Unreadable
        if text[start] == "[":
            yield text[start + 1 : end]
        at = end + 1


def _first(text: str, at: int) -> int | None:
    places = [place for sign in _OPENING if (place := text.find(sign, at)) >= 0]
    return min(places, default=None)


def _pieces(text: str) -> Iterator[str]:
    """The items of a list."""
    start = 0
    for place in _outside_brackets(text):
        if text.startswith(", ", place):
            yield text[start:place]
            start = place + 2
    if text[start:]:
        yield text[start:]


def _outside_brackets(text: str) -> Iterator[int]:
    """The places in a text that stand in no bracket."""
    depth = 0
    for place, sign in enumerate(text):
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif depth == 0:
            yield place


def _closing(text: str, start: int) -> int | None:
    """Where the bracket that opens at a place is closed."""
    waiting: list[str] = []
    for place in range(start, len(text)):
        sign = text[place]
        if sign in _OPENING:
            waiting.append(_OPENING[sign])
        elif sign in ")]":
            if waiting.pop() != sign:
                return None
            if not waiting:
                return place
    return None
