"""`floeberg serve` that ends by SIGKILL between a swap and its answer: after so many swaps as it is told.

python dying_server.py SWAPS LOG [arguments of floeberg serve]     # SWAPS 0: it lives until it is killed from outside
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from floeberg.catalogs.sql import SqlRows
from floeberg.cli.main import main


def dies_after(real: Callable[..., bool], counter: itertools.count[int], swaps: int, log: str) -> Callable[..., bool]:
    """The change of pointers, after which the process may be no more: the database has it, the client does not know."""

    def changed(self: SqlRows, *given: Any, **named: Any) -> bool:
        done = real(self, *given, **named)
        if done and next(counter) == swaps:
            with open(log, "a", encoding="utf-8") as file:
                file.write(f"{real.__name__}\n")
                file.flush()
                os.fsync(file.fileno())
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    return changed


if __name__ == "__main__":
    at, log_file = int(sys.argv[1]), sys.argv[2]
    numbers = itertools.count(1)
    SqlRows.swap = dies_after(SqlRows.swap, numbers, at, log_file)  # type: ignore[method-assign]
    SqlRows.swap_all = dies_after(SqlRows.swap_all, numbers, at, log_file)  # type: ignore[method-assign]
    main(["serve", *sys.argv[3:]])
