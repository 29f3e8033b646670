"""SQL over tables by way of DuckDB: each table is an Arrow dataset whose columns and conditions DuckDB pushes into our scan.

A condition is pushed only as a whole and only where both engines agree on it (comparisons of whole numbers, texts, dates and
booleans). For any other one the query runs again without pushing, and DuckDB filters: NaN, for one, is larger than any number
in DuckDB and comparable to none in Arrow.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from floeberg.api.table import Table
from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature
from floeberg.spec.types import (
    BooleanType,
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    NestedType,
    StringType,
    TimestamptzNsType,
)

_COMPARISON: Final = re.compile(
    r"\(([A-Za-z_][A-Za-z_0-9]*) (==|!=|<|<=|>|>=) (-?\d+|true|false|\d{4}-\d\d-\d\d|\"[^\"\\]*\")\)"
)
_OPERATORS: Final = {"==": "=", "!=": "<>"}


def run_query(query: str, find_table: Callable[[Sequence[str]], Table]) -> pa.Table:
    """The rows of one SELECT, all of them in memory. `find_table` gives the table of a name's parts.

    Raises InvalidInput for what is no single query or what DuckDB refuses, and what reading the tables raises.
    """
    duckdb = _duckdb()
    tables = {parts: TableDataset(find_table(parts)) for parts in _references(duckdb, query)}
    try:
        return _run(duckdb, query, tables, pushes=True)
    except _NotPushed:
        return _run(duckdb, query, tables, pushes=False)


class _NotPushed(Exception):
    """A condition came that is left to DuckDB."""


class TableDataset(ds.Dataset):  # type: ignore[misc]
    """A table as DuckDB reads it: `scanner` is asked for columns and, where conditions are pushed, for the rows to keep."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._schema = table.scan(limit=0).to_batches().schema
        self.failure: BaseException | None = None
        folded = [name.lower() for name in self._schema.names]
        if twice := sorted({name for name in folded if folded.count(name) > 1}):
            raise UnsupportedFeature(
                f"table {table.name}: columns named {twice[0]!r} differ only in case, which DuckDB does not tell apart; read "
                "it with floeberg scan"
            )

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **options: Any) -> ds.Scanner:
        try:
            where = None if filter is None else condition_of(str(filter), self._table)
            names = list(columns or self._schema.names)
            self._refuse_lossy(names)
            scan = self._table.scan(select=names, where=where)
            return ds.Scanner.from_batches(scan.to_batches())
        except (FloebergError, _NotPushed) as error:
            self.failure = error  # DuckDB makes a text of it
            raise

    def _refuse_lossy(self, names: Sequence[str]) -> None:
        for name in names:
            field = self._table.schema.field(name)
            if _holds(field.type, TimestamptzNsType):
                raise UnsupportedFeature(
                    f"table {self._table.name}: column {name!r} is timestamptz_ns, of which DuckDB keeps microseconds only; "
                    "leave it out, or read it with floeberg scan"
                )


def condition_of(text: str, table: Table) -> str:
    """A condition as pyarrow prints it, as one of ours. Raises _NotPushed unless all of it is understood."""
    comparisons = [_comparison(name, operator, literal, table) for name, operator, literal in _COMPARISON.findall(text)]
    rest = _COMPARISON.sub("x", text)
    while (shorter := rest.replace("(x and x)", "x")) != rest:
        rest = shorter
    if rest != "x":
        raise _NotPushed
    return " AND ".join(comparisons)


def _comparison(name: str, operator: str, literal: str, table: Table) -> str:
    by_name = {field.name: field.type for field in table.schema.fields}
    kind = by_name.get(name)
    sql_operator = _OPERATORS.get(operator, operator)
    if isinstance(kind, (IntegerType, LongType)) and re.fullmatch(r"-?\d+", literal):
        return f"`{name}` {sql_operator} {literal}"
    if isinstance(kind, BooleanType) and literal in ("true", "false"):
        return f"`{name}` {sql_operator} {literal}"
    if isinstance(kind, DateType) and re.fullmatch(r"\d{4}-\d\d-\d\d", literal):
        return f"`{name}` {sql_operator} DATE '{literal}'"
    if isinstance(kind, StringType) and literal.startswith('"') and literal.isascii() and literal.isprintable():
        value = literal[1:-1].replace("'", "''")
        return f"`{name}` {sql_operator} '{value}'"
    raise _NotPushed


def _holds(kind: IcebergType, wanted: type[IcebergType]) -> bool:
    if isinstance(kind, NestedType):
        return any(_holds(field.type, wanted) for field in kind.fields)
    return isinstance(kind, wanted)


def _run(duckdb: Any, query: str, tables: dict[tuple[str, ...], TableDataset], *, pushes: bool) -> pa.Table:
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
    try:
        for number, (parts, dataset) in enumerate(tables.items()):
            _make_view(connection, parts, dataset, f"floeberg_{number}")
        connection.execute("SET TimeZone = 'UTC'")
        if not pushes:
            connection.execute(
                "SET disabled_optimizers = 'filter_pushdown,join_filter_pushdown,statistics_propagation'"
            )
        # The query reads the tables that it names, and no file besides.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection.execute(query).to_arrow_table()
    except duckdb.Error as error:
        for dataset in tables.values():
            if dataset.failure is not None:
                raise dataset.failure from None
        raise InvalidInput(f"the query failed: {error}") from None
    finally:
        connection.close()


def _make_view(connection: Any, parts: tuple[str, ...], dataset: TableDataset, hidden: str) -> None:
    connection.register(hidden, dataset)
    quoted = [_quoted(part) for part in parts]
    if len(parts) == 3:
        connection.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {quoted[0]}")
    if len(parts) > 1:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(quoted[:-1])}")
    connection.execute(f"CREATE VIEW {'.'.join(quoted)} AS SELECT * FROM {hidden}")


def _references(duckdb: Any, query: str) -> list[tuple[str, ...]]:
    """The tables that a query names. Raises InvalidInput for what is no single query."""
    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as connection:
        try:
            found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
        except duckdb.Error as error:
            raise InvalidInput(f"the query cannot be read: {error}") from None
    tree = json.loads(found[0])
    if tree.get("error"):
        raise InvalidInput(
            f"the query cannot be read: {tree.get('error_message', '')}; give one SELECT: tables are only read here, Spark or "
            "the Python API change them"
        )
    if len(tree["statements"]) != 1:
        raise InvalidInput("give one query at a time")
    nodes = list(_nodes(tree))
    local = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    named = {
        tuple(part for part in (node["catalog_name"], node["schema_name"], node["table_name"]) if part)
        for node in nodes
        if node.get("type") == "BASE_TABLE"
    }
    return sorted(parts for parts in named if len(parts) > 1 or parts[0].lower() not in local)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of a parsed query."""
    pending = [tree]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            yield one
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _duckdb() -> Any:
    try:
        return importlib.import_module("duckdb")
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            "floeberg sql runs queries by DuckDB, which is not installed: pip install duckdb"
        ) from error
