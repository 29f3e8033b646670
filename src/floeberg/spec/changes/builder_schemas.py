"""Updates of schemas, partition specs and sort orders."""

from __future__ import annotations

from floeberg.errors import InvalidInput
from floeberg.spec.changes.metadata_draft import MetadataDraft
from floeberg.spec.changes.updates import (
    LAST_ADDED,
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    RemovePartitionSpecs,
    RemoveSchemas,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
)
from floeberg.spec.partitions.sort_orders import UNSORTED
from floeberg.spec.partitions.specs import PARTITION_FIELD_ID_START, PartitionSpec
from floeberg.spec.partitions.transforms import VoidTransform
from floeberg.spec.schemas.rules import check_schema

INITIAL_SCHEMA_ID = 0
INITIAL_SPEC_ID = 0
INITIAL_SORT_ORDER_ID = 1


def add_schema(draft: MetadataDraft, update: AddSchema) -> None:
    """A schema id never means other columns than it did: a new schema gets the next id, an equal one keeps its own."""
    for known in draft.schemas:
        if known.same_columns(update.schema):
            draft.last_added_schema_id = known.schema_id
            return
    base = draft.current_schema() if draft.schemas and draft.current_schema_id >= 0 else None
    check_schema(update.schema, format_version=draft.format_version, base=base)
    schema_id = max((known.schema_id + 1 for known in draft.schemas), default=INITIAL_SCHEMA_ID)
    draft.schemas = draft.schemas.appended(update.schema.with_id(schema_id))
    draft.last_column_id = max(draft.last_column_id, update.schema.highest_field_id)
    draft.last_added_schema_id = schema_id
    draft.changed = True


def set_current_schema(draft: MetadataDraft, update: SetCurrentSchema) -> None:
    schema_id = _last_added(update.schema_id, draft.last_added_schema_id, "schema")
    if schema_id == draft.current_schema_id:
        return
    if all(document.get("schema-id", 0) != schema_id for document in draft.schemas.documents):
        raise InvalidInput(f"cannot make schema {schema_id} the current one: the table has no such schema")
    draft.current_schema_id = schema_id
    draft.changed = True


def remove_schemas(draft: MetadataDraft, update: RemoveSchemas) -> None:
    removed = set(update.schema_ids)
    if draft.current_schema_id in removed:
        raise InvalidInput(f"cannot remove schema {draft.current_schema_id}: it is the current one")
    kept = draft.schemas.kept(lambda document: document.get("schema-id", 0) not in removed)
    draft.changed = draft.changed or kept is not draft.schemas
    draft.schemas = kept


def add_partition_spec(draft: MetadataDraft, update: AddPartitionSpec) -> None:
    """https://iceberg.apache.org/spec/#partition-evolution"""
    for known in draft.partition_specs:
        if known.compatible_with(update.spec):
            draft.last_added_spec_id = known.spec_id
            return
    update.spec.validate(draft.current_schema())
    if update.spec.unknown_fields:
        raise InvalidInput(f"cannot add partition field {update.spec.unknown_fields[0]}: its transform is not known")
    if draft.format_version == 1:
        _check_sequential_ids(update.spec)
    spec_id = max((known.spec_id + 1 for known in draft.partition_specs), default=INITIAL_SPEC_ID)
    draft.partition_specs = draft.partition_specs.appended(update.spec.with_id(spec_id))
    draft.last_partition_id = max(draft.last_partition_id, update.spec.last_assigned_field_id)
    draft.last_added_spec_id = spec_id
    draft.changed = True


def set_default_spec(draft: MetadataDraft, update: SetDefaultSpec) -> None:
    spec_id = _last_added(update.spec_id, draft.last_added_spec_id, "partition spec")
    if spec_id == draft.default_spec_id:
        return
    if all(spec.spec_id != spec_id for spec in draft.partition_specs):
        raise InvalidInput(f"cannot make partition spec {spec_id} the default: the table has no such spec")
    draft.default_spec_id = spec_id
    draft.changed = True


def remove_partition_specs(draft: MetadataDraft, update: RemovePartitionSpecs) -> None:
    removed = set(update.spec_ids)
    if draft.default_spec_id in removed:
        raise InvalidInput(f"cannot remove partition spec {draft.default_spec_id}: it is the default one")
    kept = draft.partition_specs.kept(lambda document: document["spec-id"] not in removed)
    draft.changed = draft.changed or kept is not draft.partition_specs
    draft.partition_specs = kept


def add_sort_order(draft: MetadataDraft, update: AddSortOrder) -> None:
    """The unsorted order has id 0; others count from 1."""
    for known in draft.sort_orders:
        if known.same_order(update.sort_order):
            draft.last_added_order_id = known.order_id
            return
    update.sort_order.validate(draft.current_schema())
    order = UNSORTED
    if update.sort_order.is_sorted:
        used = max((known.order_id for known in draft.sort_orders), default=0)
        order = update.sort_order.with_id(max(used + 1, INITIAL_SORT_ORDER_ID))
    draft.sort_orders = draft.sort_orders.appended(order)
    draft.last_added_order_id = order.order_id
    draft.changed = True


def set_default_sort_order(draft: MetadataDraft, update: SetDefaultSortOrder) -> None:
    order_id = _last_added(update.sort_order_id, draft.last_added_order_id, "sort order")
    if order_id == draft.default_sort_order_id:
        return
    if all(order.order_id != order_id for order in draft.sort_orders):
        raise InvalidInput(f"cannot make sort order {order_id} the default: the table has no such order")
    draft.default_sort_order_id = order_id
    draft.changed = True


def check_defaults(draft: MetadataDraft) -> None:
    """Raises InvalidInput unless the table has a current schema, and a default spec and order whose columns it has."""
    schema = draft.current_schema()
    spec = next((spec for spec in draft.partition_specs if spec.spec_id == draft.default_spec_id), None)
    order = next((order for order in draft.sort_orders if order.order_id == draft.default_sort_order_id), None)
    if spec is None or order is None:
        missing = "partition spec" if spec is None else "sort order"
        raise InvalidInput(f"a table needs a default {missing}: add one (of no fields, if need be) and set it")
    for kind, name, sources in (
        *(
            ("partition", str(one), one.source_ids)
            for one in spec.fields
            if not isinstance(one.transform, VoidTransform)
        ),
        *(("sort", str(one), one.source_ids) for one in order.fields),
    ):
        for source_id in sources:
            if source_id not in schema.by_id:
                raise InvalidInput(
                    f"{kind} field {name} needs column {source_id}, which schema {schema.schema_id} does not have; "
                    f"change the {'partition spec' if kind == 'partition' else 'sort order'} first"
                )


def _check_sequential_ids(spec: PartitionSpec) -> None:
    for position, one in enumerate(spec.fields):
        if one.field_id != PARTITION_FIELD_ID_START + position:
            raise InvalidInput(
                f"partition field {one}: format version 1 needs field ids that count from {PARTITION_FIELD_ID_START}"
            )


def _last_added(given: int, last_added: int | None, what: str) -> int:
    if given != LAST_ADDED:
        return given
    if last_added is None:
        raise InvalidInput(f"-1 stands for the last added {what}, but these updates add none")
    return last_added
