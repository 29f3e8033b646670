"""Hazard 24, the metadata's half: reused field ids, a last-column-id below nested ids, a schema id bound to other columns,
and a name that brings a dropped column back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.errors import MetadataCorrupt
from floeberg.spec import types as t
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.name_mapping import create_name_mapping, update_name_mapping
from floeberg.spec.schemas.projection import assign_fresh_ids
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_from_json
from floeberg.spec.types import ListType, NestedField, StructType
from strategies.schemas import V2_PRIMITIVES, data_types, schemas

NESTED = Schema(
    NestedField(1, "id", t.INT),
    NestedField(2, "deep", ListType(3, StructType((NestedField(9, "x", t.INT),)))),
    schema_id=4,
)


def test_a_dropped_column_that_comes_back_has_another_id_even_when_it_was_the_highest():
    dropped = SchemaUpdate(NESTED, format_version=2, last_column_id=9).drop_column("deep")
    without = dropped.apply()
    again = SchemaUpdate(without, format_version=2, last_column_id=dropped.last_column_id).add_column("deep", t.INT)
    assert without.highest_field_id == 1
    assert again.apply().ids["deep"] == 10


@pytest.mark.parametrize("recorded", [0, 2, 3])
def test_a_last_column_id_that_ignores_nested_fields_does_not_lead_to_a_reused_id(recorded):
    change = SchemaUpdate(NESTED, format_version=2, last_column_id=recorded).add_column("n", t.INT)
    assert change.apply().ids["n"] == 10
    assert change.last_column_id == 10


def test_replacing_a_table_keeps_the_ids_of_names_and_never_reuses_one():
    replacement = Schema(NestedField(1, "other", t.INT), NestedField(2, "id", t.INT))
    fresh = assign_fresh_ids(replacement, base=NESTED, last_column_id=30)
    assert fresh.ids == {"other": 31, "id": 1}


def test_changed_columns_never_keep_the_schema_id():
    assert SchemaUpdate(NESTED, format_version=2).drop_column("id").apply().schema_id != NESTED.schema_id
    assert SchemaUpdate(NESTED, format_version=2).apply().schema_id == NESTED.schema_id


def test_an_id_that_two_fields_share_is_corrupt_at_any_depth():
    inner = {"type": "struct", "fields": [{"id": 1, "name": "x", "required": False, "type": "int"}]}
    fields = [
        {"id": 1, "name": "a", "required": False, "type": "int"},
        {"id": 2, "name": "b", "required": False, "type": inner},
    ]
    with pytest.raises(MetadataCorrupt, match="field id 1 is used twice"):
        schema_from_json({"type": "struct", "fields": fields})


def test_the_name_of_a_dropped_column_does_not_bring_its_values_into_a_new_one():
    new = SchemaUpdate(NESTED, format_version=2).drop_column("id").add_column("id", t.STRING).apply()
    mapping = update_name_mapping(create_name_mapping(NESTED), NESTED, new)
    assert mapping.field_id(["id"]) == 1
    assert new.find(1) is None


@given(
    schemas(V2_PRIMITIVES, max_size=3), st.lists(st.tuples(st.integers(0, 9), data_types(V2_PRIMITIVES)), max_size=8)
)
@settings(max_examples=60, deadline=None)
def test_however_often_a_name_is_dropped_and_added_each_life_has_its_own_ids(schema, lives):
    last_column_id = schema.highest_field_id
    seen = set(schema.by_id)
    mapping = create_name_mapping(schema)
    owner = {field.name: field.field_id for field in schema}
    for position, data_type in lives:
        name = schema.fields[position % len(schema.fields)].name
        change = SchemaUpdate(schema, format_version=2, last_column_id=last_column_id)
        evolved = change.drop_column((name,)).add_column((name,), data_type).apply()
        fresh = {i for i in evolved.by_id if i not in schema.by_id}
        assert not fresh & seen
        seen |= fresh
        mapping = update_name_mapping(mapping, schema, evolved)
        assert mapping.field_id([name]) == owner[name], "a file's column changed its meaning"
        schema, last_column_id = evolved, change.last_column_id
