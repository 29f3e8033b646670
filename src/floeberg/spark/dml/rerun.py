"""Runs a statement again after a conflict with another commit, if the session asks for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from floeberg.commit.commit import Committed
from floeberg.commit.retry import RetryPolicy
from floeberg.errors import CommitConflict, ValidationConflict
from floeberg.spark.host.execution import Execution

RERUN_SETTING: Final = "spark.floeberg.rerun-on-conflict"
"""`true` in a session's settings: row-level statements that conflict are planned and run again."""

Run = Callable[[Execution], Committed | None]


def run_again_on_conflict(execution: Execution, parts: tuple[str, ...], run: Run) -> Committed | None:
    """Runs a statement on the newest state, as often and as long as the table's `commit.retry.num-retries` and
    `.total-timeout-ms` allow when the session asks for it, else once. The whole statement is evaluated anew each time.
    Raises what the last run raised, and at once a conflict that another run cannot settle."""
    table = None
    if execution.session.setting(RERUN_SETTING, "false").lower() == "true":
        table = execution.resolve(execution.session.table_identifier(parts)).table
    if table is None:
        return run(execution)
    policy = RetryPolicy.from_properties(table.state.metadata.properties)
    clock = table.pointer.effects.clock
    started_ms = clock.monotonic_ms()
    for _ in range(policy.num_retries):
        try:
            return run(execution)
        except (ValidationConflict, CommitConflict) as conflict:
            is_late = clock.monotonic_ms() - started_ms > policy.total_timeout_ms
            if is_late or conflict.context.get("retry_can_help") is False:
                raise
            execution = replace(execution, loaded={}, read=set())
    return run(execution)
