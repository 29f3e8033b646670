"""Pointer rows in a database: the tables of the Java JDBC catalog and of PyIceberg's SQL catalog, so that all three can
share one database. Schema V0 has no `iceberg_type` and so no views; V1 has both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

import sqlalchemy as sa

from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.pointed import TABLE, VIEW
from floeberg.catalogs.sql_uri import database_url
from floeberg.effects.protocols import Effects
from floeberg.errors import (
    CatalogError,
    InvalidInput,
    TableAlreadyExists,
    TableNotFound,
    Throttled,
    Unavailable,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)
from floeberg.storage.secret import Secret, redact

T = TypeVar("T")

EXISTS: Final = "exists"
"""The property that both other catalogs write to make a namespace be there."""
LOCK_TIMEOUT_S: Final = 60

_METADATA = sa.MetaData()
_TABLES = sa.Table(
    "iceberg_tables",
    _METADATA,
    sa.Column("catalog_name", sa.String(255), primary_key=True),
    sa.Column("table_namespace", sa.String(255), primary_key=True),
    sa.Column("table_name", sa.String(255), primary_key=True),
    sa.Column("metadata_location", sa.String(1000)),
    sa.Column("previous_metadata_location", sa.String(1000)),
    sa.Column("iceberg_type", sa.String(5)),
)
_PROPERTIES = sa.Table(
    "iceberg_namespace_properties",
    _METADATA,
    sa.Column("catalog_name", sa.String(255), primary_key=True),
    sa.Column("namespace", sa.String(255), primary_key=True),
    sa.Column("property_key", sa.String(255), primary_key=True),
    sa.Column("property_value", sa.String(1000)),
)


class SqlRows:
    """Rows in a database. Every change is one transaction."""

    def __init__(self, catalog_name: str, engine: sa.Engine, *, schema_version: str | None = None) -> None:
        self._catalog = catalog_name
        self._engine = engine
        self._has_type = self._prepare(schema_version)

    @classmethod
    def connect(cls, name: str, *, uri: str | Secret, options: Mapping[str, str | Secret], effects: Effects) -> SqlRows:
        """Connects, and makes the tables where they are missing. Raises InvalidInput, CatalogError."""
        url = database_url(name, uri, options)
        version = options.get("jdbc.schema-version")
        engine = sa.create_engine(
            url, connect_args=_connect_args(url), pool_pre_ping=url.get_backend_name() != "sqlite"
        )
        if url.get_backend_name() == "sqlite":
            _begin_immediately(engine)
        return cls(name, engine, schema_version=None if version is None else str(version).upper())

    def __repr__(self) -> str:
        return f"SqlRows({self._engine.url.render_as_string(hide_password=True)})"

    def close(self) -> None:
        self._engine.dispose()

    def _prepare(self, wanted: str | None) -> bool:
        """Makes the tables; whether they can tell tables from views (V1). Tables that others made are left as they are,
        unless V1 is asked for."""
        if wanted not in (None, "V0", "V1"):
            raise InvalidInput(f"catalog {self._catalog}: jdbc.schema-version must be V0 or V1, not {wanted!r}")

        def work(connection: sa.Connection) -> bool:
            inspector = sa.inspect(connection)
            if not inspector.has_table(_TABLES.name):
                columns = [c for c in _TABLES.columns if wanted != "V0" or c.name != "iceberg_type"]
                copies = (sa.Column(c.name, c.type, primary_key=c.primary_key) for c in columns)
                made = sa.Table(_TABLES.name, sa.MetaData(), *copies)
                made.create(connection, checkfirst=True)
            _PROPERTIES.create(connection, checkfirst=True)
            has_type = any(c["name"] == "iceberg_type" for c in sa.inspect(connection).get_columns(_TABLES.name))
            if not has_type and wanted == "V1":
                connection.execute(sa.text(f"ALTER TABLE {_TABLES.name} ADD COLUMN iceberg_type VARCHAR(5)"))
                has_type = True
            return has_type

        try:
            return self._change(work)
        except (Throttled, Unavailable) as error:
            # Two processes may make the tables at once; the loser finds them there.
            return self._change(work) if "exist" in str(error).lower() else self._failed(error)

    def _failed(self, error: Exception) -> bool:
        raise CatalogError(
            f"catalog {self._catalog}: the database cannot be used: {error}", catalog=self._catalog
        ) from error

    # pointers

    def get(self, identifier: Identifier, kind: str) -> str | None:
        if kind == VIEW and not self._has_type:
            return None
        query = sa.select(_TABLES.c.metadata_location).where(*self._key(identifier), *self._of_kind(kind))
        found: str | None = self._read(lambda connection: connection.execute(query).scalar_one_or_none())
        return found

    def kind_of(self, identifier: Identifier) -> str | None:
        kind = _TABLES.c.iceberg_type if self._has_type else sa.literal(TABLE)
        rows = self._read(lambda connection: connection.execute(sa.select(kind).where(*self._key(identifier))).all())
        return None if not rows else VIEW if rows[0][0] == VIEW else TABLE

    def insert(self, identifier: Identifier, kind: str, location: str) -> bool:
        self._require_views(kind)
        row = {**self._key_values(identifier), "metadata_location": location, "previous_metadata_location": None}
        if self._has_type:
            row["iceberg_type"] = kind
        try:
            self._change(lambda connection: connection.execute(_TABLES.insert().values(row)))
        except _Duplicate:
            return False
        return True

    def swap(self, identifier: Identifier, kind: str, *, expected: str, location: str) -> bool:
        statement = (
            _TABLES.update()
            .where(*self._key(identifier), *self._of_kind(kind), _TABLES.c.metadata_location == expected)
            .values(metadata_location=location, previous_metadata_location=expected)
        )
        return self._change(lambda connection: connection.execute(statement).rowcount) == 1

    def delete(self, identifier: Identifier, kind: str) -> bool:
        if kind == VIEW and not self._has_type:
            return False
        statement = _TABLES.delete().where(*self._key(identifier), *self._of_kind(kind))
        return self._change(lambda connection: connection.execute(statement).rowcount) == 1

    def rename(self, source: Identifier, target: Identifier, kind: str) -> None:
        self._require_views(kind)
        statement = (
            _TABLES.update()
            .where(*self._key(source), *self._of_kind(kind))
            .values(table_namespace=_text(target.namespace), table_name=target.name)
        )
        try:
            moved = self._change(lambda connection: connection.execute(statement).rowcount)
        except _Duplicate as taken:
            already = ViewAlreadyExists if self.kind_of(target) == VIEW else TableAlreadyExists
            raise already(f"{self._catalog}.{target} is there already") from taken
        if moved != 1:
            missing = TableNotFound if kind == TABLE else ViewNotFound
            raise missing(f"{kind.lower()} {self._catalog}.{source} does not exist")

    def list(self, namespace: Namespace, kind: str) -> list[Identifier]:
        if kind == VIEW and not self._has_type:
            return []
        query = sa.select(_TABLES.c.table_name).where(
            _TABLES.c.catalog_name == self._catalog, _TABLES.c.table_namespace == _text(namespace), *self._of_kind(kind)
        )
        return [
            Identifier(namespace, name) for (name,) in self._read(lambda connection: connection.execute(query).all())
        ]

    # namespaces

    def namespaces(self) -> set[Namespace]:
        queries = (
            sa.select(_TABLES.c.table_namespace).where(_TABLES.c.catalog_name == self._catalog).distinct(),
            sa.select(_PROPERTIES.c.namespace).where(_PROPERTIES.c.catalog_name == self._catalog).distinct(),
        )
        rows = self._read(lambda connection: [row for query in queries for row in connection.execute(query)])
        return {tuple(text.split(".")) for (text,) in rows if text}

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        query = sa.select(_PROPERTIES.c.property_key, _PROPERTIES.c.property_value).where(
            *self._namespace_key(namespace)
        )
        rows = self._read(lambda connection: connection.execute(query).all())
        return {key: value for key, value in rows if key != EXISTS}

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> bool:
        rows = [self._property(namespace, key, value) for key, value in {EXISTS: "true", **properties}.items()]
        try:
            self._change(lambda connection: connection.execute(_PROPERTIES.insert(), rows))
        except _Duplicate:
            return False
        return True

    def update_namespace(self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]) -> None:
        touched = [*set, *remove]
        rows = [self._property(namespace, key, value) for key, value in set.items()]

        def work(connection: sa.Connection) -> None:
            connection.execute(
                _PROPERTIES.delete().where(*self._namespace_key(namespace), _PROPERTIES.c.property_key.in_(touched))
            )
            if rows:
                connection.execute(_PROPERTIES.insert(), rows)

        if touched:
            self._change(work)

    def drop_namespace(self, namespace: Namespace) -> None:
        statement = _PROPERTIES.delete().where(*self._namespace_key(namespace))
        self._change(lambda connection: connection.execute(statement))

    # statements

    def _key(self, identifier: Identifier) -> tuple[sa.ColumnElement[bool], ...]:
        return tuple(_TABLES.c[name] == value for name, value in self._key_values(identifier).items())

    def _key_values(self, identifier: Identifier) -> dict[str, str | None]:
        return {
            "catalog_name": self._catalog,
            "table_namespace": _text(identifier.namespace),
            "table_name": identifier.name,
        }

    def _of_kind(self, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
        if not self._has_type:
            return ()
        column = _TABLES.c.iceberg_type
        return (column == VIEW,) if kind == VIEW else (sa.or_(column == TABLE, column.is_(None)),)

    def _namespace_key(self, namespace: Namespace) -> tuple[sa.ColumnElement[bool], ...]:
        return (_PROPERTIES.c.catalog_name == self._catalog, _PROPERTIES.c.namespace == _text(namespace))

    def _property(self, namespace: Namespace, key: str, value: str) -> dict[str, str]:
        return {
            "catalog_name": self._catalog,
            "namespace": _text(namespace),
            "property_key": key,
            "property_value": value,
        }

    def _require_views(self, kind: str) -> None:
        if kind == VIEW and not self._has_type:
            raise UnsupportedFeature(
                f"catalog {self._catalog}: its database has schema V0, which keeps no views; open it with "
                "jdbc.schema-version=V1 to upgrade it",
                catalog=self._catalog,
            )

    def _read(self, work: Callable[[sa.Connection], T]) -> T:
        try:
            with self._engine.connect() as connection:
                return work(connection)
        except sa.exc.DBAPIError as error:
            raise Unavailable(f"catalog {self._catalog}: the database did not answer: {_told(error)}") from error

    def _change(self, work: Callable[[sa.Connection], T]) -> T:
        """One transaction. Raises Throttled when it is proved that nothing was changed, Unavailable when that is not known
        (the answer to COMMIT was lost), and _Duplicate when a row of that key is there."""
        try:
            connection = self._engine.connect()
        except sa.exc.DBAPIError as error:
            raise Throttled(f"catalog {self._catalog}: the database did not answer: {_told(error)}") from error
        with connection:
            try:
                result = work(connection)
            except sa.exc.IntegrityError as error:
                connection.rollback()
                raise _Duplicate from error
            except sa.exc.DBAPIError as error:
                connection.rollback()
                raise Throttled(f"catalog {self._catalog}: the database refused: {_told(error)}") from error
            try:
                connection.commit()
            except sa.exc.DBAPIError as error:
                raise Unavailable(f"catalog {self._catalog}: the answer to COMMIT was lost: {_told(error)}") from error
            return result


class _Duplicate(Exception):
    """A row of that key is there."""


def _text(namespace: Namespace) -> str:
    """As the other catalogs write it; a level with a dot of its own could not be told apart."""
    for level in namespace:
        if "." in level:
            raise UnsupportedFeature(
                f"namespace level {level!r}: a SQL catalog cannot hold a dot in a namespace's name"
            )
    return ".".join(namespace)


def _told(error: sa.exc.DBAPIError) -> str:
    return redact(str(error.orig))


def _connect_args(url: sa.URL) -> dict[str, object]:
    return {"timeout": LOCK_TIMEOUT_S} if url.get_backend_name() == "sqlite" else {}


def _begin_immediately(engine: sa.Engine) -> None:
    """SQLite takes the write lock when a transaction begins, not at its first write: two writers then wait for each other
    instead of failing half-way."""

    @sa.event.listens_for(engine, "connect")
    def _own_transactions(connection: object, record: object) -> None:
        connection.isolation_level = None  # type: ignore[attr-defined]

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
