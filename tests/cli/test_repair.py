"""`floeberg repair`: says what it would do, and does it when told so."""

from __future__ import annotations

import json
from pathlib import Path

import floeberg as fb
from lakes.damaged_tables import missing_data, table_to_damage


def test_a_missing_file_is_dropped_only_when_told_so(floeberg, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    builder = table_to_damage(fb.catalog("lake", warehouse=str(tmp_path)), 2)
    missing_data(builder)
    where = ("-w", str(tmp_path))
    refused = floeberg("repair", "db.t", *where)
    assert (refused.code, "explicit choice" in refused.err) == (2, True)
    assert floeberg("check", "db.t", *where).code == 1
    assert "--yes repairs it" in floeberg("repair", "db.t", "--action", "drop-data", *where).out
    assert builder.table.refresh().metadata.current_snapshot_id == builder.table.snapshots[-1].snapshot_id
    done = json.loads(floeberg("repair", "db.t", "--action", "drop-data", "--yes", "--json", *where).out)
    assert [one["action"] for one in done["repairs"]] == ["drop-data"]
    assert floeberg("count", "db.t", *where).out == "3\n"
    assert "nothing to repair" in floeberg("repair", "db.t", "--action", "drop-data", "--yes", *where).out
