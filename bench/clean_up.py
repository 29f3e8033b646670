"""The memory and time of expiry and of orphan removal on tables of many files.

    python -m bench.clean_up [--java] [files …]

A table of so many files in 50 manifests, with the metrics of 16 columns. Half of the files are deleted, and their snapshots
expire; a tenth as many more lie beside them as orphans. Every figure is of a process of its own: CPU time, and the most memory
that was resident above what the process had with its modules loaded. Memory must not grow as the entries of manifests do: at
ten times the files it may be 250 MB more. With `--java` the Java runtime's procedures do the same on another such table, on
Spark with a heap of 4 GB.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.clean_up_java import measured

import floeberg as fb
from floeberg.commit.append import Append
from floeberg.commit.delete_files import DeleteFiles
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.maintenance.orphans import OrphanRequest, remove_orphan_files
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat

SIZES = (10_000, 100_000)
MANIFESTS = 50
COLUMNS = range(1, 17)
MORE_MB = 250
_LONG_AGO = 1_600_000_000


def main(sizes: tuple[int, ...], *, beside_java: bool) -> int:
    most: dict[tuple[str, int], float] = {}
    print(f"{'files':>8} {'':>18} {'CPU':>9} {'memory':>10} {'deleted':>9}")
    for size in sizes:
        for engine in ("floeberg", "java") if beside_java else ("floeberg",):
            with tempfile.TemporaryDirectory() as folder:
                _in_a_process("make", folder, size)
                for name in ("orphans", "expire"):
                    found = _in_a_process(name, folder, size) if engine == "floeberg" else measured(name, folder)
                    if engine == "floeberg":
                        most[name, size] = found["megabytes"]
                    print(f"{size:>8} {engine:>9} {name:>8} {found['seconds']:>7.1f} s {found['megabytes']:>7.0f} MB "
                          f"{found['count']:>9}", flush=True)  # fmt: skip
    return _judge(most, sizes)


def _judge(most: dict[tuple[str, int], float], sizes: tuple[int, ...]) -> int:
    grown = {name: most[name, max(sizes)] - most[name, min(sizes)] for name in ("orphans", "expire")}
    for name, megabytes in grown.items():
        print(f"{'reached' if megabytes <= MORE_MB else 'NOT reached'}: {name} takes {megabytes:.0f} MB more")
    return 0 if all(megabytes <= MORE_MB for megabytes in grown.values()) else 1


def _in_a_process(name: str, folder: str, size: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.clean_up", name, folder, str(size)], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _lake(folder: str) -> fb.Catalog:
    return fb.catalog("lake", type="filesystem", warehouse=folder, properties={"local.fsync": "false"})


def make(folder: str, size: int) -> int:
    """The table, with its files, which are empty."""
    lake = _lake(folder)
    lake.create_namespace("db")
    columns = ", ".join(f"c{column} bigint" for column in COLUMNS)
    table = lake.create_table("db.t", columns, properties={"commit.manifest-merge.enabled": "false"})
    data = Path(folder) / "db" / "t" / "data"
    data.mkdir()
    each = size // MANIFESTS
    doomed: list[DataFile] = []
    for number in range(MANIFESTS):
        files = [_file(data, place) for place in range(number * each, (number + 1) * each)]
        table._commit(Append(files=files))
        doomed += files[: each // 2]
    table._commit(DeleteFiles(removed=doomed))
    for place in range(size // 10):
        _old_file(data / f"orphan-{place:09}.parquet")
    return 0


def _file(folder: Path, place: int) -> DataFile:
    path = folder / f"{place:09}-of-a-name-of-usual-length-0a1b2c3d-4e5f.parquet"
    _old_file(path)
    bounds = {column: place.to_bytes(8, "little") for column in COLUMNS}
    return DataFile(
        file_path=str(path),
        file_format=FileFormat.PARQUET,
        spec_id=0,
        record_count=1000,
        file_size_in_bytes=100_000,
        value_counts=dict.fromkeys(COLUMNS, 1000),
        null_value_counts=dict.fromkeys(COLUMNS, 0),
        lower_bounds=bounds,
        upper_bounds=bounds,
    )


def _old_file(path: Path) -> None:
    path.touch()
    os.utime(path, (_LONG_AGO, _LONG_AGO))


def orphans(folder: str, size: int) -> int:
    table = _lake(folder).load_table("db.t")
    return len(remove_orphan_files(table._pointer, table._state, OrphanRequest(dry_run=False)).locations)


def expire(folder: str, size: int) -> int:
    table = _lake(folder).load_table("db.t")
    expiry = Expiry(older_than_ms=2**62, retain_last=1)
    return expire_snapshots(table._pointer, table._state, expiry).deleted.data_files


WORKS: dict[str, Callable[[str, int], int]] = {"make": make, "orphans": orphans, "expire": expire}


def _measured(name: str, folder: str, size: int) -> dict[str, float]:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    count = WORKS[name](folder, size)
    seconds = time.process_time() - started
    more_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    return {"seconds": seconds, "megabytes": more_kb / 1024, "count": count}


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WORKS:
        print(json.dumps(_measured(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
        sys.exit(0)
    asked = tuple(int(text) for text in sys.argv[1:] if text != "--java")
    sys.exit(main(asked or SIZES, beside_java="--java" in sys.argv))
