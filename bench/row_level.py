"""DELETE, UPDATE and MERGE on Spark beside the Java runtime, on the same Spark and the same rows, in one run.

    python -m bench.row_level [--rows N] [--repeat N] [--mode MODE] [--format-version N] [--folder DIR]

Each engine changes a table of its own, and is rolled back after each statement. × is ours by the Java runtime's. Beside it
stand the files and bytes that the statement's snapshot added and took away.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from bench.lineitem import DDL, rows_of, write_rows
from bench.spark_engines import Answer, Engine, arguments

from floeberg.api.catalog import catalog

MODES: Final = ("copy-on-write", "merge-on-read")
SUMMARY: Final = ("added-data-files", "deleted-data-files", "added-delete-files", "added-files-size")
MEGABYTE: Final = 1024 * 1024
MERGE: Final = (
    "MERGE INTO {t} t USING {source} s ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
STATEMENTS: Final = {
    "DELETE 2 %": "DELETE FROM {t} WHERE l_partkey % 50 = 0",
    "UPDATE 1 %": "UPDATE {t} SET l_comment = 'changed', l_linenumber = l_linenumber + 10 WHERE l_suppkey % 100 = 0",
    "MERGE 60,000": MERGE.replace("{source}", "updates"),
    "MERGE 100": MERGE.replace("{source}", "few"),
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--format-version", type=int, default=3)
    parser.add_argument("--only", choices=STATEMENTS)
    given = parser.parse_args()
    folder = Path(given.folder) / f"changed-{given.rows}-v{given.format_version}"
    sources = _make(folder, given.rows, given.format_version)
    with ExitStack() as stack:
        engines = [stack.enter_context(Engine(name, folder / "lake")) for name in ("java", "floeberg")]
        for engine in engines:
            for name, path in sources.items():
                engine.run(f"CREATE TEMPORARY VIEW {name} USING parquet OPTIONS (path '{path}')")
        print(f"{given.rows:,} rows, v{given.format_version}, best of {given.repeat}; seconds (processor seconds)")
        for mode in MODES if given.mode is None else (given.mode,):
            for engine in engines:
                verbs = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
                engine.run(f"ALTER TABLE bench.db.{engine.name} SET TBLPROPERTIES ({verbs})")
            for label, statement in STATEMENTS.items():
                if given.only in (None, label):
                    _compare(engines, mode, label, statement, given.repeat)


def _make(folder: Path, rows: int, version: int) -> dict[str, Path]:
    """A table for each engine, and the sources of the MERGEs: half of their keys are in the table."""
    (folder / "lake").mkdir(parents=True, exist_ok=True)
    lake = catalog("bench", warehouse=str(folder / "lake"), properties={"local.fsync": "false"})
    lake.create_namespace("db", if_not_exists=True)
    for name in ("java", "floeberg"):
        if not (folder / f"{name}.done").exists():
            lake.drop_table(f"db.{name}", purge=True, if_exists=True)
            write_rows(lake.create_table(f"db.{name}", DDL, format_version=version), rows)
            (folder / f"{name}.done").touch()
    sources = {"updates": folder / "updates.parquet", "few": folder / "few.parquet"}
    new = rows_of(rows, 30_000, seed=7)
    every = max(1, rows // 30_000)
    pq.write_table(
        pa.concat_tables([rows_of(0, rows, seed=8).take(pa.array(range(0, every * 30_000, every))), new]),
        sources["updates"],
    )
    pq.write_table(pa.concat_tables([rows_of(rows // 2, 50, seed=9), new.slice(0, 50)]), sources["few"])
    return sources


def _compare(engines: list[Engine], mode: str, label: str, statement: str, repeat: int) -> None:
    runs: dict[str, list[Answer]] = {engine.name: [] for engine in engines}
    summaries: dict[str, dict[str, str]] = {}
    for _ in range(repeat + 1):
        for engine in engines:
            answer, summaries[engine.name] = _change(engine, statement)
            runs[engine.name].append(answer)
    least = {n: (min(a.seconds for a in r[1:]), min(a.cpu_seconds for a in r[1:])) for n, r in runs.items()}
    java_seconds, java_cpu = least["java"]
    for name, (seconds, cpu) in least.items():
        kept = summaries[name]
        told = ", ".join(f"{key} {kept[key]}" for key in SUMMARY[:3] if key in kept)
        print(
            f"  {mode:<14} {label:<13} {name:<9} {seconds:6.2f} ({cpu:6.2f}) × {seconds / java_seconds:4.2f} "
            f"({cpu / java_cpu:4.2f})   {told}, {int(kept.get('added-files-size', 0)) / MEGABYTE:.1f} MB",
            flush=True,
        )


def _change(engine: Engine, statement: str) -> tuple[Answer, dict[str, str]]:
    table = f"bench.db.{engine.name}"
    latest = f"SELECT snapshot_id, to_json(summary) FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1"
    base = engine.run(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").rows[0][0]
    answer = engine.run(statement.format(t=table))
    summary: dict[str, str] = json.loads(engine.run(latest).rows[0][1])
    engine.run(f"CALL bench.system.rollback_to_snapshot('db.{engine.name}', {base})")
    return answer, summary


if __name__ == "__main__":
    main()
