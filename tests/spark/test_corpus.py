"""SQL scripts as data: `corpus/*.sql`. Each runs in a namespace of its own.

A script is statements that end in `;` at a line's end. `-->` lines after a statement are the rows that it gives, with ` | `
between the values; they are compared in order where the statement sorts or shows, else as a set. `--!` means that the
statement fails. `${db}` stands for the namespace with its catalog, `${ns}` for the namespace alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import floeberg as fb
from floeberg.errors import FloebergError

SCRIPTS = sorted((Path(__file__).parent / "corpus").glob("*.sql"))
CORE = ("branches", "ctas", "filters_of_many_kinds", "joins_and_aliases", "temporary_view_sees_new_rows", "rollback")
"""What is run over Connect too."""


@pytest.fixture(scope="module")
def attached(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    lake = fb.catalog("lake", warehouse=str(tmp_path_factory.mktemp("corpus") / "warehouse"))
    fb.attach(spark, lake)
    yield spark
    fb.detach(spark)


def _parameters() -> list[Any]:
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.connect] if path.stem in CORE else []) for path in SCRIPTS
    ]


@pytest.mark.parametrize("path", _parameters())
def test_a_script_gives_what_it_says(attached: Any, path: Path) -> None:
    namespace = f"s_{path.stem}"
    attached.sql(f"CREATE NAMESPACE lake.{namespace}")
    for statement, expected, fails in steps(path.read_text(), namespace):
        if fails:
            with pytest.raises(_errors()):
                attached.sql(statement).collect()
            continue
        frame = attached.sql(statement)
        if expected is None:
            continue
        rows = [" | ".join(_shown(value) for value in row) for row in frame.collect()]
        in_order = "ORDER BY" in statement.upper() or statement.upper().startswith(("SHOW", "DESCRIBE", "CALL"))
        assert (rows if in_order else sorted(rows)) == (expected if in_order else sorted(expected)), statement


def test_the_corpus_is_large_enough() -> None:
    assert len(SCRIPTS) >= 60


def _errors() -> tuple[type[Exception], ...]:
    from pyspark.errors import PySparkException

    return FloebergError, PySparkException


def steps(text: str, namespace: str) -> Iterator[tuple[str, list[str] | None, bool]]:
    """Each statement, the rows it gives (None where the script does not say) and whether it fails."""
    filled = text.replace("${db}", f"lake.{namespace}").replace("${ns}", namespace)
    statement: list[str] = []
    pending: tuple[str, list[str] | None, bool] | None = None
    for line in filled.splitlines():
        if line.startswith("-->") and pending is not None:
            pending = (pending[0], [*(pending[1] or []), line[3:].strip()], False)
        elif line.startswith("--!") and pending is not None:
            pending = (pending[0], None, True)
        elif line.startswith("-- ") and not statement:
            continue
        else:
            if pending is not None:
                yield pending
                pending = None
            statement.append(line)
            if line.rstrip().endswith(";"):
                pending = ("\n".join(statement).rstrip().rstrip(";"), None, False)
                statement = []
    if pending is not None:
        yield pending


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
