"""Pointer rows in a database: the tables of the Java JDBC catalog and of PyIceberg's SQL catalog, so that all three can
share one database. Schema V0 has no `iceberg_type` and so no views; V1 has both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.pointer_rows import TABLE, VIEW, PointerSwap
from floeberg.catalogs.sql_database import Database, Duplicate, open_database
from floeberg.catalogs.sql_schema import EXISTS, PROPERTIES, TABLES, SchemaVersion, check_length, prepare
from floeberg.catalogs.sql_uri import STRICT_MODE
from floeberg.errors import (
    CatalogError,
    InvalidInput,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)
from floeberg.storage.secret import Secret

_UPDATE_TRIES = 10


class _Moved(Exception):
    """A pointer is not the expected one."""


class SqlRows:
    """Rows in a database. Every change is one transaction."""

    def __init__(
        self, catalog: str, database: Database, version: SchemaVersion, *, namespaces_by_use: bool = True
    ) -> None:
        check_length(catalog, "catalog", "catalog_name", TABLES)
        self._catalog = catalog
        self._database = database
        self._version = version
        self.namespaces_by_use = namespaces_by_use

    @classmethod
    def connect(cls, name: str, *, uri: str | Secret, options: Mapping[str, str | Secret]) -> SqlRows:
        """Connects, and makes the tables where they are missing. Raises InvalidInput, UnsupportedFeature, CatalogError."""
        database = open_database(name, uri, options)
        is_strict = str(options.get(STRICT_MODE, "false")).lower() == "true"
        return cls(name, database, prepare(name, database, options), namespaces_by_use=not is_strict)

    def __repr__(self) -> str:
        return f"SqlRows({self._database!r}, {self._version})"

    def close(self) -> None:
        self._database.close()

    @property
    def keeps_views(self) -> bool:
        return self._version == "V1"

    def check_names(self, namespace: Namespace, name: str | None = None) -> None:
        for level in namespace:
            if "." in level:
                raise UnsupportedFeature(
                    f"catalog {self._catalog}: a SQL catalog cannot hold a dot in a namespace's name ({level!r}): it could "
                    "not be told from two levels"
                )
        check_length(".".join(namespace), "namespace", "table_namespace", TABLES)
        if name is not None:
            check_length(name, "name", "table_name", TABLES)

    # pointers

    def get(self, identifier: Identifier, kind: str) -> str | None:
        if kind == VIEW and not self.keeps_views:
            return None
        query = sa.select(TABLES.c.metadata_location).where(*self._key(identifier), *self._of_kind(kind))
        found: str | None = self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        return found

    def kind_of(self, identifier: Identifier) -> str | None:
        kind = TABLES.c.iceberg_type if self.keeps_views else sa.literal(TABLE)
        query = sa.select(kind).where(*self._key(identifier))
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return None if not rows else VIEW if rows[0][0] == VIEW else TABLE

    def insert(self, identifier: Identifier, kind: str, location: str) -> bool:
        statement = self._insert_statement(identifier, kind, location)
        try:
            self._database.change(lambda connection: connection.execute(statement))
        except Duplicate:
            return False
        return True

    def swap(self, identifier: Identifier, kind: str, *, expected: str, location: str) -> bool:
        statement = self._swap_statement(identifier, kind, expected, location)
        return self._database.change(lambda connection: connection.execute(statement).rowcount) == 1

    def swap_all(self, swaps: Sequence[PointerSwap]) -> bool:
        """One transaction. Rows are taken in the order of their names, so that two such changes cannot wait for each
        other."""
        statements = [
            self._insert_statement(one.identifier, TABLE, one.location)
            if one.expected is None
            else self._swap_statement(one.identifier, TABLE, one.expected, one.location)
            for one in sorted(swaps, key=lambda one: one.identifier)
        ]

        def work(connection: sa.Connection) -> None:
            for statement in statements:
                if connection.execute(statement).rowcount != 1:
                    raise _Moved  # leaves the transaction without COMMIT, so that it changes nothing

        try:
            self._database.change(work)
        except (_Moved, Duplicate):
            return False
        return True

    def delete(self, identifier: Identifier, kind: str, *, expected: str | None = None) -> bool:
        if kind == VIEW and not self.keeps_views:
            return False
        statement = TABLES.delete().where(*self._key(identifier), *self._of_kind(kind))
        if expected is not None:
            statement = statement.where(TABLES.c.metadata_location == expected)
        return self._database.change(lambda connection: connection.execute(statement).rowcount) == 1

    def rename(self, source: Identifier, target: Identifier, kind: str) -> None:
        statement = (
            TABLES.update()
            .where(*self._key(source), *self._of_kind(kind))
            .values(table_namespace=_text(target.namespace), table_name=target.name)
        )
        try:
            moved = self._database.change(lambda connection: connection.execute(statement).rowcount)
        except Duplicate as taken:
            already = ViewAlreadyExists if self.kind_of(target) == VIEW else TableAlreadyExists
            raise already(f"{self._catalog}.{target} is there already") from taken
        if moved != 1:
            missing = TableNotFound if kind == TABLE else ViewNotFound
            raise missing(f"{kind.lower()} {self._catalog}.{source} does not exist")

    def list(self, namespace: Namespace, kind: str) -> list[Identifier]:
        if kind == VIEW and not self.keeps_views:
            return []
        query = sa.select(TABLES.c.table_name).where(
            TABLES.c.catalog_name == self._catalog, TABLES.c.table_namespace == _text(namespace), *self._of_kind(kind)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [Identifier(namespace, name) for (name,) in rows]

    def any_below(self, location: str) -> bool:
        below = TABLES.c.metadata_location.startswith(f"{location}/", autoescape=True)
        query = sa.select(TABLES.c.metadata_location).where(below)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return any(found.startswith(f"{location}/") for (found,) in rows)  # LIKE may not tell upper from lower case

    # namespaces

    def namespaces(self) -> set[Namespace]:
        queries = (
            sa.select(TABLES.c.table_namespace).where(TABLES.c.catalog_name == self._catalog).distinct(),
            sa.select(PROPERTIES.c.namespace).where(PROPERTIES.c.catalog_name == self._catalog).distinct(),
        )
        rows = self._database.read(lambda connection: [row for query in queries for row in connection.execute(query)])
        return {tuple(text.split(".")) for (text,) in rows if text}

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        query = sa.select(PROPERTIES.c.property_key, PROPERTIES.c.property_value).where(*self._namespace_key(namespace))
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {key: value for key, value in rows if key != EXISTS}

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> bool:
        rows = [self._property(namespace, key, value) for key, value in {EXISTS: "true", **properties}.items()]
        try:
            self._database.change(lambda connection: connection.execute(PROPERTIES.insert(), rows))
        except Duplicate:
            return False
        return True

    def update_namespace(self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]) -> None:
        touched = [*set, *remove]
        rows = [self._property(namespace, key, value) for key, value in set.items()]
        old = PROPERTIES.delete().where(*self._namespace_key(namespace), PROPERTIES.c.property_key.in_(touched))

        def work(connection: sa.Connection) -> None:
            connection.execute(old)
            if rows:
                connection.execute(PROPERTIES.insert(), rows)

        if not touched:
            return None
        for _ in range(_UPDATE_TRIES):
            try:
                return self._database.change(work)
            except Duplicate:
                continue  # another process set the same property at the same moment: set it again
        raise CatalogError(
            f"namespace {self._catalog}.{_text(namespace)}: others change its properties all the time; try again"
        )

    def drop_namespace(self, namespace: Namespace) -> None:
        statement = PROPERTIES.delete().where(*self._namespace_key(namespace))
        self._database.change(lambda connection: connection.execute(statement))

    # parts of statements

    def _insert_statement(self, identifier: Identifier, kind: str, location: str) -> sa.Insert:
        check_length(location, "metadata location", "metadata_location", TABLES)
        row = {**self._key_values(identifier), "metadata_location": location, "previous_metadata_location": None}
        if self.keeps_views:
            row["iceberg_type"] = kind
        return TABLES.insert().values(row)

    def _swap_statement(self, identifier: Identifier, kind: str, expected: str, location: str) -> sa.Update:
        check_length(location, "metadata location", "metadata_location", TABLES)
        previous = {} if location == expected else {"previous_metadata_location": expected}
        return (
            TABLES.update()
            .where(*self._key(identifier), *self._of_kind(kind), TABLES.c.metadata_location == expected)
            .values(metadata_location=location, **previous)
        )

    def _key(self, identifier: Identifier) -> tuple[sa.ColumnElement[bool], ...]:
        return tuple(TABLES.c[name] == value for name, value in self._key_values(identifier).items())

    def _key_values(self, identifier: Identifier) -> dict[str, str | None]:
        return {
            "catalog_name": self._catalog,
            "table_namespace": _text(identifier.namespace),
            "table_name": identifier.name,
        }

    def _of_kind(self, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
        if not self.keeps_views:
            return ()
        column = TABLES.c.iceberg_type
        return (column == VIEW,) if kind == VIEW else (sa.or_(column == TABLE, column.is_(None)),)

    def _namespace_key(self, namespace: Namespace) -> tuple[sa.ColumnElement[bool], ...]:
        return (PROPERTIES.c.catalog_name == self._catalog, PROPERTIES.c.namespace == _text(namespace))

    def _property(self, namespace: Namespace, key: str, value: str) -> dict[str, str]:
        if "\0" in key + value:
            raise InvalidInput(f"namespace property {key!r}: a text with a NUL character cannot be stored")
        check_length(key, "property name", "property_key", PROPERTIES)
        check_length(value, f"value of property {key!r}", "property_value", PROPERTIES)
        return {
            "catalog_name": self._catalog,
            "namespace": _text(namespace),
            "property_key": key,
            "property_value": value,
        }


def _text(namespace: Namespace) -> str:
    return ".".join(namespace)
