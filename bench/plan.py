"""Planning 100,000 data files in 50 manifests, beside PyIceberg and, with --java, the Java library.

    python -m bench.plan [--files N] [--manifests N] [--repeat N] [--java] [--million] [--plot FILE.svg] [--folder DIR]

Each figure is of a process of its own: seconds of the first plan, seconds of processor time of it, seconds of the same
plan again, and how much the process grew (peak, MB) since it had planned a table of 100 files, which loads the libraries.
Every library gives all its tasks one by one; ours also says what the frame alone costs, which is what an engine uses,
and what a plan without a cache needs. On
a busy machine compare processor time. Tables are made once and kept in the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.plan_java import java_command
from bench.plan_table import filters, make_table
from bench.plots import write_plot

MEGABYTE = 1024 * 1024
SHAPES = {"blocked": False, "one record a block": True}


def main() -> None:
    arguments = _arguments()
    if arguments.worker:
        print(json.dumps(WORKERS[arguments.worker](arguments)))
        return
    folder = Path(arguments.folder)
    for shape, single in SHAPES.items():
        table = make_table(folder, files=arguments.files, manifests=arguments.manifests, one_record_a_block=single)
        print(f"\n{arguments.files:,} files in {arguments.manifests} manifests, {shape}")
        print(
            f"  {'filter':<10} {'library':<18} {'first s':>9} {'cpu s':>9} {'again s':>9} {'peak MB':>9} {'files':>8} "
            f"{'first ×':>8}{'cpu ×':>8}{'again ×':>8}{'MB ×':>8}"
        )
        for name in filters(arguments.files):
            _compare(arguments, table, name)
    if arguments.million:
        _million(arguments, folder)
    if arguments.plot:
        _plot(arguments, folder)


def _compare(arguments: argparse.Namespace, table: Path, name: str) -> None:
    rows = {"pyiceberg": _run(arguments, "pyiceberg", table, name)}
    if arguments.java:
        rows["java"] = _best([json.loads(_output(java_command(table, name, arguments.files)))])
    rows["floeberg"] = _run(arguments, "floeberg", table, name)
    rows["floeberg, frame"] = _run(arguments, "floeberg-frame", table, name)
    rows["floeberg, no cache"] = _run(arguments, "floeberg-uncached", table, name)
    base = rows["pyiceberg"]
    for library, row in rows.items():
        ratios = "".join(
            f"{base[key] / row[key]:8.1f}" if row[key] and base[key] else f"{'':8}"
            for key in ("first", "cpu", "again", "peak_mb")
        )
        print(
            f"  {name:<10} {library:<18} {row['first']:9.3f} {row['cpu']:9.3f} {row['again']:9.3f} {row['peak_mb']:9.1f} "
            f"{row['files']:8,} {ratios}"
        )


def _run(arguments: argparse.Namespace, worker: str, table: Path, name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.plan", "--worker", worker, "--table", str(table), "--filter", name,
               "--files", str(arguments.files)]  # fmt: skip
    return _best([json.loads(_output(command)) for _ in range(arguments.repeat)])


def _best(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The quickest of several runs, with the least memory."""
    return {
        "files": rows[0]["files"],
        "first": min(row["first"] for row in rows),
        "cpu": min(row["cpu"] for row in rows),
        "again": min(row["again"] for row in rows),
        "peak_mb": statistics.median(row["peak_mb"] for row in rows),
    }


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


def _measure(plan: Callable[[], int]) -> dict[str, Any]:
    """A first plan and the best of three more in this process."""
    before = _peak_mb()
    start, cpu_start = time.perf_counter(), time.process_time()
    files = plan()
    first, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    peak = max(_peak_mb() - before, 0.1)
    again = []
    for _ in range(3):
        start = time.perf_counter()
        plan()
        again.append(time.perf_counter() - start)
    return {"files": files, "first": first, "cpu": cpu, "again": min(again), "peak_mb": peak}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


