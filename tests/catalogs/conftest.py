from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from lakes.catalogs_lake import KINDS, Lake, make_lake
from servers.postgres_server import running_postgres
from servers.s3_server import S3Server, running_s3_server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with running_s3_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    with running_postgres() as uri:
        yield uri


@pytest.fixture
def fresh_postgres(postgres_uri: str) -> str:
    """The address of a database of its own."""
    name = f"lake_{next(_numbers)}"
    url = sa.make_url(postgres_uri).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return sa.make_url(postgres_uri).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """A catalog with the namespace `db`."""
    made = make_lake(request.param, request, tmp_path)
    made.catalog.create_namespace("db")
    return made


@pytest.fixture(params=[kind for kind in KINDS if "filesystem" in str(kind)])
def filesystem(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """A filesystem catalog with the namespace `db`."""
    made = make_lake(request.param, request, tmp_path)
    made.catalog.create_namespace("db")
    return made


@pytest.fixture(params=[kind for kind in KINDS if "filesystem" not in str(kind)])
def pointed(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """A SQL or in-memory catalog with the namespace `db`."""
    made = make_lake(request.param, request, tmp_path)
    made.catalog.create_namespace("db")
    return made
