"""A metadata file that could not be written was never committed, so what was written for the commit goes too."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from floeberg.api.catalog import catalog
from floeberg.errors import StorageError, Unavailable
from floeberg.storage.local import LocalStore


@pytest.mark.parametrize("took_effect", [False, True])
def test_a_store_that_does_not_answer_for_the_metadata_file_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, took_effect: bool
) -> None:
    warehouse = tmp_path / "warehouse"
    with catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/lake.db", warehouse=str(warehouse)) as lake:
        lake.create_namespace("db")
        table = lake.create_table("db.t", pa.schema([("id", pa.int64())]))
        table.append(pa.table({"id": [1]}))
        before = _files(warehouse)
        write = LocalStore.write

        def failing(self: LocalStore, location: str, data: bytes) -> object:
            if not location.endswith("metadata.json"):
                return write(self, location, data)
            if took_effect:
                write(self, location, data)
            raise Unavailable("the store did not answer")

        monkeypatch.setattr(LocalStore, "write", failing)
        with pytest.raises(StorageError, match="nothing was committed"):
            table.append(pa.table({"id": [2]}))
        monkeypatch.undo()
        assert _files(warehouse) == before
        assert lake.load_table("db.t").scan().to_arrow().column("id").to_pylist() == [1]


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
