"""A database connection of a SQL catalog: reads, and changes with a known outcome."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from floeberg.catalogs.sql_uri import database_url, shown_url
from floeberg.errors import CatalogError, Throttled, Unavailable, UnsupportedFeature, WriteRefused
from floeberg.storage.secret import Secret, redact

T = TypeVar("T")

LOCK_TIMEOUT_S: Final = 60
CONNECT_TIMEOUT_S: Final = 15
_CHANGING: Final = "floeberg_changing"
_SQLITE_FINAL: Final = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL})
_SQLSTATES_FINAL: Final = frozenset({"25006", "53100", "42501"})
"""A read-only transaction, a full disk, a missing right."""


class Duplicate(Exception):
    """A row of that key is there."""


class Database:
    """Runs work in transactions and reports the outcome. Its texts hold no password."""

    def __init__(self, catalog: str, engine: sa.Engine) -> None:
        self._catalog = catalog
        self._engine = engine
        password = engine.url.password
        self._secrets = () if password is None else (Secret(str(password)),)

    def __repr__(self) -> str:
        return shown_url(self._engine.url)

    def close(self) -> None:
        self._engine.dispose()

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """What `work` reads. Raises Unavailable."""
        try:
            with self._engine.connect() as connection:
                return work(connection)
        except sa.exc.DBAPIError as error:
            raise Unavailable(f"catalog {self._catalog}: the database did not answer: {self._said(error)}") from None
        except sa.exc.TimeoutError:
            raise Unavailable(f"catalog {self._catalog}: no connection to the database became free") from None

    def change(self, work: Callable[[sa.Connection], T]) -> T:
        """Does `work` in one transaction. Raises Throttled when it is proved that nothing was changed, WriteRefused when trying
        again is no use either, Unavailable when it is not known (the answer to COMMIT was lost), and Duplicate when a row of
        that key is there."""
        try:
            connection = self._engine.connect().execution_options(**{_CHANGING: True})
        except sa.exc.DBAPIError as error:
            raise Throttled(f"catalog {self._catalog}: the database did not answer: {self._said(error)}") from None
        except sa.exc.TimeoutError:
            raise Throttled(f"catalog {self._catalog}: no connection to the database became free") from None
        with connection:
            try:
                result = work(connection)
            except sa.exc.IntegrityError as error:
                self._roll_back(connection)
                raise Duplicate(self._said(error)) from None
            except sa.exc.DBAPIError as error:
                self._roll_back(connection)
                refusal = WriteRefused if _is_final(error) else Throttled
                raise refusal(f"catalog {self._catalog}: the database refused: {self._said(error)}") from None
            try:
                connection.commit()
            except sa.exc.DBAPIError as error:
                if _is_final(error):
                    self._roll_back(connection)
                    raise WriteRefused(f"catalog {self._catalog}: the database refused: {self._said(error)}") from None
                raise Unavailable(
                    f"catalog {self._catalog}: the answer to COMMIT was lost: {self._said(error)}"
                ) from None
            return result

    def _roll_back(self, connection: sa.Connection) -> None:
        """Without COMMIT nothing takes effect, whatever becomes of ROLLBACK."""
        try:
            connection.rollback()
        except sa.exc.DBAPIError:
            connection.invalidate()

    def _said(self, error: sa.exc.DBAPIError) -> str:
        return redact(" ".join(str(error.orig).split()), self._secrets)


def _is_final(error: sa.exc.DBAPIError) -> bool:
    """Whether the database says that it cannot write at all: read-only, full, or not allowed."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code & 0xFF in _SQLITE_FINAL
    return getattr(error.orig, "sqlstate", None) in _SQLSTATES_FINAL


def open_database(catalog: str, uri: str | Secret, options: Mapping[str, str | Secret]) -> Database:
    """The database at an address. Nothing is connected yet. Raises InvalidInput, UnsupportedFeature, CatalogError."""
    url = database_url(catalog, uri, options)
    arguments: dict[str, Any] = {"hide_parameters": True}  # values would show up in logs and errors
    if url.get_backend_name() == "sqlite":
        arguments["connect_args"] = {"timeout": LOCK_TIMEOUT_S, "check_same_thread": False}
        if url.database in (None, "", ":memory:"):
            # One database, not one a thread; callers take turns.
            arguments |= {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
    else:
        arguments["pool_pre_ping"] = True
        if url.get_driver_name() == "psycopg" and "connect_timeout" not in url.query:
            arguments["connect_args"] = {"connect_timeout": CONNECT_TIMEOUT_S}
    try:
        engine = sa.create_engine(url, **arguments)
    except ModuleNotFoundError as error:
        raise UnsupportedFeature(
            f"catalog {catalog}: {url.get_backend_name()} needs the Python package {error.name}: pip install "
            f"'{error.name}'"
        ) from None
    except sa.exc.ArgumentError as error:
        raise CatalogError(f"catalog {catalog}: {redact(str(error))}", catalog=catalog) from None
    if url.get_backend_name() == "sqlite":
        _own_transactions(engine)
    return Database(catalog, engine)


def _own_transactions(engine: sa.Engine) -> None:
    """SQLite takes the write lock when a change begins, not at its first write: two writers then wait for each other
    instead of failing half-way. Reads take no lock that keeps others out."""

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, record: object) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        is_change = connection.get_execution_options().get(_CHANGING, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_change else "BEGIN")
