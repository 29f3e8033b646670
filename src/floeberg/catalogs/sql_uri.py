"""Database addresses: SQLAlchemy's form, or the JDBC form that the Java catalog is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.storage.secret import MASK, Secret, is_secret_name, redact

STRICT_MODE: Final = "jdbc.strict-mode"
KNOWN_OPTIONS: Final = frozenset(
    {"jdbc.user", "jdbc.password", "jdbc.schema-version", "jdbc.init-catalog-tables", STRICT_MODE}
)
_DRIVERS: Final = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_JDBC_PARAMETERS: Final = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout"}


def database_url(name: str, uri: str | Secret, options: Mapping[str, str | Secret]) -> sa.URL:
    """The URL to connect to. `jdbc.user` and `jdbc.password` win over what the address says. Raises InvalidInput, and
    UnsupportedFeature for a database that is neither SQLite nor PostgreSQL or an option that is not known."""
    for option in options:
        if option not in KNOWN_OPTIONS:
            raise UnsupportedFeature(
                f"catalog {name}: the option {option!r} is not supported; known are {', '.join(sorted(KNOWN_OPTIONS))}",
                option=option,
            )
    text = _revealed(uri)
    try:
        url = _from_jdbc(text) if text.startswith("jdbc:") else sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        # Not shown: where it cannot be taken apart, a password in it cannot be masked.
        raise InvalidInput(
            f"catalog {name}: the uri is no database address; write sqlite:///path, postgresql://user@host/database, or the "
            "JDBC form of either"
        ) from None
    driver = _DRIVERS.get(url.drivername.partition("+")[0])
    if driver is None:
        raise UnsupportedFeature(
            f"catalog {name}: databases of kind {url.drivername.partition('+')[0]!r} are not supported; SQLite and "
            "PostgreSQL are"
        )
    if "+" not in url.drivername:
        url = url.set(drivername=driver)
    url = _with_login(url)
    user, password = options.get("jdbc.user"), options.get("jdbc.password")
    if user is not None:
        url = url.set(username=_revealed(user))
    return url if password is None else url.set(password=_revealed(password))


def shown_url(url: sa.URL) -> str:
    """The address as it may be shown: without password, and without what in its parameters may be one."""
    masked = {key: MASK if is_secret_name(key) else value for key, value in url.query.items()}
    return redact(url.set(query=masked).render_as_string(hide_password=True))


def _revealed(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _with_login(url: sa.URL) -> sa.URL:
    """User and password from the parameters, where a driver's own texts would show them, to where they are masked."""
    query = dict(url.query)
    user, password = query.pop("user", None), query.pop("password", None)
    url = url.set(query=query)
    if isinstance(user, str):
        url = url.set(username=user)
    return url.set(password=password) if isinstance(password, str) else url


def _from_jdbc(text: str) -> sa.URL:
    rest = text.removeprefix("jdbc:")
    if rest.startswith("sqlite:"):
        path = rest.removeprefix("sqlite:").removeprefix("file:").partition("?")[0]
        return sa.URL.create("sqlite", database=path or ":memory:")
    url = sa.make_url(rest)
    query = {_JDBC_PARAMETERS.get(key, key): value for key, value in url.query.items()}
    if (schema := query.pop("currentSchema", None)) is not None:
        query["options"] = f"-csearch_path={schema}"
    if query.pop("ssl", "false") == "true":
        query.setdefault("sslmode", "require")
    return url.set(query=query)
