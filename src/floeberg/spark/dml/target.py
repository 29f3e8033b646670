"""The table that DELETE, UPDATE or MERGE changes: at one snapshot of one branch, with its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.isolation import ReadView
from floeberg.commit.operation import Operation
from floeberg.commit.pointer import TableState
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, Expression
from floeberg.row_changes.policy import RowLevelMode, isolation_level, refuse_encrypted, row_level_mode
from floeberg.scan.plan import plan_files
from floeberg.scan.snapshot_choice import SnapshotChoice, choose_snapshot
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.target_scan import live_rows
from floeberg.spark.host.destination import Destination, destination
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.settings.ambiguous_names import refuse_functions
from floeberg.spark.host.settings.coercion_rules import coercion_rules
from floeberg.spark.host.types.exact_types import cut_name, exact_name
from floeberg.spark.host.types.spark_types import frame_field, has_nanoseconds
from floeberg.spark.write.exact_values import refuse_cut, shown_column
from floeberg.spark.write.once import Once, once_of
from floeberg.spark.write.options import WriteOptions, session_write_options, write_options
from floeberg.spark.write.whole_conditions import is_whole
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.metadata_columns import (
    FILE_PATH,
    LAST_UPDATED_SEQUENCE_NUMBER,
    ROW_ID,
    ROW_POSITION,
    with_row_lineage,
)
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.row_lineage import ROW_LINEAGE_VERSION
from floeberg.spec.types import NestedField
from floeberg.sql.conditions.predicates import Condition
from floeberg.sql.conditions.to_expression import to_exact_expression, to_expression
from floeberg.sql.queries.conjuncts import condition_of_target
from floeberg.sql.queries.references import double_braces
from floeberg.sql.text.cursor import Cursor
from floeberg.sql.text.lexer import Span, quote_name
from floeberg.sql.text.names import Name, TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTable:
    """One change of one table. `verb` is delete, update or merge, as the names of the properties have it."""

    session: AttachedSession
    identifier: TableIdentifier
    table: LoadedTable
    verb: str
    alias: str
    destination: Destination
    operations_before: tuple[Operation, ...] = ()
    """The operations that the commit has before the change of rows: one makes the branch, or evolves the schema."""
    base: TableState
    """The state of the table that the commit builds on. `table` has the schema that the change writes, which may have evolved
    from it; the rows of both are those of one snapshot."""
    tables_read: set[TableIdentifier]
    """The tables that queries in the statement read. It is the statement's own set, which grows while its queries are built:
    ask `view` only after them."""
    session_options: Mapping[str, str] = field(default_factory=dict)
    """Write options from the session's settings."""
    has_invalid_utf8: bool = False
    """Whether a constant that rows are compared with may be a string that is not UTF-8."""

    @property
    def alias_text(self) -> str:
        """The alias in a query's template."""
        return double_braces(quote_name(self.alias))

    @property
    def spark(self) -> SparkSession:
        return self.session.spark

    @property
    def name(self) -> str:
        return self.base.identifier

    @property
    def metadata(self) -> TableMetadata:
        return self.table.state.metadata

    @property
    def schema(self) -> Schema:
        return self.metadata.current_schema

    @property
    def has_lineage(self) -> bool:
        return self.metadata.format_version >= ROW_LINEAGE_VERSION

    @property
    def written_schema(self) -> Schema:
        """The columns of the files that a change writes: rows keep their ids if the table has row lineage."""
        return with_row_lineage(self.schema) if self.has_lineage else self.schema

    @property
    def case_sensitive(self) -> bool:
        return self.session.setting("spark.sql.caseSensitive", "false") == "true"

    @property
    def ansi(self) -> bool:
        return self.session.setting("spark.sql.ansi.enabled", "true") == "true"

    @property
    def chosen(self) -> SnapshotChoice:
        """The snapshot that the change reads, under the schema that it writes."""
        return replace(choose_snapshot(self.metadata, ref=self.destination.read_branch), schema=self.schema)

    @property
    def merge_on_read(self) -> bool:
        """Whether rows are deleted by delete files (merge-on-read)."""
        return row_level_mode(self.metadata, self.verb) is RowLevelMode.MERGE_ON_READ

    @property
    def write_options(self) -> WriteOptions:
        name = f"write.{self.verb}.distribution-mode"
        given = {"distribution-mode": self.metadata.properties.get(name, "hash"), **self.session_options}
        return write_options(self.metadata, given, branch=self.destination.branch)

    @property
    def once(self) -> Once | None:
        """The transaction that makes the change happen once."""
        return once_of(self.destination, self.write_options.txn, session=self.spark)

    def view(self, condition: Expression) -> ReadView:
        """What the change read: concurrent changes of rows that may match it are conflicts."""
        if self.identifier in self.tables_read:
            condition = TRUE  # a subquery or the source reads other rows of the table too
        snapshot = self.chosen.snapshot
        return ReadView(
            starting_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
            conflict_filter=bind(condition, self.schema),
            isolation=isolation_level(self.metadata, self.verb),
        )

    def plan(self, condition: Expression) -> list[FileScanTask]:
        """The files that may hold rows for which the condition is true, with their metrics."""
        return list(
            plan_files(
                self.metadata,
                self.chosen,
                store_for=self.table.pointer.store_for,
                where=condition,
                with_metrics=True,
                all_deletes=True,
            )
        )

    def rows(self, tasks: Sequence[FileScanTask]) -> DataFrame:
        """The live rows of files with file and position, and their row ids if the table has row lineage: columns as users see
        them, and beside those that Spark truncates the exact ones."""
        places = (FILE_PATH, ROW_POSITION, *((ROW_ID,) if self.has_lineage else ()))
        # Nobody sees the comments of these columns, and a column with one costs Spark's gateway several calls.
        fields = [replace(field, doc=None) for field in (*self.schema.fields, *places)]
        rows = live_rows(
            self.spark,
            self.table,
            tasks,
            self.schema,
            projection=Schema(*fields),
            skips_row_groups=not self.has_invalid_utf8,
        )
        return _with_shown(rows, fields)


