"""Events of changed rows applied to a table: `fb.cdc` beside the Java runtime's way, on the same Spark and the same events.

    python -m bench.cdc [--events N] [--keys N] [--batches N] [--format-version N] [--ways NAME …] [--folder DIR]
    python -m bench.cdc --bases 1000000 10000000 --events 600000 --batches 6

The Java runtime has no delta writer on Spark: it takes the last event of each key by a window, and merges it (merge-on-read).
Ours is measured as it is, with `collapse` and with `lookup="position"`. In each batch the engines take turns, and the order
alternates; the figures are the medians over the batches of the ratios of processor time (the JVM and Python), with the time
on the clock beside them. The rows of all tables are compared at the end.

With `--bases`, each of our ways has a table for each number of rows that are there before the first batch, and the figures are
the ratios of each number to the first.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bench.spark_engines import Answer, Engine

from floeberg.api.catalog import catalog

WAYS: Final[dict[str, dict[str, Any]]] = {
    "java": {},
    "delta": {},
    "collapse": {"collapse": True},
    "position": {"lookup": "position"},
}
DELETES: Final = 0.15
PAYLOAD: Final = 40
KEY_STRIDE: Final = 7919
"""The keys of the events are multiples of it, those of the rows before are not."""
ROWS_OF_A_FILE: Final = 1_000_000
MERGE: Final = """
MERGE INTO bench.db.java t USING (
  SELECT id, op, ord, v, s FROM (
    SELECT *, row_number() OVER (PARTITION BY id ORDER BY ord DESC) AS latest FROM parquet.`{path}`) WHERE latest = 1) e
ON t.id = e.id
WHEN MATCHED AND e.op = 'D' THEN DELETE
WHEN MATCHED THEN UPDATE SET id = e.id, ord = e.ord, v = e.v, s = e.s
WHEN NOT MATCHED AND e.op <> 'D' THEN INSERT (id, ord, v, s) VALUES (e.id, e.ord, e.v, e.s)
"""
CHECK: Final = "SELECT count(*), sum(id), sum(ord), sum(hash(id, ord, v, s)) FROM bench.db.{name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--format-version", type=int, default=2)
    parser.add_argument("--bases", type=int, nargs="*", default=[])
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--folder", default=tempfile.gettempdir())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as made, ExitStack() as stack:
        folder = Path(made)
        batches = write_events(folder, events=given.events, keys=given.keys, batches=given.batches)
        print(f"{given.events:,} events, {given.keys:,} keys, {given.batches} batches, v{given.format_version}")
        if given.bases:
            ours = [way for way in given.ways if way != "java"]
            grow(stack.enter_context(Engine("floeberg", folder / "lake")), folder, ours, batches, given)
            return
        make_tables(folder, given.ways, version=given.format_version)
        engines = {name: stack.enter_context(Engine(name, folder / "lake")) for name in ("java", "floeberg")}
        taken = run_batches(engines, given.ways, batches)
        compare(taken, events=given.events // given.batches)
        read(engines, given.ways)


def write_events(folder: Path, *, events: int, keys: int, batches: int) -> list[Path]:
    """Files of events in order: a key that is there is updated or deleted, one that is not is inserted."""
    chance = np.random.default_rng(1)
    chosen = chance.integers(0, keys, events)
    removes = chance.random(events) < DELETES
    alive = np.zeros(keys, dtype=np.bool_)
    ops = np.empty(events, dtype="<U1")
    for event, (key, remove) in enumerate(zip(chosen, removes, strict=True)):
        ops[event] = ("D" if remove else "U") if alive[key] else "I"
        alive[key] = ops[event] != "D"
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(events), batches)):
        table = pa.table(
            {
                "op": pa.array(ops[rows]),
                "id": pa.array(chosen[rows] * KEY_STRIDE),
                "ord": pa.array(rows),
                "v": pa.array(chance.random(len(rows))),
                "s": pa.array([f"{row:0{PAYLOAD}}" for row in rows]),
            }
        )
        paths.append(folder / f"events-{number:03}.parquet")
        pq.write_table(table, paths[-1])
    return paths


def make_tables(folder: Path, names: list[str], *, version: int, base: int = 0, keys: int = 0) -> None:
    lake = catalog("bench", warehouse=str(folder / "lake"), properties={"local.fsync": "false"})
    lake.create_namespace("db", if_not_exists=True)
    modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
    ddl = "id BIGINT NOT NULL, ord BIGINT, v DOUBLE, s STRING"
    tables = [lake.create_table(f"db.{name}", ddl, format_version=version, properties=modes) for name in names]
    files = -(-base // ROWS_OF_A_FILE)
    for number in range(files):
        # Every file spans all keys, so that no bounds tell where a key is not. Between the keys of the events: these have no
        # row before their insert.
        rows = np.arange(number, base, files)
        values = {"id": rows * keys // base * KEY_STRIDE + 1, "ord": rows * 0 - 1, "v": rows * 0.5}
        texts = pc.utf8_lpad(pa.array(rows).cast(pa.string()), PAYLOAD, "0")
        for table in tables:
            table.append(pa.table({**values, "s": texts}))


def grow(engine: Engine, folder: Path, ways: list[str], batches: list[Path], given: argparse.Namespace) -> None:
    """What a batch costs beside the rows that are there before, by the first number of them."""
    for base in given.bases:
        make_tables(folder, [f"{way}_{base}" for way in ways], version=given.format_version, base=base, keys=given.keys)
    taken: dict[tuple[str, int], list[Answer]] = {(way, base): [] for way in ways for base in given.bases}
    for number, path in enumerate(batches):
        for way, base in taken if number % 2 else reversed(taken):
            answer = engine.call("bench.cdc:apply", path=str(path), name=f"{way}_{base}", options=WAYS[way])
            taken[way, base].append(answer)
        told = ", ".join(
            f"{way} {base:,}: {a[-1].seconds:.2f} s ({a[-1].cpu_seconds:.2f})" for (way, base), a in taken.items()
        )
        print(f"  batch {number}: {told}", flush=True)
    for way in ways:
        first = taken[way, given.bases[0]][1:]
        for base in given.bases[1:]:
            pairs = list(zip(taken[way, base][1:], first, strict=True))
            by_cpu = statistics.median(a.cpu_seconds / b.cpu_seconds for a, b in pairs)
            by_clock = statistics.median(a.seconds / b.seconds for a, b in pairs)
            print(f"  {way}: {base:,} rows by {given.bases[0]:,}: processor time {by_cpu:.2f}, time {by_clock:.2f}")


def run_batches(engines: dict[str, Engine], ways: list[str], batches: list[Path]) -> dict[str, list[Answer]]:
    taken: dict[str, list[Answer]] = {way: [] for way in ways}
    for number, path in enumerate(batches):
        for way in ways if number % 2 else reversed(ways):
            if way == "java":
                answer = engines["java"].run(MERGE.format(path=path))
            else:
                answer = engines["floeberg"].call("bench.cdc:apply", path=str(path), name=way, options=WAYS[way])
            taken[way].append(answer)
        told = ", ".join(
            f"{way} {answers[-1].seconds:.2f} s ({answers[-1].cpu_seconds:.2f})" for way, answers in taken.items()
        )
        print(f"  batch {number}: {told}", flush=True)
    found = {way: engines["java"].run(CHECK.format(name=way)).rows for way in ways}
    if len({str(rows) for rows in found.values()}) != 1:
        raise SystemExit(f"the tables differ: {found}")
    return taken


def apply(session: Any, *, path: str, name: str, options: dict[str, Any]) -> list[list[Any]]:
    """Runs in the engine's process."""
    import floeberg as fb

    events = session.read.parquet(path)
    result = fb.cdc(events, f"bench.db.{name}", keys="id", op="op", order_by="ord", **options)
    return [[result.events]]


