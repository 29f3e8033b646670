"""What every MERGE does: the source is evaluated once, joined to the rows of the target that it can match, and every row goes
to the first clause whose condition is true."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

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
from floeberg.spark.dml.assignments import TargetColumns
from floeberg.spark.dml.merge_pruning import KeyPair, source_keys
from floeberg.spark.dml.positions import RowKind, Touched, touched_rows
from floeberg.spark.dml.row_change import PlannedChange, carry_out, new_row_columns
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.types import iceberg_schema_of
from floeberg.spark.write.same_schema import SchemaStays

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PREFIX: Final = "__floeberg_"
SOURCE_ROW: Final = f"{PREFIX}source_row"
BY_SOURCE: Final = f"{PREFIX}by_source"
ROW: Final = f"{PREFIX}row"
TARGET: Final = f"{PREFIX}target"
_BROADCAST_ROWS: Final = 500_000
_KINDS: Final = {"delete": RowKind.DELETE, "update": RowKind.UPDATE, "insert": RowKind.INSERT}

Inserts = Callable[["DataFrame"], "DataFrame"]
"""Makes inserted rows of source rows."""


class Clause(Protocol):
    """A WHEN clause, whatever its condition is made of."""

    @property
    def when(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def condition(self) -> Any: ...


ClauseT = TypeVar("ClauseT", bound=Clause)


@dataclass(frozen=True, slots=True)
class Clauses(Generic[ClauseT]):
    """The clauses by what they are for, each kind in its order."""

    matched: tuple[ClauseT, ...]
    inserts: tuple[ClauseT, ...]
    by_source: tuple[ClauseT, ...]

    @staticmethod
    def of(clauses: Sequence[ClauseT]) -> Clauses[ClauseT]:
        kinds = ("matched", "not_matched", "not_matched_by_source")
        return Clauses(*(tuple(clause for clause in clauses if clause.when == kind) for kind in kinds))

    @property
    def checks_cardinality(self) -> bool:
        """One unconditional DELETE may find a row often; anything else would depend on the order of the source."""
        if len(self.matched) == 1:
            return self.matched[0].action != "delete" or self.matched[0].condition is not None
        return bool(self.matched)


class MergeRun(ABC, Generic[ClauseT]):
    """One MERGE on its way: what is the same whether its clauses are text or Columns."""

    def __init__(self, target: ChangedTable, source: DataFrame, clauses: Clauses[ClauseT], *, evolves: bool) -> None:
        self._clauses = clauses
        self._source_type = source.schema
        # Evaluated once, whatever it is made of: it is looked at for its keys, joined, and inserted from.
        self._source = source.withColumn(SOURCE_ROW, F.monotonically_increasing_id())
        self._target = _evolved(target, source) if evolves else target
        self._columns = TargetColumns(
            self._target.schema, target.identifier, target.alias, case_sensitive=target.case_sensitive
        )

    @abstractmethod
    def _queries(self, target: DataFrame, source: DataFrame) -> tuple[DataFrame, Inserts | None]:
        """The rows of the target that are matched (or, where clauses ask for those, not), each with what it becomes; and
        a function that gives the inserted rows, when it is known which source rows found a match."""

    @abstractmethod
    def _by_source_rows(self, changes: DataFrame, names: Sequence[str]) -> DataFrame:
        """The rows that NOT MATCHED BY SOURCE updates, as they will be."""

    @abstractmethod
    def _key_pairs(self) -> list[KeyPair]:
        """The equalities of the condition."""

    @abstractmethod
    def _own_condition(self) -> Expression:
        """What the condition says of the target alone, or something weaker."""

    def run(self) -> Committed | None:
        target = self._target
        joined, inserted = self._queries(target.rows([]), self._source)  # raises what is wrong before anything runs
        del joined, inserted
        self._source = self._source.localCheckpoint(eager=True)
        keys = source_keys(self._source, self._key_pairs(), target.schema)
        condition: Expression = TRUE
        if not self._clauses.by_source:
            condition = and_(self._own_condition(), keys.condition)
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
        most = touched.updated + (keys.rows if self._clauses.inserts else 0)
        return carry_out(target, self._planned(tasks, touched, condition, rows, most))

    def _planned(
        self, tasks: Sequence[FileScanTask], touched: Touched, condition: Expression, rows: DataFrame | None, most: int
    ) -> PlannedChange:
        return PlannedChange(
            tasks=tasks,
            condition=condition,
            positions=touched.positions,
            deleted=touched.deleted,
            updated=touched.updated,
            new_rows=rows,
            expected_rows=most,
        )

    # what becomes of rows

    def _touched(self, changes: DataFrame) -> tuple[DataFrame, Touched]:
        """The changes with the kind of each, and where they are. Raises InvalidInput for a row matched twice."""
        kind = F.lit(int(RowKind.UNTOUCHED))
        if self._clauses.matched:
            kind = _kind_column(F.col(f"{ROW}.clause"), self._clauses.matched, kind)
        if self._clauses.by_source:
            kind = _kind_column(F.col(f"{TARGET}.{BY_SOURCE}"), self._clauses.by_source, kind)
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

    def _new_rows(self, changes: DataFrame | None, inserts: Inserts | None, touched: Touched) -> DataFrame | None:
        names = new_row_columns(self._target)
        frames = []
        if changes is not None and touched.updated:
            if any(clause.action == "update" for clause in self._clauses.matched):
                updated = changes.where((F.col("kind") == int(RowKind.UPDATE)) & F.col(f"{ROW}.clause").isNotNull())
                columns = [F.col(f"{ROW}.c{number}") for number in range(len(self._target.schema.fields))]
                frames.append(named(updated, [*columns, *self._row_id(F.col("row_id"))], names))
            if any(clause.action == "update" for clause in self._clauses.by_source):
                frames.append(self._by_source_rows(changes, names))
        if inserts is not None:
            rows = self._source
            if changes is not None:
                matched = changes.select("source_row").where(F.col("source_row").isNotNull())
                rows = rows.join(matched, rows[SOURCE_ROW] == matched["source_row"], "left_anti")
            frames.append(inserts(rows))
        whole = None
        for frame in frames:
            whole = frame if whole is None else whole.union(frame)
        return whole

    def _row_id(self, column: Column) -> list[Column]:
        return [column] if self._target.has_lineage else []


def named(frame: DataFrame, columns: Sequence[Column], names: Sequence[str]) -> DataFrame:
    return frame.select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))


def _kind_column(clause: Column, clauses: Sequence[Clause], otherwise: Column) -> Column:
    column = otherwise
    for number in range(1, len(clauses) + 1):
        column = F.when(clause == number, F.lit(int(_KINDS[clauses[number - 1].action]))).otherwise(column)
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
