"""The condition of a MERGE given as a Column: equalities between the two sides, and conditions on the target alone.

A Column over Connect holds a tree; a classic one only shows its text, in prefix form. Text given to `expr` shows as it is.
Parts that cannot be read for certain are ignored, and nothing is read if a column's own name could be mistaken for something
else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import types as st

from floeberg.errors import InvalidInput
from floeberg.spark.dml.assignments import TargetColumns
from floeberg.spark.dml.merge.key_pairs import KeyPair, can_list, path_pairs
from floeberg.spark.read.column_conditions import conditions_of
from floeberg.sql.conditions.predicates import Condition, weaken
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span
from floeberg.sql.text.names import TableIdentifier
from floeberg.sql.text.variables import may_have_variables

Path = tuple[str, ...]
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES: Final = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
_EQUALITY: Final = re.compile(rf"={{1,2}}\(({_NAMES}), ({_NAMES})\)")
_CLASSIC: Final = re.compile(r"Column<'(?P<text>.*)'>", re.DOTALL)
_CONNECT: Final = "pyspark.sql.connect."
_WORDS: Final = frozenset(
    ("true", "false", "null", "nan", "and", "or", "not", "in", "is", "like", "between", "case", "default")
)


def column_pairs(
    condition: Any, columns: TargetColumns, target: TableIdentifier, source: st.StructType
) -> list[KeyPair]:
    """The equalities between a column of each side that must all hold for a match, both of one type."""
    sides = _Sides(columns, target, source)
    pairs = []
    for one, other in _equalities(condition) if sides.are_plain else ():
        for own, theirs in ((one, other), (other, one)):
            field, name = sides.target_field(own), sides.source_column(theirs)
            types = [each.dataType for each in source.fields if each.name.lower() == (name or "").lower()]
            if field is not None and name is not None and len(types) == 1 and can_list(field, types[0]):
                pairs.append(KeyPair(field, name))
                break
    return pairs


def own_conditions(
    condition: Any, columns: TargetColumns, target: TableIdentifier, source: st.StructType, *, double_quoted: bool
) -> list[Condition]:
    """The parts that speak of the target alone, in terms of its columns; `double_quoted` says that `"x"` is a name."""
    sides = _Sides(columns, target, source)
    if not sides.are_plain:
        return []
    text = _sql_text(condition)
    names = [*sides.own_names, *sides.source_names]
    found = conditions_of(condition if text is None else text, names, double_quoted=double_quoted)

    def resolve(path: Path) -> Path | None:
        field = sides.target_field(path)
        return None if field is None else (field.name,)

    return [kept for part in found if (kept := weaken(part, resolve)) is not None]


class _Sides:
    """Which side a name is of. The condition was analysed before, so a name that is ambiguous or unknown is not there."""

    def __init__(self, columns: TargetColumns, target: TableIdentifier, source: st.StructType) -> None:
        self._columns = columns
        self._qualifiers: list[Path] = [(columns.key(columns.alias),)]
        qualified = tuple(columns.key(part) for part in target.qualified)
        self._qualifiers += [qualified[start:] for start in range(len(qualified) - 1)]
        self.own_names = {field.name.lower() for field in columns.schema.fields}
        self.source_names = {name.lower() for name in source.fieldNames()}

    @property
    def are_plain(self) -> bool:
        """Whether no name of a column could be read as another one, or as a qualifier."""
        names = {*self.own_names, *self.source_names}
        if any(not _PLAIN.fullmatch(name) or name in _WORDS for name in names):
            return False
        return not any(one[0].lower() in names for one in self._qualifiers)

    def target_field(self, path: Path) -> Any | None:
        lowered = tuple(part.lower() for part in path)
        if self._keys(path)[:-1] not in self._qualifiers and (len(path) > 1 or lowered[0] in self.source_names):
            return None
        found = [field for field in self._columns.schema.fields if field.name.lower() == lowered[-1]]
        return found[0] if len(found) == 1 else None

    def _keys(self, path: Path) -> Path:
        return tuple(self._columns.key(part) for part in path)

    def source_column(self, path: Path) -> str | None:
        """A bare name that both sides have is bound to the source's DataFrame: it would be ambiguous otherwise. A
        qualifier that is neither the target's nor a column is the source's."""
        lowered = tuple(part.lower() for part in path)
        if len(path) == 1:
            return path[0] if lowered[0] in self.source_names else None
        known = (*self.own_names, *self.source_names)
        if len(path) != 2 or lowered[0] in known or self._keys(path)[:1] in self._qualifiers:
            return None
        return path[1] if lowered[1] in self.source_names else None


def _equalities(condition: Any) -> Sequence[tuple[Path, Path]]:
    if (text := _sql_text(condition)) is not None:
        try:
            cursor = Cursor(text)
        except InvalidInput:
            return []
        return path_pairs(cursor, Span(0, len(text)))
    if type(condition).__module__.startswith(_CONNECT):
        return list(_tree_equalities(condition._expr))
    shown = _CLASSIC.fullmatch(repr(condition))
    return [] if shown is None else _shown_equalities(shown["text"])


def _sql_text(condition: Any) -> str | None:
    """The text of an `expr("…")`, if that is all that the Column is and Spark reads no other text."""
    if type(condition).__module__.startswith(_CONNECT):
        tree = condition._expr
        found = str(tree._expr) if type(tree).__name__ == "SQLExpression" else None
        return None if found is None or may_have_variables(found) else found
    shown = _CLASSIC.fullmatch(repr(condition))
    if shown is None or may_have_variables(shown["text"]):
        return None
    if re.match(r"[^\s\w`(]+\(|(?:and|or|not|in)\(", shown["text"]):
        return None  # the prefix form
    return shown["text"]


def _tree_equalities(tree: Any) -> list[tuple[Path, Path]]:
    if type(tree).__name__ != "UnresolvedFunction":
        return []
    arguments = list(tree._args)
    if tree._name == "and":
        return [pair for argument in arguments for pair in _tree_equalities(argument)]
    paths = [_tree_path(argument) for argument in arguments]
    if tree._name == "==" and len(paths) == 2 and paths[0] is not None and paths[1] is not None:
        return [(paths[0], paths[1])]
    return []


def _tree_path(tree: Any) -> Path | None:
    text = str(getattr(tree, "_unparsed_identifier", "")) if type(tree).__name__ == "ColumnReference" else ""
    return tuple(text.split(".")) if re.fullmatch(_NAMES, text) else None


def _shown_equalities(text: str) -> list[tuple[Path, Path]]:
    """Of `and(=(a, b), …)`: only what stands under `and` alone must hold."""
    if (match := _EQUALITY.fullmatch(text)) is not None:
        return [(tuple(match[1].split(".")), tuple(match[2].split(".")))]
    if not (text.startswith("and(") and text.endswith(")")):
        return []
    parts = _arguments(text[4:-1])
    return [pair for part in parts for pair in _shown_equalities(part)]


def _arguments(text: str) -> list[str]:
    """What stands between the commas outside of parentheses and quotes; nothing when these do not pair."""
    parts, depth, quoted, start = [], 0, False, 0
    for place, sign in enumerate(text):
        if sign == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
            if depth < 0:
                return []
        elif sign == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [] if depth or quoted or "\\" in text else [*parts, text[start:].strip()]
