"""Every table of the golden collection that can be read gives its expected rows, and every filter those of brute force."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from floeberg.errors import DataFileCorrupt, MetadataCorrupt
from golden_collection.golden_files import SHARED
from golden_collection.golden_shared import (
    ENTRIES,
    READABLE,
    REFUSED,
    WITHOUT_IDS,
    need_collection,
    open_entry,
    options_of,
)
from models.engine_rows import as_expected_json, assert_same_rows, matching, rows_of
from strategies.engine_filters import random_filter

pytestmark = pytest.mark.golden_shared

FEW_FILTERS_ABOVE_ROWS = 2_000


@pytest.fixture(autouse=True)
def _collection() -> None:
    need_collection()


def text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


@pytest.mark.parametrize("name", READABLE or ["none"])
def test_a_table_gives_exactly_its_expected_rows(name: str) -> None:
    entry = ENTRIES[name]
    table = open_entry(entry)
    options = options_of(entry)
    found = table.scan(options=options).to_arrow()
    wanted = entry.get("expected", {}).get("row_count", entry["checked"].get("naive_rows"))
    assert (found.num_rows, table.scan(options=options).count()) == (wanted, wanted)
    if "expected_rows_file" in entry:
        expected = json.loads((SHARED / entry["expected_rows_file"]).read_text())["rows"]
        named = set(expected[0]) if expected else set()  # one column of one table is not in its expected rows
        rows = [
            {f.name: as_expected_json(row[f.name], f.type) for f in table.schema.fields if f.name in named}
            for row in found.to_pylist()
        ]
        assert sorted(map(text, rows)) == sorted(map(text, expected))


@pytest.mark.parametrize("name", READABLE or ["none"])
def test_a_filter_gives_what_brute_force_gives(name: str) -> None:
    entry = ENTRIES[name]
    table, options = open_entry(entry), options_of(entry)
    rows = rows_of(table.scan(options=options).to_arrow(), table.schema)
    rng = random.Random(name)
    for _ in range(4 if len(rows) < FEW_FILTERS_ABOVE_ROWS else 2):
        where = random_filter(rng, table.schema, rows)
        found = rows_of(table.scan(where=where, options=options).to_arrow(), table.schema)
        assert_same_rows(found, matching(where, rows, table.schema), where)


def test_paths_in_position_deletes_match_exactly_by_default() -> None:
    entries = [entry for entry in ENTRIES.values() if "naive_rows_scheme_insensitive" in entry["checked"]]
    assert len(entries) >= 8
    for entry in entries:
        assert open_entry(entry).scan().count() == entry["checked"]["naive_rows"], entry["id"]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_read_safely_is_refused_with_the_reason(name: str) -> None:
    kind, reason = REFUSED[name]
    with pytest.raises(kind, match=reason):
        open_entry(ENTRIES[name]).scan().to_arrow()


def test_files_without_ids_and_mapping_are_refused_where_positions_are_wrong_unless_names_are_to_count() -> None:
    for name in WITHOUT_IDS:
        with pytest.raises(DataFileCorrupt, match="has no field ids and its columns were found by position"):
            open_entry(ENTRIES[name]).scan().to_arrow()


def test_a_migrated_table_whose_name_mapping_has_other_ids_reads_by_its_names() -> None:
    (row,) = open_entry(ENTRIES["impala/iceberg_migrated_complex_test"]).scan().to_arrow().to_pylist()
    assert row == {
        "struct_1_col": {"int_array_col": [0], "string_col": "A", "bool_int_map_col": [(True, 1)]},
        "int_bigint_map_col": [(2, 3)],
        "struct_2_col": {
            "struct_3_col": {"float_col": 0.5, "string_double_map_col": [("B", 1.5)], "bigint_array_col": [4]},
            "int_int_map_col": [(5, 6)],
        },
    }


def test_position_deletes_without_a_path_are_ignored() -> None:
    entry = ENTRIES["impala/iceberg_v2_null_delete_record"]
    assert open_entry(entry).scan().count() == entry["checked"]["naive_rows"]


def test_snapshot_ids_beyond_a_signed_long_are_refused_by_default() -> None:
    with pytest.raises(MetadataCorrupt, match="64-bit"):
        open_entry(ENTRIES["duckdb-iceberg/equality_delete_cross_partition"], lenient=False)
