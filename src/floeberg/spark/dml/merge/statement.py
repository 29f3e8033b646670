"""MERGE INTO as SQL text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql import types as st

from floeberg.commit.commit import Committed
from floeberg.expr.nodes import Expression
from floeberg.spark.dml.assignments import TypesOf
from floeberg.spark.dml.change_job import FILE, POSITION, SOURCE_ROW
from floeberg.spark.dml.merge.clauses import ClauseTexts
from floeberg.spark.dml.merge.key_pairs import KeyPair, key_pairs
from floeberg.spark.dml.merge.run import BY_SOURCE, JOINED_ROW_ID, ROW, TARGET, Clauses, MergeRun
from floeberg.spark.dml.run_statement import run_statement
from floeberg.spark.dml.statement_text import StatementText
from floeberg.spark.dml.target import ChangedTable, changed_table, target_condition, value_types
from floeberg.spark.host.execution import Execution
from floeberg.spark.write.store_assignment import store_rules
from floeberg.spec.schemas.metadata_columns import FILE_PATH, ROW_ID, ROW_POSITION
from floeberg.spec.schemas.rules import ENGINE_PREFIX
from floeberg.sql.queries.references import double_braces
from floeberg.sql.statements.dml_statements import Merge, MergeClause
from floeberg.sql.text.lexer import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NO_ALIAS: Final = f"{ENGINE_PREFIX}source"


def merge(execution: Execution, statement: Merge) -> Committed | None:
    """Merges a source into a table. None when nothing changes.

    Raises TableNotFound, InvalidInput (unknown columns, values that do not fit, a row matched by several source rows),
    Spark's own errors for conditions and values, ValidationConflict, CommitConflict. The table is unchanged then.
    """

    def run(now: Execution) -> Committed | None:
        target = changed_table(now, statement.table, verb="merge", alias=statement.alias)
        return _TextMerge(now, statement, target).run()

    return run_statement(execution, statement.table.parts, run)


class _TextMerge(MergeRun[MergeClause]):
    """A MERGE whose clauses are text."""

    def __init__(self, execution: Execution, statement: Merge, target: ChangedTable) -> None:
        self._statement = statement
        self._known_types: dict[tuple[bool, bool, tuple[str, ...]], Sequence[st.DataType]] = {}
        """What Spark answered: the same question comes before anything runs and again when it runs."""
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
        super().__init__(
            target, self._source_frame(), Clauses.of(statement.clauses), evolves=statement.schema_evolution
        )
        self._texts = ClauseTexts(
            self._text,
            self._columns,
            self._source_type,
            self._source_alias,
            target.name,
            store_rules(target.spark, by_name=True),
            evolves=statement.schema_evolution,
        )

    def _source_frame(self) -> DataFrame:
        alias = f" AS {double_braces(quote_name(self._source_alias))}"
        return self._text.frame(f"{self._ctes} SELECT * FROM {self._text.verbatim(self._statement.source)}{alias}")

    def _key_pairs(self) -> list[KeyPair]:
        return key_pairs(
            self._text.cursor,
            self._statement.condition,
            self._columns,
            self._source_type,
            source_alias=self._source_name,
        )

    def _own_condition(self) -> Expression:
        found = target_condition(
            self._target, self._text.cursor, self._statement.condition, others=[self._source_alias]
        )
        return found.weak

    def _has_row_query(self) -> bool:
        return self._text.has_row_query()

    # the queries

    def _joined(self, target: DataFrame, source: DataFrame) -> DataFrame:
        frames = {"floeberg_target": self._with_by_source(target), "floeberg_source": source}
        return self._text.frame(f"{self._ctes} SELECT {self._items()} FROM {self._join()}", **frames)

    def _join(self) -> str:
        kind = "LEFT" if self._clauses.by_source else "INNER"
        source = double_braces(quote_name(self._source_alias))
        return (
            f"{{floeberg_target}} AS {self._target.alias_text} {kind} JOIN {{floeberg_source}} AS {source} "
            f"ON {self._text.expression(self._statement.condition)}"
        )

    def _with_by_source(self, target: DataFrame) -> DataFrame:
        """The target with the clause for each row that no source row matches, evaluated over the target alone."""
        if not self._clauses.by_source:
            return target
        decision = self._texts.decision(self._clauses.by_source)
        query = (
            f"{self._ctes} SELECT *, {decision} AS {BY_SOURCE} FROM {{floeberg_target}} AS {self._target.alias_text}"
        )
        return self._text.frame(query, floeberg_target=target)

    def _items(self) -> str:
        alias = self._target.alias_text
        source = double_braces(quote_name(self._source_alias))
        found = f"{source}.{SOURCE_ROW}"
        items = [
            f"{alias}.{FILE_PATH.name} AS {FILE}",
            f"{alias}.{ROW_POSITION.name} AS {POSITION}",
            f"{found} AS {SOURCE_ROW}",
        ]
        by_source = bool(self._clauses.by_source)
        if self._target.has_lineage:
            items.append(f"{alias}.{ROW_ID.name} AS {JOINED_ROW_ID}")
        if self._clauses.matched:
            row = self._texts.struct(self._clauses.matched, self._types_of(target=True, source=True))
            # Where every row is a matched one, Spark can leave out the struct.
            items.append(f"CASE WHEN {found} IS NOT NULL THEN {row} END AS {ROW}" if by_source else f"{row} AS {ROW}")
        if by_source:
            items.append(
                f"CASE WHEN {found} IS NULL AND {alias}.{BY_SOURCE} > 0 THEN struct({alias}.*) END AS {TARGET}"
            )
        return ", ".join(items)

    def _types_of(self, *, target: bool, source: bool) -> TypesOf:
        """The types of values where the target's columns are seen (`target`), the source's, or both."""

        def types(values: Sequence[str]) -> Sequence[st.DataType]:
            key = (target, source, tuple(values))
            if key not in self._known_types:
                self._known_types[key] = ask(values)
            return self._known_types[key]

        def ask(values: Sequence[str]) -> Sequence[st.DataType]:
            items = ", ".join(f"{value} AS v{number}" for number, value in enumerate(values))
            sides = []
            if target:
                sides.append(f"{{floeberg_target}} AS {self._target.alias_text}")
            if source:
                sides.append(f"{{floeberg_source}} AS {double_braces(quote_name(self._source_alias))}")
            frame = self._text.frame(
                f"{self._ctes} SELECT {items} FROM {' CROSS JOIN '.join(sides)}",
                floeberg_target=self._no_rows,
                floeberg_source=self._source,
            )
            return value_types(self._target, frame)

        return types

    def _by_source_rows(self, joined: DataFrame, names: Sequence[str]) -> DataFrame:
        alias = self._target.alias_text
        own = joined.where(F.col(f"{TARGET}.{BY_SOURCE}") > 0).select(f"{TARGET}.*")
        types = self._types_of(target=True, source=False)
        rows = self._texts.rows(self._clauses.by_source, types, decision=f"{alias}.{BY_SOURCE}")
        if self._target.has_lineage:
            rows = [*rows, f"{alias}.{ROW_ID.name}"]
        updates = [
            n for n in range(1, len(self._clauses.by_source) + 1) if self._clauses.by_source[n - 1].action == "update"
        ]
        numbers = ", ".join(str(number) for number in updates)
        items = ", ".join(f"{row} AS c{number}" for number, row in enumerate(rows))
        query = (
            f"{self._ctes} SELECT {items} FROM {{floeberg_target}} AS {alias} WHERE {alias}.{BY_SOURCE} IN ({numbers})"
        )
        return self._text.frame(query, floeberg_target=own).toDF(*names)

    def _inserted(self, source: DataFrame) -> DataFrame:
        alias = double_braces(quote_name(self._source_alias))
        row = self._texts.struct(self._clauses.inserts, self._types_of(target=False, source=True))
        query = f"{self._ctes} SELECT {row} AS {ROW} FROM {{floeberg_source}} AS {alias}"
        made = self._text.frame(query, floeberg_source=source).where(f"{ROW} IS NOT NULL")
        return made.selectExpr(*self._row_texts("CAST(NULL AS BIGINT)"))
