"""Tables that clients create: what their request says becomes the metadata of an empty table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from floeberg.catalogs.base import shown_name
from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.new_table import DEFAULT_FORMAT_VERSION, require_namespace, stated_version
from floeberg.commit.pointer import TableState
from floeberg.errors import TableAlreadyExists, ViewAlreadyExists
from floeberg.server.rest.calls import Answer, Call, in_request
from floeberg.server.rest.table_documents import table_answer
from floeberg.server.served_catalog import ServedCatalog
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import create_table_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import UNSORTED, UNSORTED_ORDER_ID, SortOrder, sort_order_from_json
from floeberg.spec.partitions.specs import UNPARTITIONED, PartitionSpec, partition_spec_from_json
from floeberg.spec.schemas.projection import assign_fresh_ids
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_from_json
from floeberg.storage.location import parse_from_user


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """A table as a client describes it. Ids are its own; those of the table are assigned afresh, in the same order."""

    name: str
    schema: Schema
    spec: PartitionSpec = UNPARTITIONED
    order: SortOrder = UNSORTED
    location: str | None = None
    properties: dict[str, str]
    is_staged: bool = False

    def metadata(self, served: ServedCatalog, identifier: Identifier) -> TableMetadata:
        """The metadata of the empty table, inside the roots."""
        fresh = assign_fresh_ids(self.schema)
        catalog = served.catalog
        properties = {**catalog.table_defaults, **self.properties, **catalog.table_overrides}
        version = stated_version(identifier, properties, None)
        location = self.location or served.backend.default_location(identifier)
        updates = create_table_updates(
            table_uuid=str(served.backend.effects.ids.uuid()),
            location=parse_from_user(location).text,
            schema=fresh,
            spec=rebound_spec(self.spec, self.schema, fresh),
            sort_order=rebound_order(self.order, self.schema, fresh),
            properties=properties,
            format_version=DEFAULT_FORMAT_VERSION if version is None else version,
        )
        metadata = apply_updates(None, updates, now_ms=served.backend.effects.clock.now_ms())
        served.check_table(metadata)
        return metadata


def create_table(call: Call) -> Answer:
    """Creates a table, or only says what it would be (`stage-create`): its commit then creates it."""
    with in_request():
        new = _parse(call)
    identifier = call.named(new.name)
    backend = call.served.backend
    require_namespace(backend, identifier)
    shown = shown_name(backend.name, identifier)
    if backend.table_exists(identifier):
        raise TableAlreadyExists(f"table {shown} is there already", table=shown)
    if backend.view_exists(identifier):
        raise ViewAlreadyExists(f"{shown} is there already, as a view", view=shown)
    metadata = new.metadata(call.served, identifier)
    if new.is_staged:
        return table_answer(TableState(shown, metadata, None))
    return table_answer(backend.create_table(identifier, metadata).state)


def _parse(call: Call) -> NewTable:
    fields = call.fields
    spec = fields.optional_object("partition-spec")
    order = fields.optional_object("write-order")
    unnumbered = 1 if order.get("fields") else UNSORTED_ORDER_ID
    return NewTable(
        name=fields.text("name"),
        schema=schema_from_json(fields.required("schema")),
        spec=partition_spec_from_json({"spec-id": 0, **spec}) if spec else UNPARTITIONED,
        order=sort_order_from_json({"order-id": unnumbered, **order}) if order else UNSORTED,
        location=fields.optional_text("location"),
        properties=fields.optional_text_map("properties"),
        is_staged=fields.flag("stage-create"),
    )


def rebound_spec(spec: PartitionSpec, given: Schema, fresh: Schema) -> PartitionSpec:
    """A partition spec that refers to the given schema's ids, referring to the fresh one's."""
    fields = tuple(replace(one, source_ids=_rebound(one.source_ids, given, fresh)) for one in spec.fields)
    return replace(spec, fields=fields)


def rebound_order(order: SortOrder, given: Schema, fresh: Schema) -> SortOrder:
    """A sort order that refers to the given schema's ids, referring to the fresh one's."""
    fields = tuple(replace(one, source_ids=_rebound(one.source_ids, given, fresh)) for one in order.fields)
    return replace(order, fields=fields)


def _rebound(source_ids: tuple[int, ...], given: Schema, fresh: Schema) -> tuple[int, ...]:
    return tuple(fresh.ids[given.names[given.field(source_id).field_id]] for source_id in source_ids)