def _ours(arguments: argparse.Namespace, *, tasks: bool, cached: bool = True) -> dict[str, Any]:
    from floeberg.catalogs.static import open_static
    from floeberg.effects.system import system_effects
    from floeberg.scan.frame_cache import FrameCache
    from floeberg.scan.plan import plan_files
    from floeberg.scan.snapshot_choice import choose_snapshot
    from floeberg.storage.registry import StoreRegistry

    effects = system_effects()
    where = filters(arguments.files)[arguments.filter][0]

    def planner(path: str) -> Callable[[], int]:
        loaded = open_static(path, stores=StoreRegistry(effects), effects=effects)
        metadata, cache = loaded.state.metadata, FrameCache() if cached else None

        def plan() -> int:
            found = plan_files(
                metadata, choose_snapshot(metadata), store_for=loaded.pointer.store_for, where=where, cache=cache
            )
            return len(list(found)) if tasks else found.frame.height

        return plan

    planner(_small_table(arguments))()
    return _measure(planner(arguments.table))


def _small_table(arguments: argparse.Namespace) -> str:
    return str(make_table(Path(arguments.table).parents[2], files=100, manifests=2, one_record_a_block=False))


def _pyiceberg(arguments: argparse.Namespace) -> dict[str, Any]:
    from pyiceberg.table import StaticTable

    text = filters(arguments.files)[arguments.filter][1]

    def planner(path: str) -> Callable[[], int]:
        table = StaticTable.from_metadata(path)

        def plan() -> int:
            scan = table.scan(row_filter=text) if text else table.scan()
            return len(list(scan.plan_files()))

        return plan

    planner(_small_table(arguments))()
    return _measure(planner(arguments.table))


def _million(arguments: argparse.Namespace, folder: Path) -> None:
    table = make_table(folder, files=1_000_000, manifests=100, one_record_a_block=False)
    print("\n1,000,000 files in 100 manifests; the whole process")
    for name in filters(1_000_000):
        command = [sys.executable, "-m", "bench.plan", "--worker", "floeberg-frame", "--table", str(table), "--filter", name,
                   "--files", "1000000"]  # fmt: skip
        row = json.loads(_output(command))
        print(
            f"  {name:<10} {row['first']:8.2f} s, again {row['again']:6.2f} s, "
            f"grew by {row['peak_mb']:8.1f} MB (2,048 at most)"
        )


def _plot(arguments: argparse.Namespace, folder: Path) -> None:
    """Seconds of a warm plan with its tasks, against the files it selects, as an SVG line."""
    from floeberg.catalogs.static import open_static
    from floeberg.effects.system import system_effects
    from floeberg.expr.build import col
    from floeberg.scan.frame_cache import FrameCache
    from floeberg.scan.plan import plan_files
    from floeberg.scan.snapshot_choice import choose_snapshot
    from floeberg.storage.registry import StoreRegistry

    path = make_table(folder, files=arguments.files, manifests=arguments.manifests, one_record_a_block=False)
    effects = system_effects()
    loaded = open_static(str(path), stores=StoreRegistry(effects), effects=effects)
    metadata, cache = loaded.state.metadata, FrameCache()
    points = []
    for percent in (0, 1, 2, 5, 10, 20, 40, 60, 80, 100):
        selected = arguments.files * percent // 100
        where = col("c1") < selected * 1_000
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            found = plan_files(
                metadata, choose_snapshot(metadata), store_for=loaded.pointer.store_for, where=where, cache=cache
            )
            count = len(list(found))
            seconds.append(time.perf_counter() - start)
        points.append((count, min(seconds)))
        print(f"  {count:8,} files selected: {min(seconds):.3f} s")
    label = "a second plan, tasks included"
    write_plot(arguments.plot, {label: points}, x=f"files selected of {arguments.files:,}", y="seconds")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--manifests", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--java", action="store_true", help="also the Java library (needs Maven)")
    parser.add_argument("--million", action="store_true", help="also a million files")
    parser.add_argument("--plot", help="write a plot of time against selected files")
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "floeberg-bench"))
    parser.add_argument("--worker", choices=list(WORKERS), help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    parser.add_argument("--filter", help=argparse.SUPPRESS)
    return parser.parse_args()


WORKERS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "floeberg": lambda arguments: _ours(arguments, tasks=True),
    "floeberg-frame": lambda arguments: _ours(arguments, tasks=False),
    "floeberg-uncached": lambda arguments: _ours(arguments, tasks=True, cached=False),
    "pyiceberg": _pyiceberg,
}


if __name__ == "__main__":
    main()
