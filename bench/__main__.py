"""Runs every benchmark, one after the other: `python -m bench`. Each prints our figures, beside the peer's if there is one."""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = ("manifest_decode", "commit", "plan", "read", "clean_up")


def main() -> int:
    failed = []
    for name in BENCHMARKS:
        print(f"\n== bench.{name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
