"""Rows per second of the Arrow engine, beside PyIceberg, DuckDB and pyiceberg-core (when `make interop-peers` made its home).

    python -m bench.read [--rows N] [--files N] [--repeat N] [--core-python PATH] [--folder DIR]

The same rows plain, with 5 % of them deleted by position delete files, by deletion vectors and by equality delete files.
Every library gives all columns, or two of them, as an Arrow table. Each figure is of a process of its own, the best of some
runs after a first one that warms the files; on a busy machine compare processor time. Tables are made once and kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

NARROW = ["id", "price"]
CORE_PYTHON = ".cache/peers/core/bin/python"


def main() -> None:
    arguments = _arguments()
    if arguments.worker:
        print(json.dumps(_measure(arguments)))
        return
    # Not at the top: the peers' environments, in which the workers run, lack what makes the tables.
    from bench.read_tables import KINDS, make_tables

    tables = make_tables(Path(arguments.folder), rows=arguments.rows, files=arguments.files)
    for columns in ("all", "two"):
        print(f"\n{arguments.rows:,} rows in {arguments.files} files, {columns} columns")
        print(
            f"  {'table':<10} {'library':<20} {'rows/s':>12} {'cpu rows/s':>12} {'rows':>10} {'× pyiceberg':>12}{'cpu ×':>8}"
        )
        for kind in KINDS:
            _compare(arguments, kind, tables[kind], columns)


def _compare(arguments: argparse.Namespace, kind: str, table: Path, columns: str) -> None:
    libraries = [
        "pyiceberg",
        "duckdb",
        *(["pyiceberg-core"] if arguments.core_python else []),
        "floeberg",
        "floeberg, unverified",
    ]
    base: dict[str, Any] | None = None
    for library in libraries:
        found = _run(arguments, library, table, columns)
        if "error" in found:
            print(f"  {kind:<10} {library:<20} {found['error'][:70]}")
            continue
        rate, cpu_rate = found["rows"] / found["seconds"], found["rows"] / found["cpu_seconds"]
        base = found if library == "pyiceberg" else base
        ratios = ""
        if base is not None:
            wall, cpu = base["seconds"] / found["seconds"], base["cpu_seconds"] / found["cpu_seconds"]
            ratios = f"{wall:>12.2f}{cpu:>8.2f}"
        print(f"  {kind:<10} {library:<20} {rate:>12,.0f} {cpu_rate:>12,.0f} {found['rows']:>10,} {ratios}")


def _run(arguments: argparse.Namespace, library: str, table: Path, columns: str) -> dict[str, Any]:
    python = arguments.core_python if library == "pyiceberg-core" else sys.executable
    command = [
        python, "-m", "bench.read", "--worker", library, "--table", str(table), "--columns", columns,
        "--repeat", str(arguments.repeat),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=arguments.timeout,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
    except subprocess.TimeoutExpired:
        return {"error": f"gave no result in {arguments.timeout} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"error": (done.stderr.strip().splitlines() or ["no result"])[-1]}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _measure(arguments: argparse.Namespace) -> dict[str, Any]:
    read = READERS[arguments.worker](arguments.table, None if arguments.columns == "all" else NARROW)
    rows = read()
    best, best_cpu = float("inf"), float("inf")
    for _ in range(arguments.repeat):
        start, cpu = time.perf_counter(), time.process_time()
        rows = read()
        best = min(best, time.perf_counter() - start)
        best_cpu = min(best_cpu, time.process_time() - cpu)
    return {"rows": rows, "seconds": best, "cpu_seconds": best_cpu}


def _floeberg(table: str, columns: list[str] | None, *, verify: bool = True) -> Callable[[], int]:
    from floeberg.api.catalog import open_table

    options = {} if verify else {"verify-checksums": "false"}
    return lambda: int(open_table(table).scan(columns, options=options).to_arrow().num_rows)


def _floeberg_unverified(table: str, columns: list[str] | None) -> Callable[[], int]:
    """Without the checksums of pages, which the other libraries do not look at."""
    return _floeberg(table, columns, verify=False)


def _pyiceberg(table: str, columns: list[str] | None) -> Callable[[], int]:
    from pyiceberg.table import StaticTable

    chosen = tuple(columns) if columns else ("*",)
    return lambda: int(StaticTable.from_metadata(table).scan(selected_fields=chosen).to_arrow().num_rows)


def _duckdb(table: str, columns: list[str] | None) -> Callable[[], int]:
    import importlib.util

    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "iceberg"):
        found = importlib.util.find_spec(f"duckdb_extension_{name}")
        assert found is not None
        assert found.origin is not None
        file = next(Path(found.origin).parent.rglob(f"{name}.duckdb_extension"))
        connection.execute(f"LOAD '{file}'")
    query = f"SELECT {', '.join(columns or ['*'])} FROM iceberg_scan('{table}')"
    return lambda: int(connection.sql(query).to_arrow_table().num_rows)


def _pyiceberg_core(table: str, columns: list[str] | None) -> Callable[[], int]:
    from datafusion import SessionContext
    from pyiceberg_core.datafusion import IcebergDataFusionTable

    def read() -> int:
        context = SessionContext()
        found = IcebergDataFusionTable(
            identifier=["db", "t"], metadata_location=f"file://{table}", file_io_properties={}
        )
        context.register_table("t", found)
        return int(context.sql(f"SELECT {', '.join(columns or ['*'])} FROM t").to_arrow_table().num_rows)

    return read


READERS: dict[str, Callable[[str, list[str] | None], Callable[[], int]]] = {
    "floeberg": _floeberg,
    "floeberg, unverified": _floeberg_unverified,
    "pyiceberg": _pyiceberg,
    "duckdb": _duckdb,
    "pyiceberg-core": _pyiceberg_core,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=120, help="seconds for a library and a table")
    parser.add_argument("--core-python", default=CORE_PYTHON if Path(CORE_PYTHON).exists() else None,
                        help="an interpreter that has pyiceberg-core and datafusion")  # fmt: skip
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "floeberg-bench"))
    parser.add_argument("--worker", choices=sorted(READERS), help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    parser.add_argument("--columns", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
