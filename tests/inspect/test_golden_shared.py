"""The metadata tables of every table of the large golden collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floeberg.api.catalog import open_table
from golden_collection.golden_files import SHARED, shared_files


@pytest.mark.golden_shared
def test_files_of_every_golden_table_are_shown() -> None:
    (index,) = shared_files("golden.json")
    shown = 0
    for described in json.loads(index.read_text())["tables"]:
        location = SHARED / described["path"] / described["metadata"]
        relocate = {old: str(SHARED / new) for old, new in described["relocate"].items()}
        table = open_table(str(Path(location)), relocate=relocate, lenient=True)
        files = table.inspect.files()
        files.validate(full=True)
        partitions = table.inspect.partitions()
        assert sum(partitions.column("file_count").to_pylist()) == files.column("content").to_pylist().count(0)
        shown += 1
    assert shown > 100
