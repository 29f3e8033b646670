"""Whole numbers as users give them: Python's own, and those that frames of numpy and pandas hold."""

from __future__ import annotations

import numbers


def whole_number(given: object) -> int | None:
    """The number as Python's own, which alone has a JSON form; None for what is none, truth values among them."""
    if isinstance(given, bool) or not isinstance(given, numbers.Integral):
        return None
    return int(given)
