"""Random tables for joins: keys of several types, nulls, types and partitions that evolved, deletes of every kind; and the same
rows in Python."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.commit.row_delta import RowDelta
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import FileContent

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class KeyType:
    """A type of keys: its values, literals and partition transforms."""

    sql: str
    arrow: pa.DataType
    value: Callable[[int], Any]
    literal: Callable[[int], str]
    transforms: tuple[str, ...]


def _day(number: int) -> dt.date:
    return dt.date(1969, 12, 25) + dt.timedelta(days=number)


def _moment(number: int) -> dt.datetime:
    return dt.datetime(1969, 12, 31, 12, tzinfo=dt.UTC) + dt.timedelta(hours=7 * number)


INT: Final = KeyType("int", pa.int32(), int, str, ("truncate(3, {})", "identity({})", "bucket(4, {})"))
LONG: Final = KeyType("bigint", pa.int64(), int, lambda n: f"CAST({n} AS BIGINT)", INT.transforms)
TYPES: Final = {
    "int": INT,
    "long": LONG,
    "date": KeyType("date", pa.date32(), _day, lambda n: f"DATE '{_day(n)}'", ("day({})", "month({})", "bucket(4, {})")),
    "string": KeyType("string", pa.string(), lambda n: f"k{n:03d}", lambda n: f"'k{n:03d}'", ("truncate(4, {})", "identity({})")),
    "timestamptz": KeyType(
        "timestamp", pa.timestamp("us", "UTC"), _moment, lambda n: f"TIMESTAMP '{_moment(n):%Y-%m-%d %H:%M:%S}Z'", ("day({})", "hour({})")
    ),
    "double": KeyType("double", pa.float64(), float, lambda n: f"CAST({n} AS DOUBLE)", ("void({})",)),
}  # fmt: skip
COLUMNS: Final = {"f": ("k", "g", "v"), "d": ("dk", "x", "s"), "e": ("ek", "y", "k")}
KEYS: Final = {"f": ("k", "g"), "d": ("dk", "s"), "e": ("ek", "k")}
SIZES: Final = {"f": 120, "d": 14, "e": 10}


@dataclass(frozen=True, slots=True)
class World:
    """The three tables of one seed in `lake.db`, and their rows."""

    types: dict[str, KeyType]
    rows: dict[str, list[Row]]

    def literal(self, name: str, number: int) -> str:
        return self.types[name].literal(number)

    def ddl(self, name: str) -> str:
        return ", ".join(f"{column} {self._type(name, column)}" for column in COLUMNS[name])

    def _type(self, name: str, column: str) -> str:
        return self.types[name].sql if column in KEYS[name] else "int"


def build_world(lake: Catalog, seed: int) -> World:
    """Makes the tables anew."""
    chance = random.Random(seed)
    kind = chance.choice(["int", "long", "int/long", "int/long", "date", "string", "timestamptz", "double"])
    world = World({}, {})
    for name in COLUMNS:
        own = chance.choice(["int", "long"]) if kind == "int/long" else kind
        world.types[name] = TYPES[own]
        _build(lake, name, world, chance)
    return world


def _build(lake: Catalog, name: str, world: World, chance: random.Random) -> None:
    if lake.table_exists(f"db.{name}"):
        lake.drop_table(f"db.{name}", purge=True)
    key_type = world.types[name]
    grows = key_type is LONG and chance.random() < 0.5
    first = INT.arrow if grows else key_type.arrow
    fields = [(column, first if column in KEYS[name] else pa.int32()) for column in COLUMNS[name]]
    table = lake.create_table(
        f"db.{name}",
        pa.schema(fields),
        format_version=chance.choice([2, 3]),
        properties={"write.delete.mode": chance.choice(["merge-on-read", "copy-on-write"])},
    )
    unpartitioned = table.spec
    rows = _rows(name, key_type, chance)
    parts = [rows[::2], rows[1::2]]
    if name == "f" or chance.random() < 0.3:
        parts = [sorted(part, key=lambda row: (row[0] is not None, row[0])) for part in parts]
    kept: list[Row] = []
    for number, part in enumerate(parts):
        if number == 1 and grows:
            with table.update_schema() as change:
                for column in KEYS[name]:
                    change.update_type(column, "long")
        if chance.random() < 0.7:
            _repartition(table, name, key_type, chance)
        _append(table, name, part, chance)
        kept = _delete(table, name, [*kept, *part], unpartitioned, chance)
    world.rows[name] = kept


def _rows(name: str, key_type: KeyType, chance: random.Random) -> list[Row]:
    def key() -> Any:
        return None if chance.random() < 0.1 else key_type.value(chance.randrange(24))

    def number() -> int | None:
        return None if chance.random() < 0.15 else chance.randrange(4)

    return [tuple(key() if column in KEYS[name] else number() for column in COLUMNS[name]) for _ in range(SIZES[name])]


def _repartition(table: Table, name: str, key_type: KeyType, chance: random.Random) -> None:
    with table.update_spec() as change:
        for field in table.spec.fields:
            change.remove_field(field.name)
    if key_type.transforms[0].startswith("void"):
        return
    with table.update_spec() as change:
        change.add_field(chance.choice(key_type.transforms).format(COLUMNS[name][0]))


def _append(table: Table, name: str, rows: list[Row], chance: random.Random) -> None:
    """In two commits, each of which has files of its own."""
    types = {field.name: field.type for field in table.scan().to_arrow().schema}
    middle = len(rows) // 2
    for part in (rows[:middle], rows[middle:]):
        columns = {
            column: pa.array([row[at] for row in part], types[column]) for at, column in enumerate(COLUMNS[name])
        }
        table.append(pa.table(columns))


def _delete(table: Table, name: str, rows: list[Row], unpartitioned: Any, chance: random.Random) -> list[Row]:
    """Deletes rows by a number, or by keys, and gives those that are left."""
    number = next(at for at, column in enumerate(COLUMNS[name]) if column not in KEYS[name])
    how = chance.choice(["none", "where", "keys", "keys"])
    if how == "where":
        table.delete(where=f"{COLUMNS[name][number]} = 3")
        return [row for row in rows if row[number] != 3]
    if how == "keys":
        deleted = {row[0] for row in rows if chance.random() < 0.15}
        field = table.schema.field(COLUMNS[name][0])
        writer = RollingWriter(
            table._pointer.store_for(table.location),
            Schema(field),
            spec=unpartitioned,
            new_location=lambda path: f"{table.location}/data/deletes-{chance.randrange(1 << 40)}.parquet",
            properties={},
            content=FileContent.EQUALITY_DELETES,
            equality_ids=(field.field_id,),
        )
        type_ = table.scan(select=[field.name]).to_arrow().schema.field(0).type
        writer.write(pa.table({field.name: pa.array(list(deleted), type_)}))
        table._commit(RowDelta(added=list(writer.close())))
        return [row for row in rows if row[0] not in deleted]
    return rows
