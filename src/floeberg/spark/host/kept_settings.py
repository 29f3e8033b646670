"""Settings that an attached session keeps, whatever is set or reset: Spark reads them when a query runs, and a DataFrame that
was made before would return other rows."""

from __future__ import annotations

import logging
import re
from typing import Any, Final

from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.config import PREFIX
from floeberg.spark.host.session import AttachedSession, note_catalog_setting
from floeberg.spark.host.settings.held_settings import SESSION_MARK
from floeberg.spark.host.settings.session_settings import setting_of

REGISTERED: Final = "floeberg.source"
"""The setting that marks the source `iceberg` of a session as ours; it outlives detach, as the source does."""
_BY_FIELD_ID: Final = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
}
"""Without these, another column's values would come back, or nulls. They mean nothing to schemas without field ids."""
_MAY_CHANGE: Final = re.compile(r"\breset\b|\bset\b.*fieldid", re.IGNORECASE | re.DOTALL)

logger = logging.getLogger("floeberg")


def ensure_field_ids(spark: Any) -> None:
    """Makes Spark match Parquet columns by field id. Called for every frame, because a session that is not attached can
    change its settings at any time."""
    for key, value in _BY_FIELD_ID.items():
        if setting_of(spark, key, "false") != value:
            spark.conf.set(key, value)


def kept_value(conf: Any, key: str, given: object) -> str | None:
    """The value that a setting keeps in an attached session; None where the user chooses it."""
    kept = _BY_FIELD_ID.get(key)
    if kept is None or not original(conf, "get")(SESSION_MARK, None):
        return None
    if str(given).lower() != kept:
        logger.warning("%s stays %s: DataFrames of attached tables are read by it", key, kept)
    return kept


def note_set(conf: Any, key: str) -> None:
    """Called when a setting was set: one of a catalog opens the catalog at its session's next statement."""
    if key.startswith(PREFIX):
        name = key.removeprefix(PREFIX).partition(".")[0]
        note_catalog_setting(str(original(conf, "get")(SESSION_MARK, "")), name)


def may_change_settings(sql: str) -> bool:
    """Whether a statement of Spark's may set or reset what an attached session keeps."""
    return _MAY_CHANGE.search(sql) is not None


def keep_settings(session: AttachedSession) -> None:
    """Restores what RESET or SET removed: the session's mark, its source, and how Parquet is read."""
    conf = session.spark.conf
    if conf.get(SESSION_MARK, None) != session.state.key:
        conf.set(SESSION_MARK, session.state.key)
        if not session.state.java_runtime:
            conf.set(REGISTERED, "true")
        for key in session.state.settings_before:
            if conf.get(key, None) is not None:
                conf.unset(key)  # RESET restores the settings that the application was started with
    ensure_field_ids(session.spark)
