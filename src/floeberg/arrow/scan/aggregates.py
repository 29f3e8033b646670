"""COUNT, MIN and MAX of a scan as an Arrow table: from metadata where they prove them, else of the rows that are read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.types import arrow_type
from floeberg.errors import InvalidInput
from floeberg.expr.bind import bind_reference
from floeberg.expr.nodes import BoundReference
from floeberg.scan.aggregates import Aggregate, AggregateFunction, Asked, Group, groups_of_plan, keeps_every_row
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    LONG,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    StructType,
    VariantType,
)

_TEXT: Final = re.compile(r"\s*(count|min|max)\s*\(\s*(.+?)\s*\)\s*", re.IGNORECASE | re.DOTALL)
_WITHOUT_ORDER: Final = (StructType, ListType, MapType, VariantType, GeometryType, GeographyType)


def parse_aggregate(text: object) -> Aggregate:
    """`count(*)`, `count(x)`, `min(x)` or `max(x)`. Raises InvalidInput."""
    found = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidInput(f"an aggregate is count(*), count(column), min(column) or max(column), not {text!r:.60}")
    function = AggregateFunction(found[1].lower())
    return Aggregate(function, None if found[2] == "*" else found[2])


@dataclass(frozen=True, slots=True)
class ScanAggregates:
    """Aggregates bound to a schema, with the columns to group by."""

    aggregates: tuple[Aggregate, ...]
    references: Mapping[str, BoundReference]
    by: tuple[BoundReference, ...]

    @staticmethod
    def of(texts: Sequence[str], by: Sequence[str], schema: Schema, *, case_sensitive: bool) -> ScanAggregates:
        """Raises InvalidInput for columns that are not there, or have no order."""
        if isinstance(by, str):
            raise InvalidInput(f"by takes a list of names: by=[{by!r}]")
        aggregates = tuple(parse_aggregate(text) for text in texts)
        if not aggregates:
            raise InvalidInput("no aggregate is asked for; give one, such as 'count(*)'")
        names = [*by, *(one.column for one in aggregates if one.column is not None)]
        references = {name: bind_reference(name, schema, case_sensitive=case_sensitive) for name in names}
        ordered = [one.column for one in aggregates if one.column and one.function is not AggregateFunction.COUNT]
        for name in (*by, *ordered):
            if isinstance(references[name].type, _WITHOUT_ORDER):
                raise InvalidInput(f"column {name!r} of type {references[name].type} has no least or greatest value")
        return ScanAggregates(aggregates, references, tuple(references[name] for name in by))

    @property
    def asked(self) -> Asked:
        columns: dict[AggregateFunction, dict[int, BoundReference]] = {function: {} for function in AggregateFunction}
        for one in self.aggregates:
            if one.column is not None:
                reference = self.references[one.column]
                columns[one.function][reference.field_id] = reference
        return Asked(
            keys=self.by,
            counts=tuple(columns[AggregateFunction.COUNT].values()),
            least=tuple(columns[AggregateFunction.MIN].values()),
            greatest=tuple(columns[AggregateFunction.MAX].values()),
        )

    def from_metadata(self, plan: ScanPlan) -> pa.Table | None:
        """The result, if metadata prove it; the plan keeps the metrics of the asked columns."""
        groups = groups_of_plan(plan, self.asked) if keeps_every_row(plan) else None
        if groups is None:
            return None
        if not self.by and not groups:
            groups[()] = Group()
        columns = [[key[number] for key in groups] for number in range(len(self.by))]
        columns += [[self._value(one, group) for group in groups.values()] for one in self.aggregates]
        return self._table(
            [array_of(column, kind) for column, kind in zip(columns, [*self._key_types(), *self._types()], strict=True)]
        )

    def _value(self, aggregate: Aggregate, group: Group) -> Any:
        if aggregate.column is None:
            return group.rows
        field_id = self.references[aggregate.column].field_id
        if aggregate.function is AggregateFunction.COUNT:
            return group.counts.get(field_id, 0)
        return (group.least if aggregate.function is AggregateFunction.MIN else group.greatest).get(field_id)

    def of_rows(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """The result of rows, whose columns are those of the aggregates."""
        parts = [self._partial(batch) for batch in batches if batch.num_rows]
        keys = [f"k{number}" for number in range(len(self.by))]
        if not parts:
            types = [*self._key_types(), *self._types()]
            empty = pa.Table.from_arrays([array_of([], kind) for kind in types], names=self._names)
            return empty if self.by else self._of_no_row()
        whole = pa.concat_tables(parts)
        named = [(name, _COMBINED[name[0]]) for name in whole.column_names if name not in keys]
        found = whole.group_by(keys, use_threads=False).aggregate(named)
        columns = {name: found.column(f"{name}_{how}") for name, how in named}
        results = [found.column(key) for key in keys]
        for number, one in enumerate(self.aggregates):
            results.append(_with_nan(columns, number, one))
        types = [*self._key_types(), *self._types()]
        return self._table(
            [column.combine_chunks().cast(arrow_type(kind)) for column, kind in zip(results, types, strict=True)]
        )

    def _of_no_row(self) -> pa.Table:
        return self._table(
            [
                array_of([0 if one.function is AggregateFunction.COUNT else None], kind)
                for one, kind in zip(self.aggregates, self._types(), strict=True)
            ]
        )

    def _partial(self, batch: pa.RecordBatch) -> pa.Table:
        """The aggregates of one batch. Column `c2` is the count, `l2` and `g2` the least and greatest of the third one, `n2`
        whether it has NaN."""
        keys = {f"k{number}": _as_key(_column(batch, reference)) for number, reference in enumerate(self.by)}
        columns: dict[str, pa.Array] = {}
        for number, one in enumerate(self.aggregates):
            values = None if one.column is None else _column(batch, self.references[one.column])
            columns |= _inputs(number, one, values, batch.num_rows)
        table = pa.table({**keys, **columns})
        named = [(name, _COMBINED[name[0]]) for name in columns]
        found = table.group_by(list(keys), use_threads=False).aggregate(named)
        return pa.table(
            {**{key: found.column(key) for key in keys}, **{n: found.column(f"{n}_{how}") for n, how in named}}
        )

    @property
    def _names(self) -> list[str]:
        return [*(reference.name for reference in self.by), *(str(one) for one in self.aggregates)]

    def _table(self, columns: Sequence[pa.Array]) -> pa.Table:
        return pa.Table.from_arrays(list(columns), names=self._names)

    def _key_types(self) -> list[IcebergType]:
        return [reference.type for reference in self.by]

    def _types(self) -> list[IcebergType]:
        return [
            LONG if one.column is None or one.function is AggregateFunction.COUNT else self.references[one.column].type
            for one in self.aggregates
        ]


_COMBINED: Final = {"c": "sum", "l": "min", "g": "max", "n": "max"}


def _column(batch: pa.RecordBatch, reference: BoundReference) -> pa.Array:
    found = batch.column(reference.names[0])
    return pc.struct_field(found, list(reference.names[1:])) if reference.is_nested else found


def _as_key(values: pa.Array) -> pa.Array:
    """Values as Arrow tells groups apart by them, which goes by bits: one zero and one NaN."""
    if not pa.types.is_floating(values.type):
        return values
    nan, zero = pa.scalar(math.nan, values.type), pa.scalar(0, values.type)
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, zero))


def _inputs(number: int, one: Aggregate, values: pa.Array | None, rows: int) -> dict[str, pa.Array]:
    if values is None:
        return {f"c{number}": pa.repeat(pa.scalar(1, pa.int64()), rows)}
    if one.function is AggregateFunction.COUNT:
        return {f"c{number}": pc.is_valid(values).cast(pa.int64())}
    name = "l" if one.function is AggregateFunction.MIN else "g"
    if not pa.types.is_floating(values.type):
        return {f"{name}{number}": values}
    is_nan = pc.is_nan(values).fill_null(False)
    there = pc.if_else(is_nan, pa.scalar(None, values.type), values)
    return {f"{name}{number}": there, f"n{number}": is_nan.cast(pa.int8())}


def _with_nan(columns: Mapping[str, Any], number: int, one: Aggregate) -> Any:
    """The result of an aggregate; NaN is greater than all else."""
    if one.function is AggregateFunction.COUNT:
        return columns[f"c{number}"]
    values = columns[f"{'l' if one.function is AggregateFunction.MIN else 'g'}{number}"]
    if f"n{number}" not in columns:
        return values
    is_nan = pc.equal(columns[f"n{number}"], 1)
    if one.function is AggregateFunction.MIN:
        is_nan = pc.and_(is_nan, pc.is_null(values))
    return pc.if_else(is_nan, pa.scalar(float("nan"), values.type), values)
