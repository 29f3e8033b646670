"""EXPLAIN of statements of ours: the command in Spark's words, over the plan of the rows that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floeberg.spark.dml.insert import overwrites_partitions
from floeberg.spark.dml.statement_text import StatementText
from floeberg.spark.dml.target import changed_table, target_condition
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.results import rows
from floeberg.spark.query.run import query_frame
from floeberg.sql.statements import dml_statements as dml
from floeberg.sql.statements.insert_defaults import query_text
from floeberg.sql.statements.statements import Explain, Statement
from floeberg.sql.text.lexer import Span, quote_name
from floeberg.sql.text.names import Name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def explain(execution: Execution, statement: Explain) -> DataFrame:
    """The plan as text. Raises TableNotFound, and what Spark says of conditions and values."""
    command, query = _described(execution, statement.statement)
    if query is None:
        text = f"== Physical Plan ==\n{command}\n"
    else:
        mode = f"{statement.mode.upper()} " if statement.mode else ""
        plan = query_frame(execution.of(f"EXPLAIN {mode}{query}"), f"EXPLAIN {mode}{query}").collect()[0][0]
        text = _under(command, plan)
    return rows(execution.spark, "plan STRING NOT NULL", [(text,)])


def _under(command: str, plan: str) -> str:
    """The plan of the rows with the command on top of each of its trees."""
    lines: list[str] = []
    after_header = False
    for line in plan.rstrip("\n").split("\n"):
        if line.startswith("== "):
            lines.append(line)
            after_header = True
        elif after_header:
            lines += [command, f"+- {line}"]
            after_header = False
        else:
            lines.append(f"   {line}" if line else line)
    return "\n".join(lines) + "\n"


def _described(execution: Execution, statement: Statement) -> tuple[str, str | None]:
    """The command's line, and the query whose rows it works on."""
    sql = execution.sql
    if isinstance(statement, dml.Insert):
        return _insert(execution, statement), query_text(sql, statement)
    if isinstance(statement, dml.Delete | dml.Update):
        where = "" if statement.where is None else f" WHERE {statement.where.of(sql)}"
        query = f"{_ctes(sql, statement.ctes)}SELECT * FROM {_aliased(sql, statement.table, statement.alias)}{where}"
        verb = "delete" if isinstance(statement, dml.Delete) else "update"
        return _row_level(execution, statement.table, verb, statement.where), query
    if isinstance(statement, dml.Merge):
        target = _aliased(sql, statement.table, statement.alias)
        source = statement.source.of(sql) + (
            f" AS {quote_name(statement.source_alias)}" if statement.source_alias else ""
        )
        query = f"{_ctes(sql, statement.ctes)}SELECT * FROM {target} JOIN {source} ON {statement.condition.of(sql)}"
        return _row_level(execution, statement.table, "merge", None), query
    name = (
        getattr(statement, "table", None) or getattr(statement, "view", None) or getattr(statement, "namespace", None)
    )
    return f"{type(statement).__name__}{'' if not isinstance(name, Name) else f' {name}'}", None


def _insert(execution: Execution, statement: dml.Insert) -> str:
    resolved = execution.resolve(execution.session.table_identifier(statement.table.parts))
    metadata = None if resolved.table is None else resolved.table.state.metadata
    command = "AppendData"
    if statement.replace_where is not None or statement.overwrite:
        static = [name for name, value in statement.partition if value is not None]
        dynamic = (
            metadata is not None
            and statement.replace_where is None
            and overwrites_partitions(execution.session, dict(statement.options), metadata, static=static)
        )
        command = "OverwritePartitionsDynamic" if dynamic else "OverwriteByExpression"
    properties = {} if metadata is None else metadata.properties
    return f"{command} {_write(str(resolved.identifier), properties.get('write.format.default', 'parquet'))}"


def _row_level(execution: Execution, table: Name, verb: str, where: Span | None) -> str:
    """DeleteFromTable for metadata-only deletes, WriteDelta for merge-on-read, ReplaceData for copy-on-write."""
    target = changed_table(execution, table, verb=verb, alias=None)
    name = str(target.identifier)
    if verb == "delete":
        condition = target_condition(target, StatementText(execution).cursor, where)
        if condition.exact is not None and not target.merge_on_read:
            shown = "true" if where is None else where.of(execution.sql)
            return f"DeleteFromTable {name}, [{shown}]"
    command = "WriteDelta" if target.merge_on_read else "ReplaceData"
    return f"{command} {_write(name, target.metadata.properties.get('write.format.default', 'parquet'))}"


def _write(name: str, file_format: str) -> str:
    return f"IcebergWrite(table={name}, format={file_format.upper()})"


def _ctes(sql: str, span: Span | None) -> str:
    return "" if span is None else f"{span.of(sql)} "


def _aliased(sql: str, table: Name, alias: str | None) -> str:
    text = sql[table.start : table.end]
    return text if alias is None else f"{text} AS {quote_name(alias)}"
