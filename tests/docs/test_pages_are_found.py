"""Every page of the documentation can be reached: from the home page, and from the menu."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    str(page.relative_to(DOCS))
    for folder in ("guide", "concepts", "reference")
    for page in (DOCS / folder).glob("*.md")
)


@pytest.mark.parametrize("page", PAGES)
def test_the_home_page_and_the_menu_name_the_page(page: str) -> None:
    home = re.findall(r"\]\(([^)#]+)", (DOCS / "index.md").read_text())
    menu = re.findall(r":\s+(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert page in home
    assert page in menu
