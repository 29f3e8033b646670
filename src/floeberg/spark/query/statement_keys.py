"""The tables of one statement as sources of join keys: what is read of a small one so that a large one is read less."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from floeberg.catalogs.base import LoadedTable
from floeberg.expr.nodes import AlwaysTrue, Expression, and_
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.host.session_state import Selection
from floeberg.spark.host.settings.session_settings import QUOTED_PATTERNS
from floeberg.spark.host.types.spark_types import spark_type
from floeberg.spark.host.views import ViewColumns
from floeberg.spark.read.joins.key_values import (
    JoinKey,
    KeyReader,
    KeyValues,
    equal_values,
    key_predicate,
    key_reference,
)
from floeberg.spark.read.joins.small_table import ColumnKeys, SmallTable, filter_texts
from floeberg.spark.read.options import FrameOptions
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import IcebergType, StringType
from floeberg.sql.conditions.predicates import Condition, Keys, Matches
from floeberg.sql.queries.column_sources import ColumnSources
from floeberg.sql.queries.join_keys import JoinKeys, KeySource
from floeberg.sql.queries.query_nodes import TableRelation
from floeberg.sql.queries.references import References
from floeberg.sql.text.names import TableIdentifier

JOIN_PRUNING: Final = "spark.floeberg.join-pruning"
"""The setting that turns join pruning off when it is false."""
MAX_HOPS: Final = 3
"""A table's keys are restricted by its own conditions, by the keys of another table, and these by those of one more."""
MAX_HOP_ROWS: Final = 200_000
"""That one is read only if it is no larger."""
MAX_WRITTEN: Final = 1_000
"""More keys are a range in the condition on a table, which is compared with that of every plan that is kept."""


@dataclass(frozen=True, slots=True)
class SelectedTable:
    """A table at the snapshot that a reference reads."""

    identifier: TableIdentifier
    loaded: LoadedTable
    selection: Selection
    schema: Schema


ToExpression = Callable[[Sequence[Condition], Schema], Expression]
OfView = Callable[[int, str], "KeyReader | None"]


