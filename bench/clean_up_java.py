"""The Java runtime's expiry and orphan removal on a table of `bench.clean_up`, each in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.spark_engines import CATALOG, Engine, process_tree

STATEMENTS: Final = {
    "orphans": f"CALL {CATALOG}.system.remove_orphan_files(table => 'db.t', max_concurrent_deletes => 4)",
    "expire": f"CALL {CATALOG}.system.expire_snapshots(table => 'db.t', older_than => TIMESTAMP '2999-01-01 00:00:00', "
    "retain_last => 1)",
}


def measured(name: str, folder: str) -> dict[str, float]:
    """Processor seconds, the most memory of the JVM above what it had with the catalog open, and how many files went."""
    with Engine("java", Path(folder), patience_seconds=1800) as engine:
        engine.run(f"SELECT count(*) FROM {CATALOG}.db.t.snapshots")
        jvm = next(pid for pid in process_tree(engine.pid) if _name(pid) == "java")
        before_mb = _megabytes(jvm, "VmRSS")
        answer = engine.run(STATEMENTS[name])
        count = int(answer.digest.split()[0]) if name == "orphans" else int(answer.rows[0][0])
        return {"seconds": answer.cpu_seconds, "megabytes": _megabytes(jvm, "VmHWM") - before_mb, "count": count}


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _megabytes(pid: int, field: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))