def value_types(target: ChangedTable, values: DataFrame) -> list[st.DataType]:
    """The types of assigned values, which are the columns of a frame. Raises InvalidInput for values that Spark has cut, where
    the table has columns that would take them whole."""
    fields = values.schema.fields
    if any(has_nanoseconds(field.type) for field in target.schema.fields):
        refuse_cut(values, range(len(fields)), table=target.name)
    return [field.dataType for field in fields]


def _with_shown(rows: DataFrame, fields: Sequence[NestedField]) -> DataFrame:
    cut = {one.field_id: name for one in fields if (name := cut_name(one)) is not None}
    if not cut:
        return rows
    made, shown, exact = [], [], []
    for one in fields:
        column, name = F.col(quote_name(one.name)), cut.get(one.field_id)
        if name is None:
            shown.append(column)
        else:
            made.append(shown_column(column, one.type).alias(name))
            shown.append(F.col(name).alias(one.name, metadata=frame_field(one).metadata))
            exact.append(column.alias(exact_name(one)))
    return rows.select("*", *made).select(*shown, *exact)


def with_inherited_sequence_number(target: ChangedTable, rows: DataFrame) -> DataFrame:
    """Adds a null `_last_updated_sequence_number`: a changed row inherits the sequence number of its commit."""
    if not target.has_lineage or LAST_UPDATED_SEQUENCE_NUMBER.name in rows.columns:
        return rows
    return rows.selectExpr("*", f"CAST(NULL AS BIGINT) AS {LAST_UPDATED_SEQUENCE_NUMBER.name}")


def changed_table(execution: Execution, name: Name, *, verb: str, alias: str | None) -> ChangedTable:
    """The table that a statement names. Raises TableNotFound, InvalidInput for a view, snapshot, tag or metadata table,
    UnsupportedFeature for an encrypted table."""
    session = execution.session
    resolved = execution.resolve(session.table_identifier(name.parts))
    table = resolved.table
    if table is None:
        raise InvalidInput(f"{resolved.identifier} is a view; {verb.upper()} changes a table")
    metadata = table.state.metadata
    refuse_encrypted(metadata)
    _refuse_own_names(metadata.current_schema, str(resolved.identifier))
    refuse_functions(session.spark, metadata.current_schema, str(resolved.identifier), sql=execution.sql)
    where = destination(session.spark, metadata, selector=resolved.selector)
    return ChangedTable(
        session=session,
        identifier=resolved.identifier,
        table=table,
        verb=verb,
        alias=alias or name.parts[-1 if resolved.selector is None else -2],
        destination=where,
        operations_before=tuple(where.operations_before),
        base=table.state,
        tables_read=execution.read,
        session_options=session_write_options(session.spark.conf.getAll, {}),
        has_invalid_utf8=execution.has_invalid_utf8,
    )


def _refuse_own_names(schema: Schema, table: str) -> None:
    taken = [field.name for field in schema.fields if field.name.lower().startswith(ENGINE_PREFIX)]
    if taken:
        raise UnsupportedFeature(
            f"table {table}: column {taken[0]!r} has a name that Spark statements use inside; rename it to change rows"
        )


@dataclass(frozen=True, slots=True)
class TargetCondition:
    """A condition on the target's rows: `weak` is true for every row that matches; `exact`, if there is one, for no others."""

    weak: Expression
    exact: Expression | None


def target_condition(
    target: ChangedTable, cursor: Cursor, span: Span | None, *, others: Sequence[str] = ()
) -> TargetCondition:
    """The parts of a condition that only depend on the target; without a condition, every row."""
    if span is None:
        return TargetCondition(TRUE, TRUE)
    found = condition_of_target(
        cursor,
        span,
        target=target.identifier,
        alias=target.alias,
        others=others,
        case_sensitive=target.case_sensitive,
    )
    weak = target_expression(target, found)
    exact = None
    # Parts that cannot be read are left out of what was found: then nothing exact is known.
    if is_whole(cursor, span, found):
        exact = to_exact_expression(found, target.schema, **coercion_rules(target.session.setting))
    return TargetCondition(weak, exact)


def target_expression(target: ChangedTable, conditions: Sequence[Condition]) -> Expression:
    """Conditions on the target's columns, for planning: true for every row for which all of them are."""
    return to_expression(conditions, target.schema, **coercion_rules(target.session.setting))
