"""The two tables of a SQL catalog, as the Java JDBC catalog and PyIceberg make them, and making or upgrading them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import sqlalchemy as sa

from floeberg.catalogs.sql_database import Database, Duplicate
from floeberg.errors import CatalogError, InvalidInput, Throttled, UnsupportedFeature, WriteRefused
from floeberg.storage.secret import Secret

SchemaVersion = Literal["V0", "V1"]
VERSION_OPTION: Final = "jdbc.schema-version"
INIT_OPTION: Final = "jdbc.init-catalog-tables"
EXISTS: Final = "exists"
"""The property that both other catalogs write to make a namespace be there."""

_METADATA = sa.MetaData()
TABLES = sa.Table(
    "iceberg_tables",
    _METADATA,
    sa.Column("catalog_name", sa.String(255), primary_key=True),
    sa.Column("table_namespace", sa.String(255), primary_key=True),
    sa.Column("table_name", sa.String(255), primary_key=True),
    sa.Column("metadata_location", sa.String(1000)),
    sa.Column("previous_metadata_location", sa.String(1000)),
    sa.Column("iceberg_type", sa.String(5)),
)
PROPERTIES = sa.Table(
    "iceberg_namespace_properties",
    _METADATA,
    sa.Column("catalog_name", sa.String(255), primary_key=True),
    sa.Column("namespace", sa.String(255), primary_key=True),
    sa.Column("property_key", sa.String(255), primary_key=True),
    sa.Column("property_value", sa.String(1000)),
)


def prepare(catalog: str, database: Database, options: Mapping[str, str | Secret]) -> SchemaVersion:
    """The version of the schema, after making the tables where they are missing. Tables that others made are left as they
    are, unless V1 is asked for. Raises InvalidInput, CatalogError."""
    wanted = str(options.get(VERSION_OPTION, "")).upper()
    if wanted not in ("", "V0", "V1"):
        raise InvalidInput(f"catalog {catalog}: {VERSION_OPTION} must be V0 or V1, not {wanted!r}")
    found = database.read(_version_found)
    if found == "V1" or (found == "V0" and wanted != "V1"):
        return found
    if found is None and str(options.get(INIT_OPTION, "true")).lower() == "false":
        raise CatalogError(
            f"catalog {catalog}: the database has no catalog tables, and {INIT_OPTION} is false", catalog=catalog
        )
    try:
        database.change(lambda connection: _make(connection, wanted))
    except (Throttled, WriteRefused, Duplicate) as error:
        made = database.read(_version_found)  # two processes may make the tables at once; the loser finds them there
        if made is None or (wanted == "V1" and made == "V0"):
            raise CatalogError(
                f"catalog {catalog}: its tables could not be made in the database: {error}", catalog=catalog
            ) from error
    return database.read(_version_found) or "V0"


def _version_found(connection: sa.Connection) -> SchemaVersion | None:
    inspector = sa.inspect(connection)
    if not inspector.has_table(TABLES.name) or not inspector.has_table(PROPERTIES.name):
        return None
    return "V1" if any(c["name"] == "iceberg_type" for c in inspector.get_columns(TABLES.name)) else "V0"


def _make(connection: sa.Connection, wanted: str) -> None:
    inspector = sa.inspect(connection)
    if not inspector.has_table(TABLES.name):
        columns = [c for c in TABLES.columns if wanted != "V0" or c.name != "iceberg_type"]
        copies = (sa.Column(c.name, c.type, primary_key=c.primary_key) for c in columns)
        sa.Table(TABLES.name, sa.MetaData(), *copies).create(connection)
    elif wanted == "V1" and all(c["name"] != "iceberg_type" for c in inspector.get_columns(TABLES.name)):
        connection.execute(sa.text(f"ALTER TABLE {TABLES.name} ADD COLUMN iceberg_type VARCHAR(5)"))
    PROPERTIES.create(connection, checkfirst=True)


def check_length(text: str, what: str, column: str, table: sa.Table) -> None:
    """Raises UnsupportedFeature for a text that a column cannot hold. SQLite would hold it, and other catalogs on the same
    database would not read it back."""
    limit = getattr(table.c[column].type, "length", None)
    if limit is not None and len(text) > limit:
        raise UnsupportedFeature(
            f"the {what} {text[:60]!r}… has {len(text)} characters, more than the {limit} that a SQL catalog holds"
        )
