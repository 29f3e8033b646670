"""The page of a table with 100,000 files, opened in Chromium on a server that was asked nothing before.

    PYTHONPATH=.cache/browser/playwright python -m bench.page [--files 100000] [--repeat 5] [--views files …]

For each view the median of the runs: seconds until the browser has loaded it, and the processor time of the server. Every run
starts the server anew. `make test-browser` brings Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.plan_table import make_table
from bench.server import ROOT, Server, answers, free_port
from playwright.sync_api import sync_playwright

import floeberg as fb

VIEWS: Final = ("files", "overview", "health", "plan?where=c1%20%3C%201000000")
MANIFESTS: Final = 25


@contextmanager
def cold_server(uri: str, warehouse: Path) -> Iterator[Server]:
    """A server of which no table was asked yet."""
    port = free_port()
    command = [
        sys.executable,
        "-c",
        "from floeberg.cli.main import main; main()",
        "serve",
        "--type",
        "sql",
        "--uri",
        uri,
    ]
    command += ["--warehouse", str(warehouse), "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    server = Server("ours", f"http://127.0.0.1:{port}", str(warehouse), process)
    try:
        while not answers(f"{server.url}/v1/config"):
            time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait()


def opened(browser: Any, server: Server, view: str) -> tuple[float, float]:
    """Seconds until a view is loaded, and of the server's processor."""
    tab = browser.new_page()
    before, began = server.processor_s(), time.monotonic()
    answer = tab.goto(f"{server.url}/ui/default/t/db/t/{view}", wait_until="load", timeout=120_000)
    took = time.monotonic() - began
    if answer.status != 200:
        raise SystemExit(f"{view}: {answer.status} {tab.inner_text('main')[:500]}")
    tab.close()
    return took, server.processor_s() - before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--views", nargs="+", default=VIEWS, help="views, with their queries")
    given = parser.parse_args()
    program = os.environ.get("FLOEBERG_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory(prefix="bench-page-") as folder, sync_playwright() as started:
        warehouse = Path(folder) / "lake"
        metadata = make_table(warehouse, files=given.files, manifests=MANIFESTS, one_record_a_block=False)
        uri = f"sqlite:///{folder}/catalog.db"
        with fb.catalog("default", type="sql", uri=uri, warehouse=str(warehouse)) as catalog:
            catalog.create_namespace("db")
            catalog.register_table("db.t", str(metadata))
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        print(f"{'view':36}{'seconds':>10}{'CPU s':>8}   {given.files} files, median of {given.repeat}, cold server")
        for view in given.views:
            found = []
            for _ in range(given.repeat):
                with cold_server(uri, warehouse) as server:
                    found.append(opened(browser, server, view))
            seconds, cpu = (statistics.median(part) for part in zip(*found, strict=True))
            print(f"{view:36}{seconds:>10.2f}{cpu:>8.2f}", flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
