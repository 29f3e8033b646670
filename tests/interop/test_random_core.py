"""Random tables of ours under random filters, read by iceberg-rust in one process, against the model of each table."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

import floeberg as fb
from floeberg.expr.nodes import TRUE, Expression
from models.engine_model import Model, arrow_rows, random_model
from models.engine_rows import Row, matching
from peers.environments import Request, ask
from spark_runs.shown_arrow import shown_arrow
from strategies.engine_filters import random_filter

pytestmark = pytest.mark.peers

TABLES = 40
FILTERS = 5
CANNOT = {
    "times of day": ("Time64(µs)", "Converting datum from type Time"),
    "uuids in filters, defaults and partitions": (
        "Unsupported SQL type UUID", "from fixed(16) type to uuid", "to UUID", "Overflow when decoding integer",
    ),
    "nanoseconds in partitions and in columns since dropped": ("convert to type timestamp_ns", "requested Timestamp(µs"),
    "a void field with its column's name": ("conflicts with schema field and is not an identity transform",),
    "columns added since the last snapshot": ("not found in table. Schema",),
}  # fmt: skip
"""What iceberg-rust refuses, and what its errors say."""


def asked(model: Model, rng: random.Random) -> list[tuple[Expression, list[Row]]]:
    """Filters and the rows that each keeps."""
    expected = model.expected()
    filters = [TRUE, *(random_filter(rng, model.schema, expected) for _ in range(FILTERS))]
    return [(where, matching(where, expected, model.schema)) for where in filters]


def shown(model: Model, rows: list[Row]) -> list[str]:
    """Rows of a model as a peer's answer shows them."""
    by_id = [{field.field_id: row[field.name] for field in model.schema.fields} for row in rows]
    return shown_arrow(arrow_rows(by_id, model.schema))


def in_datafusions_words(where: Expression) -> str:
    """A filter's text in DataFusion's dialect, where `1.5` is no decimal but a double."""
    text = re.sub(r"(?<![\w'.:])(-?\d+\.\d+)(?![\w.])", r"CAST('\1' AS DECIMAL(18, 2))", str(where))
    text = re.sub(r"double\(('-?\w+')\)", r"CAST(\1 AS DOUBLE)", text).replace("TIMESTAMP_NTZ '", "TIMESTAMP '")
    text = re.sub(r"isnan\((\w+)\)", r"coalesce(isnan(\1), FALSE)", text)  # Spark's is false for null
    return re.sub(r"(\d)D\b", r"\1", text)


def test_iceberg_rust_agrees_on_random_tables_and_filters(tmp_path: Path) -> None:
    pairs: list[tuple[Model, Expression, list[Row]]] = []
    with fb.catalog("lake", warehouse=f"file://{tmp_path}") as lake:
        lake.create_namespace("db")
        for seed in range(TABLES):
            rng = random.Random(seed)
            model = random_model(lake, f"db.t{seed}", rng, formats=("parquet",))
            pairs += [(model, *one) for one in asked(model, rng)]
    requests = [
        Request(str(model.table.metadata_location), f"SELECT * FROM t WHERE {in_datafusions_words(where)}")
        for model, where, _ in pairs
    ]
    refused: Counter[str] = Counter()
    different = []
    for (model, where, rows), answer in zip(pairs, ask("core", requests), strict=True):
        if answer.error:
            reason = next((why for why, said in CANNOT.items() if any(one in answer.error for one in said)), None)
            refused[reason or answer.error] += 1
        elif Counter(answer.rows) != Counter(wanted := shown(model, rows)):
            lost, extra = Counter(wanted) - Counter(answer.rows), Counter(answer.rows) - Counter(wanted)
            different.append(f"{where}, {model.done}: lost {lost}, extra {extra}")
    assert not different, f"{len(different)} of {len(pairs)}:\n" + "\n".join(different[:20])
    assert set(refused) <= set(CANNOT), refused
    assert refused.total() <= len(pairs) // 2, refused
