"""MERGE INTO: the source is evaluated once, joined to the rows of the target that it can match, and every row goes to the
first clause whose condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.commit import Committed
from floeberg.commit.pointer import TableState
from floeberg.commit.staging import preview
from floeberg.commit.table_changes import ChangeSchema
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression, and_
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.assignments import TargetColumns, TypesOf
from floeberg.spark.dml.merge_clauses import ClauseTexts, kind_of
from floeberg.spark.dml.merge_pruning import SourceKeys, key_pairs, source_keys
from floeberg.spark.dml.positions import RowKind, Touched, touched_rows
from floeberg.spark.dml.rerun import run_again_on_conflict
from floeberg.spark.dml.row_change import PlannedChange, carry_out, new_row_columns
from floeberg.spark.dml.statement_text import StatementText
from floeberg.spark.dml.target import ChangedTable, changed_table, target_condition
from floeberg.spark.execution import Execution
from floeberg.spark.sql.dml_statements import Merge, MergeClause
from floeberg.spark.sql.lexer import quote_name
from floeberg.spark.sql.references import double_braces
from floeberg.spark.types import iceberg_schema_of
from floeberg.spark.write.same_schema import SchemaStays
from floeberg.spec.metadata_columns import FILE_PATH, ROW_ID, ROW_POSITION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PREFIX: Final = "__floeberg_"
_SOURCE_ROW: Final = f"{_PREFIX}source_row"
_BY_SOURCE: Final = f"{_PREFIX}by_source"
_ROW: Final = f"{_PREFIX}row"
_TARGET: Final = f"{_PREFIX}target"
_BROADCAST_ROWS: Final = 500_000
_NO_ALIAS: Final = f"{_PREFIX}source"


def merge(execution: Execution, statement: Merge, *, source: DataFrame | None = None) -> Committed | None:
    """Merges a source into a table; `source` is a DataFrame in the place of the statement's. None when nothing changes.

    Raises TableNotFound, InvalidInput (unknown columns, values that do not fit, a row matched by several source rows),
    Spark's own errors for conditions and values, ValidationConflict, CommitConflict. The table is unchanged then.
    """

    def run(now: Execution) -> Committed | None:
        target = changed_table(now, statement.table, verb="merge", alias=statement.alias)
        return _Merge(now, statement, target, source).run()

    return run_again_on_conflict(execution, statement.table.parts, run)


@dataclass(frozen=True, slots=True)
class _Clauses:
    matched: tuple[MergeClause, ...]
    inserts: tuple[MergeClause, ...]
    by_source: tuple[MergeClause, ...]

    @staticmethod
    def of(clauses: Sequence[MergeClause]) -> _Clauses:
        kinds = ("matched", "not_matched", "not_matched_by_source")
        return _Clauses(*(tuple(clause for clause in clauses if clause.when == kind) for kind in kinds))

    @property
    def checks_cardinality(self) -> bool:
        """One unconditional DELETE may find a row often; anything else would depend on the order of the source."""
        match self.matched:
            case ():
                return False
            case (MergeClause(action="delete", condition=None),):
                return False
        return True


class _Merge:
    """One MERGE on its way."""

    def __init__(self, execution: Execution, statement: Merge, target: ChangedTable, given: DataFrame | None) -> None:
        self._statement = statement
        self._clauses = _Clauses.of(statement.clauses)
        name = statement.source_alias or (statement.source_name.parts[-1] if statement.source_name else None)
        self._source_name = name
        self._source_alias = name or _NO_ALIAS
        scope = [(target.identifier, target.alias)]
        if statement.source_alias is None and statement.source_name is not None:
            found = execution.session.names().table(statement.source_name.parts)
            if found is not None:
                scope.append((found, self._source_alias))
        self._text = StatementText(execution, scope)
        self._ctes = self._text.verbatim(statement.ctes)
        frame = self._source_frame() if given is None else given
        self._source_type = frame.schema
        # Evaluated once, whatever it is made of: it is looked at for its keys, joined, and inserted from.
        self._source = frame.withColumn(_SOURCE_ROW, F.monotonically_increasing_id())
        self._target = _evolved(target, frame) if statement.schema_evolution else target
        self._columns = TargetColumns(
            self._target.schema, target.identifier, target.alias, case_sensitive=target.case_sensitive
        )
        self._texts = ClauseTexts(
            self._text,
            self._columns,
            self._source_type,
            self._source_alias,
            target.name,
            evolves=statement.schema_evolution,
        )

    def _source_frame(self) -> DataFrame:
        alias = f" AS {double_braces(quote_name(self._source_alias))}"
        return self._text.frame(f"{self._ctes} SELECT * FROM {self._text.verbatim(self._statement.source)}{alias}")

    def run(self) -> Committed | None:
        target = self._target
        joined, inserted = self._queries(target.rows([]), self._source)  # raises what is wrong before anything runs
        del joined, inserted
        self._source = self._source.localCheckpoint(eager=True)
        keys = self._keys()
        condition: Expression = TRUE
        if not self._clauses.by_source:
            said = target_condition(target, self._text.cursor, self._statement.condition, others=[self._source_alias])
            condition = and_(said.weak, keys.condition)
        tasks = target.plan(condition)
        source = F.broadcast(self._source) if keys.rows <= _BROADCAST_ROWS else self._source
        changes, inserts = self._queries(target.rows(tasks), source)
        touched = Touched()
        if changes is not None:
            changes = changes.localCheckpoint(eager=True)
            changes, touched = self._touched(changes)
        rows = self._new_rows(changes, inserts, touched)
        if rows is None and not touched.positions:
            return None
        return carry_out(target, self._planned(tasks, touched, condition, rows))

    def _planned(
        self, tasks: Sequence[FileScanTask], touched: Touched, condition: Expression, rows: DataFrame | None
    ) -> PlannedChange:
        return PlannedChange(
            tasks=tasks,
            condition=condition,
            positions=touched.positions,
            deleted=touched.deleted,
            updated=touched.updated,
            new_rows=rows,
            expected_rows=None if self._clauses.inserts else touched.updated,
        )

    def _keys(self) -> SourceKeys:
        pairs = key_pairs(
            self._text.cursor,
            self._statement.condition,
            self._columns,
            self._source_type,
            source_alias=self._source_name,
        )
        return source_keys(self._source, pairs, self._target.schema)

    # the queries

    def _queries(self, target: DataFrame, source: DataFrame) -> tuple[DataFrame | None, Any]:
        """The rows of the target that are matched (or, where clauses ask for those, not), each with what it becomes; and
        a function that gives the inserted rows, when it is known which source rows found a match."""
        frames = {"floeberg_target": self._with_by_source(target), "floeberg_source": source}
        joined = self._text.frame(f"{self._ctes} SELECT {self._items()} FROM {self._join()}", **frames)
        if self._clauses.inserts:
            self._inserted(source)
        return joined, self._inserted if self._clauses.inserts else None

    def _join(self) -> str:
        kind = "LEFT" if self._clauses.by_source else "INNER"
        source = double_braces(quote_name(self._source_alias))
        return (
            f"{{floeberg_target}} AS {self._target.alias_text} {kind} JOIN {{floeberg_source}} AS {source} "
            f"ON {self._text.expression(self._statement.condition)}"
        )

    def _with_by_source(self, target: DataFrame) -> DataFrame:
        """The target with the clause that takes a row that no source row matches, evaluated where only the target is."""
        if not self._clauses.by_source:
            return target
        decision = self._texts.decision(self._clauses.by_source)
        query = (
            f"{self._ctes} SELECT *, {decision} AS {_BY_SOURCE} FROM {{floeberg_target}} AS {self._target.alias_text}"
        )
        return self._text.frame(query, floeberg_target=target)

    def _items(self) -> str:
        alias = self._target.alias_text
        source = double_braces(quote_name(self._source_alias))
        found = f"{source}.{_SOURCE_ROW}"
        items = [
            f"{alias}.{FILE_PATH.name} AS file",
            f"{alias}.{ROW_POSITION.name} AS pos",
            f"{found} AS source_row",
        ]
        if self._target.has_lineage:
            items.append(f"{alias}.{ROW_ID.name} AS row_id")
        if self._clauses.matched:
            row = self._texts.struct(self._clauses.matched, self._types_of(matched=True, source=True))
            items.append(f"CASE WHEN {found} IS NOT NULL THEN {row} END AS {_ROW}")
        if self._clauses.by_source:
            items.append(
                f"CASE WHEN {found} IS NULL AND {alias}.{_BY_SOURCE} > 0 THEN struct({alias}.*) END AS {_TARGET}"
            )
        return ", ".join(items)

    def _types_of(self, *, matched: bool, source: bool) -> TypesOf:
        """The types of values where the target's columns are seen (`matched`), the source's, or both."""

        def types(values: Sequence[str]) -> Sequence[st.DataType]:
            items = ", ".join(f"{value} AS v{number}" for number, value in enumerate(values))
            sides = []
            if matched:
                sides.append(f"{{floeberg_target}} AS {self._target.alias_text}")
            if source:
                sides.append(f"{{floeberg_source}} AS {double_braces(quote_name(self._source_alias))}")
            frame = self._text.frame(
                f"{self._ctes} SELECT {items} FROM {' CROSS JOIN '.join(sides)}",
                floeberg_target=self._target.rows([]),
                floeberg_source=self._source,
            )
            return [field.dataType for field in frame.schema.fields]

        return types

    # what becomes of rows

    def _touched(self, changes: DataFrame) -> tuple[DataFrame, Touched]:
        """The changes with the kind of each, and where they are. Raises InvalidInput for a row matched twice."""
        kind = F.lit(int(RowKind.UNTOUCHED))
        if self._clauses.matched:
            kind = _kind_column(F.col(f"{_ROW}.clause"), self._clauses.matched, kind)
        if self._clauses.by_source:
            kind = _kind_column(F.col(f"{_TARGET}.{_BY_SOURCE}"), self._clauses.by_source, kind)
        changes = changes.withColumn("kind", kind)
        if not self._clauses.matched and not self._clauses.by_source:
            return changes, Touched()
        seen = changes.where(F.col("source_row").isNotNull() | (F.col("kind") != int(RowKind.UNTOUCHED)))
        touched = touched_rows(seen.select("kind", "file", "pos"), once=self._clauses.checks_cardinality)
        if touched.twice is not None:
            raise InvalidInput(
                f"table {self._target.name}: a row of it is matched by more than one row of the source, so that it is not "
                "known what becomes of it; make the source's keys unique",
                table=self._target.name,
                file=touched.twice,
            )
        return changes, touched

    def _new_rows(self, changes: DataFrame | None, inserts: Any, touched: Touched) -> DataFrame | None:
        names = new_row_columns(self._target)
        frames = []
        if changes is not None and touched.updated:
            if any(clause.action == "update" for clause in self._clauses.matched):
                updated = changes.where((F.col("kind") == int(RowKind.UPDATE)) & F.col(f"{_ROW}.clause").isNotNull())
                columns = [F.col(f"{_ROW}.c{number}") for number in range(len(self._target.schema.fields))]
                frames.append(_named(updated, [*columns, *self._row_id(F.col("row_id"))], names))
            if any(clause.action == "update" for clause in self._clauses.by_source):
                frames.append(self._by_source_rows(changes, names))
        if inserts is not None:
            rows = self._source
            if changes is not None:
                matched = changes.select("source_row").where(F.col("source_row").isNotNull())
                rows = rows.join(matched, rows[_SOURCE_ROW] == matched["source_row"], "left_anti")
            frames.append(inserts(rows))
        whole = None
        for frame in frames:
            whole = frame if whole is None else whole.union(frame)
        return whole

    def _row_id(self, column: Column) -> list[Column]:
        return [column] if self._target.has_lineage else []

    def _by_source_rows(self, changes: DataFrame, names: Sequence[str]) -> DataFrame:
        alias = self._target.alias_text
        own = changes.where(F.col(f"{_TARGET}.{_BY_SOURCE}") > 0).select(f"{_TARGET}.*")
        types = self._types_of(matched=True, source=False)
        rows = self._texts.rows(self._clauses.by_source, types, decision=f"{alias}.{_BY_SOURCE}")
        if self._target.has_lineage:
            rows = [*rows, f"{alias}.{ROW_ID.name}"]
        updates = [
            n for n in range(1, len(self._clauses.by_source) + 1) if self._clauses.by_source[n - 1].action == "update"
        ]
        numbers = ", ".join(str(number) for number in updates)
        items = ", ".join(f"{row} AS c{number}" for number, row in enumerate(rows))
        query = (
            f"{self._ctes} SELECT {items} FROM {{floeberg_target}} AS {alias} WHERE {alias}.{_BY_SOURCE} IN ({numbers})"
        )
        return self._text.frame(query, floeberg_target=own).toDF(*names)

    def _inserted(self, rows: DataFrame) -> DataFrame:
        """The rows that the insert clauses make of source rows, evaluated where only the source is."""
        source = double_braces(quote_name(self._source_alias))
        row = self._texts.struct(self._clauses.inserts, self._types_of(matched=False, source=True))
        query = f"{self._ctes} SELECT {row} AS {_ROW} FROM {{floeberg_source}} AS {source}"
        made = self._text.frame(query, floeberg_source=rows).where(F.col(_ROW).isNotNull())
        columns = [F.col(f"{_ROW}.c{number}") for number in range(len(self._target.schema.fields))]
        return _named(made, [*columns, *self._row_id(F.lit(None).cast("bigint"))], new_row_columns(self._target))


def _named(frame: DataFrame, columns: Sequence[Column], names: Sequence[str]) -> DataFrame:
    return frame.select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))


def _kind_column(clause: Column, clauses: Sequence[MergeClause], otherwise: Column) -> Column:
    column = otherwise
    for number in range(1, len(clauses) + 1):
        column = F.when(clause == number, F.lit(int(kind_of(clauses, number)))).otherwise(column)
    return column


def _evolved(target: ChangedTable, source: DataFrame) -> ChangedTable:
    """The target with the columns that only the source has, in the same commit as the rows."""
    wanted = iceberg_schema_of(_as_nullable(source.schema))
    change = ChangeSchema(edit=lambda update: update.union_by_name(wanted), case_sensitive=target.case_sensitive)
    state = target.table.state
    metadata = preview(state.metadata, [change])
    if metadata.current_schema.same_columns(state.metadata.current_schema):
        return target
    planned = LoadedTable(target.table.pointer, TableState(state.identifier, metadata, state.metadata_location))
    stays = SchemaStays(metadata.current_schema)
    return replace(target, table=planned, first=(*target.first, change, stays))


def _as_nullable(schema: st.StructType) -> st.StructType:
    return st.StructType([st.StructField(field.name, field.dataType, True) for field in schema.fields])
