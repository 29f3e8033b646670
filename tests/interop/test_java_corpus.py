"""The scripts of `tests/spark/corpus` on the Java runtime, in one session: it gives what they say, or a script says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers.java_peer import JavaRuntime
from spark_runs.corpus_scripts import SCRIPTS, namespace_of, steps

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def java(runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> JavaRuntime:
    runtime.open_hadoop("lake", tmp_path_factory.mktemp("corpus"))
    return runtime


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_java_runtime_gives_what_a_script_says(java: JavaRuntime, path: Path) -> None:
    java.run(f"CREATE NAMESPACE lake.{namespace_of(path)}")
    wanted = list(steps(path))
    answers = java.ask([step.statement for step in wanted])
    different = []
    for step, answer in zip(wanted, answers, strict=True):
        same = bool(answer.error) if step.fails else not answer.error and step.agrees(answer.shown)
        if same == bool(step.java_differs):
            said = "a failure" if step.fails else step.expected
            different.append(
                f"{step.statement}\n  gave {answer.error or answer.shown}, the script says {said} {step.java_differs}"
            )
    assert not different, "\n".join(different)
