"""The golden tables of this repository, opened where they lie or copied so that they can be damaged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import fastavro

from floeberg.api.catalog import open_table
from floeberg.api.table import Table
from golden_collection.golden_files import GOLDEN

TABLES = GOLDEN / "tables"
RECORDED = {
    "deletion_vectors": "s3a://warehouse/deletion_vectors",
    "partition_evolution": "s3a://warehouse/partition_evolution",
    "gperov_test": "s3://warehouse/gperov/test",
    "types_all_trino_types": "s3a://warehouse/types/all_trino_types",
    "spark_rename_column": "s3a://hyperparam-iceberg/spark/rename_column",
    "v1_deprecated": "data/persistent/iceberg_v1_deprecated/default/legacy_v1",
    "equality_delete_orc_1": "s3a://warehouse/wh/multi_catalog/equality_delete_orc_1",
    "pos_and_multi_eq_ids": "/test-warehouse/iceberg_test/hadoop_catalog/ice/iceberg_v2_delete_pos_and_multi_eq_ids",
    "mixed_file_formats": "/test-warehouse/iceberg_mixed_file_format_test",
    "row_lineage": "hdfs://localhost:20500/test-warehouse/iceberg_v3_row_lineage",
    "equality_deletes_partitioned": "data/persistent/equality_deletes/warehouse/mydb/mytable_partitioned",
    "migrated_alter_orc": "/test-warehouse/iceberg_migrated_alter_test_orc",
    "complex_default": "hdfs://localhost:20500/test-warehouse/test_complex_default",
    "flink_upsert": "/test-warehouse/iceberg_test/hadoop_catalog/ice/iceberg_v2_delete_equality",
    "flink_upsert_partitioned": "/test-warehouse/iceberg_test/hadoop_catalog/ice/iceberg_v2_delete_equality_partitioned",
    "flink_upsert_twice": "file:/tmp/junit6640909127060857423/default/db/test_upsert_query",
    "flink_upsert_evolved": "s3a://warehouse/wh/multi_catalog/equality_delete_par_3",
    "legacy_bare_deletion_vector": "data/persistent/legacy_bare_deletion_vector/warehouse/default/legacy_bare_deletion_vector",
}
"""Where each table's metadata say that it lies."""

WHOLE = (
    "deletion_vectors", "partition_evolution", "gperov_test", "types_all_trino_types", "spark_rename_column",
    "v1_deprecated",
)  # fmt: skip
"""Tables of which every file is there, old metadata files too, and as its entry says."""


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
