"""How commands print: text for people, JSON for programs, progress only where someone watches."""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text

WIDE = 10_000
"""The width of text that goes to a file or pipe: rows are not to be broken there."""


class Report(Protocol):
    """Told what is being worked on, and how many of it are done."""

    def __call__(self, what: str, done: int) -> None: ...


class Printer:
    """Prints what a command found."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        is_terminal = sys.stdout.isatty()
        self.console = Console(
            file=sys.stdout, highlight=False, soft_wrap=not is_terminal, width=None if is_terminal else WIDE
        )

    def json(self, value: object) -> None:
        """One JSON document."""
        sys.stdout.write(json.dumps(to_json(value), indent=2, ensure_ascii=False) + "\n")

    def line(self, text: str = "", style: str = "") -> None:
        """A line of text, in which nothing is markup."""
        self.console.print(Text(text, style=style))

    def pairs(self, rows: Mapping[str, object]) -> None:
        """Names and values, one each line, the values below each other."""
        width = max((len(name) for name in rows), default=0)
        for name, value in rows.items():
            self.line(f"{name.ljust(width)}  {human(value)}")

    def result(self, found: Mapping[str, object]) -> None:
        """What a command did, by name."""
        if self.as_json:
            self.json(found)
        else:
            self.pairs(found)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: Sequence[str] = ()) -> None:
        """A table; the columns named in `numbers` are set to the right."""
        table = RichTable(box=None, pad_edge=False, header_style="bold", show_edge=False)
        for column in columns:
            table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(human(value)) for value in row))
        self.console.print(table, soft_wrap=False)

    @contextmanager
    def progress(self) -> Iterator[Report]:
        """Progress of long work, on a terminal's standard error only."""
        if not sys.stderr.isatty():
            yield lambda what, done: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
            task = bar.add_task("starting", total=None)
            yield lambda what, done: bar.update(task, description=f"{what}: {done}")


def human(value: object) -> str:
    """A value for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        precision = (
            "seconds" if not value.microsecond else "microseconds" if value.microsecond % 1000 else "milliseconds"
        )
        return value.isoformat(sep=" ", timespec=precision).replace("+00:00", "Z")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(to_json(value), ensure_ascii=False)
    return printable(str(value))


def printable(text: str) -> str:
    """The text without control characters, which would move a terminal's cursor."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)


def to_json(value: Any) -> Any:
    """A value as JSON has it: binary in base64, times in ISO 8601, decimals and numbers that are none as text."""
    if isinstance(value, Mapping):
        return {_key(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _key(key: object) -> str:
    return key if isinstance(key, str) else json.dumps(to_json(key), ensure_ascii=False)
