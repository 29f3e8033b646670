"""A process that maintains tables again and again, by one operation, until it is told to stop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import floeberg as fb
from floeberg.errors import CommitConflict, ValidationConflict

OPERATIONS: dict[str, Callable[[fb.Table], object]] = {
    "compact": lambda table: table.maintenance.compact(options={"rewrite-all": "true"}),
    "sort": lambda table: table.maintenance.compact(options={"rewrite-all": "true"}, sort_order="id desc"),
    "rewrite_deletes": lambda table: table.maintenance.rewrite_deletes(options={"rewrite-all": "true"}),
    "convert": lambda table: table.maintenance.rewrite_deletes(equality="convert"),
    "rewrite_manifests": lambda table: table.maintenance.rewrite_manifests(),
    "expire_snapshots": lambda table: table.maintenance.expire_snapshots(older_than="2999-01-01T00:00:00Z"),
    "remove_orphans": lambda table: table.maintenance.remove_orphans(dry_run=False),
    "maintain": lambda table: table.maintenance.maintain(),
    "statistics": lambda table: table.maintenance.compute_table_stats(),
}


def main(warehouse: str, operation: str, stop: str, *names: str) -> None:
    lake = fb.catalog("lake", warehouse=warehouse)
    rounds = conflicts = 0
    while not Path(stop).exists():
        for name in names:
            try:
                OPERATIONS[operation](lake.load_table(f"db.{name}"))
            except (CommitConflict, ValidationConflict):
                conflicts += 1
        rounds += 1
        if rounds == 1:
            print("READY", flush=True)
    print(f"DONE {rounds} {conflicts}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
