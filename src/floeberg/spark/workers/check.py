"""Whether Spark's Python workers have what reading and writing there needs; asked once for each session.

Where they have all that floeberg needs but not floeberg itself, it is sent to them.
"""

from __future__ import annotations

import importlib
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from weakref import WeakSet

from pyspark.errors import PySparkException

from floeberg.errors import UnsupportedFeature
from floeberg.spark.host.settings.held_settings import SESSION_MARK
from floeberg.spark.workers.scan import NEEDED_MODULES
from floeberg.version import VERSION

PACKAGE: Final = "floeberg"
_checked: WeakSet[Any] = WeakSet()
_equipped: Final[set[str]] = set()
"""The marks of attached sessions whose workers have everything installed."""
_sent: list[TemporaryDirectory[str]] = []
"""What was sent stays until this process ends: executors that start later fetch it too."""


def check_workers(spark: Any) -> None:
    """Raises UnsupportedFeature that names the modules missing in the workers, before the first job that needs them.

    What is installed there is there for every Python object of an attached session: `foreachBatch` gets a new one for each
    epoch. What was sent is known to be there only for the object that sent it.
    """
    if spark in _checked:
        return
    mark = str(spark.conf.get(SESSION_MARK, ""))
    if mark in _equipped:
        return
    missing, version = _asked(spark)
    is_installed = missing != [PACKAGE]
    if not is_installed:
        _send_package(spark)
        missing, version = _asked(spark)
    if missing:
        raise UnsupportedFeature(
            f"the Python of Spark's workers lacks {', '.join(missing)}; install floeberg there (pip install floeberg), or "
            "point spark.pyspark.python to an environment that has it, or ship one with spark.archives"
        )
    if version != VERSION:
        raise UnsupportedFeature(
            f"the Python of Spark's workers has floeberg {version}, and this is {VERSION}; install the same version there"
        )
    _checked.add(spark)
    if mark and is_installed:
        _equipped.add(mark)


def _asked(spark: Any) -> tuple[list[str], str]:
    """The modules that a worker lacks, and the version of floeberg that it has."""
    frame = spark.range(0, 1, 1, 1).mapInArrow(_finder(NEEDED_MODULES), "missing string, version string")
    try:
        (row,) = frame.collect()
    except PySparkException as error:
        raise UnsupportedFeature(
            f"Spark's Python workers do not run ({_reason(error)}); set PYSPARK_PYTHON before the session starts, to a Python "
            "that has pyarrow and floeberg, on every executor"
        ) from error
    return [name for name in row.missing.split(", ") if name], row.version


def _finder(modules: tuple[str, ...]) -> Any:
    """A function that travels by value: it must not need floeberg to say that floeberg is missing."""
    find = importlib.import_module

    def missing(batches: Iterator[Any]) -> Iterator[Any]:
        absent, version = set(), ""
        for name in modules:
            try:
                find(name)
            except ImportError as error:
                absent.add(error.name or name)
        if "floeberg" not in absent:
            version = find("floeberg.version").VERSION
        for _ in batches:
            yield find("pyarrow").RecordBatch.from_pydict(
                {"missing": [", ".join(sorted(absent))], "version": [version]}
            )

    return missing


def _send_package(spark: Any) -> None:
    """Sends the package to the workers of a session as a zip of its modules."""
    root = Path(__file__).parents[2]
    folder = TemporaryDirectory(prefix="floeberg-")
    _sent.append(folder)
    archive = Path(folder.name) / f"{PACKAGE}-{VERSION}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for module in sorted(root.rglob("*.py")):
            target.write(module, Path(PACKAGE) / module.relative_to(root))
    spark.addArtifacts(str(archive), pyfile=True)


def _reason(error: Exception) -> str:
    """The module that a worker lacks, where that is why; else the first line."""
    missing = re.search(r"No module named '([\w.]+)'", str(error))
    if missing is not None:
        return f"they lack {missing[1]}"
    return str(error).strip().partition("\n")[0][:300]
