"""The steps of every MERGE: the source is evaluated once, joined to the rows of the target that it can match, and the first
clause whose condition is true decides about each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from pyspark.sql import functions as F

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.commit import Committed
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression, and_
from floeberg.row_changes.schema_evolution import evolve_schema
from floeberg.scan.tasks import FileScanTask
from floeberg.spark.dml.assignments import TargetColumns
from floeberg.spark.dml.carry_out import FoundChange, carry_out, new_row_columns, removed_on_failure
from floeberg.spark.dml.change_job import (
    FILE,
    KIND,
    POSITION,
    SOURCE_ROW,
    RowKind,
    Touched,
    can_find_and_write_in_one_job,
    find_changes,
    write_changes,
)
from floeberg.spark.dml.merge.key_pairs import KeyPair
from floeberg.spark.dml.merge.source_keys import SourceKeys, source_keys
from floeberg.spark.dml.merge.source_rows import without_rows
from floeberg.spark.dml.target import ChangedTable
from floeberg.spark.host.calls.evaluated_once import evaluated_once
from floeberg.spark.host.types.spark_types import iceberg_schema_for
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BY_SOURCE: Final = f"{ENGINE_PREFIX}by_source"
ROW: Final = f"{ENGINE_PREFIX}row"
TARGET: Final = f"{ENGINE_PREFIX}target"
JOINED_ROW_ID: Final = "row_id"
_BROADCAST_ROWS: Final = 500_000
_KINDS: Final = {"delete": RowKind.DELETE, "update": RowKind.UPDATE}


class Clause(Protocol):
    """A WHEN clause, with its condition as text or Column."""

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
    def updates(self) -> bool:
        return self.updates_by_source or any(clause.action == "update" for clause in self.matched)

    @property
    def updates_by_source(self) -> bool:
        return any(clause.action == "update" for clause in self.by_source)

    @property
    def checks_cardinality(self) -> bool:
        """One unconditional DELETE may match a row several times; for anything else the result would depend on the order of
        the source."""
        if len(self.matched) == 1:
            return self.matched[0].action != "delete" or self.matched[0].condition is not None
        return bool(self.matched)


class MergeRun(ABC, Generic[ClauseT]):
    """One MERGE: what does not depend on whether its clauses are text or Columns."""

    def __init__(self, target: ChangedTable, source: DataFrame, clauses: Clauses[ClauseT], *, evolves: bool) -> None:
        self._clauses = clauses
        self._source_type = source.schema
        self._source = source.withColumn(SOURCE_ROW, F.monotonically_increasing_id())
        self._target = _evolved(target, source) if evolves else target
        self._columns = TargetColumns(
            self._target.schema, target.identifier, target.alias, case_sensitive=target.case_sensitive
        )
        self._no_rows = self._target.rows([])

    @abstractmethod
    def _joined(self, target: DataFrame, source: DataFrame) -> DataFrame:
        """The rows of the target that are matched (or, if clauses need them, not matched), each with its new version.

        Its columns: FILE and POSITION of the target row; SOURCE_ROW, null where no source row matches; JOINED_ROW_ID if the
        table has row lineage; with MATCHED clauses ROW, a struct of the number of the clause that applies (`clause`, from 1)
        and the new values (`c0`, `c1`, …); with NOT MATCHED BY SOURCE clauses TARGET, the target row with BY_SOURCE (the
        number of its clause), null where a source row matches or no clause applies."""

    @abstractmethod
    def _inserted(self, source: DataFrame) -> DataFrame:
        """The rows that the insert clauses make of source rows, evaluated where only the source is."""

    @abstractmethod
    def _by_source_rows(self, joined: DataFrame, names: Sequence[str]) -> DataFrame:
        """The new versions of rows that NOT MATCHED BY SOURCE updates."""

    @abstractmethod
    def _key_pairs(self) -> list[KeyPair]:
        """The equalities of the condition between source and target."""

    @abstractmethod
    def _own_condition(self) -> Expression:
        """The part of the condition on the target alone, or a weaker one."""

    @abstractmethod
    def _has_row_query(self) -> bool:
        """Whether conditions or values may have a query that stands for a value: more than one row of it is an error, though
        no row may need it."""

    def run(self) -> Committed | None:
        """Checks the statement, evaluates the source, plans the target by the source's keys, finds what becomes of its rows,
        and carries that out in one commit. None when nothing changes."""
        target = self._target
        self._check_statement()
        # Evaluated once: it is read for its keys, joined, and inserted from.
        self._source = evaluated_once(self._source)
        keys = source_keys(self._source, self._key_pairs(), target.schema)
        if keys.has_invalid_utf8:
            self._target = target = replace(target, has_invalid_utf8=True)
        condition: Expression = TRUE
        if not self._clauses.by_source:
            condition = and_(self._own_condition(), keys.condition)
        tasks = target.plan(condition)
        touched, updated = self._found(tasks, keys) if tasks else self._found_nowhere(keys)
        with removed_on_failure(target, touched.written):
            self._check_matched_once(touched)
            unmatched = keys.rows - len(touched.matched) if self._clauses.inserts else 0
            rows = updated
            if unmatched:
                inserted = self._inserted(without_rows(self._source, touched.matched))
                rows = inserted if rows is None else rows.union(inserted)
            elif self._clauses.inserts and self._has_row_query():
                self._inserted(without_rows(self._source, touched.matched)).collect()  # for its errors
            if rows is None and not touched.positions:
                return None
            most = unmatched if updated is None else unmatched + touched.updated
            return carry_out(target, self._found_change(tasks, touched, condition, rows, most))

    def _check_statement(self) -> None:
        """Builds the queries over no rows of the target: Spark's errors are raised before anything runs."""
        self._joined(self._no_rows, self._source)
        if self._clauses.inserts:
            self._inserted(self._source)

    def _found_change(
        self, tasks: Sequence[FileScanTask], touched: Touched, condition: Expression, rows: DataFrame | None, most: int
    ) -> FoundChange:
        return FoundChange(
            tasks=tasks,
            condition=condition,
            positions=touched.positions,
            deleted=touched.deleted,
            updated=touched.updated,
            written=touched.written,
            new_rows=rows,
            expected_rows=most,
        )

    # what happens to rows

    def _found(self, tasks: list[FileScanTask], keys: SourceKeys) -> tuple[Touched, DataFrame | None]:
        """The rows that the source matches, and the new versions of updated rows that are not written yet."""
        target, clauses = self._target, self._clauses
        joined = self._joined_with_source(target.rows(tasks), keys)
        checked = clauses.checks_cardinality
        if not clauses.updates:
            return find_changes(target, self._changes(joined, with_rows=False), checks_cardinality=checked), None
        if not clauses.updates_by_source and can_find_and_write_in_one_job(target, tasks):
            return write_changes(target, self._changes(joined, with_rows=True), checks_cardinality=checked), None
        # Evaluated once: its rows tell which rows are replaced, and by what.
        joined = evaluated_once(joined)
        touched = find_changes(target, self._changes(joined, with_rows=False), checks_cardinality=checked)
        return touched, self._updated(joined) if touched.updated else None

    def _found_nowhere(self, keys: SourceKeys) -> tuple[Touched, DataFrame | None]:
        """What the source matches where no file of the target is left: nothing, or an error that is due without any row."""
        if self._has_row_query():
            joined = self._joined_with_source(self._no_rows, keys)
            joined.collect()
            if self._clauses.updates_by_source:
                self._by_source_rows(joined, new_row_columns(self._target)).collect()
        return Touched(), None

    def _joined_with_source(self, target: DataFrame, keys: SourceKeys) -> DataFrame:
        source = F.broadcast(self._source) if keys.rows <= _BROADCAST_ROWS else self._source
        return self._joined(target, source)

    def _changes(self, joined: DataFrame, *, with_rows: bool) -> DataFrame:
        """For each matched row: what happens to it, its file and position, and the source row; with its new version, if asked
        for."""
        kind = _kind_text(f"{ROW}.clause", self._clauses.matched, str(int(RowKind.UNTOUCHED)))
        kind = _kind_text(f"{TARGET}.{BY_SOURCE}", self._clauses.by_source, kind)
        ours = [f"{kind} AS {KIND}", FILE, POSITION, SOURCE_ROW]
        changes = joined.selectExpr(*ours, *(self._row_texts(JOINED_ROW_ID) if with_rows else ()))
        if self._clauses.by_source:
            changes = changes.where(f"{SOURCE_ROW} IS NOT NULL OR {KIND} <> {int(RowKind.UNTOUCHED)}")
        return changes

    def _updated(self, joined: DataFrame) -> DataFrame | None:
        """The new versions of updated rows."""
        updates = [number for number, clause in enumerate(self._clauses.matched, 1) if clause.action == "update"]
        frames = []
        if updates:
            chosen = joined.where(f"{ROW}.clause IN ({', '.join(str(number) for number in updates)})")
            frames.append(chosen.selectExpr(*self._row_texts(JOINED_ROW_ID)))
        if self._clauses.updates_by_source:
            frames.append(self._by_source_rows(joined, new_row_columns(self._target)))
        return reduce(lambda one, other: one.union(other), frames)

    def _row_texts(self, row_id: str) -> list[str]:
        """The new row as columns, of what is in ROW; `row_id` is text too."""
        names = new_row_columns(self._target)
        values = [f"{ROW}.c{number}" for number in range(len(self._target.schema.fields))]
        values += [row_id] if self._target.has_lineage else []
        return [f"{value} AS {quote_name(name)}" for value, name in zip(values, names, strict=True)]

    def _check_matched_once(self, touched: Touched) -> None:
        if touched.twice is not None:
            raise InvalidInput(
                f"table {self._target.name}: a row of it is matched by more than one row of the source, so that it is not "
                "known what becomes of it; make the source's keys unique",
                table=self._target.name,
                file=touched.twice,
                condition="MERGE_CARDINALITY_VIOLATION",
            )


def named(frame: DataFrame, columns: Sequence[Column], names: Sequence[str]) -> DataFrame:
    return frame.select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))


def _kind_text(clause: str, clauses: Sequence[Clause], otherwise: str) -> str:
    """The kind of change that a clause's number stands for."""
    cases = " ".join(f"WHEN {number} THEN {int(_KINDS[each.action])}" for number, each in enumerate(clauses, 1))
    return f"CASE {clause} {cases} ELSE {otherwise} END" if cases else otherwise


def _evolved(target: ChangedTable, source: DataFrame) -> ChangedTable:
    """The target with the columns that only the source has, in the same commit as the rows."""
    state = target.table.state
    rows = iceberg_schema_for(source.schema, state.metadata.current_schema, case_sensitive=target.case_sensitive)
    evolved = evolve_schema(state.metadata, rows, case_sensitive=target.case_sensitive)
    table = LoadedTable(target.table.pointer, replace(state, metadata=evolved.metadata))
    return replace(target, table=table, operations_before=(*target.operations_before, *evolved.operations))
