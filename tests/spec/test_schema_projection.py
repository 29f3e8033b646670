"""Selecting columns and assigning ids."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.spec import types as t
from floeberg.spec.schemas.projection import (
    assign_fresh_ids,
    prune_columns,
    select,
)
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, Schema
from floeberg.spec.types import ListType, MapType, NestedField, StructType
from strategies.schemas import schemas

LOCATION = StructType((NestedField(7, "lat", t.FLOAT, required=True), NestedField(8, "long", t.FLOAT)))
SCHEMA = Schema(
    NestedField(1, "id", t.LONG, required=True),
    NestedField(2, "data", t.STRING),
    NestedField(3, "locations", MapType(5, t.STRING, 6, LOCATION)),
    NestedField(4, "points", ListType(9, StructType((NestedField(10, "x", t.INT), NestedField(11, "y", t.INT))))),
    NestedField(12, "prefs", StructType((NestedField(13, "a", t.BOOLEAN), NestedField(14, "b", t.BOOLEAN)))),
    schema_id=3,
    identifier_field_ids=[1],
)


def test_select_keeps_ids_order_and_identifiers_and_a_chosen_struct_comes_whole():
    chosen = select(SCHEMA, ["prefs", "id"])
    assert [field.field_id for field in chosen] == [1, 12]
    assert chosen.fields[1] == SCHEMA.fields[4]
    assert (chosen.schema_id, chosen.identifier_field_ids) == (3, (1,))
    assert select(SCHEMA, ["data"]).identifier_field_ids == ()


def test_select_of_a_star_is_all_and_of_an_unknown_column_is_refused():
    assert select(SCHEMA, ["id", "*"]) is SCHEMA
    with pytest.raises(InvalidInput, match="no column 'nope'"):
        select(SCHEMA, ["nope"])
    assert select(SCHEMA, ["PREFS.A"], case_sensitive=False).by_id.keys() == {12, 13}


@pytest.mark.parametrize(
    ("name", "ids"),
    [("prefs.b", {12, 14}), ("points.element.x", {4, 9, 10}), ("points.y", {4, 9, 11}), ("points.element", {4, 9, 10, 11}),
     ("locations.value.lat", {3, 5, 6, 7}), ("locations.key", {3, 5, 6, 7, 8}), ("locations.value", {3, 5, 6, 7, 8})],
)  # fmt: skip
def test_a_nested_selection_keeps_what_encloses_it_and_a_maps_whole_key(name, ids):
    assert select(SCHEMA, [name]).by_id.keys() == ids


def test_without_whole_types_a_chosen_struct_has_only_its_chosen_members():
    assert prune_columns(SCHEMA, {12}, whole=False).fields[0].type == StructType(())
    assert prune_columns(SCHEMA, {12, 13}, whole=False).by_id.keys() == {12, 13}
    assert prune_columns(SCHEMA, {4}, whole=False).fields[0] == SCHEMA.fields[3]
    with pytest.raises(InvalidInput, match="no field with id 99"):
        prune_columns(SCHEMA, {99})


@given(schemas(), st.data())
@settings(max_examples=100, deadline=None)
def test_pruning_never_changes_an_id_a_name_or_an_order(schema, data):
    ids = data.draw(st.sets(st.sampled_from(sorted(schema.by_id))))
    pruned = prune_columns(schema, ids)
    assert ids <= pruned.by_id.keys()
    assert all(schema.names[field_id] == name for field_id, name in pruned.names.items())
    kept = set(pruned.by_id)
    assert list(pruned.names) == [field_id for field_id in schema.names if field_id in kept]
    assert prune_columns(pruned, ids) == pruned


def test_fresh_ids_count_a_structs_fields_before_their_children_as_the_reference_implementation_does():
    fresh = assign_fresh_ids(SCHEMA)
    assert fresh.ids["prefs"] == 5
    assert {name: fresh.ids[name] for name in ("locations.key", "locations.value", "locations.value.lat")} == {
        "locations.key": 6, "locations.value": 7, "locations.value.lat": 8,
    }  # fmt: skip
    assert fresh.ids["points.element"] == 10
    assert fresh.ids["prefs.a"] == 13
    assert fresh.identifier_field_ids == (1,)
    assert assign_fresh_ids(SCHEMA, last_column_id=100).ids["id"] == 101


def test_fresh_ids_of_a_deep_branch_come_before_those_of_the_next_branch():
    deep = StructType((NestedField(0, "x", StructType((NestedField(0, "p", t.INT),))),))
    schema = Schema(
        *_numbered(NestedField(0, "a", deep), NestedField(0, "b", StructType((NestedField(0, "y", t.INT),))))
    )
    assert assign_fresh_ids(schema).ids == {"a": 1, "b": 2, "a.x": 3, "a.x.p": 4, "b.y": 5}


def _numbered(*fields: NestedField) -> tuple[NestedField, ...]:
    from floeberg.spec.schemas.projection import IdCounter, assign_fresh_type_ids

    struct = assign_fresh_type_ids(StructType(fields), IdCounter(50).next_id)
    assert isinstance(struct, StructType)
    return struct.members


def test_ids_come_from_a_base_schema_by_name():
    other = assign_fresh_ids(SCHEMA, last_column_id=500)
    assert assign_fresh_ids(other, base=SCHEMA) == SCHEMA
    wider = Schema(*other.fields, NestedField(900, "extra", t.INT), identifier_field_ids=other.identifier_field_ids)
    refreshed = assign_fresh_ids(wider, base=SCHEMA, last_column_id=40)
    assert refreshed.fields[:5] == SCHEMA.fields
    assert refreshed.ids["extra"] == 41
    assert assign_fresh_ids(wider, base=SCHEMA).ids["extra"] == 15


def test_a_schema_with_an_id_twice_and_the_end_of_the_ids_are_refused():
    with pytest.raises(InvalidInput, match="used twice"):
        assign_fresh_ids(Schema(NestedField(1, "a", t.INT), NestedField(1, "b", t.INT)))
    with pytest.raises(InvalidInput, match="no column id is left"):
        assign_fresh_ids(SCHEMA, last_column_id=MAX_COLUMN_FIELD_ID - 3)


@given(schemas())
@settings(max_examples=100, deadline=None)
def test_fresh_ids_are_unique_dense_and_stable(schema):
    fresh = assign_fresh_ids(schema)
    assert sorted(fresh.by_id) == list(range(1, len(schema.by_id) + 1))
    assert list(fresh.names.values()) == list(schema.names.values())
    assert assign_fresh_ids(fresh) == fresh
