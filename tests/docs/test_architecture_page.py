"""The drawing of docs/concepts/architecture.md has every folder of the package, in the order of the import contracts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "floeberg"
PAGE = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")
DRAWN = re.compile(r"^ {4}(?P<indent>(?: {2})?)(?P<names>\w+(?: · \w+)*) {2,}\S", re.MULTILINE)


def drawing() -> dict[str, list[set[str]]]:
    """The rows of the drawing by their container, top to bottom."""
    found: dict[str, list[set[str]]] = {"floeberg": []}
    above = ""
    for row in DRAWN.finditer(PAGE.split("## ")[0]):
        names = set(row["names"].split(" · "))
        if row["indent"]:
            found.setdefault(f"floeberg.{above}", []).append(names)
        else:
            above = row["names"]
            found["floeberg"].append(names)
    return found


def contracts() -> dict[str, list[set[str]]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = [one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    return {one["containers"][0]: [set(row.split(" | ")) for row in one["layers"]] for one in layers}


def test_every_folder_is_drawn() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"} - {"testing"}
    assert {name for row in drawing()["floeberg"] for name in row} == folders | {"errors"}


@pytest.mark.parametrize("container", ["floeberg", "floeberg.spark", "floeberg.arrow", "floeberg.spec", "floeberg.sql"])
def test_the_order_is_that_of_the_import_contracts(container: str) -> None:
    drawn = [name for row in drawing()[container] for name in sorted(row)]
    ranks = {name: rank for rank, row in enumerate(contracts()[container]) for name in row}
    ranks.pop("testing", None)
    assert set(drawn) == set(ranks)
    assert [ranks[name] for name in drawn] == sorted(ranks.values())
