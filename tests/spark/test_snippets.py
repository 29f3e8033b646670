"""Code of the README and the guide that needs Spark runs as it is printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floeberg.api.attach import detach
from snippets.pages import documented_pages, uses_spark
from snippets.run import run_page

PAGES = [page for page in documented_pages() if uses_spark(page)]


@pytest.fixture
def clean_spark(spark: Any) -> Iterator[Any]:
    """The run's session; what a page attached, set or made is gone afterwards."""
    yield spark
    detach(spark)
    for name in [name for name in spark.conf.getAll if name.startswith("spark.sql.catalog.lake")]:
        spark.conf.unset(name)
    for table in spark.catalog.listTables():
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_on_spark(
    clean_spark: Any, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, {"__name__": "__main__", "spark": clean_spark})
