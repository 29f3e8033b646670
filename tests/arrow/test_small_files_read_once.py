"""A small file of a remote store is read by one request."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floeberg.arrow.formats.read_parquet import open_parquet
from floeberg.errors import FileNotFound


class _Counting:
    """A store of one file that counts its reads."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.reads = 0

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        if not location.endswith("there.parquet"):
            raise FileNotFound(f"{location} is not there")
        self.reads += 1
        return self.content[offset:] if length is None else self.content[offset : offset + length]

    def size(self, location: str) -> int:
        return len(self.content)


def _stored(rows: int) -> Any:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(rows)), "b": [f"{n * 7919}" for n in range(rows)]}), sink)
    return _Counting(sink.getvalue())


@pytest.mark.parametrize(("rows", "reads"), [(100, 1), (100_000, None)])
def test_a_file_that_fits_a_footer_read_is_read_once(rows: int, reads: int | None) -> None:
    store = _stored(rows)
    file = open_parquet(store, "s3://b/there.parquet", size_bytes=len(store.content))
    assert file.read(["a"]).column("a").to_pylist() == list(range(rows))
    assert store.reads == reads if reads is not None else store.reads > 1


def test_a_small_file_that_is_not_there_is_said_so() -> None:
    with pytest.raises(FileNotFound):
        open_parquet(_stored(10), "s3://b/gone.parquet", size_bytes=900)
