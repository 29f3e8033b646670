"""Errors of Spark over text that we rewrote, in terms of the text that the user wrote.

Spark parses a statement in which our tables are temporary views with generated names, or a query that we made of a DELETE.
What its errors quote is found again in the user's statement by the text around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from floeberg.errors import FloebergError, InvalidInput
from floeberg.spec.schemas.metadata_columns import METADATA_COLUMN_NAMES
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.sql.text.lexer import line_and_column, tokenize

_INTERNAL: Final = re.compile(r"__floeberg|_pyspark_|floeberg_\d|floeberg_parameter_|floeberg_frame")
_GENERATED: Final = re.compile(r"`?_pyspark_[0-9a-z_]+`?")
_PACKED: Final = re.compile(rf"(?:(?:`\w+`|\w+)\.)?`?{ENGINE_PREFIX}hidden_\d+`?\.")
_PARAMETER: Final = re.compile(r":?floeberg_parameter_\d+")
_END: Final = re.compile(r"SQLSTATE: \w{5}")
_PROPOSALS: Final = re.compile(r" Did you mean one of the following\? \[([^\]]*)\]\.?")
_PARSED: Final = re.compile(r"\(line (\d+), pos (\d+)\)\s*\n\n== SQL ==\n(.*)\n-*\^\^\^", re.DOTALL)
_NEAR: Final = re.compile(r"at or near '((?:[^']|'(?!\.|:))*)'")
_PLACE: Final = re.compile(r"line \d+, column \d+")
_END_OF_INPUT: Final = ("end of input", "<EOF>")


@dataclass(frozen=True, slots=True)
class UserText:
    """An error in the user's terms; `start` is the place in the statement, where it is known."""

    message: str
    text: str
    condition: str | None
    parameters: dict[str, str]
    statement: str | None = None
    start: int | None = None
    stop: int | None = None


def as_user_wrote(error: Any, statement: str | None) -> UserText | None:
    """The error in the user's terms; None if it shows nothing of ours."""
    given = str(error).partition("\n\nJVM stacktrace:")[0]
    contexts = [one for one in error.getQueryContext() or [] if one.contextType().name == "SQL"]
    parsed = _PARSED.search(given)
    quoted = "\n".join([given, *(one.summary() for one in contexts)])
    if _INTERNAL.search(quoted) is None and not _is_elsewhere(contexts, parsed, statement):
        return None
    condition = error.getCondition()
    message, condition = _clean_message(given, condition, statement)
    start = stop = None
    if statement is not None and parsed is not None:
        start = stop = _parse_place(given, parsed, statement)
    elif statement is not None and contexts:
        start, stop = _context_place(contexts[0], statement)
    text = message
    if statement is not None and start is not None:
        line, column = _line_and_pos(statement, start)
        if parsed is not None:
            text = f"\n{message} (line {line}, pos {column}){shown_at(statement, start)}"
        else:
            text = f"{message}; line {line} pos {column}"
    elif statement is not None and parsed is not None:
        text = f"\n{message}\n\n== SQL ==\n{statement}\n"
    body = re.sub(r"^\[[A-Z_.0-9]+\] ", "", message)
    return UserText(body, text, condition, _clean_parameters(error, statement), statement, start, stop)


def _is_elsewhere(contexts: list[Any], parsed: re.Match[str] | None, statement: str | None) -> bool:
    """Whether the error quotes a text or a place that the statement does not have there."""
    if statement is None:
        return False
    if parsed is not None:
        return not statement.startswith(parsed[3])
    return any(statement[one.startIndex() : one.stopIndex() + 1] != one.fragment() for one in contexts)


def _clean_message(given: str, condition: str | None, statement: str | None) -> tuple[str, str | None]:
    """The message without the plan, the statement and names of ours."""
    end = _END.search(given)
    message = given[: end.end()] if end else re.split(r";\n|\n\n== |; line \d+ pos \d+", given)[0]
    message = message.strip("\n")
    found = _PROPOSALS.search(message)
    if found is not None:
        kept = _own_names(found[1], statement)
        if kept:
            message = message.replace(found[0], f" Did you mean one of the following? [{', '.join(kept)}].")
        else:
            message = message.replace(found[0], "")
            condition = (condition or "").replace(".WITH_SUGGESTION", ".WITHOUT_SUGGESTION")
            message = message.replace(".WITH_SUGGESTION]", ".WITHOUT_SUGGESTION]")
    return _without_ours(message), condition


