"""Fenced code of Markdown pages, in order.

A comment `<!-- setup` … `-->` holds Python that the page's code needs and the reader need not see. `<!-- not run: reason -->` before
a block says why it is only checked for its syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LANGUAGES: Final = frozenset({"python", "sql", "sh"})
_NOT_RUN: Final = re.compile(r"<!-- not run: (.+) -->")
_USES_SPARK: Final = re.compile(r"\bspark\.|SparkSession")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A block of code, the line its text begins at (from 1), and why it is not run, if it is not."""

    language: str
    text: str
    line: int
    not_run: str | None = None


def documented_pages() -> list[Path]:
    """The pages whose code is run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


def snippets(page: Path) -> Iterator[Snippet]:
    """The code of a page. Raises ValueError for a block that does not end."""
    lines = page.read_text(encoding="utf-8").splitlines()
    reason: str | None = None
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("```"):
            end = _end(page, lines, number, "```")
            if (language := line[3:].strip()) in LANGUAGES:
                yield Snippet(language, "\n".join(lines[number + 1 : end]) + "\n", number + 2, reason)
            number, reason = end, None
        elif line == "<!-- setup":
            end = _end(page, lines, number, "-->")
            yield Snippet("python", "\n".join(lines[number + 1 : end]) + "\n", number + 2)
            number = end
        elif found := _NOT_RUN.fullmatch(line):
            reason = found[1]
        elif line.strip():
            reason = None
        number += 1


def uses_spark(page: Path) -> bool:
    """Whether the page's code needs a Spark session."""
    run = [one for one in snippets(page) if one.not_run is None and one.language != "sh"]
    return any(one.language == "sql" or _USES_SPARK.search(one.text) for one in run)


def _end(page: Path, lines: list[str], start: int, mark: str) -> int:
    for number in range(start + 1, len(lines)):
        if lines[number] == mark:
            return number
    raise ValueError(f"{page}:{start + 1}: nothing ends this block")
