"""MERGE whose condition and clauses are Columns: they are evaluated as they are, never turned into text."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.commit.commit import Committed
from floeberg.errors import InvalidInput
from floeberg.expr.nodes import TRUE, Expression
from floeberg.spark.dml.assignments import Assigned, Path, assigned_fields, checked, new_row, row_after
from floeberg.spark.dml.change_job import FILE, POSITION, SOURCE_ROW
from floeberg.spark.dml.merge.column_keys import column_pairs, own_conditions
from floeberg.spark.dml.merge.key_pairs import KeyPair
from floeberg.spark.dml.merge.run import BY_SOURCE, JOINED_ROW_ID, ROW, TARGET, Clauses, MergeRun, named
from floeberg.spark.dml.run_statement import run_statement
from floeberg.spark.dml.target import ChangedTable, changed_table, target_expression, value_types
from floeberg.spark.host.execution import Execution
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.settings.ambiguous_names import has_functions
from floeberg.spark.host.types.exact_types import exact_type
from floeberg.spark.host.types.spark_types import nullable
from floeberg.spark.host.types.type_text import type_text
from floeberg.spark.write.exact_values import exact_column
from floeberg.spark.write.store_assignment import StoreRules, store_rules
from floeberg.spark.write.store_cast import stored_column
from floeberg.spec.schemas.metadata_columns import FILE_PATH, ROW_ID, ROW_POSITION
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.spec.types import IcebergType
from floeberg.sql.text.byte_strings import may_hold_invalid_utf8
from floeberg.sql.text.lexer import quote_name
from floeberg.sql.text.names import Name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CONNECT: Final = "pyspark.sql.connect."
_CONNECT_COLUMNS: Final = "floeberg.spark.dml.merge.connect_columns"
_UNBOUND: Final = ("CANNOT_RESOLVE_DATAFRAME_COLUMN", "MISSING_ATTRIBUTES")
_CALL: Final = re.compile(r"(?i)\w\s*\(|\bselect\b|subquery")
"""In the text of a Column: a function, or a query that stands for a value."""


@dataclass(frozen=True, slots=True)
class ColumnAssignment:
    """`column = value`; a value of None is DEFAULT."""

    column: Path
    value: Column | None


@dataclass(frozen=True, slots=True)
class ColumnClause:
    """One clause, as `MergeClause` has it."""

    when: str
    action: str
    condition: Column | None
    star: bool = False
    assignments: tuple[ColumnAssignment, ...] = ()


def is_column(given: Any) -> bool:
    return type(given).__module__.startswith("pyspark.sql.") and type(given).__name__ == "Column"


def merge_by_columns(
    session: AttachedSession,
    parts: tuple[str, ...],
    source: DataFrame,
    condition: Column,
    clauses: tuple[ColumnClause, ...],
    *,
    evolves: bool,
) -> Committed | None:
    """Merges a DataFrame into a table. Raises as `merge` does."""

    def run(now: Execution) -> Committed | None:
        target = changed_table(now, Name(parts, 0, 0), verb="merge", alias=None)
        return _ColumnMerge(target, source, condition, clauses, evolves=evolves).run()

    shown = repr(condition)
    has_invalid_utf8 = may_hold_invalid_utf8(shown) or "cast" in shown.lower()
    return run_statement(Execution(session, "", has_invalid_utf8=has_invalid_utf8), parts, run)


@dataclass(frozen=True, slots=True)
class _ColumnValues:
    """Values that are Columns over a frame; `own_rows` has the columns of the row that is changed."""

    target: ChangedTable
    frame: DataFrame
    own_rows: DataFrame | None
    rules: StoreRules

    def types(self, values: Sequence[Column]) -> Sequence[st.DataType]:
        chosen = self.frame.select(*(value.alias(f"v{number}") for number, value in enumerate(values)))
        return value_types(self.target, chosen)

    def stored(self, value: Column, given: st.DataType, wanted: st.DataType) -> Column:
        return stored_column(value, given, wanted, self.rules)

    def constant(self, text: str, wanted: st.DataType) -> Column:
        return F.expr(f"CAST({text} AS {type_text(wanted)})")

    def own(self, path: Path) -> Column:
        assert self.own_rows is not None
        column = self.own_rows[quote_name(path[0])]
        for part in path[1:]:
            column = column.getField(part)
        return column

    def struct(self, members: Sequence[tuple[str, Column]]) -> Column:
        return F.struct(*(value.alias(name) for name, value in members))

    def called(self, function: str, value: Column) -> Column:
        return F.call_function(function, value)

    def exact(self, value: Column, data_type: IcebergType) -> Column:
        made: Column = exact_column(value, data_type)
        return made


class _ColumnMerge(MergeRun[ColumnClause]):
    def __init__(
        self,
        target: ChangedTable,
        source: DataFrame,
        condition: Column,
        clauses: Sequence[ColumnClause],
        *,
        evolves: bool,
    ) -> None:
        self._condition = condition
        self._evolves = evolves
        self._rules = store_rules(target.spark, by_name=True)
        super().__init__(target, source, Clauses.of(clauses), evolves=evolves)
        self._source_names = {name.lower() for name in self._source_type.fieldNames()}
        self._names: dict[Any, str] = {}
        self._texts = [repr(column) for column in _columns(condition, clauses)]
        self._bind(_columns(condition, clauses))

    def run(self) -> Committed | None:
        try:
            return super().run()
        except AnalysisException as error:
            if not str(error.getCondition() or "").startswith(_UNBOUND):
                raise
            raise InvalidInput(
                f"table {self._target.name}: mergeInto has a Column of a DataFrame that is not its source; the table's "
                f"columns are named by text, as col('{self._target.alias}.id'): {error}",
                table=self._target.name,
            ) from error

    def _bind(self, columns: Sequence[Column]) -> None:
        """Over Connect, the values of Columns that are bound to the source's DataFrame are kept beside the rows: after the
        source was evaluated, that DataFrame no longer resolves."""
        if not type(columns[0]).__module__.startswith(_CONNECT):
            return
        connect = importlib.import_module(_CONNECT_COLUMNS)
        self._names = {
            bound: f"{ENGINE_PREFIX}bound_{number}" for number, bound in enumerate(connect.bound_columns(columns))
        }
        if self._names:
            kept = (connect.bound_column(bound).alias(name) for bound, name in self._names.items())
            self._source = self._source.select("*", *kept)

    def _here(self, column: Column) -> Column:
        """A Column of the user's, as it can be evaluated now."""
        if not self._names:
            return column
        made: Column = importlib.import_module(_CONNECT_COLUMNS).unbound(column, self._names)
        return made

    # pruning

    def _key_pairs(self) -> list[KeyPair]:
        return column_pairs(self._condition, self._columns, self._target.identifier, self._source_type)

    def _own_condition(self) -> Expression:
        if has_functions(self._target.spark, self._target.schema):
            return TRUE
        quoted = self._target.session.double_quoted_identifiers
        found = own_conditions(
            self._condition, self._columns, self._target.identifier, self._source_type, double_quoted=quoted
        )
        return target_expression(self._target, found) if found else TRUE

    def _has_row_query(self) -> bool:
        return any(_CALL.search(text) is not None for text in self._texts)

    # the queries

    def _joined(self, target: DataFrame, source: DataFrame) -> DataFrame:
        rows = self._qualified(target)
        if self._clauses.by_source:
            rows = rows.withColumn(BY_SOURCE, self._decision(self._clauses.by_source))
        kind = "left" if self._clauses.by_source else "inner"
        joined = rows.join(source, self._here(self._condition), kind)
        return joined.select(*self._items(joined, target, source))

    def _qualified(self, rows: DataFrame) -> DataFrame:
        """The target under its name. A name with more parts (`lake.db.t.id`) is found as a field of structs, which are
        there when Columns speak of them: an alias of a DataFrame has one part."""
        parts = self._target.identifier.qualified
        helpers = []
        for start in range(len(parts) - 1):
            first = parts[start]
            taken = first.lower() in self._source_names or first.lower() in (name.lower() for name in rows.columns)
            spoken_of = any(re.search(rf"(?i){re.escape(first)}`?\.", text) for text in self._texts)
            if spoken_of and not taken and first != self._target.alias:
                members = [rows[quote_name(name)] for name in rows.columns]
                whole = F.struct(*members)
                for part in reversed(parts[start + 1 :]):
                    whole = F.struct(whole.alias(part))
                helpers.append(whole.alias(first))
        return (rows.select("*", *helpers) if helpers else rows).alias(self._target.alias)

    def _items(self, joined: DataFrame, target: DataFrame, source: DataFrame) -> list[Column]:
        found = F.col(SOURCE_ROW)
        items = [
            target[FILE_PATH.name].alias(FILE),
            target[ROW_POSITION.name].alias(POSITION),
            found.alias(SOURCE_ROW),
        ]
        if self._target.has_lineage:
            items.append(target[ROW_ID.name].alias(JOINED_ROW_ID))
        if self._clauses.matched:
            values = _ColumnValues(self._target, joined, target, self._rules)
            row = self._struct(self._clauses.matched, values, source)
            items.append(F.when(found.isNotNull(), row).alias(ROW))
        if self._clauses.by_source:
            members = [*(target[quote_name(name)] for name in target.columns), F.col(BY_SOURCE)]
            items.append(F.when(found.isNull() & (F.col(BY_SOURCE) > 0), F.struct(*members)).alias(TARGET))
        return items

    def _by_source_rows(self, joined: DataFrame, names: Sequence[str]) -> DataFrame:
        clauses = self._clauses.by_source
        numbers = [number for number, clause in enumerate(clauses, 1) if clause.action == "update"]
        own = joined.where(F.col(f"{TARGET}.{BY_SOURCE}").isin(numbers)).select(f"{TARGET}.*")
        frame = self._qualified(own)
        values = _ColumnValues(self._target, frame, own, self._rules)
        rows: list[Column | None] = [None] * len(self._target.schema.fields)
        for number in numbers:
            made = self._row(clauses[number - 1], values, None)
            rows = [
                F.when(F.col(BY_SOURCE) == number, new) if old is None else old.when(F.col(BY_SOURCE) == number, new)
                for old, new in zip(rows, made, strict=True)
            ]
        columns = [row for row in rows if row is not None]
        return named(frame, [*columns, *([own[ROW_ID.name]] if self._target.has_lineage else [])], names)

    def _inserted(self, source: DataFrame) -> DataFrame:
        values = _ColumnValues(self._target, source, None, self._rules)
        made = source.select(self._struct(self._clauses.inserts, values, source).alias(ROW))
        return made.where(f"{ROW} IS NOT NULL").selectExpr(*self._row_texts("CAST(NULL AS BIGINT)"))

    # clauses

    def _true(self, clause: ColumnClause) -> Column:
        return F.lit(True) if clause.condition is None else self._here(clause.condition)

    def _decision(self, clauses: Sequence[ColumnClause]) -> Column:
        """The number of the first clause whose condition is true, from 1; 0 for none."""
        decision: Any = F
        for number, clause in enumerate(clauses, 1):
            decision = decision.when(self._true(clause), F.lit(number))
        column: Column = decision.otherwise(F.lit(0))
        return column

    def _struct(self, clauses: Sequence[ColumnClause], values: _ColumnValues, source: DataFrame) -> Column:
        """The chosen clause's number and row in one value, so that conditions are evaluated once; null for none."""
        chosen: Any = F
        for number, clause in enumerate(clauses, 1):
            row = self._row(clause, values, source)
            members = [F.lit(number).alias("clause"), *(value.alias(f"c{place}") for place, value in enumerate(row))]
            chosen = chosen.when(self._true(clause), F.struct(*members))
        column: Column = chosen
        return column

    def _row(self, clause: ColumnClause, values: _ColumnValues, source: DataFrame | None) -> list[Column]:
        schema = self._target.schema
        if clause.action == "delete":
            return [F.lit(None).cast(nullable(exact_type(field.type))) for field in schema.fields]
        if clause.star and source is not None:
            given = self._star(clause, source)
        else:
            assignments = [self._given(assignment) for assignment in clause.assignments]
            given = assigned_fields(self._columns, assignments, self._here)
        assigned = checked(given, values, table=self._target.name)
        if clause.action == "insert":
            return new_row(schema, assigned, values, table=self._target.name)
        own = row_after(schema, assigned, values)
        return [value.cast(nullable(exact_type(field.type))) for value, field in zip(own, schema.fields, strict=True)]

    def _given(self, assignment: ColumnAssignment) -> ColumnAssignment:
        """DEFAULT comes as a column of that name; where a side has such a column, it is that."""
        is_default = repr(assignment.value).lower() in ("column<'default'>", "default")
        known = {*self._source_names, *(field.name.lower() for field in self._target.schema.fields)}
        return ColumnAssignment(assignment.column, None) if is_default and "default" not in known else assignment

    def _star(self, clause: ColumnClause, source: DataFrame) -> list[Assigned[Column]]:
        names = {self._columns.key(name): name for name in self._source_type.fieldNames()}
        assigned = []
        for field in self._target.schema.fields:
            name = names.get(self._columns.key(field.name))
            if name is not None:
                assigned.append(Assigned((field.name,), field, source[quote_name(name)]))
            elif not self._evolves:
                raise InvalidInput(
                    f"table {self._target.name}: {clause.action}All needs a source column for {field.name!r}; the source "
                    f"has {', '.join(self._source_type.fieldNames())}",
                    column=field.name,
                )
        return assigned


def _columns(condition: Column, clauses: Sequence[ColumnClause]) -> list[Column]:
    """Every Column of the user's."""
    found = [condition]
    for clause in clauses:
        found += [] if clause.condition is None else [clause.condition]
        found += [each.value for each in clause.assignments if each.value is not None]
    return found
