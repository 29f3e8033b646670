"""Queries and changes of tables with many files, beside the Java runtime, on the same Spark: time and memory against files.

    python -m bench.many_files [--files 1000 4000 …] [--repeat N] [--only NAME …] [--folder DIR] [--plot FILE.svg]

A table has one file of 10 rows for each of its partitions, all with deletion vectors. Both engines read and change it, and each
change is rolled back. Seconds (processor seconds); × is ours by the Java runtime's; MB are the largest resident memory so far
of the engine's driver: of the JVM, and for us of Python too.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from bench.plots import write_plot
from bench.read_tables import add_deletes
from bench.spark_engines import Answer, Engine, arguments
from pyroaring import BitMap64

from floeberg.api.catalog import Catalog, catalog
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.append import Append

ROWS: Final = 10
AT_ONCE: Final = 100
"""Partitions that are written together."""
DDL: Final = "id bigint, p int, k int, v string"
QUERIES: Final = {
    "aggregate": "SELECT count(*), sum(id), max(v) FROM {t}",
    "id = x": "SELECT id, v FROM {t} WHERE id = {middle}",
    "a tenth": "SELECT count(*), sum(id) FROM {t} WHERE p >= {from} AND p < {to}",
}
CHANGES: Final = {
    "DELETE in all": "DELETE FROM {t} WHERE k = 5",
    "MERGE 100": (
        "MERGE INTO {t} t USING (SELECT id * {step} + 3 AS id, 'new' AS v FROM range(100)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, p, k, v) VALUES (s.id, 0, 0, s.v)"
    ),
}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--files", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--only", nargs="+", choices=[*QUERIES, *CHANGES], default=[*QUERIES, *CHANGES])
    parser.add_argument("--plot", help="write a plot of seconds against files")
    given = parser.parse_args()
    folder = Path(given.folder) / "many-files"
    points: dict[str, list[tuple[float, float]]] = {}
    for files in given.files:
        _make(folder, files)
        with ExitStack() as stack:
            engines = [stack.enter_context(Engine(name, folder / "lake", 900.0)) for name in ("java", "floeberg")]
            for engine in engines:
                engine.run("SELECT count(*) FROM range(100)")
            for label in given.only:
                for name, seconds in _compare(engines, label, files, given.repeat).items():
                    points.setdefault(f"{label}, {name}", []).append((files, seconds))
    if given.plot:
        write_plot(given.plot, points, x="files", y="seconds", logarithmic=True)


def _compare(engines: list[Engine], label: str, files: int, repeat: int) -> dict[str, float]:
    numbers = {
        "middle": files * ROWS // 2 + 3,
        "from": files // 3,
        "to": files // 3 + files // 10,
        "step": files // 10,
    }
    runs: dict[str, list[Answer]] = {engine.name: [] for engine in engines}
    for number in range(repeat):
        # Each is first in every other turn: the machine may be in another state for the second.
        for engine in engines if number % 2 else engines[::-1]:
            table = f"bench.db.files{files}"
            statement = (QUERIES | CHANGES)[label].format_map({"t": table, **numbers})
            runs[engine.name].append(_run(engine, table, statement, changes=label in CHANGES))
    best = {
        name: (min(run.seconds for run in answers), min(run.cpu_seconds for run in answers))
        for name, answers in runs.items()
    }
    java_seconds, java_cpu = best["java"]
    for engine in engines:
        seconds, cpu = best[engine.name]
        print(
            f"{files:>7} files  {label:<14} {engine.name:<9} {seconds:7.2f} ({cpu:7.2f}) × {seconds / java_seconds:4.2f} "
            f"({cpu / java_cpu:4.2f})   {_memory(engine)}",
            flush=True,
        )
    return {name: seconds for name, (seconds, _) in best.items()}


def _run(engine: Engine, table: str, statement: str, *, changes: bool) -> Answer:
    if not changes:
        return engine.run(statement)
    base = engine.run(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").rows[0][0]
    answer = engine.run(statement)
    engine.run(f"CALL bench.system.rollback_to_snapshot('{table.partition('.')[2]}', {base})")
    return answer


def _memory(engine: Engine) -> str:
    """The largest resident memory of the processes of an engine's driver."""
    assert engine._process is not None
    python = engine._process.pid
    shown = [f"Python {peak_mb(python):.0f} MB"] if engine.name == "floeberg" else []
    return ", ".join([f"JVM {peak_mb(jvm_below(python)):.0f} MB", *shown])


def jvm_below(parent: int) -> int:
    """The JVM that a process started."""
    for entry in Path("/proc").iterdir():
        try:
            is_java = entry.name.isdigit() and (entry / "comm").read_text().strip() == "java"
            if is_java and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                return int(entry.name)
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
    raise SystemExit(f"process {parent} has no JVM")


def peak_mb(process: int) -> float:
    """The largest resident memory that a process had."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _make(folder: Path, files: int) -> None:
    """The table of so many files; made once and kept."""
    done = folder / f"files{files}.done"
    if done.exists():
        return
    (folder / "lake").mkdir(parents=True, exist_ok=True)
    lake = catalog("bench", warehouse=str(folder / "lake"), properties={"local.fsync": "false"})
    lake.create_namespace("db", if_not_exists=True)
    lake.drop_table(f"db.files{files}", purge=True, if_exists=True)
    _make_table(lake, f"db.files{files}", files)
    lake.close()
    done.touch()


def _make_table(lake: Catalog, name: str, files: int) -> None:
    modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
    table = lake.create_table(name, DDL, partition_by=["p"], format_version=3, properties=modes)
    writer = TableWriter(table.metadata, table._pointer.store_for, UUID(int=files))
    written = []
    for first in range(0, files, AT_ONCE):
        ids = np.arange(first * ROWS, min(first + AT_ONCE, files) * ROWS)
        columns = {"id": ids, "p": (ids // ROWS).astype(np.int32), "k": (ids % ROWS).astype(np.int32)}
        written += writer.write_data(pa.table({**columns, "v": [f"value {one}" for one in ids]}))
    table._commit(Append(files=written))
    deleted = {
        DeletedFile(file_path=f.file_path, spec_id=f.spec_id, partition=f.partition): BitMap64([0]) for f in written
    }
    add_deletes(table, writer.write_vectors(deleted))


if __name__ == "__main__":
    main()
