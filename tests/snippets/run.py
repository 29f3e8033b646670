"""Runs the code of a page as one script in the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from snippets.pages import ROOT, Snippet, snippets


def run_page(page: Path, names: dict[str, Any]) -> None:
    """Runs a page's code in order with these names; what is not run is checked for its syntax."""
    for snippet in snippets(page):
        try:
            _check(page, snippet) if snippet.not_run is not None else _run(page, snippet, names)
        except Exception as error:
            error.add_note(f"in the code at {page.relative_to(ROOT)}:{snippet.line}")
            raise


def _check(page: Path, snippet: Snippet) -> None:
    if snippet.language == "python":
        compile(snippet.text, str(page), "exec")
    elif snippet.language == "sh":
        subprocess.run(["sh", "-n", "-c", snippet.text], check=True)
    else:
        raise ValueError("SQL of the documentation is run")


def _run(page: Path, snippet: Snippet, names: dict[str, Any]) -> None:
    if snippet.language == "python":
        text = "\n" * (snippet.line - 1) + snippet.text
        exec(compile(text, str(page), "exec"), names)
    elif snippet.language == "sql":
        for statement in snippet.text.split(";"):
            if statement.strip():
                names["spark"].sql(statement).collect()
    else:
        beside = Path(sys.executable).parent
        environment = {**os.environ, "PATH": f"{beside}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-eu", "-c", snippet.text], check=True, env=environment, stdout=subprocess.DEVNULL)
