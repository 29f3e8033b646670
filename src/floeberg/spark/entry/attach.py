"""Attaches and detaches Spark sessions."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from floeberg.effects.protocols import Effects
from floeberg.errors import FloebergError, InvalidInput
from floeberg.spark.entry.patches import install, remove
from floeberg.spark.entry.source import register_source
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.calls.session_checks import check_session, is_stopped
from floeberg.spark.host.config import DEFAULT_CATALOG, JAVA_PACKAGE, PREFIX, open_from_settings, read_settings
from floeberg.spark.host.kept_settings import REGISTERED
from floeberg.spark.host.session import AttachedSession, close_state, forget_stopped, open_state, session_of
from floeberg.spark.host.session_state import AttachedCatalog
from floeberg.spark.host.worker_python import use_running_python
from floeberg.sql.text.names import SESSION_CATALOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHOSEN: Final = {"spark.sql.files.openCostInBytes": str(1 << 20)}
"""Settings that the user leaves to Spark. A task takes files of up to 128 MB, each counted as its size and this. Spark's own 4
MB make up to twice as many tasks of files of a few megabytes as the Java runtime makes, and the same groups and keys of many
tasks cost a shuffle more."""
logger = logging.getLogger("floeberg")
_NO_SOURCE: Final = ("DATA_SOURCE_NOT_FOUND", "Failed to find data source", "Failed to find the data source")


def attach(spark: SparkSession, given: dict[str, AttachedCatalog], *, effects: Effects) -> AttachedSession:
    """Makes the catalogs of the session's settings, and those given, known to `spark.sql` and the DataFrame API.

    Settings that name a Java catalog class are taken over, because Spark would fail to load it. With the Java runtime on
    the class path only the given catalogs are ours. Attaching again adds catalogs and keeps the rest.
    """
    check_session(spark)
    known = session_of(spark)
    _refuse_names(spark, known, given)
    use_running_python(spark)
    java_runtime = known.state.java_runtime if known else _has_java_runtime(spark)
    session = open_state(spark, str(effects.ids.uuid()))
    session.state.java_runtime = java_runtime
    session.state.attach_again = attach
    session.state.open_set = partial(_open_set, effects=effects)
    if not java_runtime:
        _take_settings(session, effects=effects)
    session.state.catalogs.update(given)
    for name in given:
        _take_over(session, PREFIX + name)
        session.state.from_settings.pop(name, None)
    _take_default_catalog(session)
    _choose_settings(session)
    install()
    if known is None and not java_runtime:
        register_source(spark)
        spark.conf.set(REGISTERED, "true")
    return session


def _refuse_names(spark: SparkSession, known: AttachedSession | None, given: dict[str, AttachedCatalog]) -> None:
    """Raises InvalidInput for a catalog under a name that another one has in this session."""
    for name, catalog in given.items():
        if name.lower() == SESSION_CATALOG:
            raise InvalidInput(
                f"{SESSION_CATALOG} is the name of Spark's own catalog, whose tables would be out of reach; give the catalog "
                f"another name, or set {PREFIX}{SESSION_CATALOG} to org.apache.iceberg.spark.SparkSessionCatalog, which keeps "
                "both"
            )
        other = None if known is None or name in known.state.from_settings else known.state.catalogs.get(name)
        if other is not None and repr(other.backend) != repr(catalog.backend):
            raise InvalidInput(
                f"catalog {name} is attached to this session already, as {other.backend!r}; give {catalog.backend!r} "
                "another name, or call floeberg.detach(spark) first"
            )
        java_class = str(spark.conf.get(PREFIX + name, ""))
        if java_class and not java_class.startswith((JAVA_PACKAGE, "floeberg")):
            raise InvalidInput(
                f"{name} is a catalog of Spark's own ({PREFIX}{name}={java_class}); give the attached catalog another name"
            )


def detach(spark: SparkSession) -> None:
    """Gives the session back to Spark, with the settings it had. A session that is not attached stays as it is."""
    if is_stopped(spark):
        if forget_stopped(spark):
            remove()
        return
    session = session_of(spark)
    if session is None:
        return
    for cached in session.state.cached.values():
        cached.frame.unpersist()
    for key, value in session.state.settings_before.items():
        spark.conf.set(key, value)
    for key, value in session.state.settings_chosen.items():
        if spark.conf.get(key, None) == value:
            spark.conf.unset(key)
    if close_state(session):
        remove()


def _take_settings(session: AttachedSession, *, effects: Effects) -> None:
    for name, settings in read_settings(_settings(session.spark)).items():
        if not settings.is_iceberg or session.state.from_settings.get(name) == dict(settings.options):
            continue
        session.state.catalogs[name] = open_from_settings(settings, effects=effects)
        session.state.from_settings[name] = dict(settings.options)
        _take_over(session, PREFIX + name)


def _open_set(session: AttachedSession, *, effects: Effects) -> None:
    """Opens the catalogs whose settings were set after the session was attached. One that cannot be opened is left to Spark:
    the statement need not be about it."""
    names, session.state.set_since = session.state.set_since - session.state.catalogs.keys(), set()
    if session.state.java_runtime:
        return
    for name, settings in read_settings(_settings(session.spark)).items():
        if name in names and settings.is_iceberg:
            try:
                session.state.catalogs[name] = open_from_settings(settings, effects=effects)
            except FloebergError as error:
                logger.warning("the settings %s%s.* open no catalog: %s", PREFIX, name, error)
                continue
            session.state.from_settings[name] = dict(settings.options)
            _take_over(session, PREFIX + name)
    _take_default_catalog(session)


def _take_over(session: AttachedSession, key: str) -> None:
    """Removes a setting that Spark could not act on, and keeps it for detach."""
    value = session.spark.conf.get(key, "")
    if value:
        session.state.settings_before.setdefault(key, value)
        session.spark.conf.unset(key)


def _choose_settings(session: AttachedSession) -> None:
    for key, value in _CHOSEN.items():
        if session.spark.conf.get(key, None) is None:
            session.spark.conf.set(key, value)
            session.state.settings_chosen[key] = value


def _take_default_catalog(session: AttachedSession) -> None:
    name = str(session.spark.conf.get(DEFAULT_CATALOG, SESSION_CATALOG))
    if name != SESSION_CATALOG and name in session.state.catalogs:
        _take_over(session, DEFAULT_CATALOG)
        session.use(name, ())
    elif SESSION_CATALOG in session.state.catalogs and not session.state.current_namespace:
        session.state.current_namespace = ("default",)


def _settings(spark: SparkSession) -> dict[str, str]:
    return {str(key): str(value) for key, value in spark.conf.getAll.items()}


def _has_java_runtime(spark: SparkSession) -> bool:
    """Whether Spark itself finds a source `iceberg`; checked only if the settings name the Java runtime."""
    settings = _settings(spark)
    if REGISTERED in settings:
        return False  # the source that Spark finds is ours, from an earlier attach
    if not any("org.apache.iceberg" in value or "iceberg-spark" in value for value in settings.values()):
        return False
    default = settings.get(DEFAULT_CATALOG)
    session_catalog = settings.get(PREFIX + SESSION_CATALOG)
    for key in (DEFAULT_CATALOG, PREFIX + SESSION_CATALOG):
        if key in settings:
            spark.conf.unset(key)
    try:
        reader = original(original(spark, "read"), "format")("iceberg")
        columns = original(reader, "load")("/nowhere/that/is/a/table").columns
    except Exception as error:
        return not any(word in str(error) for word in _NO_SOURCE)
    finally:
        for key, value in ((DEFAULT_CATALOG, default), (PREFIX + SESSION_CATALOG, session_catalog)):
            if value is not None:
                spark.conf.set(key, value)
    return columns is not None
