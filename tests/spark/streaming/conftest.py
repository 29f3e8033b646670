"""A stream of small files, and queries that read all that is there and end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

_FIRST_TIME: Final = 1_700_000_000


class Stream:
    """A folder of JSON files, each of which is one batch (`maxFilesPerTrigger` is 1)."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.files = folder / "input"
        self.files.mkdir()
        self.checkpoint = str(folder / "checkpoint")
        self._number = 0

    def add(self, *rows: str) -> None:
        """One more batch, of JSON objects."""
        self._number += 1
        hidden = self.files / f".{self._number}"
        hidden.write_text("\n".join(rows))
        # Spark takes the files in the order of their times, which the store may round.
        os.utime(hidden, (_FIRST_TIME + self._number, _FIRST_TIME + self._number))
        hidden.rename(self.files / f"{self._number:04}.json")

    def ids(self, *ids: int) -> None:
        self.add(*(f'{{"id": {number}, "p": {number % 3}}}' for number in ids))

    def frame(self) -> Any:
        reader = self.spark.readStream.schema("id BIGINT, p INT").option("maxFilesPerTrigger", 1)
        return reader.json(str(self.files))

    def writer(self, frame: Any = None) -> Any:
        """A writer that ends when all batches are through."""
        writer = (self.frame() if frame is None else frame).writeStream.format("iceberg")
        return writer.option("checkpointLocation", self.checkpoint).trigger(availableNow=True)

    def run(self, table: str = "lake.db.t", **options: str) -> None:
        self.writer().options(**options).toTable(table).awaitTermination()


@pytest.fixture
def stream(session: Any, tmp_path: Path) -> Stream:
    return Stream(session, tmp_path)


@pytest.fixture
def table(session: Any) -> Iterator[Any]:
    session.sql("CREATE TABLE lake.db.t (id BIGINT, p INT) USING iceberg")
    yield session.lake.load_table("db.t")
    session.sql("DROP TABLE lake.db.t")
