"""The pages of docs/spec-coverage name code and tests that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "spec-coverage").glob("*.md"))
DEFINED = re.compile(r"^\s*(?:def |class )?(\w+)\s*[(:=]", re.MULTILINE)


def words_of(folder: Path) -> frozenset[str]:
    """The names of folders and modules, and those that modules define."""
    words = {path.stem for path in folder.rglob("*")}
    for path in folder.rglob("*.py"):
        words.update(DEFINED.findall(path.read_text(encoding="utf-8")))
    return frozenset(words)


@cache
def known_code() -> frozenset[str]:
    return words_of(ROOT / "src" / "floeberg")


@cache
def known_tests() -> frozenset[str]:
    return words_of(ROOT / "tests")


def cited(page: Path, column: int) -> list[str]:
    """What a column of the page's tables has in backquotes, dotted or with slashes."""
    rows = [
        line.strip("|").split("|") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    return [name for row in rows if len(row) > column for name in re.findall(r"`([\w./]+)`", row[column])]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_that_a_page_cites_exists(page: Path) -> None:
    missing = [
        name
        for name in cited(page, 1)
        if not set(re.split(r"[./]", name.removesuffix(".py").rstrip("/"))) <= known_code()
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tests_that_a_page_cites_exist(page: Path) -> None:
    names = [name for name in cited(page, 2) if "test_" in name]
    assert [name for name in names if name.rsplit("/", 1)[-1].removesuffix(".py") not in known_tests()] == []
