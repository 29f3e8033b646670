"""SQL scripts as data: `spark/corpus/*.sql`, which run on our engine and on the Java runtime with the same results.

A script is statements that end in `;` at a line's end. After a statement come lines that say what it does:

- `--> a | b` is a row that it gives, with ` | ` between the values; rows are compared in order where the statement sorts
  or describes, else as a set.
- `--!` means that the statement fails.
- `--java: reason` means that the Java runtime does not do here what the script says; that is checked, so that it is
  noticed when it does.

`${db}` stands for the script's namespace with its catalog, `${ns}` for the namespace alone.

This module is imported by the peer's interpreter too, and so needs nothing but Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SCRIPTS = sorted((Path(__file__).parents[1] / "spark" / "corpus").glob("*.sql"))


@dataclass(frozen=True)
class Step:
    """A statement and what it does: rows (None where the script does not say), or a failure."""

    statement: str
    expected: tuple[str, ...] | None = None
    fails: bool = False
    java_differs: str = ""

    def agrees(self, rows: Sequence[str]) -> bool:
        """Whether the rows are those of the script."""
        if self.expected is None:
            return True
        start = self.statement.lstrip().upper()
        if "ORDER BY" in start or start.startswith(("SHOW COLUMNS", "DESCRIBE", "CALL")):
            return tuple(rows) == self.expected
        return sorted(rows) == sorted(self.expected)


def namespace_of(path: Path) -> str:
    """Each script has a namespace of its own."""
    return f"s_{path.stem}"


def steps(path: Path) -> Iterator[Step]:
    """The statements of a script in their order."""
    namespace = namespace_of(path)
    text = path.read_text().replace("${db}", f"lake.{namespace}").replace("${ns}", namespace)
    statement: list[str] = []
    pending: Step | None = None
    for line in text.splitlines():
        if pending is not None and line.startswith("-->"):
            pending = replace(pending, expected=(*(pending.expected or ()), line[3:].strip()))
        elif pending is not None and line.startswith("--!"):
            pending = replace(pending, fails=True)
        elif pending is not None and line.startswith("--java:"):
            pending = replace(pending, java_differs=line.removeprefix("--java:").strip())
        elif line.startswith("-- ") and not statement:
            continue
        else:
            if pending is not None:
                yield pending
                pending = None
            statement.append(line)
            if line.rstrip().endswith(";"):
                pending = Step("\n".join(statement).strip().removesuffix(";"))
                statement = []
    if pending is not None:
        yield pending


def shown_row(row: Sequence[Any]) -> str:
    """A row as scripts write it."""
    return " | ".join(_shown(value) for value in row)


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_shown(key)}: {_shown(item)}" for key, item in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
