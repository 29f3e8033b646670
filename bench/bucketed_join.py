"""A join of two tables that are bucketed alike: the Java runtime can leave out the shuffle, we cannot.

    python -m bench.bucketed_join [--rows N] [--repeat N] [--folder DIR]

Both tables have so many rows in 8 buckets of the join's key; broadcast joins are off. Seconds (processor seconds); × is by the
Java runtime without a shuffle (`spark.sql.sources.v2.bucketing.enabled`).
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from bench.spark_engines import Engine, arguments, best

from floeberg.api.catalog import catalog

BUCKETS: Final = 8
JOIN: Final = "SELECT count(*), sum(a.v + b.v) FROM bench.db.left a JOIN bench.db.right b ON a.id = b.id"
STORAGE_PARTITIONED: Final = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}


def main() -> None:
    parser = arguments(__doc__ or "", rows=2_000_000)
    given = parser.parse_args()
    folder = Path(given.folder) / f"bucketed-{given.rows}"
    _make(folder, given.rows)
    with ExitStack() as stack:
        java, ours = (stack.enter_context(Engine(name, folder)) for name in ("java", "floeberg"))
        for engine in (java, ours):
            engine.run("SET spark.sql.autoBroadcastJoinThreshold=-1")
            engine.run(f"SET spark.sql.shuffle.partitions={BUCKETS}")
        found = {"java, shuffled": best(java, JOIN, repeat=given.repeat)}
        for name, value in STORAGE_PARTITIONED.items():
            java.run(f"SET `{name}`={value}")
        shuffles = java.run(f"EXPLAIN {JOIN}").rows[0][0].count("Exchange hashpartitioning")
        found |= {"java, not shuffled": best(java, JOIN, repeat=given.repeat)}
        found |= {"floeberg": best(ours, JOIN, repeat=given.repeat)}
    assert len({str(answer.rows) for answer in found.values()}) == 1, found
    least = found["java, not shuffled"]
    print(
        f"{given.rows:,} rows a side in {BUCKETS} buckets, best of {given.repeat}; Java's plan has {shuffles} shuffles of rows"
    )
    for name, answer in found.items():
        times = f"{answer.seconds:6.2f} ({answer.cpu_seconds:6.2f})"
        ratio = f"{answer.seconds / least.seconds:4.2f} ({answer.cpu_seconds / least.cpu_seconds:4.2f})"
        print(f"  {name:<20} {times} × {ratio}")


def _make(folder: Path, rows: int) -> None:
    """The two tables; made once and kept."""
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    lake = catalog("bench", warehouse=str(folder), properties={"local.fsync": "false"})
    lake.create_namespace("db", if_not_exists=True)
    for seed, name in enumerate(("left", "right")):
        lake.drop_table(f"db.{name}", purge=True, if_exists=True)
        table = lake.create_table(f"db.{name}", "id bigint, v bigint", partition_by=[f"bucket({BUCKETS}, id)"])
        rng = np.random.default_rng(seed)
        table.append(pa.table({"id": rng.permutation(rows), "v": rng.integers(0, 1000, rows)}))
    (folder / "done").touch()
    lake.close()


if __name__ == "__main__":
    main()
