"""Appends on Spark beside the Java runtime, on the same Spark and from the same source, in one run.

    python -m bench.spark_write [--rows N] [--repeat N] [--target-mb N] [--folder DIR]

Lineitem's rows, read by Spark from plain Parquet files, into a new table: unpartitioned, and partitioned by 100 buckets.
× is ours by the Java runtime's. The last columns say how large the files became beside the target size.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.lineitem import DDL, make_tables
from bench.spark_engines import Answer, Engine, arguments

MEGABYTE: Final = 1024 * 1024
SHAPES: Final = {"unpartitioned": "", "100 buckets": "PARTITIONED BY (bucket(100, l_orderkey))"}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--target-mb", type=int, default=32)
    given = parser.parse_args()
    folder = Path(given.folder)
    source, warehouse = folder / f"scan-{given.rows}", folder / "written"
    for path in (source, warehouse / "db"):
        path.mkdir(parents=True, exist_ok=True)
    make_tables(source, rows=given.rows)
    with ExitStack() as stack:
        engines = [stack.enter_context(Engine(name, warehouse)) for name in ("java", "floeberg")]
        for engine in engines:
            engine.run(f"CREATE TEMPORARY VIEW src USING parquet OPTIONS (path '{source}/db/plain/data')")
        print(f"{given.rows:,} rows, best of {given.repeat}; seconds (processor seconds)", flush=True)
        for shape, clause in SHAPES.items():
            runs: dict[str, list[Answer]] = {engine.name: [] for engine in engines}
            sizes: dict[str, list[int]] = {}
            for _ in range(given.repeat + 1):
                for engine in engines:
                    answer, sizes[engine.name] = _append(engine, clause, given.target_mb)
                    runs[engine.name].append(answer)
            _print(shape, {name: answers[1:] for name, answers in runs.items()}, sizes, given.target_mb)


def _append(engine: Engine, clause: str, target_mb: int) -> tuple[Answer, list[int]]:
    table = f"bench.db.w_{engine.name}"
    engine.run(f"DROP TABLE IF EXISTS {table} PURGE")
    engine.run(
        f"CREATE TABLE {table} ({DDL}) USING iceberg {clause} "
        f"TBLPROPERTIES ('write.target-file-size-bytes' = '{target_mb * MEGABYTE}')"
    )
    answer = engine.run(f"INSERT INTO {table} SELECT * FROM src")
    listed = engine.run(
        f"SELECT to_json(sort_array(collect_list(file_size_in_bytes), false)), sum(record_count) FROM {table}.files"
    )
    return answer, json.loads(listed.rows[0][0])


def _print(shape: str, runs: dict[str, list[Answer]], sizes: dict[str, list[int]], target_mb: int) -> None:
    least = {name: (min(a.seconds for a in r), min(a.cpu_seconds for a in r)) for name, r in runs.items()}
    for name, (seconds, cpu) in least.items():
        java_seconds, java_cpu = least["java"]
        large = sizes[name]
        print(
            f"  {shape:<14} {name:<9} {seconds:6.2f} ({cpu:6.2f}) × {seconds / java_seconds:4.2f} ({cpu / java_cpu:4.2f})   "
            f"{len(large)} files, {sum(large) / MEGABYTE:.0f} MB, largest {large[0] / MEGABYTE:.1f}, "
            f"median {large[len(large) // 2] / MEGABYTE:.1f} MB (target {target_mb})",
            flush=True,
        )


if __name__ == "__main__":
    main()
