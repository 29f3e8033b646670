"""The active session of a thread. Spark resolves names, and reads texts of Columns, under the settings of the active session,
which need not be the one that a DataFrame belongs to.

Spark makes a session active while it runs a statement of its own. So do the statements, reads and writes here, and they leave
the active session as it was: PySpark's `createDataFrame`, by which rows of this process become a DataFrame, does not.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, ParamSpec, TypeVar

from pyspark.sql import SparkSession

from floeberg.spark.host.calls.gateway import is_classic, tools
from floeberg.spark.host.calls.session_checks import session_behind

_P = ParamSpec("_P")
_R = TypeVar("_R")
_entered: Final = threading.local()
"""`session`: the one that this module made the active one of the thread, or found to be."""


@contextmanager
def active_session(spark: Any) -> Iterator[None]:
    """Makes a classic session the active one of this thread. Spark Connect has no JVM here that could have another."""
    outer = getattr(_entered, "session", None)
    if outer is spark or not is_classic(spark):
        yield
        return
    sessions = tools(spark).sessions
    before, held = sessions.getActiveSession(), SparkSession._activeSession
    is_active = before.contains(spark._jsparkSession)
    if not is_active:
        sessions.setActiveSession(spark._jsparkSession)
    _entered.session = spark
    try:
        yield
    finally:
        _entered.session = outer
        if not is_active:
            SparkSession._activeSession = held
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()


def in_own_session(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function with the session of its first argument (a session, or what belongs to one) as the active one."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        first: Any = args[0]
        spark = session_behind(first)
        with active_session(first.spark if spark is None else spark):
            return function(*args, **kwargs)

    return call
