"""The WHEN clauses of a MERGE as text: which clause takes a row, and what the row becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import types as st

from floeberg.errors import InvalidInput
from floeberg.spark.dml.assignments import (
    DEFAULT_COLUMN,
    Assigned,
    TargetColumns,
    TextValues,
    TypesOf,
    assigned_fields,
    cast_text,
    checked,
    has_default_column,
    new_row,
    row_after,
)
from floeberg.spark.dml.statement_text import StatementText
from floeberg.spark.host.types.exact_types import exact_type
from floeberg.spark.write.store_assignment import StoreRules
from floeberg.sql.queries.references import double_braces
from floeberg.sql.statements.dml_statements import MergeClause
from floeberg.sql.text.lexer import quote_name


@dataclass(frozen=True, slots=True)
class ClauseTexts:
    """How clauses are put into queries."""

    text: StatementText
    columns: TargetColumns
    source: st.StructType
    source_alias: str
    table: str
    rules: StoreRules
    evolves: bool = False

    def decision(self, clauses: Sequence[MergeClause]) -> str:
        """The number of the first clause whose condition is true, from 1; 0 for none. A null condition is not true."""
        cases = " ".join(f"WHEN {self._condition(clause)} THEN {number}" for number, clause in enumerate(clauses, 1))
        return f"CASE {cases} ELSE 0 END" if cases else "0"

    def rows(self, clauses: Sequence[MergeClause], types_of: TypesOf, *, decision: str) -> list[str]:
        """Each column of the row that the chosen clause makes, null where it makes none; `decision` is the clause's
        number, as a column."""
        made = [self._row(clause, types_of) for clause in clauses]
        return [
            f"CASE {decision} "
            + " ".join(f"WHEN {number} THEN {row[place]}" for number, row in enumerate(made, 1))
            + f" ELSE {cast_text('NULL', exact_type(field.type))} END"
            for place, field in enumerate(self.columns.schema.fields)
        ]

    def struct(self, clauses: Sequence[MergeClause], types_of: TypesOf) -> str:
        """The chosen clause's number and row in one value, so that conditions are evaluated once; null for none."""
        cases = " ".join(
            f"WHEN {self._condition(clause)} THEN {self._struct(number, self._row(clause, types_of))}"
            for number, clause in enumerate(clauses, 1)
        )
        return f"CASE {cases} END"

    def _struct(self, number: int, row: Sequence[str]) -> str:
        members = "".join(f", 'c{place}', {value}" for place, value in enumerate(row))
        return f"named_struct('clause', {number}{members})"

    def _condition(self, clause: MergeClause) -> str:
        return "TRUE" if clause.condition is None else self.text.expression(clause.condition)

    def _row(self, clause: MergeClause, types_of: TypesOf) -> list[str]:
        schema = self.columns.schema
        if clause.action == "delete":
            return [cast_text("NULL", exact_type(field.type)) for field in schema.fields]
        values = TextValues(self.columns.alias, types_of, self.rules)
        assigned = checked(self._assigned(clause), values, table=self.table)
        if clause.action == "insert":
            return new_row(schema, assigned, values, table=self.table)
        # All branches of a CASE are of one type: the row's own values are cast to what they are.
        own = row_after(schema, assigned, values)
        return [cast_text(value, exact_type(field.type)) for value, field in zip(own, schema.fields, strict=True)]

    def _in_sight(self, clause: MergeClause) -> list[str]:
        """The columns that a clause's values may name."""
        source = [] if clause.when == "not_matched_by_source" else self.source.fieldNames()
        target = [] if clause.when == "not_matched" else [field.name for field in self.columns.schema.fields]
        return [*source, *target]

    def _assigned(self, clause: MergeClause) -> list[Assigned[str]]:
        if not clause.star:
            column = DEFAULT_COLUMN if has_default_column(self._in_sight(clause)) else None
            return assigned_fields(self.columns, clause.assignments, self.text.expression, default_column=column)
        names = {self.columns.key(field.name): field.name for field in self.source.fields}
        assigned: list[Assigned[str]] = []
        for field in self.columns.schema.fields:
            name = names.get(self.columns.key(field.name))
            if name is not None:
                value = double_braces(f"{quote_name(self.source_alias)}.{quote_name(name)}")
                assigned.append(Assigned((field.name,), field, value))
            elif not self.evolves:
                raise InvalidInput(
                    f"table {self.table}: {clause.action.upper()} * needs a source column for {field.name!r}; the source "
                    f"has {', '.join(self.source.fieldNames())}",
                    column=field.name,
                )
        return assigned
