"""`df.mergeInto(table, condition)` for tables that are ours: PySpark's MergeIntoWriter, method by method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql import functions as F

from floeberg.errors import InvalidInput
from floeberg.spark.dml.merge.by_columns import ColumnAssignment, ColumnClause, is_column, merge_by_columns
from floeberg.spark.host.calls.active_session import in_own_session
from floeberg.spark.host.errors.spark_errors import methods_raise_spark_errors
from floeberg.spark.host.session import AttachedSession
from floeberg.sql.text.cursor import parse_parts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@methods_raise_spark_errors
class MergeIntoWriter:
    """A MERGE of a DataFrame into a table, clause by clause.

    Columns of the target are named by text, as `col("t.id")` or `col("lake.db.t.id")`; those of the source by text or
    bound, as `df.id`.
    """

    def __init__(self, session: AttachedSession, frame: DataFrame, table: str, condition: Column) -> None:
        self._session = session
        self._frame = frame
        self._parts = parse_parts(table)
        self._condition = _condition(condition)
        self._clauses: list[ColumnClause] = []
        self._evolves = False

    def whenMatched(self, condition: Column | None = None) -> _WhenMatched:
        return _WhenMatched(self, "matched", condition)

    def whenNotMatched(self, condition: Column | None = None) -> _WhenNotMatched:
        return _WhenNotMatched(self, "not_matched", condition)

    def whenNotMatchedBySource(self, condition: Column | None = None) -> _WhenNotMatchedBySource:
        return _WhenNotMatchedBySource(self, "not_matched_by_source", condition)

    def withSchemaEvolution(self) -> Self:
        """Columns that only the source has are added to the table, in the same commit."""
        self._evolves = True
        return self

    @in_own_session
    def merge(self) -> None:
        """Raises InvalidInput without a clause, and what a MERGE statement raises."""
        if not self._clauses:
            raise InvalidInput(
                f"mergeInto({'.'.join(self._parts)!r}) says what to do with no row; add whenMatched(), whenNotMatched() or "
                "whenNotMatchedBySource() with an action before merge()"
            )
        merge_by_columns(
            self._session, self._parts, self._frame, self._condition, tuple(self._clauses), evolves=self._evolves
        )

    def _with(self, clause: ColumnClause) -> Self:
        self._clauses.append(clause)
        return self


class _When:
    """A clause whose action is still to be said."""

    def __init__(self, writer: MergeIntoWriter, when: str, condition: Column | None) -> None:
        self.writer = writer
        self._when = when
        self._condition = None if condition is None else _condition(condition)

    def _add(self, action: str, assignments: Mapping[str, Any] | None = None, *, star: bool = False) -> MergeIntoWriter:
        given = tuple(ColumnAssignment(parse_parts(name), _value(value)) for name, value in (assignments or {}).items())
        if not given and action != "delete" and not star:
            raise InvalidInput(f"{action}() of mergeInto needs an assignment, such as {{'name': col('s.name')}}")
        return self.writer._with(ColumnClause(self._when, action, self._condition, star, given))


@methods_raise_spark_errors
class _WhenMatched(_When):
    def updateAll(self) -> MergeIntoWriter:
        return self._add("update", star=True)

    def update(self, assignments: Mapping[str, Any]) -> MergeIntoWriter:
        return self._add("update", assignments)

    def delete(self) -> MergeIntoWriter:
        return self._add("delete")


@methods_raise_spark_errors
class _WhenNotMatched(_When):
    def insertAll(self) -> MergeIntoWriter:
        return self._add("insert", star=True)

    def insert(self, assignments: Mapping[str, Any]) -> MergeIntoWriter:
        return self._add("insert", assignments)


@methods_raise_spark_errors
class _WhenNotMatchedBySource(_When):
    def updateAll(self) -> MergeIntoWriter:
        """Raises InvalidInput."""
        raise InvalidInput(
            "whenNotMatchedBySource().updateAll(): there is no source row to take values from; use update({…})"
        )

    def update(self, assignments: Mapping[str, Any]) -> MergeIntoWriter:
        return self._add("update", assignments)

    def delete(self) -> MergeIntoWriter:
        return self._add("delete")


def _condition(given: Any) -> Column:
    if isinstance(given, str):
        return F.expr(given)
    if not is_column(given):
        raise InvalidInput(f"a condition of mergeInto is a Column, not {given!r:.80}")
    return given


def _value(given: Any) -> Column:
    """PySpark takes a text for a column's name."""
    if is_column(given):
        return given
    return F.col(given) if isinstance(given, str) else F.lit(given)
