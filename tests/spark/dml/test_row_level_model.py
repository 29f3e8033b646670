"""Random sequences of INSERT, DELETE, UPDATE and MERGE against a plain model: rows and lineage are equal after each step.

`FLOEBERG_MODEL_SEQUENCES` says how many sequences are run; `make model` runs many.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from spark_row_model import Sequence

SEQUENCES = int(os.environ.get("FLOEBERG_MODEL_SEQUENCES", "25"))


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_random_changes_agree_with_a_plain_model(session: Any, seed: int) -> None:
    Sequence(session, seed).run()
