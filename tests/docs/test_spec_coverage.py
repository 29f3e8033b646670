"""The pages of docs/spec-coverage name code and tests that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "spec-coverage").glob("*.md"))
PACKAGE = ROOT / "src" / "floeberg"
DEFINED = re.compile(r"^\s*(?:def |class )?(\w+)\s*[(:=]", re.MULTILINE)
AT_TOP = re.compile(r"^(?:def |class )?(\w+)\s*[(:=]", re.MULTILINE)


@cache
def modules() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def places_of(name: str) -> list[Path]:
    """The modules of that name, those in folders of that name, and those that define it at their top."""
    return [
        path
        for path, text in modules().items()
        if name in (path.stem, *path.relative_to(PACKAGE).parts[:-1]) or name in AT_TOP.findall(text)
    ]


def is_known(name: str) -> bool:
    """Whether a cited name is a module, a folder (`folder/`), or what a module defines (`module.function`, `Class.method`). A
    single word names no folder: many words are folders somewhere."""
    parts = re.split(r"[./]", name.removesuffix(".py").rstrip("/"))
    places = places_of(parts[0])
    if len(parts) == 1 and not name.endswith("/"):
        return any(path.stem == name or name in AT_TOP.findall(modules()[path]) for path in places)
    for part in parts[1:]:
        places = [
            path
            for path in places
            if part in (path.stem, *path.relative_to(PACKAGE).parts) or part in DEFINED.findall(modules()[path])
        ]
    return bool(places)


@cache
def known_tests() -> frozenset[str]:
    words = {path.stem for path in (ROOT / "tests").rglob("*")}
    for path in (ROOT / "tests").rglob("*.py"):
        words.update(DEFINED.findall(path.read_text(encoding="utf-8")))
    return frozenset(words)


def cited(page: Path, column: int) -> list[str]:
    """What a column of the page's tables has in backquotes, dotted or with slashes."""
    rows = [
        line.strip("|").split("|") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    return [name for row in rows if len(row) > column for name in re.findall(r"`([\w./]+)`", row[column])]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_that_a_page_cites_exists(page: Path) -> None:
    assert [name for name in cited(page, 1) if not is_known(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tests_that_a_page_cites_exist(page: Path) -> None:
    names = [name for name in cited(page, 2) if "test_" in name]
    assert [name for name in names if name.rsplit("/", 1)[-1].removesuffix(".py") not in known_tests()] == []


@pytest.mark.parametrize(
    "name", ["read", "read.identity_constants", "row_level._write_vectors", "nowhere", "spec/nowhere"]
)
def test_a_name_that_is_elsewhere_or_nowhere_is_not_known(name: str) -> None:
    assert not is_known(name)


@pytest.mark.parametrize(
    "name", ["row_lineage", "spec/", "data_file.identity_constants", "DeleteIndex.match", "scan/plan.py", "hash_value"]
)
def test_a_module_a_folder_and_what_they_define_are_known(name: str) -> None:
    assert is_known(name)
