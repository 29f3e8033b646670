"""Views, CTEs, parameters and USE mean over our tables what they mean over Spark's own: the same random statements run over
both, and give the same rows and columns or fail on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException

from floeberg.errors import FloebergError
from strategies.spark_statements import Step, history

LENGTH = 14
OURS = {"@": "o_", "#a": "books.same_a", "#b": "books.same_b"}
SPARKS = {"@": "s_", "#a": "spark_catalog.same_a", "#b": "spark_catalog.same_b"}


def _swapped(text: str, names: dict[str, str]) -> str:
    for mark, name in names.items():
        text = text.replace(mark, name)
    return text


def outcome(session: Any, step: Step, names: dict[str, str]) -> Any:
    """Columns and rows, nothing for a statement without, or that it failed."""
    args: Any = step.args
    if isinstance(args, list):
        args = [_swapped(one, names) if isinstance(one, str) else one for one in args]
    elif args is not None:
        args = {key: _swapped(one, names) if isinstance(one, str) else one for key, one in args.items()}
    try:
        frame = session.sql(_swapped(step.text, names), args)
        rows = sorted((tuple(row) for row in frame.collect()), key=str)
    except (PySparkException, FloebergError) as error:
        return f"failed: {type(error).__name__} {error}"
    return (frame.columns, rows) if step.reads else None


@pytest.fixture
def both(session: Any) -> Iterator[Any]:
    """The same tables in `books` and, as Parquet, in Spark's own catalog."""
    for names in (OURS, SPARKS):
        for namespace in ("#a", "#b"):
            place = _swapped(namespace, names)
            session.sql(f"CREATE NAMESPACE IF NOT EXISTS {place}")
            for table in ("t", "u"):
                using = "" if names is OURS else "USING parquet"
                session.sql(f"CREATE TABLE {place}.{table} (a INT, b STRING) {using}")
                values = ", ".join(f"({n}, '{namespace[1]}{table}{n}')" for n in range(5))
                session.sql(f"INSERT INTO {place}.{table} VALUES {values}")
    yield session
    session.sql("USE spark_catalog.default")
    for names in (OURS, SPARKS):
        session.sql(f"DROP VIEW IF EXISTS {_swapped('#a.pv', names)}")
        for view in ("@v1", "@v2", "@v3"):
            session.catalog.dropTempView(_swapped(view, names))
        session.catalog.dropGlobalTempView(_swapped("@g", names))
        for namespace in ("#a", "#b"):
            for table in ("t", "u"):
                session.sql(f"DROP TABLE {_swapped(namespace, names)}.{table}")


@pytest.mark.parametrize("seed", [3614, 16560])
def test_random_statements_mean_over_our_tables_what_they_mean_over_sparks(both: Any, seed: int) -> None:
    place = "#a"
    for step in history(seed, LENGTH):
        place = step.text.removeprefix("USE ") if step.text.startswith("USE ") else place
        both.sql(_swapped(f"USE {place}", OURS))
        ours = outcome(both, step, OURS)
        both.sql(_swapped(f"USE {place}", SPARKS))
        theirs = outcome(both, step, SPARKS)
        if isinstance(ours, str) and isinstance(theirs, str):
            continue  # refused on both sides, each in its own words
        assert ours == theirs, (seed, step)
