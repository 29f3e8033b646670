"""The troubleshooting page names every error."""

from __future__ import annotations

import re

from floeberg import errors
from snippets.pages import ROOT


def test_every_error_is_on_the_troubleshooting_page() -> None:
    page = (ROOT / "docs" / "guide" / "troubleshooting.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:fb\.errors\.)?([A-Z]\w+)`", page))
    classes = {name for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, Exception)}
    assert len(classes) > 30
    assert classes - named == set()
