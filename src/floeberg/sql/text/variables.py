"""`${name}` in SQL text. Spark puts settings in its place before it parses the text: in strings, names and comments, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from floeberg.errors import InvalidInput

_OPENING: Final = "${"
_VARIABLE: Final = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}", re.ASCII)
_IN_TEMPLATE: Final = re.compile(r"\$\{\{(?:(\w+?):)?(\S+?)\}\}", re.ASCII)

Variable = tuple[str | None, str]
"""A prefix, as in `${env:HOME}`, and a name."""
ValueOf = Callable[[str | None, str], str | None]
"""The value of a variable; None for one that stays as it is."""


def may_have_variables(sql: str) -> bool:
    """Whether Spark may read another text than this one."""
    return _OPENING in sql


def with_variables(sql: str, value_of: ValueOf, *, is_template: bool = False) -> str:
    """The text with values in the place of variables; those in a value are replaced, too. A template for `str.format` has the
    braces doubled. Raises InvalidInput for a variable whose value names it."""
    return _replaced(sql, value_of, frozenset(), is_template=is_template)


def variables(sql: str) -> list[Variable]:
    """Those that the text has, outside of templates."""
    return [(found[1], found[2]) for found in _VARIABLE.finditer(sql)]


def _replaced(sql: str, value_of: ValueOf, inside: frozenset[Variable], *, is_template: bool = False) -> str:
    def replacement(found: re.Match[str]) -> str:
        variable = (found[1], found[2])
        if variable in inside:
            raise InvalidInput(f"the value of the variable {found[0]} names the variable itself")
        value = value_of(*variable)
        if value is None:
            return found[0]
        whole = _replaced(value, value_of, inside | {variable})
        return whole.replace("{", "{{").replace("}", "}}") if is_template else whole

    return (_IN_TEMPLATE if is_template else _VARIABLE).sub(replacement, sql)
