"""Code of the README and the guide that needs no Spark runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snippets.pages import ROOT, documented_pages, snippets, uses_spark
from snippets.run import run_page

PAGES = [page for page in documented_pages() if not uses_spark(page)]
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_TARGET = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, {"__name__": "__main__"})


def test_every_make_target_that_the_documentation_names_is_there() -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        target
        for page in pages
        for target in re.findall(r"(?:^ {4}|`|^)make ([a-z0-9-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"demo", "test", "test-quick"} <= named
    assert named - targets == set()


def test_links_of_the_readme_lead_somewhere() -> None:
    links = _LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_page_is_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    reached: set[Path] = set()
    coming = [docs / "index.md"]
    while coming:
        page = coming.pop()
        if page not in reached:
            reached.add(page)
            links = _LINK.findall(page.read_text(encoding="utf-8"))
            coming += [target for link in links if (target := (page.parent / link).resolve()).suffix == ".md"]
    assert set(docs.rglob("*.md")) - reached == set()


def test_code_that_is_not_run_says_why() -> None:
    reasons = [one.not_run for page in documented_pages() for one in snippets(page) if one.not_run is not None]
    assert all(reason.startswith(("needs ", "installs ")) for reason in reasons)


def test_a_page_is_read_block_by_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- setup\nx = 1\n-->\n\n```python\ny = x\n```\n<!-- not run: needs it -->\n```sh\nls\n```\n```toml\n```\n"
    )
    assert [(one.language, one.text, one.line, one.not_run) for one in snippets(page)] == [
        ("python", "x = 1\n", 2, None),
        ("python", "y = x\n", 6, None),
        ("sh", "ls\n", 10, "needs it"),
    ]
