"""A struct's initial default that gives values for its members, as older texts of the specification allowed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa

from floeberg.api.catalog import Catalog
from floeberg.catalogs.base import LoadedTable
from floeberg.spark.read.frame import table_frame
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from spark_runs.spark_rows import loaded

POINT = {
    "type": "struct",
    "fields": [
        {"id": 3, "name": "x", "required": False, "type": "int", "initial-default": 0},
        {"id": 4, "name": "y", "required": False, "type": "int", "initial-default": 0},
    ],
}


def test_files_without_the_struct_are_read_with_the_values_that_its_default_gives(spark: Any, lake: Catalog) -> None:
    table = lake.create_table("db.t", "id bigint", format_version=3)
    table.append(pa.table({"id": [1]}))
    found = loaded(table)
    document = json.loads(write_table_metadata(found.state.metadata))
    document["last-column-id"] = 4
    document["schemas"][0]["fields"] += [
        {"id": 2, "name": "point", "required": False, "type": POINT, "initial-default": {"3": 7}}
    ]
    metadata = parse_table_metadata(json.dumps(document).encode())
    changed = LoadedTable(found.pointer, replace(found.state, metadata=metadata))
    assert table_frame(spark, changed).selectExpr("id", "point.x", "point.y").collect() == [(1, 7, 0)]
