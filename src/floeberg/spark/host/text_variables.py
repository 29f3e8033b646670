"""The variables in the text of a statement, as Spark would replace them: what is read here is what Spark parses."""

from __future__ import annotations

from typing import Final

from floeberg.errors import UnsupportedFeature
from floeberg.spark.host.calls.gateway import is_classic
from floeberg.spark.host.session import AttachedSession
from floeberg.sql.text.variables import may_have_variables, variables, with_variables

_SUBSTITUTE: Final = "spark.sql.variable.substitute"
_OF_SETTINGS: Final = (None, "spark", "sparkconf", "hivevar", "hiveconf")
_OF_PROCESS: Final = ("env", "system")
"""What the process of a classic session knows, or the server over Connect."""


def as_spark_reads(session: AttachedSession, sql: str, *, is_template: bool) -> str:
    """The text with the values of its variables. Over Connect those of the server's process stay."""
    if not may_have_variables(sql) or session.setting(_SUBSTITUTE, "true") != "true":
        return sql

    def value_of(prefix: str | None, name: str) -> str | None:
        if prefix in _OF_SETTINGS:
            return str(session.spark.conf.get(name, ""))
        if prefix not in _OF_PROCESS or not is_classic(session.spark):
            return None
        system = session.spark._jvm.java.lang.System
        found = system.getenv(name) if prefix == "env" else system.getProperty(name)
        return None if found is None else str(found)

    return with_variables(sql, value_of, is_template=is_template)


def refuse_unknown_variables(session: AttachedSession, sql: str) -> None:
    """Raises UnsupportedFeature for a variable of the server's process in a statement of ours, which is read here."""
    if not may_have_variables(sql) or is_classic(session.spark) or session.setting(_SUBSTITUTE, "true") != "true":
        return
    for prefix, name in variables(sql):
        if prefix in _OF_PROCESS:
            raise UnsupportedFeature(
                f"${{{prefix}:{name}}} is known to the Spark Connect server alone; write its value, or set {_SUBSTITUTE} to "
                "false"
            )
