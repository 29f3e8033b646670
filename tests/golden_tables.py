"""The golden tables of this repository, opened where they lie or copied so that they can be damaged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import fastavro

from floeberg.api.catalog import open_table
from floeberg.api.table import Table
from golden_files import GOLDEN

TABLES = GOLDEN / "tables"
RECORDED = {
    "deletion_vectors": "s3a://warehouse/deletion_vectors",
    "partition_evolution": "s3a://warehouse/partition_evolution",
    "gperov_test": "s3://warehouse/gperov/test",
    "types_all_trino_types": "s3a://warehouse/types/all_trino_types",
    "spark_rename_column": "s3a://hyperparam-iceberg/spark/rename_column",
    "v1_deprecated": "data/persistent/iceberg_v1_deprecated/default/legacy_v1",
}
"""Where each table's metadata say that it lies."""


def open_golden(name: str, folder: Path | None = None) -> Table:
    """A golden table, or a copy of it in a folder."""
    where = TABLES / name if folder is None else folder
    return open_table(str(where), relocate={RECORDED[name]: str(where)})


def copy_golden(name: str, to: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(TABLES / name, to / name))


def arguments(name: str, folder: Path | None = None) -> list[str]:
    """The table as the command line names it."""
    where = TABLES / name if folder is None else folder
    return [str(where), "--relocate", f"{RECORDED[name]}={where}"]


def records(name: str, location: str) -> list[dict[str, Any]]:
    """The records of a golden table's Avro file, as fastavro reads them."""
    relative = location.removeprefix(RECORDED[name]).lstrip("/")
    with Path(TABLES / name / relative).open("rb") as file:
        return [dict(record) for record in fastavro.reader(file)]  # type: ignore[arg-type]
