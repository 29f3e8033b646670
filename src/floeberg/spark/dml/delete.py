"""DELETE FROM: a metadata-only delete where whole files match, else by the rows for which the condition is true."""

from __future__ import annotations

from floeberg.commit.commit import Committed
from floeberg.expr.metrics_eval import must_all_match
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.carry_out import FoundChange, carry_out
from floeberg.spark.dml.change_job import FILE, KIND, POSITION, RowKind, Touched, find_changes
from floeberg.spark.dml.run_statement import run_statement
from floeberg.spark.dml.statement_text import StatementText
from floeberg.spark.dml.target import ChangedTable, changed_table, target_condition
from floeberg.spark.host.execution import Execution
from floeberg.spec.schemas.metadata_columns import FILE_PATH, ROW_POSITION
from floeberg.sql.statements.dml_statements import Delete


def delete_from(execution: Execution, statement: Delete) -> Committed | None:
    """Deletes the rows for which the condition is true; where it is null a row stays. None when there are none.

    Raises TableNotFound, InvalidInput, Spark's own errors for the condition, ValidationConflict, CommitConflict.
    """
    return run_statement(execution, statement.table.parts, lambda now: _delete(now, statement))


def _delete(execution: Execution, statement: Delete) -> Committed | None:
    target = changed_table(execution, statement.table, verb="delete", alias=statement.alias)
    text = StatementText(execution, [(target.identifier, target.alias)])
    condition = target_condition(target, text.cursor, statement.where)
    tasks = target.plan(condition.weak if condition.exact is None else condition.exact)
    whole = [task for task in tasks if condition.exact is not None and must_all_match(task.residual, task.data_file)]
    named = {task.data_file.file_path for task in whole}
    rest = [task for task in tasks if task.data_file.file_path not in named]
    touched = _matching(target, text, statement, rest, understood=condition.exact is not None)
    return carry_out(
        target,
        FoundChange(
            tasks=rest,
            condition=condition.weak,
            whole=whole,
            positions=touched.positions,
            deleted=touched.deleted,
        ),
    )


def _matching(
    target: ChangedTable, text: StatementText, statement: Delete, tasks: list[FileScanTask], *, understood: bool
) -> Touched:
    """The rows of the remaining files. A condition that only Spark can evaluate is analysed even if no file remains, and
    evaluated if it may fail without any row, so that its errors show."""
    if not tasks and understood:
        return Touched()
    alias = target.alias_text
    where = "" if statement.where is None else f"WHERE {text.expression(statement.where)}"
    query = (
        f"{text.verbatim(statement.ctes)} SELECT {int(RowKind.DELETE)} AS {KIND}, "
        f"{alias}.{FILE_PATH.name} AS {FILE}, {alias}.{ROW_POSITION.name} AS {POSITION} "
        f"FROM {{floeberg_target}} AS {alias} {where}"
    )
    frame = text.frame(query, floeberg_target=target.rows(tasks))
    if tasks:
        return find_changes(target, frame)
    if text.has_row_query():
        frame.collect()
    return Touched()
