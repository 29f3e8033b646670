"""The example pipeline, killed at random moments and started again: bronze, silver and gold are those of the source.

FLOEBERG_STREAM_KILLS kills it that often (`make test-stream-kills`); FLOEBERG_SEED chooses the moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import floeberg as fb
from pipeline.shop import Shop
from spark_runs.spark_session import KIND, STARTS, TOO_SLOW

KILLS = int(os.environ.get("FLOEBERG_STREAM_KILLS", "6"))
SEED = int(os.environ.get("FLOEBERG_SEED", "22"))
ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("killed_pipeline.py")
FILES_OF_A_RUN = 28
"""About as many files as a run makes: table data and metadata, and the logs of checkpoints."""


def files(folder: Path) -> set[str]:
    return {
        os.path.join(at, name)
        for part in ("lake", "checkpoints")
        for at, _, names in os.walk(folder / part)
        for name in names
    }


def run(folder: Path, kill_after: int | None) -> bool:
    """Runs the pipeline, and kills its process group once it has made that many files. Whether it was killed. It is started
    again where Spark did not wait long enough for the process of a source."""
    for _ in range(STARTS):
        code = ended(folder, kill_after)
        if code in (0, -signal.SIGKILL):
            return code != 0
        said = (folder / "log").read_text()
        assert TOO_SLOW in said, said[-3000:]
    raise AssertionError(f"Spark waited {STARTS} times in vain for the process of a source")


def ended(folder: Path, kill_after: int | None) -> int:
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "examples"), os.environ.get("PYTHONPATH", "")]),
    }
    before, seen = files(folder), set()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(folder)],
            env=env,
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        while process.poll() is None:
            seen |= files(folder) - before
            if kill_after is not None and len(seen) >= kill_after:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            time.sleep(0.01)
    return process.returncode


@pytest.mark.spark
@pytest.mark.skipif(KIND != "classic", reason="the pipeline starts a session of its own")
def test_a_pipeline_that_is_killed_anywhere_ends_equal_to_its_source(tmp_path):
    shop, chance, killed, messages = Shop(seed=SEED), random.Random(SEED), 0, 0
    while killed < KILLS:
        for _ in range(8):
            shop.change()
        messages += len(shop.messages)
        shop.deliver(tmp_path / "incoming")
        killed += run(tmp_path, chance.randint(1, FILES_OF_A_RUN))
    assert not run(tmp_path, None)
    with fb.catalog("lake", warehouse=str(tmp_path / "lake")) as lake:
        bronze, silver, gold = (
            lake.load_table(f"shop.{name}").scan().to_arrow().to_pylist() for name in ("bronze", "silver", "gold")
        )
    assert sorted(row["offset"] for row in bronze) == [*range(messages)]
    assert sorted(silver, key=lambda row: row["id"]) == [shop.orders[id] for id in sorted(shop.orders)]
    assert {row["customer"]: (row["orders"], row["cents"]) for row in gold} == shop.totals()
