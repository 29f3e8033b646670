"""The definition of a new or replaced table: schema, partitioning, order, properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from floeberg.catalogs.base import CatalogBackend, shown_name
from floeberg.catalogs.identifiers import Identifier
from floeberg.commit.replace_table import ReplaceTable
from floeberg.effects.protocols import Effects
from floeberg.errors import InvalidInput, NamespaceNotFound
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import create_table_updates, parse_format_version
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import FORMAT_VERSION
from floeberg.spec.partitions.sort_orders import build_sort_order
from floeberg.spec.partitions.specs import build_partition_spec
from floeberg.spec.schemas.projection import assign_fresh_ids
from floeberg.spec.schemas.schema import Schema

DEFAULT_FORMAT_VERSION: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefinition:
    """A table as its creator describes it. `format_version` None means what the table has, or the default;
    `case_sensitive` is how the columns of partition and sort fields are found."""

    schema: Schema
    partition_by: Sequence[str] = ()
    sort_by: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    format_version: int | None = None
    location: str | None = None
    case_sensitive: bool = True

    def new_metadata(self, *, location: str, effects: Effects) -> TableMetadata:
        """The metadata of an empty table. Raises InvalidInput."""
        schema = assign_fresh_ids(self.schema)
        version = DEFAULT_FORMAT_VERSION if self.format_version is None else self.format_version
        updates = create_table_updates(
            table_uuid=str(effects.ids.uuid()),
            location=location,
            schema=schema,
            spec=build_partition_spec(schema, self.partition_by, case_sensitive=self.case_sensitive),
            sort_order=build_sort_order(schema, self.sort_by, case_sensitive=self.case_sensitive),
            properties=self.properties,
            format_version=version,
        )
        return apply_updates(None, updates, now_ms=effects.clock.now_ms())

    def replacement(self, *, staged: TableMetadata | None = None) -> ReplaceTable:
        """The operation that gives an existing table this definition."""
        return ReplaceTable(
            schema=self.schema,
            partition_by=self.partition_by,
            sort_by=self.sort_by,
            properties=self.properties,
            format_version=self.format_version,
            location=self.location,
            staged=staged,
            case_sensitive=self.case_sensitive,
        )


def stated_version(name: object, properties: dict[str, str], format_version: int | None) -> int | None:
    """The format version that is asked for, taken out of the properties. Raises InvalidInput when two differ."""
    text = properties.pop(FORMAT_VERSION, None)
    stated = None if text is None else parse_format_version(text)
    asked = None if format_version is None else parse_format_version(format_version)
    if stated is not None and asked is not None and stated != asked:
        raise InvalidInput(f"table {name}: format version {asked} is asked for, and {stated} in the properties")
    return asked if stated is None else stated


def require_namespace(catalog: CatalogBackend, identifier: Identifier) -> None:
    """Raises NamespaceNotFound when the namespace of a new table or view is not there."""
    if not catalog.namespace_exists(identifier.namespace):
        shown = shown_name(catalog.name, identifier.namespace)
        raise NamespaceNotFound(
            f"namespace {shown} does not exist; CREATE NAMESPACE {shown}, or create_namespace, makes it",
            namespace=shown,
        )
