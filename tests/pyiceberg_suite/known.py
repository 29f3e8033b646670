"""Why some of PyIceberg's integration tests fail here."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """A reason for failures, told by the test's name and what it said."""

    test: str
    said: str
    why: str


KNOWN: dict[str, Known] = {}


def reason(outcome: dict[str, str]) -> str:
    """The key of the known reason; `new` where there is none."""
    for key, known in KNOWN.items():
        if re.search(known.test, outcome["test"]) and re.search(known.said, outcome["said"]):
            return key
    return "new"
