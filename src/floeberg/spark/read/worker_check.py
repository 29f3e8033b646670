"""Whether Spark's Python workers have what reading and writing there needs; asked once for each session."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

from pyspark.errors import PySparkException

from floeberg.errors import UnsupportedFeature
from floeberg.spark.read.worker import NEEDED_MODULES

_checked: WeakSet[Any] = WeakSet()


def check_workers(spark: Any) -> None:
    """Raises UnsupportedFeature that names the modules missing in the workers, before the first job that needs them."""
    if spark in _checked:
        return
    try:
        (row,) = spark.range(0, 1, 1, 1).mapInArrow(_finder(NEEDED_MODULES), "missing string").collect()
        missing = row.missing
    except PySparkException as error:
        raise UnsupportedFeature(
            f"Spark's Python workers do not run ({_first_line(error)}); set PYSPARK_PYTHON (spark.pyspark.python) to a Python "
            "that has pyarrow and floeberg, on every executor"
        ) from error
    if missing:
        raise UnsupportedFeature(
            f"the Python of Spark's workers lacks {missing}; install floeberg there (pip install floeberg), or point "
            "spark.pyspark.python to an environment that has it, or ship one with spark.archives"
        )
    _checked.add(spark)


def _finder(modules: tuple[str, ...]) -> Any:
    """A function that travels by value: it must not need floeberg to say that floeberg is missing."""
    find = importlib.import_module

    def missing(batches: Iterator[Any]) -> Iterator[Any]:
        absent = []
        for name in modules:
            try:
                find(name)
            except ImportError as error:
                absent.append(error.name or name)
        for _ in batches:
            yield find("pyarrow").RecordBatch.from_pydict({"missing": [", ".join(sorted(set(absent)))]})

    return missing


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
