"""Calls of `catalog.system` functions in expressions that DataFrame methods are given as text, which Spark parses itself."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from floeberg.errors import InvalidInput
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.query.functions import function_calls
from floeberg.sql.queries.references import Rewrite, apply_rewrites, find_references

_CALL: Final = re.compile(r"\bsystem\b`?\s*\.", re.IGNORECASE)
_SELECT: Final = "SELECT "


def with_known_functions(sessions: Collection[AttachedSession], expression: Any, frame: Any = None) -> Any:
    """The expression with our functions under the names by which Spark knows them; anything but a text that calls one stays as
    it is. `frame` has the columns that truncate may be given. Raises InvalidInput for a function that is not there."""
    if isinstance(expression, list):
        return [with_known_functions(sessions, one, frame) for one in expression]
    if not isinstance(expression, str) or _CALL.search(expression) is None:
        return expression
    text, known = _SELECT + expression, expression
    for session in sessions:
        names = session.names()
        if not names.may_mention(text):
            continue
        try:
            references = find_references(text, names)
        except InvalidInput:
            continue  # Spark says what is wrong with it
        if references.functions:
            frames = {} if frame is None else {"frame": frame}
            calls = function_calls(Execution(session, text, kwargs=frames), references)
            rewrites = [Rewrite(use.start, use.end, calls[use.start]) for use in references.functions]
            known = apply_rewrites(text, rewrites)[len(_SELECT) :]
    return known
