"""Database addresses: SQLAlchemy's form, or the JDBC form that the Java catalog is configured with."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.storage.secret import Secret, redact

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}


def database_url(name: str, uri: str | Secret, options: Mapping[str, str | Secret]) -> sa.URL:
    """The URL to connect to. `jdbc.user` and `jdbc.password` fill in what the address leaves out. Raises InvalidInput, and
    UnsupportedFeature for a database that is neither SQLite nor PostgreSQL."""
    text = uri.reveal() if isinstance(uri, Secret) else uri
    try:
        url = _from_jdbc(text) if text.startswith("jdbc:") else sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:
        raise InvalidInput(f"catalog {name}: {redact(text)!r} is no database address") from error
    driver = _DRIVERS.get(url.get_backend_name())
    if driver is None:
        raise UnsupportedFeature(
            f"catalog {name}: databases of kind {url.get_backend_name()!r} are not supported; SQLite and PostgreSQL are"
        )
    if "+" not in url.drivername:
        url = url.set(drivername=driver)
    user, password = options.get("jdbc.user"), options.get("jdbc.password")
    if user is not None:
        url = url.set(username=_revealed(user))
    if password is not None:
        url = url.set(password=_revealed(password))
    return url


def _revealed(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _from_jdbc(text: str) -> sa.URL:
    rest = text.removeprefix("jdbc:")
    if rest.startswith("sqlite:"):
        path = rest.removeprefix("sqlite:").removeprefix("file:").partition("?")[0]
        return sa.URL.create("sqlite", database=path or ":memory:")
    url = sa.make_url(rest)
    query = dict(url.query)
    user, password = query.pop("user", None), query.pop("password", None)
    url = url.set(query=query)
    if isinstance(user, str):
        url = url.set(username=user)
    return url.set(password=password) if isinstance(password, str) else url
