"""The Java runtime reads the variants that we write, plain and shredded, and we read back what it rewrites.

Run by `make interop-java`.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import floeberg as fb
from peers.java_peer import JavaRuntime

pytestmark = pytest.mark.java

ALIKE: list[Any] = [
    {
        "a": number,
        "text": "x" * number,
        "price": Decimal(number) + Decimal("0.25"),
        "at": datetime(2020, 1, 1 + number, tzinfo=UTC),
        "inner": {"day": date(2020, 1, 1 + number), "list": [number, None, {"k": number % 2 == 0}]},
        "bytes": bytes([number]),
        **({"rare": [1]} if number == 7 else {}),
    }
    for number in range(20)
]
VALUES: list[Any] = [
    *ALIKE, None, fb.VARIANT_NULL, {}, [], {"a": "text"}, {"a": None}, "plain", 1.5, True, 2**40, Decimal("-1.50"), 10**30,
    datetime(2021, 1, 2, 3, 4, 5, 6), date(1, 1, 1), b"\0\xff", {"it's": {"user.name": 1}},
]  # fmt: skip


def as_spark_shows(value: Any) -> Any:
    """JSON of ours in Spark's words: instants and timestamps have a blank where ISO 8601 has a T."""
    if isinstance(value, dict):
        return {name: as_spark_shows(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_spark_shows(item) for item in value]
    if isinstance(value, str) and len(value) > 18 and value[4:5] == "-" and value[10:11] == "T":
        return value.replace("T", " ")
    return value


@pytest.mark.parametrize("kind", ["plain", "shredded", "shredded objects", "avro"])
def test_java_reads_our_variants(runtime: JavaRuntime, tmp_path: Path, kind: str) -> None:
    name = "var" + kind.replace(" ", "")
    runtime.open_hadoop(name, tmp_path)
    values = ALIKE if kind == "shredded objects" else VALUES
    properties = {
        "write.parquet.shred-variants": str(kind.startswith("shredded")).lower(),
        "write.format.default": "avro" if kind == "avro" else "parquet",
    }
    with fb.catalog(name, type="hadoop", warehouse=str(tmp_path)) as lake:
        lake.create_namespace("db")
        table = lake.create_table(
            "db.t", "id int, v variant, l array<variant>", format_version=3, properties=properties
        )
        given = fb.variant_array(values)
        ids = pa.array(range(len(values)), pa.int32())
        lists = pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), given)
        table.append(pa.table({"id": ids, "v": given, "l": lists}))
        query = "SELECT id, v IS NULL AS gone, to_json(v) AS v, to_json(l[0]) AS l FROM {} ORDER BY id"
        before, _, after = runtime.run(
            query.format(f"{name}.db.t"),
            f"UPDATE {name}.db.t SET id = id + 1000",
            query.format(f"{name}.db.t"),
        )
        rewritten = table.refresh().scan().to_arrow().sort_by("id")
    expected = [
        None if row is None else as_spark_shows(json.loads(fb.variant_to_json(**row))) for row in given.to_pylist()
    ]
    for rows in (before, after):
        assert [row["gone"] for row in rows] == [value is None for value in values]
        for column in ("v", "l"):
            assert [row[column] and json.loads(row[column]) for row in rows] == expected
    found = [None if row is None else fb.variant_to_python(**row) for row in rewritten["v"].to_pylist()]
    assert found == [None if row is None else fb.variant_to_python(**row) for row in given.to_pylist()]
