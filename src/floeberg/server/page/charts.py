"""Pictures of numbers, as bars that a template draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from floeberg.server.page.rendering import shown_bytes

WIDTH: Final = 100
_KB: Final = 1000
EDGES: Final = (16 * _KB, 128 * _KB, _KB**2, 8 * _KB**2, 32 * _KB**2, 128 * _KB**2, 512 * _KB**2, _KB**3)


@dataclass(frozen=True, slots=True)
class Bar:
    """A labelled length from 0 to WIDTH, and what it stands for."""

    label: str
    count: int
    length: float


def bars(items: Sequence[tuple[str, int]]) -> list[Bar]:
    """Bars as long as their numbers say, the longest over the whole width."""
    most = max((count for _, count in items), default=0)
    return [Bar(label, count, WIDTH * count / most if most else 0.0) for label, count in items]


def size_bars(sizes: pl.Series) -> list[Bar]:
    """How many files there are of each order of size."""
    counts: list[tuple[str, int]] = []
    below = 0
    for edge in EDGES:
        counts.append((f"< {shown_bytes(edge)}", int(((sizes >= below) & (sizes < edge)).sum())))
        below = edge
    counts.append((f"≥ {shown_bytes(below)}", int((sizes >= below).sum())))
    return bars(counts)
