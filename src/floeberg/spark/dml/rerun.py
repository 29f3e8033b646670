"""Running a statement again when another commit contradicted it, where the session asks for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from floeberg.commit.commit import Committed
from floeberg.errors import CommitConflict, ValidationConflict
from floeberg.spark.execution import Execution
from floeberg.spec.table_properties import integer_property

RERUN_SETTING: Final = "spark.floeberg.rerun-on-conflict"
"""`true` in a session's settings: row-level statements that conflict are planned and run again."""
_RETRIES: Final = "commit.retry.num-retries"
_DEFAULT_RETRIES: Final = 4

Run = Callable[[Execution], Committed | None]


def run_again_on_conflict(execution: Execution, parts: tuple[str, ...], run: Run) -> Committed | None:
    """Runs a statement on the newest state, as often as the table's `commit.retry.num-retries` allows when the session
    asks for it, else once. The whole statement is evaluated anew each time. Raises what the last run raised."""
    if execution.session.setting(RERUN_SETTING, "false").lower() != "true":
        return run(execution)
    resolved = execution.resolve(execution.session.table_identifier(parts))
    properties = {} if resolved.table is None else resolved.table.state.metadata.properties
    for _ in range(integer_property(properties, _RETRIES, _DEFAULT_RETRIES)):
        try:
            return run(execution)
        except (ValidationConflict, CommitConflict):
            execution = replace(execution, loaded={})
    return run(execution)
