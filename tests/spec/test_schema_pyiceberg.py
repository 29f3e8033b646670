"""PyIceberg as a differential oracle for schemas and their evolution."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.exceptions import ResolveError
from pyiceberg.schema import Schema as TheirSchema
from pyiceberg.schema import assign_fresh_schema_ids, promote, visit
from pyiceberg.schema import prune_columns as their_prune_columns
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.table.update.schema import UpdateSchema, _ApplyChanges
from pyiceberg.types import StringType

from floeberg.errors import InvalidInput
from floeberg.spec import types as t
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.metadata_columns import is_metadata_column
from floeberg.spec.schemas.name_mapping import create_name_mapping, write_name_mapping
from floeberg.spec.schemas.projection import assign_fresh_ids, prune_columns
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_from_json, schema_to_json
from floeberg.spec.types import IcebergType, NestedField, NestedType
from floeberg.spec.values.promotion import can_promote
from strategies.schemas import V2_PRIMITIVES, schemas

# PyIceberg 0.12 has no variant, geography with algorithm in this form, nor a reader for them: the shared ground is v2.


def theirs(schema: Schema) -> TheirSchema:
    return TheirSchema.model_validate_json(json.dumps(schema_to_json(schema)))


def ours(schema: TheirSchema) -> Schema:
    return schema_from_json(json.loads(schema.model_dump_json()))


@given(schemas(V2_PRIMITIVES))
@settings(max_examples=80, deadline=None)
def test_both_read_what_the_other_writes(schema):
    assert ours(theirs(schema)) == schema


@given(schemas(V2_PRIMITIVES))
@settings(max_examples=60, deadline=None)
def test_fresh_ids_are_the_same(schema):
    shifted = assign_fresh_ids(schema, last_column_id=70)
    assert ours(assign_fresh_schema_ids(theirs(shifted))) == assign_fresh_ids(shifted)


@given(schemas(V2_PRIMITIVES))
@settings(max_examples=60, deadline=None)
def test_full_names_are_the_same(schema):
    other = theirs(schema)
    for field_id, name in schema.names.items():
        assert other.find_column_name(field_id) == name


def nothing_but_structs_around(schema: Schema, field_id: int) -> bool:
    return all(isinstance(schema.by_id[i].type, t.StructType) for i in schema.path_to(field_id)[:-1])


@given(schemas(V2_PRIMITIVES), st.data())
@settings(max_examples=80, deadline=None)
def test_pruning_is_the_same_for_columns_and_members_of_structs(schema, data):
    # In lists and maps PyIceberg refuses to select a nested child; we follow the reference implementation there.
    able = [field_id for field_id in schema.by_id if nothing_but_structs_around(schema, field_id)]
    ids = data.draw(st.sets(st.sampled_from(able)))
    assert prune_columns(schema, ids).fields == ours(their_prune_columns(theirs(schema), ids, True)).fields


@given(schemas(V2_PRIMITIVES))
@settings(max_examples=60, deadline=None)
def test_name_mappings_are_the_same(schema):
    mapping = json.loads(create_mapping_from_schema(theirs(schema)).model_dump_json())
    assert json.loads(write_name_mapping(create_name_mapping(schema))) == without_empty_fields(mapping)


def without_empty_fields(mapping: list[dict[str, object]]) -> list[dict[str, object]]:
    return [
        {k: without_empty_fields(v) if k == "fields" else v for k, v in field.items() if k != "fields" or v}
        for field in mapping
    ]


PROMOTABLE = [*V2_PRIMITIVES, t.DecimalType(18, 2), t.DecimalType(9, 3), t.FixedType(16)]


# PyIceberg answers whether a file's type can be read as another, which is a wider question.
READ_ONLY_PROMOTIONS = {(t.STRING, t.BINARY), (t.BINARY, t.STRING), (t.FixedType(16), t.UUID)}


@pytest.mark.parametrize("before", PROMOTABLE, ids=str)
def test_promotions_to_another_type_are_the_same_in_v2(before):
    for after in PROMOTABLE:
        if before == after:
            continue  # PyIceberg raises for several types when there is nothing to promote
        if (before, after) in READ_ONLY_PROMOTIONS or changes_scale(before, after):
            assert not can_promote(before, after, 2)
            continue
        assert their_promotes(before, after) == can_promote(before, after, 2), (before, after)


def changes_scale(before: IcebergType, after: IcebergType) -> bool:
    """PyIceberg 0.12 compares the scale with itself, so it lets the scale change; the specification does not."""
    both = isinstance(before, t.DecimalType) and isinstance(after, t.DecimalType)
    return both and before.scale != after.scale


def their_promotes(before: IcebergType, after: IcebergType) -> bool:
    old, new = (theirs(Schema(NestedField(1, "a", kind))).fields[0].field_type for kind in (before, after))
    try:
        return promote(old, new) == new
    except ResolveError:
        return False


def their_update(schema: Schema) -> UpdateSchema:
    return UpdateSchema(transaction=None, schema=theirs(schema))  # type: ignore[arg-type]


def their_apply(update: UpdateSchema) -> TheirSchema:
    """What `UpdateSchema._apply` does before it looks at the table's partition specs."""
    changes = _ApplyChanges(update._adds, update._updates, update._deletes, update._moves)
    return TheirSchema(*visit(update._schema, changes).fields)


@given(schemas(V2_PRIMITIVES, max_size=3), st.data())
@settings(max_examples=80, deadline=None)
def test_evolutions_give_the_same_schema_wherever_both_allow_them(schema, data):
    update, other = SchemaUpdate(schema, format_version=2), their_update(schema)
    structs = [
        i for i, f in schema.by_id.items() if isinstance(f.type, t.StructType) and nothing_but_structs_around(schema, i)
    ]
    parent = data.draw(st.sampled_from([None, *structs]))
    path = () if parent is None else tuple(schema.by_id[i].name for i in schema.path_to(parent))
    members = schema.fields if parent is None else children(schema.by_id[parent].type)
    target = data.draw(st.sampled_from(members))
    kind = data.draw(st.sampled_from(["add", "drop", "rename", "first", "optional", "doc", "after"]))
    here = (*path, target.name)
    try:
        if kind == "add":
            update.add_column((*path, "brand new"), t.STRING, doc="d")
            other.add_column((*path, "brand new"), StringType(), doc="d")
        elif kind == "drop" and len(members) > 1:
            update.drop_column(here)
            other.delete_column(here)
        elif kind == "rename":
            update.rename_column(here, "other name")
            other.rename_column(here, "other name")
        elif kind == "first":
            update.move_first(here)
            other.move_first(here)
        elif kind == "after" and target != members[-1]:
            update.move_after(here, (*path, members[-1].name))
            other.move_after(here, (*path, members[-1].name))
        elif kind == "optional":
            update.make_optional(here)
            other.make_column_optional(here)
        elif kind == "doc":
            update.update_doc(here, "words")
            other.update_column(here, doc="words")
        mine = update.apply()
    except InvalidInput:
        assert any(is_metadata_column(field.name) for field in members)
        return
    assert mine.fields == ours(their_apply(other)).fields


def children(data_type: IcebergType) -> tuple[NestedField, ...]:
    assert isinstance(data_type, NestedType)
    return data_type.fields
