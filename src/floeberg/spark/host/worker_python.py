"""The Python that Spark's workers run, where nobody has chosen one."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

_ENVIRONMENT: Final = "PYSPARK_PYTHON"
_SETTING: Final = "spark.pyspark.python"
_UNCHOSEN: Final = "python3"
"""What PySpark takes where nothing is said: whatever the search path has under this name."""


def use_running_python(spark: Any) -> None:
    """Workers of a classic session with a local master run this interpreter, unless PYSPARK_PYTHON or spark.pyspark.python
    names another: `venv/bin/python job.py` has its packages there. The workers of a Connect server are chosen where the
    server starts, those of a cluster are on other machines; both stay as they are."""
    context = vars(spark).get("_sc")
    if context is None or not str(getattr(context, "master", "")).startswith("local"):
        return
    chosen = _ENVIRONMENT in os.environ or spark.conf.get(_SETTING, None) is not None
    if not chosen and context.pythonExec == _UNCHOSEN:
        context.pythonExec = sys.executable
