"""Random tables and a plain model of what they hold: evolution of schema and spec, every format, deletes of every kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import FileContent
from floeberg.spec.types import DOUBLE, LONG, UNSET, DecimalType, FloatType, IntegerType, NestedField
from models.engine_rows import Row, matching
from strategies.engine_filters import random_filter
from strategies.expressions import POOLS, TRANSFORMS

V3_COLUMNS = ("ns", "tzns")
MODES = ("copy-on-write", "merge-on-read")
FORMATS = ("parquet", "parquet", "orc", "avro")
_US_RANGE = 2**52  # what ORC can hold, and transforms do not overflow on


def usable(name: str, value: object) -> bool:
    """Not what no partition can hold: truncation or a temporal transform of it overflows."""
    if name in ("i", "l"):
        return isinstance(value, int) and value > -(2**31)
    return name not in ("ts", "ns", "dt") or (
        isinstance(value, int) and abs(value) < _US_RANGE * (1000 if name == "ns" else 1)
    )


def _values(name: str) -> list[object]:
    return [value for value in POOLS[name][1] if usable(name, value)]


@dataclass
class Kept:
    """A row by column id, and where it was written: (spec id, partition), unknown after a rewrite."""

    values: dict[int, Any]
    place: tuple[int, tuple[object, ...]] | None


@dataclass
class Model:
    """A table and the rows that it must hold."""

    table: Table
    rng: random.Random
    rows: list[Kept] = field(default_factory=list)
    pools: dict[int, list[object]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    formats: Sequence[str] = FORMATS
    by_key: bool = True

    @property
    def schema(self) -> Schema:
        return self.table.schema

    def expected(self) -> list[Row]:
        return [self._row(kept) for kept in self.rows]

    def _row(self, kept: Kept) -> Row:
        return {f.name: self._value(kept, f) for f in self.schema.fields}

    def _value(self, kept: Kept, field: NestedField) -> Any:
        """A column that was added since has its initial default."""
        if field.field_id in kept.values:
            return kept.values[field.field_id]
        return None if field.initial_default is UNSET else field.initial_default

    def step(self) -> None:
        steps: list[Callable[[], None]] = [self.append, self.append, self.evolve_schema, self.evolve_spec, self.delete]
        if self.table.format_version > 1:
            steps += [*([self.delete_by_key] if self.by_key else []), self.delete]
        self.rng.choice(steps)()

    def append(self) -> None:
        with self.table.update_properties() as u:
            u.set({"write.format.default": self.rng.choice(self.formats)})
        schema = self.schema
        rows = [self._random_values() for _ in range(self.rng.randrange(1, 9))]
        self.table.append(arrow_rows(rows, schema))
        for values in rows:
            self.rows.append(Kept(values, self._place(values)))
        self.done.append(f"append {len(rows)}")

    def _random_values(self) -> dict[int, Any]:
        return {
            f.field_id: None if not f.required and self.rng.random() < 0.15 else self.rng.choice(self.pools[f.field_id])
            for f in self.schema.fields
        }

    def _place(self, values: dict[int, Any]) -> tuple[int, tuple[object, ...]]:
        spec = self.table.spec
        return spec.spec_id, spec.partition_values(self.schema, values)

    def evolve_schema(self) -> None:
        kind = self.rng.choice(["add", "drop", "rename", "promote"])
        field = self.rng.choice(self.schema.fields)
        try:
            with self.table.update_schema() as u:
                if kind == "add":
                    self._add_column(u)
                elif kind == "drop" and len(self.schema.fields) > 2:
                    u.drop_column(field.name)
                elif kind == "rename":
                    u.rename_column(field.name, f"c{self.rng.randrange(10**6)}")
                elif (wider := _wider(field)) is not None:
                    u.update_type(field.name, wider)
            self.done.append(f"{kind} {field.name}")
        except InvalidInput:
            self.done.append(f"refused {kind} {field.name}")
        for known in self.schema.fields:
            if known.field_id not in self.pools:
                self.pools[known.field_id] = _values("i")

    def _add_column(self, update: Any) -> None:
        default = {"default": self.rng.choice([5, -3])} if self.table.format_version > 2 else {}
        update.add_column(f"n{self.rng.randrange(10**6)}", "int", **(default if self.rng.random() < 0.5 else {}))

    def evolve_spec(self) -> None:
        try:
            with self.table.update_spec() as u:
                current = [f.name for f in self.table.spec.fields]
                if current and self.rng.random() < 0.5:
                    u.remove_field(self.rng.choice(current))
                else:
                    u.add_field(self._term())
            self.done.append(f"spec {[str(f) for f in self.table.spec.fields]}")
        except InvalidInput:
            self.done.append("refused spec")

    def _term(self) -> str:
        column = self.rng.choice(
            [f.name for f in self.schema.fields if f.name in TRANSFORMS] or [self.schema.fields[0].name]
        )
        transform = self.rng.choice(TRANSFORMS.get(column, ["identity"]))
        name, _, parameter = transform.rstrip("]").partition("[")
        if name == "identity":
            return column
        return f"{name}({parameter}, {column})" if parameter else f"{name}({column})"

    def delete(self) -> None:
        mode = self.rng.choice(MODES)
        with self.table.update_properties() as u:
            u.set({"write.delete.mode": mode, "write.delete.granularity": self.rng.choice(["file", "partition"])})
        where = random_filter(self.rng, self.schema, self.expected(), depth=1)
        left = [kept for kept in self.rows if not matching(where, [self._row(kept)], self.schema)]
        if len(left) < 0.4 * len(self.rows):
            return  # few rows make a poor test
        self.table.delete(where)
        self.rows = left
        if mode == "copy-on-write" or self.table.format_version == 1:
            for kept in self.rows:
                kept.place = None
        self.done.append(f"delete ({mode}) {where}")

    def delete_by_key(self) -> None:
        """Equality deletes: whole rows as another engine may write them, some of whose columns are the key."""
        known = [kept for kept in self.rows if kept.place is not None]
        scoped = not self.table.spec.is_unpartitioned
        if not self.rows or (scoped and len(known) < len(self.rows)):
            return
        fields = [f for f in self.schema.fields if not f.type.is_nested]
        keys = self.rng.sample(fields, min(len(fields), self.rng.choice([1, 1, 2])))
        chosen = [self._row(kept) for kept in self.rng.sample(self.rows, min(2, len(self.rows)))]
        rows = [{f.field_id: row[f.name] for f in self.schema.fields} for row in chosen]
        self.commit_equality_deletes(rows, tuple(f.field_id for f in keys))
        deleted = [(self._place(values), [_key(values[f.field_id]) for f in keys]) for values in rows]
        self.rows = [kept for kept in self.rows if not self._is_deleted(kept, keys, deleted, scoped=scoped)]
        self.done.append(f"equality {[f.name for f in keys]} {deleted}")

    def _is_deleted(self, kept: Kept, keys: list[NestedField], deleted: list[Any], *, scoped: bool) -> bool:
        row = self._row(kept)
        own = [_key(row[f.name]) for f in keys]
        return any(own == key and (not scoped or _same_place(place, kept.place)) for place, key in deleted)

    def commit_equality_deletes(self, rows: list[dict[int, Any]], ids: tuple[int, ...]) -> None:
        table, number = self.table, len(self.table.snapshots)
        writer = RollingWriter(
            table._pointer.store_for(table.location),
            table.schema,
            spec=table.spec,
            new_location=lambda path: (
                f"{table.location}/data/{path}/eq-{number}-{self.rng.randrange(10**9)}.parquet".replace(
                    "//", "/"
                ).replace(":/", "://")
            ),
            properties={"write.delete.format.default": self.rng.choice(self.formats[-3:])},
            content=FileContent.EQUALITY_DELETES,
            equality_ids=ids,
        )
        writer.write(arrow_rows(rows, table.schema))
        table._commit(RowDelta(added=writer.close()))


def _key(value: Any) -> Any:
    """Keys as equality deletes compare them: NaN equals NaN, zeros of both signs differ, null equals null."""
    return repr(value) if isinstance(value, float) else value


def _same_place(left: Any, right: Any) -> bool:
    return (
        left is not None
        and right is not None
        and (left[0], [_key(v) for v in left[1]]) == (right[0], [_key(v) for v in right[1]])
    )


def _wider(field: NestedField) -> Any:
    match field.type:
        case IntegerType():
            return LONG
        case FloatType():
            return DOUBLE
        case DecimalType(precision=9, scale=scale):
            return DecimalType(18, scale)
    return None


def arrow_rows(rows: list[dict[int, Any]], schema: Schema) -> pa.Table:
    columns = [array_of([row[f.field_id] for row in rows], f.type) for f in schema.fields]
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def random_model(
    lake: Catalog,
    name: str,
    rng: random.Random,
    *,
    steps: int = 7,
    versions: Sequence[int] = (1, 2, 2, 3, 3),
    formats: Sequence[str] = FORMATS,
    by_key: bool = True,
) -> Model:
    """A table that went through some random changes, and its model; readers that know less ask for less."""
    version = rng.choice(versions)
    names = [column for column in POOLS if "." not in column and (version > 2 or column not in V3_COLUMNS)]
    chosen = [*rng.sample([column for column in names if column != "r"], rng.randrange(3, 6)), "r"]
    schema = Schema(
        *(NestedField(i, column, POOLS[column][0], required=column == "r") for i, column in enumerate(chosen, 1))
    )
    table = lake.create_table(
        name,
        schema,
        format_version=version,
        properties={
            "write.metadata.metrics.default": rng.choice(["truncate(16)", "truncate(1)", "full", "counts", "none"]),
            "commit.manifest.min-count-to-merge": rng.choice(["2", "2", "100"]),
        },
    )
    pools = {f.field_id: _values(f.name) for f in table.schema.fields}
    model = Model(table, rng, pools=pools, formats=formats, by_key=by_key)
    if rng.random() < 0.6:
        model.evolve_spec()
    model.append()
    for _ in range(steps):
        model.step()
    return model
