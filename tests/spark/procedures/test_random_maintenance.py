"""Random sequences of statements and maintenance on Spark: rows and row ids are the model's, every retained snapshot reads as it
did."""

from __future__ import annotations

import os
import random
from typing import Any

from floeberg.commit.row_delta import RowDelta
from floeberg.testing.table_builder import TableBuilder

SEEDS = int(os.environ.get("FLOEBERG_MAINTENANCE_SEQUENCES", "5"))
STEPS = 4
WRITES = ("insert", "delete", "update", "merge", "equality_delete")
MAINTENANCE = {
    "compact": "rewrite_data_files(table => 'db.{t}', options => map('rewrite-all', 'true'))",
    "sort": "rewrite_data_files(table => 'db.{t}', sort_order => 'id DESC', options => map('min-input-files', '2'))",
    "convert": "convert_equality_deletes('db.{t}')",
    "deletes": "rewrite_position_delete_files(table => 'db.{t}', options => map('rewrite-all', 'true'))",
    "manifests": "rewrite_manifests('db.{t}')",
    "expire": "expire_snapshots(table => 'db.{t}', older_than => TIMESTAMP '2999-01-01', retain_last => 2)",
    "orphans": "remove_orphan_files('db.{t}')",
    "maintain": "maintain('db.{t}')",
    "check": "check('db.{t}')",
}


class Sequence:
    """One table and its model; everything follows from the seed."""

    def __init__(self, session: Any, seed: int) -> None:
        self._session, self._chance = session, random.Random(f"maintenance on Spark {seed}")
        self._name = f"random_{seed}"
        mode = self._chance.choice(["merge-on-read", "copy-on-write"])
        self._version = 2 + seed % 2
        self._builder = TableBuilder(
            "id bigint, v string",
            format_version=self._version,
            properties={f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")},
            in_catalog=session.lake,
            name=f"db.{self._name}",
        )
        self._rows: dict[int, str] = {}
        self._row_ids: dict[int, int] = {}
        self._snapshots: dict[int, dict[int, str]] = {}
        for start in (0, 4):
            self._builder.append(*[(number, "first") for number in range(start, start + 4)])
            self._rows = {**self._rows, **dict.fromkeys(range(start, start + 4), "first")}
            self._check()

    def run(self) -> None:
        for number in range(STEPS):
            self._write(self._chance.choice(WRITES), 100 + number)
            self._check()
            maintenance = self._chance.choice(list(MAINTENANCE))
            found = self._session.sql(f"CALL lake.system.{MAINTENANCE[maintenance].format(t=self._name)}").collect()
            assert maintenance != "check" or [row for row in found if row.severity == "error"] == []
            self._check()
        for snapshot in self._builder.table.snapshots:
            expected = sorted(self._snapshots[snapshot.snapshot_id].items())
            assert sorted(self._builder.rows(snapshot_id=snapshot.snapshot_id)) == expected

    def _write(self, kind: str, number: int) -> None:
        keys = sorted(self._chance.sample(sorted(self._rows), min(2, len(self._rows)))) or [-1]
        among, table = f"id IN ({', '.join(map(str, keys))})", f"lake.db.{self._name}"
        match kind:
            case "insert":
                self._session.sql(f"INSERT INTO {table} VALUES ({number}, 'new')")
                self._rows = {**self._rows, number: "new"}
            case "delete":
                self._session.sql(f"DELETE FROM {table} WHERE {among}")
                self._rows = {key: value for key, value in self._rows.items() if key not in keys}
            case "update":
                self._session.sql(f"UPDATE {table} SET v = 'u{number}' WHERE {among}")
                self._rows = {key: f"u{number}" if key in keys else value for key, value in self._rows.items()}
            case "merge":
                self._session.sql(
                    f"MERGE INTO {table} t USING (SELECT * FROM VALUES ({keys[0]}L, 'm{number}'), ({number}L, 'm{number}') "
                    "AS s(id, v)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
                )
                self._rows = {**self._rows, keys[0]: f"m{number}", number: f"m{number}"}
            case "equality_delete":
                self._builder.table.refresh()
                self._builder.table._commit(RowDelta(added=[self._builder.equality_deletes((keys[0],))]))
                self._rows = {key: value for key, value in self._rows.items() if key != keys[0]}

    def _check(self) -> None:
        table = self._builder.table.refresh()
        assert sorted(self._builder.rows()) == sorted(self._rows.items())
        for snapshot in table.snapshots:
            self._snapshots.setdefault(snapshot.snapshot_id, self._rows)
        if self._version > 2:
            for row in table.scan(metadata_columns=["_row_id"]).to_arrow().to_pylist():
                assert self._row_ids.setdefault(row["id"], row["_row_id"]) == row["_row_id"], row


def test_rows_and_snapshots_are_those_of_the_model_after_each_step(session: Any, few: bool) -> None:
    for seed in range(2 if few else SEEDS):
        try:
            Sequence(session, seed).run()
        except AssertionError as error:
            raise AssertionError(f"sequence {seed}: {error}") from error