def _without_ours(text: str) -> str:
    text = _PACKED.sub("", text)
    text = _GENERATED.sub("the table", text)
    return _PARAMETER.sub("?", text)


def _own_names(listed: str, statement: str | None) -> list[str]:
    """The suggestions but for columns that we added; metadata columns count where the statement names one."""
    kept = []
    for name in filter(None, (one.strip() for one in listed.split(", "))):
        last = name.split(".")[-1].strip("`")
        if last.startswith("__floeberg"):
            continue
        if last in METADATA_COLUMN_NAMES and (statement is None or last not in statement):
            continue
        kept.append(name)
    return kept


def _clean_parameters(error: Any, statement: str | None) -> dict[str, str]:
    found = {}
    for key, value in (error.getMessageParameters() or {}).items():
        text = str(value)
        found[str(key)] = ", ".join(_own_names(text, statement)) if key == "proposal" else _without_ours(text)
    return found


# places


def _parse_place(given: str, parsed: re.Match[str], statement: str) -> int | None:
    line, column = int(parsed[1]), int(parsed[2])
    lines = given[parsed.start(3) :].split("\n")
    before = "\n".join([*lines[: line - 1], lines[line - 1][:column]])
    after = lines[line - 1][column:]
    near = _NEAR.search(given)
    token = near[1] if near is not None else ""
    if token in _END_OF_INPUT or not after.strip():
        return len(statement.rstrip())
    token = token if after.startswith(token) else after[:1]
    return _best_place(statement, token, before, after[len(token) :])


def _context_place(context: Any, statement: str) -> tuple[int | None, int | None]:
    """Where the quoted part stands in the user's statement; nowhere where it is a part that we wrote."""
    fragment = context.fragment()
    if not fragment:
        return None, None
    before, _, after = context.summary().partition("\n")[2].partition(fragment)
    start = _best_place(statement, fragment, before.rpartition("...")[2], after.partition("\n")[0].partition("...")[0])
    return start, None if start is None else start + len(fragment) - 1


def _best_place(statement: str, part: str, before: str, after: str) -> int | None:
    """The place of the part of the statement whose surroundings agree most with those given."""
    places = [match.start() for match in re.finditer(re.escape(part), statement)] if part else []
    try:
        ends = {token.start: token.end for token in tokenize(statement)}
    except InvalidInput:
        ends = {}
    whole = [at for at in places if at in ends and at + len(part) >= ends[at]]
    return max(
        whole or places,
        key=lambda at: _common(statement[:at][::-1], before[::-1]) + _common(statement[at + len(part) :], after),
        default=None,
    )


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return length


def place_of(error: FloebergError, statement: str) -> tuple[str, int | None]:
    """The message and place of an error of our parser, which may have read a part of the statement alone."""
    position, part = error.context["position"], error.context.get("text", statement)
    if not isinstance(position, int) or not isinstance(part, str):
        return error.message, None
    if part == statement:
        return error.message, position
    start = statement.find(part)
    if start >= 0 and statement.find(part, start + 1) < 0:
        where: int | None = start + position
    else:
        token = part[position : position + 1]
        where = _best_place(statement, token, part[:position], part[position + 1 :]) if token else len(statement)
    place = "in the statement" if where is None else line_and_column(statement, where)
    return _PLACE.sub(place, error.message), where


def _line_and_pos(statement: str, start: int) -> tuple[int, int]:
    """As Spark counts: lines from 1, positions in a line from 0."""
    before = statement[:start]
    return before.count("\n") + 1, start - before.rfind("\n") - 1


def shown_at(statement: str, start: int) -> str:
    """The statement with a mark under the place, as Spark shows it."""
    line, column = _line_and_pos(statement, start)
    lines = statement.split("\n")
    lines.insert(line, "-" * column + "^^^")
    return "\n\n== SQL ==\n" + "\n".join(lines) + "\n"
