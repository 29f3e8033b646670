"""Tables of other engines read as exactly the rows that are known of them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from floeberg.api.table import Table
from floeberg.errors import PuffinCorrupt
from golden_collection.golden_tables import TABLES, open_golden
from models.engine_rows import as_expected_json, assert_same_rows, matching, rows_of
from strategies.engine_filters import random_filter

EXPECTED = TABLES / "expected"
SCHEMELESS = {"match-delete-paths-without-scheme": "true"}
OPTIONS: dict[str, dict[str, str]] = {"pos_and_multi_eq_ids": SCHEMELESS}
NAMES = sorted(path.stem for path in EXPECTED.glob("*.json"))


def as_json(table: Table, options: dict[str, str]) -> list[dict[str, Any]]:
    rows = table.scan(options=options).to_arrow().to_pylist()
    return [{f.name: as_expected_json(row[f.name], f.type) for f in table.schema.fields} for row in rows]


def sorted_texts(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_table_gives_exactly_its_expected_rows(name: str) -> None:
    expected = json.loads((EXPECTED / f"{name}.json").read_text())["rows"]
    table = open_golden(name)
    found = as_json(table, OPTIONS.get(name, {}))
    assert sorted_texts(found) == sorted_texts(expected)
    assert table.scan(options=OPTIONS.get(name, {})).count() == len(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_filter_on_a_golden_table_is_that_filter_on_all_its_rows(name: str) -> None:
    table, options = open_golden(name), OPTIONS.get(name, {})
    rows = rows_of(table.scan(options=options).to_arrow(), table.schema)
    rng = random.Random(name)
    for _ in range(15):
        where = random_filter(rng, table.schema, rows)
        scan = table.scan(where=where, options=options)
        expected = matching(where, rows, table.schema)
        assert_same_rows(rows_of(scan.to_arrow(), table.schema), expected, where)
        assert scan.count() == len(expected)


def test_there_is_an_expectation_for_each_kind_of_table() -> None:
    assert len(NAMES) >= 12
    assert Path(EXPECTED).is_dir()


def test_position_deletes_under_another_scheme_delete_nothing_unless_that_is_asked_for() -> None:
    table = open_golden("pos_and_multi_eq_ids")
    assert (table.scan().count(), table.scan(options=SCHEMELESS).count()) == (5, 4)


def test_a_deletion_vector_outside_a_puffin_file_is_refused() -> None:
    with pytest.raises(PuffinCorrupt, match="not in a Puffin file"):
        open_golden("legacy_bare_deletion_vector").scan().to_arrow()


def test_row_lineage_of_another_engine_is_read() -> None:
    table = open_golden("row_lineage")
    rows = table.scan(metadata_columns=["_row_id", "_last_updated_sequence_number"]).to_arrow().to_pylist()
    ids = [row["_row_id"] for row in rows]
    assert len(set(ids)) == len(ids) == 3
    assert all(row["_last_updated_sequence_number"] >= 1 for row in rows)
