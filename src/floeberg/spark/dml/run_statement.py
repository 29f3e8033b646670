"""Runs a statement: again after a conflict with another commit, if the session asks for that, and not at all if the table
holds its transaction already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from floeberg.commit.commit import Committed, commit_operations
from floeberg.commit.retry import RetryPolicy
from floeberg.errors import CommitConflict, ValidationConflict
from floeberg.spark.host.calls.evaluated_once import loss_of_executors_explained
from floeberg.spark.host.destination import destination
from floeberg.spark.host.engine_summary import engine_summary
from floeberg.spark.host.execution import Execution
from floeberg.spark.write.once import once_of
from floeberg.spark.write.options import TXN_APP_ID_SETTING, session_write_options, write_options

RERUN_SETTING: Final = "spark.floeberg.rerun-on-conflict"
"""`true` in a session's settings: row-level statements that conflict are planned and run again."""

Run = Callable[[Execution], Committed | None]


def run_statement(execution: Execution, parts: tuple[str, ...], run: Run) -> Committed | None:
    """Runs a statement that changes rows on the newest state, as often and as long as the table's
    `commit.retry.num-retries` and `.total-timeout-ms` allow when the session asks for it, else once. The whole statement is
    evaluated anew each time. With the session's transaction (`spark.floeberg.txn-app-id`), a statement whose version the
    table holds is skipped, and one that changes nothing is recorded too. Raises what the last run raised, and at once a
    conflict that another run cannot settle."""
    with loss_of_executors_explained(".".join(parts)):
        return _run_once_or_in_transaction(execution, parts, run)


def _run_once_or_in_transaction(execution: Execution, parts: tuple[str, ...], run: Run) -> Committed | None:
    if execution.session.setting(TXN_APP_ID_SETTING, "") == "":
        return _run_again_on_conflict(execution, parts, run)
    return _run_again_on_conflict(execution, parts, lambda now: _run_in_transaction(now, parts, run))


def _run_in_transaction(execution: Execution, parts: tuple[str, ...], run: Run) -> Committed | None:
    resolved = execution.resolve(execution.session.table_identifier(parts))
    if resolved.table is None:
        return run(execution)  # which says what is wrong
    table = resolved.table
    place = destination(execution.spark, table.state.metadata, selector=resolved.selector)
    options = write_options(table.state.metadata, session_write_options(execution.spark.conf.getAll, {}))
    once = once_of(place, options.txn, session=execution.spark)
    assert once is not None
    if (skipped := once.skip(table.pointer)) is not None:
        return skipped
    committed = run(execution)
    if committed is None:
        summary = engine_summary(execution.spark)
        committed = commit_operations(
            table.pointer, table.state, [*place.operations_before], engine_summary=summary, once=once.transaction
        )
    return once.ended(committed)


def _run_again_on_conflict(execution: Execution, parts: tuple[str, ...], run: Run) -> Committed | None:
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