@dataclass(eq=False, slots=True)
class StatementKeys:
    """The references of a statement by the identity of their relations, with the conditions on each."""

    session: AttachedSession
    numbers: Mapping[int, int]
    tables: Sequence[SelectedTable | None]
    conditions: Sequence[Sequence[Condition]]
    joins: JoinKeys | None
    to_expression: ToExpression
    of_view: OfView
    """The keys of a column of a view, by the reference's number."""
    _known: dict[tuple[int, str, frozenset[int]], KeyReader | None] = field(default_factory=dict)

    def bound(self) -> list[list[Condition]]:
        """The conditions with keys that can be read."""
        return [
            [self._bound(condition, number) for condition in conditions]
            for number, conditions in enumerate(self.conditions)
        ]

    def _bound(self, condition: Condition, number: int) -> Condition:
        if not isinstance(condition, Matches) or not isinstance(condition.keys, KeySource):
            return condition
        return replace(condition, keys=BoundKeys(self, condition.keys, frozenset({number})))

    def of_output(self, references: References, column: str, columns: ViewColumns) -> KeyReader | None:
        """The keys of a column of the statement's result, which is a view's query; None where the view's column may be
        another one, or one of another type."""
        if not self.has_recorded_type(references, column, columns):
            return None
        source = self._source_of(references, column, columns)
        return None if source is None else self.reader(source, frozenset())

    def has_recorded_type(self, references: References, column: str, columns: ViewColumns) -> bool:
        """Whether a column of a view's query, by its lower-case name, is a table's own, of the type that the view shows."""
        source = self._source_of(references, column, columns)
        table = None if source is None else self.tables[self.numbers[id(source.relation)]]
        if source is None or table is None:
            return False
        own = [field for field in table.schema.fields if field.name.lower() == source.column]
        shown = [
            field
            for field, name in zip(columns.schema.fields, columns.query_names, strict=True)
            if name.lower() == column
        ]
        return len(own) == len(shown) == 1 and shown[0].dataType == spark_type(own[0].type)

    def _source_of(self, references: References, column: str, columns: ViewColumns) -> KeySource | None:
        if self.joins is None or references.query is None:
            return None
        return self.joins.of_output(references.query, column, names=columns.query_names)

    def reader(self, source: KeySource, path: frozenset[int]) -> KeyReader | None:
        """The keys of a column, without those of the references on the way to it."""
        number = self.numbers[id(source.relation)]
        key = (number, source.column, path)
        if key not in self._known:
            self._known[key] = None if number in path else self._reader(number, source.column, path)
        return self._known[key]

    def _reader(self, number: int, column: str, path: frozenset[int]) -> KeyReader | None:
        table = self.tables[number]
        if table is None:
            return self.of_view(number, column)
        reference = key_reference(column, table.schema)
        options = FrameOptions.of(table.selection.options)
        if reference is None or options.is_incremental:
            return None
        where = self.to_expression(self.conditions[number], table.schema)
        texts = () if isinstance(where, AlwaysTrue) else filter_texts(where)
        columns: tuple[ColumnKeys, ...] = ()
        if len(path) < MAX_HOPS:
            where, texts, columns = self._with_hops(number, where, texts, path | {number})
        if isinstance(where, AlwaysTrue):
            return None
        selection = table.selection
        return SmallTable(
            table.loaded,
            choose_snapshot(
                table.loaded.state.metadata,
                snapshot_id=selection.snapshot_id,
                ref=selection.ref,
                as_of_ms=selection.as_of_ms,
            ),
            table.schema.by_id[reference.field_id],
            where,
            texts,
            ignore_scheme=options.ignore_scheme,
            by_name=options.by_name,
            manifests=self.session.state.manifests,
            kept=self.session.state.join_keys,
            columns=columns,
        )

    def _with_hops(
        self, number: int, where: Expression, texts: tuple[str, ...], path: frozenset[int]
    ) -> tuple[Expression, tuple[str, ...], tuple[ColumnKeys, ...]]:
        """The condition of a table together with the keys of the tables that it is joined with. Many keys are a range in the
        condition, and stand beside it."""
        table = self.tables[number]
        assert table is not None
        many: list[ColumnKeys] = []
        for condition in self.conditions[number]:
            if not isinstance(condition, Matches) or not isinstance(condition.keys, KeySource):
                continue
            reader = self.reader(condition.keys, path)
            reference = key_reference(condition.column[0], table.schema) if len(condition.column) == 1 else None
            found = None if reader is None or reference is None else reader.values(beside_rows=MAX_HOP_ROWS)
            if found is None or reference is None:
                continue
            predicate = key_predicate(found, reference, op=condition.op, added=condition.added, most=MAX_WRITTEN)
            if predicate is not None:
                where, texts = and_(where, predicate), (*texts, f"by {found.source}")
            if condition.op == "=" and not condition.added and len(found.values) > MAX_WRITTEN:
                values = equal_values(found, reference)
                if values is not None and not isinstance(reference.type, StringType):
                    many.append(ColumnKeys(table.schema.by_id[reference.field_id], values))
        return where, texts, tuple(many)


@dataclass(frozen=True, slots=True, eq=False)
class BoundKeys(Keys):
    """Keys of a column of a statement; `path` are the references that are not asked for theirs."""

    statement: StatementKeys
    source: KeySource
    path: frozenset[int]

    def values(self, *, beside_rows: int) -> KeyValues | None:
        reader = self.statement.reader(self.source, self.path)
        return None if reader is None else reader.values(beside_rows=beside_rows)


def prunes_joins(session: AttachedSession) -> bool:
    """Whether the session's settings let joins leave out files. Names that differ by case alone are not told apart, nor what
    columns a pattern stands for."""
    if session.setting(JOIN_PRUNING, "true") != "true" or session.setting(QUOTED_PATTERNS, "false") == "true":
        return False
    return session.setting("spark.sql.caseSensitive", "false") != "true"


def join_keys_of(
    references: References, columns: Mapping[int, frozenset[str]], tables: Sequence[SelectedTable | None]
) -> JoinKeys:
    """Reads the joins of a statement; `columns` are those of our tables and views, in lower case, by their relations."""
    sources = ColumnSources(references.cursor, columns, references.walk.cte_uses, lambda _: None)
    schemas = {
        id(relation): table.schema
        for relation, table in zip(references.relations, tables, strict=True)
        if table is not None
    }

    def type_of(relation: TableRelation, column: str) -> IcebergType | None:
        schema = schemas.get(id(relation))
        found = [] if schema is None else [field.type for field in schema.fields if field.name.lower() == column]
        return found[0] if len(found) == 1 else None

    return JoinKeys(references, sources, type_of)


def keys_of(conditions: Sequence[Condition]) -> list[JoinKey]:
    """The join keys among the conditions on a table."""
    return [
        JoinKey(condition.column[0], condition.keys, condition.op, condition.added)
        for condition in conditions
        if isinstance(condition, Matches) and isinstance(condition.keys, BoundKeys) and len(condition.column) == 1
    ]
