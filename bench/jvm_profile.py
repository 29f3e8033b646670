"""Where the JVM of an engine spends its time, by samples of Java's own recorder: a part for each sample.

A part is told by the innermost call that names one: to decompress a page of a file is to read it, to decompress a block of a
shuffle is to exchange it. Threads that wait are not sampled, and neither are the collector and the compiler of the JVM.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_PARTS: Final = (
    (
        "reading files",
        "org.apache.parquet|sql.execution.datasources|org.apache.iceberg|ColumnarBatch|vectorized|apache.hadoop.fs|apache.arrow",
    ),
    (
        "exchanging rows",
        r"spark\.shuffle|ShuffleBlock|spark.serializer|spark.storage|spark.network|UnsafeRowSerializer",
    ),
    (
        "sorting",
        "UnsafeExternalSorter|UnsafeInMemorySorter|RadixSort|TimSort|UnsafeExternalRowSorter|UnsafeKVExternalSorter",
    ),
    (
        "planning and compiling",
        "sql.catalyst.analysis|sql.catalyst.optimizer|sql.catalyst.parser|sql.catalyst.rules|sql.catalyst.plans|"
        "sql.catalyst.trees|QueryExecution|CodeGenerator|codehaus|AdaptiveSparkPlanExec|py4j|DAGScheduler|TaskScheduler",
    ),
    (
        "joins and aggregates",
        "GeneratedIterator|GeneratedClass|BytesToBytesMap|HashedRelation|sql.execution.aggregate|sql.execution.joins|"
        "SpecificUnsafeProjection|sql.execution",
    ),
)
_REST: Final = "the rest"


def recorded(file: Path) -> dict[str, str]:
    """The environment of a JVM that records into a file until it ends."""
    return {"JAVA_TOOL_OPTIONS": f"-XX:StartFlightRecording:filename={file},dumponexit=true -Xlog:jfr*=off"}


def shares(file: Path) -> dict[str, float]:
    """The share of each part in the samples of a recording."""
    command = ["jfr", "print", "--events", "jdk.ExecutionSample", "--stack-depth", "64", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = Counter(_part(stack) for stack in _stacks(process.stdout))
    if process.returncode:
        raise SystemExit(f"jfr cannot read {file}")
    samples = sum(found.values())
    return {part: found[part] / samples for part in [*dict(_PARTS), _REST]}


def print_shares(found: Mapping[str, Mapping[str, float]]) -> None:
    """The shares of each engine, a line for each part."""
    print(f"  {'':<24}" + "".join(f"{engine:>10}" for engine in found))
    for part in [*dict(_PARTS), _REST]:
        print(f"  {part:<24}" + "".join(f"{shares[part]:>10.0%}" for shares in found.values()))


def _stacks(lines: Iterable[str]) -> Iterable[list[str]]:
    stack: list[str] | None = None
    for line in lines:
        if line.strip().startswith("stackTrace = ["):
            stack = []
        elif stack is not None and line.strip() == "]":
            yield stack
            stack = None
        elif stack is not None:
            stack.append(line)


def _part(stack: list[str]) -> str:
    for call in stack:
        for part, pattern in _PARTS:
            if re.search(pattern, call):
                return part
    return _REST
