"""`spark.sql`: executes our statements; the rest is passed to Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException

from floeberg.errors import FloebergError, UnsupportedFeature
from floeberg.spark.ddl import alter, alter_columns, caching, create, describe, namespaces, show, views
from floeberg.spark.dml.delete import delete_from
from floeberg.spark.dml.explain import explain
from floeberg.spark.dml.insert import insert, truncate_table
from floeberg.spark.dml.merge.statement import merge
from floeberg.spark.dml.update import update
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.host.errors.spark_errors import quote_statement
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.kept_settings import keep_settings, may_change_settings
from floeberg.spark.host.results import nothing
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.text_variables import as_spark_reads, refuse_unknown_variables
from floeberg.spark.procedures.call import call
from floeberg.spark.procedures.statistics import analyze_table
from floeberg.spark.query.run import run_query
from floeberg.sql.statements import call_statement
from floeberg.sql.statements import dml_statements as dml
from floeberg.sql.statements import session_statements as ses
from floeberg.sql.statements import statements as sts
from floeberg.sql.statements.classify import Classified, classify, executes_text
from floeberg.sql.text.byte_strings import may_hold_invalid_utf8
from floeberg.sql.text.cursor import Args, Cursor
from floeberg.sql.text.lexer import first_words, with_backquotes
from floeberg.sql.text.names import Name
from floeberg.sql.text.parameters import named_parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Executor = Callable[[Execution, Any], "DataFrame"]
_CREATES: Final = re.compile(
    r"\s*(?:CREATE|REPLACE)\b.*\bUSING\s+[`'\"]?(?:iceberg|floeberg)\b", re.IGNORECASE | re.DOTALL
)

_IMMEDIATE_IN_SCRIPT: Final = re.compile(r".*\bBEGIN\b.*\bEXECUTE\b.*\bIMMEDIATE\b", re.IGNORECASE | re.DOTALL)


@in_own_session
def run_sql(
    session: AttachedSession,
    sql: str,
    args: Args = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    shown_sql: str | None = None,
) -> DataFrame:
    """The result of a statement. Raises our errors for our statements, Spark's for others. `shown_sql` is the text that
    errors show, where it is not the statement itself."""
    sql = as_spark_reads(session, sql, is_template=bool(kwargs))
    try:
        execution, found = _classified(session, sql, args, kwargs or {})
        if isinstance(found, sts.QueryText):
            answer = run_query(execution, found.references)
            quote_statement(answer, sql if shown_sql is None else shown_sql)
            return answer
        if not isinstance(found, sts.PassThrough):
            return execute(execution, found)
    except (FloebergError, PySparkException) as error:
        quote_statement(error, sql if shown_sql is None else shown_sql)
        raise
    answer = execution.pass_on()
    if may_change_settings(sql):
        keep_settings(session)
    return answer


def _classified(
    session: AttachedSession, sql: str, args: Args, kwargs: Mapping[str, Any]
) -> tuple[Execution, Classified]:
    if session.views:
        _refuse_hidden_text(sql)
    sql = session.with_current_place(sql)
    names = session.names(creates=_CREATES.match(sql) is not None)
    quoted = '"' in sql and session.double_quoted_identifiers
    found = classify(sql, names, args=args, double_quoted_identifiers=quoted)
    if quoted and not isinstance(found, sts.PassThrough):
        # Parts of the text are read again, and the text of a view under other settings.
        sql = with_backquotes(sql)
        found = classify(sql, names, args=args)
    if not isinstance(found, sts.PassThrough) and args is not None and not isinstance(args, Mapping):
        # Parsed again with names for the `?`; errors were reported above, at their position in the user's text.
        sql, args = named_parameters(sql, args)
        found = classify(sql, names, args=args)
    if not isinstance(found, sts.PassThrough):
        refuse_unknown_variables(session, sql)
    return Execution(session, sql, args, kwargs, has_invalid_utf8=may_hold_invalid_utf8(sql, args)), found


def _refuse_hidden_text(sql: str) -> None:
    """EXECUTE IMMEDIATE of a text that is computed could read a temporary view of ours as it was when it was made. Raises
    UnsupportedFeature."""
    if first_words(sql) != ["EXECUTE", "IMMEDIATE"] and not _IMMEDIATE_IN_SCRIPT.match(sql):
        return
    cursor = Cursor(sql)
    for at in executes_text(cursor):
        cursor.index = at + 2
        if not cursor.strings() or not (cursor.at_end() or cursor.at_any("INTO", "USING", ";")):
            raise UnsupportedFeature(
                "EXECUTE IMMEDIATE of a text that is no literal is not supported while there are temporary views over our "
                "tables, because it may read them; run the statement with spark.sql"
            )


def execute(execution: Execution, statement: sts.Statement) -> DataFrame:
    """Runs a statement of ours."""
    if isinstance(statement, sts.Explain):
        return explain(execution, statement)
    name = _name_of(statement)
    if name is not None and _is_remembered(execution, name) and not isinstance(statement, _OURS_FOR_VIEWS):
        return views.remembered_view_statement(execution, statement)
    executor = _EXECUTORS.get(type(statement))
    if executor is None:
        raise UnsupportedFeature(
            f"{' '.join(first_words(execution.sql))} statements are not there yet; they come in a later release"
        )
    return executor(execution, statement)


def _name_of(statement: sts.Statement) -> Name | None:
    for attribute in ("table", "view"):
        found = getattr(statement, attribute, None)
        if isinstance(found, Name):
            return found
    return None


def _is_remembered(execution: Execution, name: Name) -> bool:
    found = execution.names().table(name.parts)
    return found is not None and not found.catalog


def _changing(change: Callable[[Execution, Any], Any]) -> Executor:
    """A change of rows as an executor."""

    def run(execution: Execution, statement: Any) -> DataFrame:
        change(execution, statement)
        return nothing(execution.spark)

    return run


def _comment(execution: Execution, statement: sts.CommentOn) -> DataFrame:
    if statement.kind == "table":
        return alter.comment_on_table(execution, statement)
    return namespaces.comment_on_namespace(execution, statement)


_OURS_FOR_VIEWS: Final = (ses.CreateView, sts.CacheTable, sts.UncacheTable)
"""Statements about a temporary view that Spark's view of the same name does not answer."""
_EXECUTORS: Final[dict[type[sts.Statement], Executor]] = {
    sts.CreateTable: create.create_table,
    sts.CreateTableLike: create.create_table_like,
    sts.DropTable: create.drop_table,
    sts.RenameTable: create.rename_table,
    sts.SetTableProperties: views.set_view_or_table_properties,
    sts.UnsetTableProperties: views.unset_view_or_table_properties,
    sts.SetTableLocation: alter.set_location,
    sts.AddColumns: alter_columns.add_columns,
    sts.ReplaceColumns: alter_columns.replace_columns,
    sts.RenameColumn: alter_columns.rename_column,
    sts.AlterColumns: alter_columns.alter_columns,
    sts.DropColumns: alter_columns.drop_columns,
    sts.AddPartitionField: alter.add_partition_field,
    sts.DropPartitionField: alter.drop_partition_field,
    sts.ReplacePartitionField: alter.replace_partition_field,
    sts.SetWriteOrder: alter.set_write_order,
    sts.ChangeIdentifierFields: alter_columns.change_identifier_fields,
    sts.CreateReference: alter.create_reference,
    sts.DropReference: alter.drop_reference,
    sts.CommentOn: _comment,
    sts.RefreshTable: caching.refresh_table,
    sts.CacheTable: caching.cache_table,
    sts.UncacheTable: caching.uncache_table,
    sts.TruncateTable: truncate_table,
    sts.AnalyzeTable: analyze_table,
    ses.CreateView: views.create_view,
    ses.AlterViewAs: views.alter_view_as,
    ses.DropView: views.drop_view,
    ses.CreateNamespace: namespaces.create_namespace,
    ses.DropNamespace: namespaces.drop_namespace,
    ses.DescribeNamespace: namespaces.describe_namespace,
    ses.SetNamespaceProperties: namespaces.set_namespace_properties,
    ses.UnsetNamespaceProperties: namespaces.unset_namespace_properties,
    ses.SetNamespaceLocation: namespaces.set_namespace_location,
    ses.Use: namespaces.use,
    ses.ShowCatalogs: show.show_catalogs,
    ses.ShowCurrentNamespace: show.show_current_namespace,
    ses.ShowNamespaces: show.show_namespaces,
    ses.ShowTables: show.show_tables,
    ses.ShowColumns: show.show_columns,
    ses.ShowTableProperties: show.show_table_properties,
    ses.ShowCreateTable: show.show_create_table,
    ses.ShowPartitions: show.show_partitions,
    ses.DescribeTable: describe.describe_table,
    dml.Insert: insert,
    dml.Delete: _changing(delete_from),
    dml.Update: _changing(update),
    dml.Merge: _changing(merge),
    call_statement.Call: call,
}
