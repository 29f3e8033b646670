"""Subqueries in expressions that are given as text: those that read what is ours."""

from __future__ import annotations

import re
from typing import Any, Final

from floeberg.errors import InvalidInput
from floeberg.spark.entry.statement import run_sql
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.session import AttachedSession, attached_sessions
from floeberg.spark.host.views import marked
from floeberg.sql.queries.references import TableReference, find_references
from floeberg.sql.text.names import GLOBAL_VIEWS, quoted

_SUBQUERY: Final = re.compile(r"\b(?:SELECT|FROM|TABLE)\b", re.IGNORECASE)


def reads_ours(session: AttachedSession, expression: Any) -> bool:
    """Whether an expression has a subquery over tables or views of ours."""
    return bool(_read(session, expression))


def _read(session: AttachedSession, expression: Any) -> list[TableReference]:
    if not isinstance(expression, str) or _SUBQUERY.search(expression) is None:
        return []
    names = session.names()
    if not names.may_mention(expression):
        return []
    try:
        return list(find_references(f"SELECT 1 WHERE {expression}", names).tables)
    except InvalidInput:
        return []  # Spark says what is wrong with it


def refresh_views(expression: str) -> None:
    """Gives Spark the rows that the temporary views over our tables have now, where a subquery reads them: the text becomes a
    Column, which belongs to no session, so that Spark itself looks the views up."""
    if _SUBQUERY.search(expression) is None:
        return
    for session in attached_sessions():
        keys = {".".join(one.identifier.path) for one in _read(session, expression) if not one.identifier.catalog}
        for key in keys:
            shared = key.startswith(f"{GLOBAL_VIEWS}.")
            name = key.removeprefix(f"{GLOBAL_VIEWS}.")
            rows = run_sql(session, f"SELECT * FROM {quoted((GLOBAL_VIEWS, name) if shared else (name,))}")
            method = "createOrReplaceGlobalTempView" if shared else "createOrReplaceTempView"
            original(marked(rows, session.views[key].mark), method)(name)