def compare(taken: dict[str, list[Answer]], *, events: int) -> None:
    """The first batch warms the engines and is left out."""
    print(
        f"  {'':<9} {'events/s':>9} {'cpu s':>7} {'last/2nd':>9} {'cpu ratio':>10} {'ratio':>6}   medians; ratios by java's"
    )
    for way, answers in taken.items():
        kept = answers[1:]
        seconds = statistics.median(a.seconds for a in kept)
        cpu = statistics.median(a.cpu_seconds for a in kept)
        growth = kept[-1].seconds / kept[0].seconds
        line = f"  {way:<9} {events / seconds:9,.0f} {cpu:7.2f} {growth:9.2f}"
        if "java" in taken and way != "java":
            pairs = list(zip(kept, taken["java"][1:], strict=True))
            by_cpu = statistics.median(a.cpu_seconds / b.cpu_seconds for a, b in pairs)
            by_clock = statistics.median(a.seconds / b.seconds for a, b in pairs)
            line += f" {by_cpu:10.2f} {by_clock:6.2f}"
        print(line, flush=True)


def read(engines: dict[str, Engine], ways: list[str]) -> None:
    """What the result costs to read with both engines, as it is and after the Java runtime's rewrite_data_files."""
    query = "SELECT count(*), max(v), min(s) FROM bench.db.{}"
    for step in ("as written", "rewritten"):
        for way in ways:
            best = {
                name: min(engine.run(query.format(way)).seconds for _ in range(3)) for name, engine in engines.items()
            }
            print(
                f"  read {way:<9} {step:<10} " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
            )
        if step == "as written":
            for way in ways:
                options = "map('rewrite-all', 'true')"
                engines["java"].run(f"CALL bench.system.rewrite_data_files(table => 'db.{way}', options => {options})")


if __name__ == "__main__":
    main()
