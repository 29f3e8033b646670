"""Lines over two axes as an SVG, for the growth plots of the benchmarks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

Line = Sequence[tuple[float, float]]

_COLOURS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")
_WIDTH: Final = 640
_HEIGHT: Final = 400
_LEGEND: Final = 260
_LEFT: Final = 70
_BELOW: Final = 50
_ABOVE: Final = 30


def write_plot(path: str, lines: Mapping[str, Line], *, x: str, y: str, logarithmic: bool = False) -> None:
    """A line for each name. Names that share what stands before their comma share a colour; those of `java` are dashed."""
    across = _scale([at for line in lines.values() for at, _ in line], _LEFT, _WIDTH - 20, logarithmic)
    up = _scale([value for line in lines.values() for _, value in line], _HEIGHT - _BELOW, _ABOVE, logarithmic)
    kinds = list(dict.fromkeys(name.partition(",")[0] for name in lines))
    box = f'viewBox="0 0 {_WIDTH + _LEGEND} {_HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH + _LEGEND}" height="{_HEIGHT}" fill="white"/>',
    ]
    for tick in across.ticks:
        parts.append(f'<path d="M{across.at(tick):.0f},{_ABOVE} V{_HEIGHT - _BELOW}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{across.at(tick):.0f}" y="{_HEIGHT - _BELOW + 18}" text-anchor="middle">{tick:,g}</text>'
        )
    for tick in up.ticks:
        parts.append(f'<path d="M{_LEFT},{up.at(tick):.0f} H{_WIDTH - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{up.at(tick) + 4:.0f}" text-anchor="end">{tick:,g}</text>')
    parts.append(f'<text x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{x}</text>')
    parts.append(f'<text x="8" y="18">{y}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = _COLOURS[kinds.index(name.partition(",")[0]) % len(_COLOURS)]
        dash = ' stroke-dasharray="6 4"' if "java" in name.lower() else ""
        places = " ".join(f"{across.at(at):.0f},{up.at(value):.0f}" for at, value in line)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        row = _ABOVE + 20 * number
        parts.append(
            f'<path d="M{_WIDTH},{row} h30" stroke="{colour}" stroke-width="2"{dash}/>'
            f'<text x="{_WIDTH + 38}" y="{row + 4}">{name}</text>'
        )
    Path(path).write_text("\n".join([*parts, "</svg>\n"]))


class _Axis:
    """Places of values on one axis."""

    def __init__(self, ticks: list[float], at: Callable[[float], float]) -> None:
        self.ticks = ticks
        self.at = at


def _scale(values: list[float], begin: float, end: float, logarithmic: bool) -> _Axis:
    if logarithmic:
        least, most = min(value for value in values if value > 0), max(values)
        ticks = [10.0**power for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)]
        low, high = math.log10(ticks[0]), math.log10(ticks[-1] if len(ticks) > 1 else ticks[0] * 10)
        return _Axis(ticks, lambda v: begin + (math.log10(max(v, ticks[0])) - low) / (high - low) * (end - begin))
    step = _round_step((max(values) or 1.0) / 5)
    ticks = [step * number for number in range(math.ceil(max(values) / step) + 1)]
    return _Axis(ticks, lambda v: begin + v / ticks[-1] * (end - begin))


def _round_step(least: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
