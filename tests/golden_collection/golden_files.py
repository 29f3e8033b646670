"""Where golden files are: the small ones in this repository, the large collection beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
SHARED = Path(__file__).parents[3] / "shared" / "golden"


def shared_files(pattern: str) -> list[Path]:
    """Files of the large collection; skips the test where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"the golden collection is not at {SHARED}")
    return sorted(SHARED.glob(pattern))
