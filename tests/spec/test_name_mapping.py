"""Name mapping (seed 002): https://iceberg.apache.org/spec/#column-projection"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings

from floeberg.errors import LimitExceeded, MetadataCorrupt
from floeberg.spec import types as t
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.name_mapping import (
    MappedField,
    NameMapping,
    create_name_mapping,
    name_mapping_to_json,
    parse_name_mapping,
    update_name_mapping,
    write_name_mapping,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import ListType, MapType, NestedField, StructType
from strategies.schemas import schemas

GOLDEN = Path(__file__).parents[1] / "golden" / "schema" / "name_mapping"

EXAMPLE_OF_THE_SPECIFICATION = """
[ { "field-id": 1, "names": ["id", "record_id"] },
   { "field-id": 2, "names": ["data"] },
   { "field-id": 3, "names": ["location"], "fields": [
       { "field-id": 4, "names": ["latitude", "lat"] },
       { "field-id": 5, "names": ["longitude", "long"] }
     ] } ]
"""


def test_the_specifications_example_is_read_and_written():
    mapping = parse_name_mapping(EXAMPLE_OF_THE_SPECIFICATION)
    assert mapping.field_id(["record_id"]) == 1
    assert mapping.field_id(["location", "lat"]) == 4
    assert mapping.field_id(["lat"]) is None
    assert mapping.field_id(["data", "lat"]) is None
    assert json.loads(write_name_mapping(mapping)) == json.loads(EXAMPLE_OF_THE_SPECIFICATION)


def test_seed_002_a_dot_in_a_name_is_literal():
    mapping = parse_name_mapping('[{"field-id": 1, "names": ["a.b"]}, {"field-id": 2, "names": ["a"], "fields": [{"field-id": 3, "names": ["b"]}]}]')  # fmt: skip
    assert mapping.field_id(["a.b"]) == 1
    assert mapping.field_id(["a", "b"]) == 3


def test_seed_002_many_names_no_names_and_no_id():
    mapping = parse_name_mapping('[{"field-id": 1, "names": ["a", "b", "a"]}, {"field-id": 2, "names": []}, {"names": ["x"]}, {"field-id": 4}]')  # fmt: skip
    assert mapping.field_id(["a"]) == mapping.field_id(["b"]) == 1
    assert mapping.find(["x"]) == MappedField(None, ("x",))
    assert mapping.field_id(["x"]) is None
    assert mapping.by_id().keys() == {1, 2, 4}
    assert name_mapping_to_json(mapping)[2] == {"names": ["x"]}


def test_seed_002_lists_maps_and_structs_map_their_children():
    schema = Schema(
        NestedField(1, "l", ListType(2, t.INT)),
        NestedField(3, "m", MapType(4, t.STRING, 5, StructType((NestedField(6, "x.y", t.INT),)))),
    )
    mapping = create_name_mapping(schema)
    assert mapping.field_id(["l", "element"]) == 2
    assert mapping.field_id(["m", "key"]) == 4
    assert mapping.field_id(["m", "value", "x.y"]) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{}", "must be a list"),
        ("[1]", "must be a field mapping"),
        ('[{"field-id": "1", "names": []}]', "field-id must be"),
        ('[{"field-id": -1, "names": []}]', "field-id must be"),
        ('[{"field-id": true, "names": []}]', "field-id must be"),
        ('[{"field-id": 1, "names": "a"}]', "names must be a list of strings"),
        ('[{"field-id": 1, "names": [1]}]', "names must be a list of strings"),
        ('[{"field-id": 1, "names": [], "fields": {}}]', "must be a list"),
        ('[{"field-id": 1, "names": []}, {"field-id": 1, "names": []}]', "mapped twice"),
        ('[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["a"]}]', "mapped twice at one level"),
        ('[{"field-id": 1, "field-id": 2, "names": ["a"]}]', "twice"),
    ],
)
def test_a_malformed_mapping_is_corrupt_and_the_message_names_the_property(text, message):
    with pytest.raises(MetadataCorrupt, match=message) as caught:
        parse_name_mapping(text)
    assert "schema.name-mapping.default" in str(caught.value)


@pytest.mark.parametrize("depth", [150, 50_000])
def test_a_mapping_that_nests_too_deep_is_refused(depth):
    text = '[{"names":["a"],"fields":' * depth + "[]" + "}]" * depth
    with pytest.raises(LimitExceeded):
        parse_name_mapping(text)


def test_many_names_at_many_levels_do_not_multiply():
    names = [f"n{i}" for i in range(50)]
    fields: list[object] = []
    for level in range(40):
        fields = [{"field-id": level, "names": names, "fields": fields}]
    assert parse_name_mapping(json.dumps(fields)).field_id(["n7"] * 40) == 0


@given(schemas())
@settings(max_examples=80, deadline=None)
def test_a_mapping_made_from_a_schema_finds_every_field_and_survives_text(schema):
    mapping = parse_name_mapping(write_name_mapping(create_name_mapping(schema)))
    assert mapping == create_name_mapping(schema)
    for field_id in schema.by_id:
        assert mapping.field_id([schema.by_id[i].name for i in schema.path_to(field_id)]) == field_id
    assert pickle.loads(pickle.dumps(mapping)) == mapping


BASE = Schema(
    NestedField(1, "id", t.INT),
    NestedField(2, "data", t.STRING),
    NestedField(3, "p", StructType((NestedField(4, "x", t.INT),))),
)


def evolve(change, *, reassign_names: bool = False) -> NameMapping:
    new = change(SchemaUpdate(BASE, format_version=2)).apply()
    return update_name_mapping(create_name_mapping(BASE), BASE, new, reassign_names=reassign_names)


def test_a_renamed_field_keeps_its_old_names_beside_the_new_one():
    mapping = evolve(lambda u: u.rename_column("id", "key").rename_column("p.x", "ex"))
    assert mapping.by_id()[1].names == ("id", "key")
    assert mapping.by_id()[4].names == ("x", "ex")


def test_added_fields_are_mapped_with_their_children():
    mapping = evolve(lambda u: u.add_column("p.y", ListType(1, t.INT)).add_column("n", t.INT))
    assert mapping.field_id(["p", "y", "element"]) == 6
    assert mapping.field_id(["n"]) == 7


def test_a_dropped_field_keeps_its_mapping_so_that_its_values_are_never_taken_for_another():
    assert evolve(lambda u: u.drop_column("data")) == create_name_mapping(BASE)


def test_a_name_stays_with_the_field_that_files_hold_under_it():
    readded = evolve(lambda u: u.drop_column("data").add_column("data", t.STRING))
    assert readded.field_id(["data"]) == 2
    assert readded.by_id()[5].names == ()
    swapped = evolve(lambda u: u.rename_column("id", "old").add_column("id", t.LONG))
    assert swapped.field_id(["id"]) == swapped.field_id(["old"]) == 1
    taken = evolve(lambda u: u.drop_column("data").rename_column("id", "data"))
    assert (taken.field_id(["data"]), taken.by_id()[1].names) == (2, ("id",))


def test_on_request_names_are_reassigned_as_the_reference_implementation_does():
    readded = evolve(lambda u: u.drop_column("data").add_column("data", t.STRING), reassign_names=True)
    assert readded.field_id(["data"]) == 5
    assert readded.by_id()[2].names == ()
    swapped = evolve(lambda u: u.rename_column("id", "data").rename_column("data", "id"), reassign_names=True)
    assert (swapped.field_id(["data"]), swapped.field_id(["id"])) == (1, 2)


def test_fields_that_the_mapping_never_had_stay_unmapped():
    partial = parse_name_mapping('[{"field-id": 1, "names": ["id"]}]')
    new = SchemaUpdate(BASE, format_version=2).rename_column("data", "text").add_column("p.y", t.INT).apply()
    assert update_name_mapping(partial, BASE, new) == partial


def test_the_mapping_of_a_migrated_golden_table_survives_a_rewrite():
    metadata = json.loads((GOLDEN / "impala_migrated_complex.metadata.json").read_text())
    text = metadata["properties"]["schema.name-mapping.default"]
    mapping = parse_name_mapping(text)
    assert json.loads(write_name_mapping(mapping)) == json.loads(text)
    assert mapping.field_id(["struct_1_col", "bool_int_map_col", "value"]) == 7
