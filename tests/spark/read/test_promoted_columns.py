"""Filters on columns whose type was promoted: pushed to Parquet they would be compared in the type of the older files."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, Final

import pyarrow as pa
import pytest

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.types import arrow_type
from floeberg.spark.read.parquet.field_names import wrapped_ids

INT: Final = (-(2**31), 7, 2**31 - 1)
LONG: Final = (2**31, 2**32 + 7, -(2**32), 2**63 - 1)
PROMOTIONS: Final = {
    "int, bigint": (INT, LONG),
    "float, double": ((0.5, -0.0, 1e30, -1e30), (0.1, 1e300, -1e300, 0.5)),
    "decimal(5,2), decimal(18,2)": (("5.00", "-999.99", "7.25"), ("42949673.01", "42949672.96", "-42949672.96")),
    "decimal(18,2), decimal(38,2)": (("5.00", "-7.25"), ("184467440737095521.16", "1" * 36 + ".00")),
    "decimal(20,2), decimal(38,2)": (("5.00", "-7.25"), ("1" * 36 + ".00", "-" + "9" * 36 + ".99")),
    "date, timestamp_ntz": (("1969-12-31", "2020-02-02"), ("2020-02-02 00:00:00.000001", "0001-01-01", "9999-12-31")),
}
"""Values before and after each promotion; both are literals of filters as well."""
COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def literal(value: object, kind: str) -> str:
    return f"TIMESTAMP_NTZ '{value}'" if kind == "timestamp_ntz" else f"CAST('{value}' AS {kind})"


def conditions(values: tuple[object, ...], kind: str) -> Iterator[str]:
    """Every comparison with every literal, and lists of literals: short ones, long ones, within and outside the old type."""
    texts = [literal(value, kind) for value in values]
    for text in texts:
        yield from (f"x {sign} {text}" for sign in COMPARISONS)
    for first in (texts, texts[::-1]):
        yield f"x IN ({', '.join(first)})"
        yield f"x NOT IN ({', '.join(first)})"
        yield f"x NOT IN ({', '.join(first[-2:])})"
    if kind == "bigint":
        # Of a list Spark looks at the first literal alone, whether it is within the older type.
        yield f"x NOT IN (0, {2**32 + 7})"
        yield f"x NOT IN (0, {', '.join(str(number * 2**32 + 7) for number in range(1, 14))})"
    yield "x IS NULL"
    yield "x IS NOT NULL"


def promoted_table(session: Any, name: str, promotion: str) -> list[str]:
    """A table with a file for each value before a promotion and one for those after it; its rows as values of SQL."""
    old, new = promotion.split(", ")
    before, after = ([*PROMOTIONS[promotion][0], None], list(PROMOTIONS[promotion][1]))
    table = session.lake.create_table(f"db.{name}", f"id int, x {old}", format_version=3)
    for number, value in enumerate(before):
        append(table, [(number, value)])
    session.sql(f"ALTER TABLE lake.db.{name} ALTER COLUMN x TYPE {new}")
    append(session.lake.load_table(f"db.{name}"), list(enumerate(after, 100)))
    numbered = [*enumerate(before), *enumerate(after, 100)]
    texts = ["NULL" if x is None else literal(x, old if number < 100 else new) for number, x in numbered]
    return [f"({number}, CAST({text} AS {new}))" for (number, _), text in zip(numbered, texts, strict=True)]


def append(table: Table, rows: list[tuple[int, Any]]) -> None:
    numbers, values = zip(*rows, strict=True)
    kind = arrow_type(table.schema.field(2).type)
    given = [Decimal(str(value)) if pa.types.is_decimal(kind) and value is not None else value for value in values]
    parsed = pa.array(given).cast(kind) if any(isinstance(value, str) for value in given) else pa.array(given, kind)
    table.append(pa.table({"id": pa.array(numbers, pa.int32()), "x": parsed}))


def differences(session: Any, name: str, rows: list[str], asked: list[str]) -> list[str]:
    """The conditions for which the table and plain Spark over the same rows differ."""
    select = ", ".join(f"({condition}) AS c{number}" for number, condition in enumerate(asked))
    plain = session.sql(f"SELECT id, {select} FROM VALUES {', '.join(rows)} AS t(id, x)").collect()
    expected = [sorted(row.id for row in plain if row[f"c{number}"]) for number in range(len(asked))]
    found: list[list[int]] = [[] for _ in asked]
    for start in range(0, len(asked), 40):
        parts = [
            f"SELECT {number} AS n, id FROM lake.db.{name} WHERE {condition}"
            for number, condition in enumerate(asked[start : start + 40], start)
        ]
        for row in session.sql(" UNION ALL ".join(parts)).collect():
            found[row.n].append(row.id)
    return [
        f"{condition}: {sorted(own)}, not {wanted}"
        for condition, own, wanted in zip(asked, found, expected, strict=True)
        if sorted(own) != wanted
    ]


@pytest.mark.connect
@pytest.mark.parametrize("promotion", PROMOTIONS)
def test_every_comparison_with_a_promoted_column_is_that_of_plain_spark(session: Any, promotion: str) -> None:
    name = "p_" + "".join(sign if sign.isalnum() else "_" for sign in promotion)
    rows = promoted_table(session, name, promotion)
    before, after = PROMOTIONS[promotion]
    new = promotion.split(", ")[1]
    values = tuple(Decimal(value) if "decimal" in new else value for value in (*before, *after))
    assert differences(session, name, rows, list(conditions(values, new))) == []


@pytest.mark.parametrize("promotion", ["decimal(5,2), decimal(18,2)", "decimal(20,2), decimal(38,2)"])
def test_statements_change_the_rows_that_a_promoted_column_selects(session: Any, promotion: str) -> None:
    name = "s_" + "".join(sign if sign.isalnum() else "_" for sign in promotion)
    promoted_table(session, name, promotion)
    new = promotion.split(", ")[1]
    limit = literal(PROMOTIONS[promotion][1][0], new)
    table = f"lake.db.{name}"
    assert ids(session, table, "TRUE") == ids(session, table, f"x < {limit} OR x >= {limit} OR x IS NULL")
    below = ids(session, table, f"x IS NOT NULL AND NOT x >= {limit} AND id % 2 = 0")
    assert below
    session.sql(f"UPDATE {table} SET id = id + 1000 WHERE x < {limit} AND id % 2 = 0")
    assert ids(session, table, "id >= 1000") == [number + 1000 for number in below]
    session.sql(
        f"MERGE INTO {table} AS t USING (SELECT {limit} AS y) AS s ON t.x < s.y AND t.x < {limit} AND id >= 1000 "
        "WHEN MATCHED THEN UPDATE SET id = id + 1000"
    )
    assert ids(session, table, "id >= 2000") == [number + 2000 for number in below]
    session.sql(f"DELETE FROM {table} WHERE x < {limit} AND id >= 2000")
    assert ids(session, table, "id >= 1000") == []


def ids(session: Any, table: str, condition: str) -> list[int]:
    return sorted(row.id for row in session.sql(f"SELECT id FROM {table} WHERE {condition}").collect())


@pytest.mark.parametrize(
    ("old", "new", "version", "hidden"),
    [
        ("int", "bigint", "4.1.1", True),
        ("int", "bigint", "4.3.0", False),
        ("float", "double", "4.1.1", False),
        ("decimal(5,2)", "decimal(6,2)", "4.3.0", True),
        ("bigint", "bigint", "4.1.1", False),
    ],
)
def test_only_promotions_that_spark_compares_wrongly_lose_their_filters(
    lake: Catalog, old: str, new: str, version: str, hidden: bool
) -> None:
    table = lake.create_table("db.t", f"id int, x {old}", format_version=3)
    if old != new:
        with table.update_schema() as update:
            update.update_type("x", new)
    found = wrapped_ids(table.metadata, SimpleNamespace(version=version))
    assert found == (frozenset({2}) if hidden else frozenset())
