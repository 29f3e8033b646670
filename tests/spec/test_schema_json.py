"""Appendix C, Schemas: https://iceberg.apache.org/spec/#schemas-1"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput, LimitExceeded, MetadataCorrupt
from floeberg.spec import types as t
from floeberg.spec.schemas.projection import IdCounter, assign_fresh_type_ids
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, MAX_SCHEMA_DEPTH, Schema
from floeberg.spec.schemas.schema_json import schema_from_json, schema_to_json, type_from_json, type_to_json
from floeberg.spec.types import UNSET, ListType, MapType, NestedField, StructType
from strategies.schemas import data_types, schemas

GOLDEN = Path(__file__).parents[1] / "golden" / "schema"

TYPES_OF_THE_SPECIFICATION = [
    ("unknown", t.UNKNOWN), ("boolean", t.BOOLEAN), ("int", t.INT), ("long", t.LONG), ("float", t.FLOAT),
    ("double", t.DOUBLE), ("date", t.DATE), ("time", t.TIME), ("timestamp", t.TIMESTAMP), ("timestamptz", t.TIMESTAMPTZ),
    ("timestamp_ns", t.TIMESTAMP_NS), ("timestamptz_ns", t.TIMESTAMPTZ_NS), ("string", t.STRING), ("uuid", t.UUID),
    ("fixed[16]", t.FixedType(16)), ("binary", t.BINARY), ("decimal(9, 2)", t.DecimalType(9, 2)), ("variant", t.VARIANT),
    ("geometry(srid:4326)", t.GeometryType("srid:4326")), ("geometry", t.GeometryType()),
    ("geography", t.GeographyType()), ("geography(srid:4326, karney)", t.GeographyType("srid:4326", "karney")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "data_type"), TYPES_OF_THE_SPECIFICATION)
def test_every_type_of_the_specification_has_its_json_string_both_ways(text, data_type):
    assert type_from_json(text) == data_type
    assert type_to_json(data_type) == text


@pytest.mark.parametrize(
    ("text", "data_type"),
    [("decimal(9,2)", t.DecimalType(9, 2)), ("decimal( 9 , 2 )", t.DecimalType(9, 2)), ("fixed[ 16 ]", t.FixedType(16)),
     ("geography(srid:4326, spherical)", t.GeographyType("srid:4326")), ("geometry( EPSG:1 )", t.GeometryType("EPSG:1"))],
)  # fmt: skip
def test_blanks_around_parameters_are_accepted(text, data_type):
    assert type_from_json(text) == data_type


def test_nested_types_have_the_objects_of_the_specification():
    objects = [
        {"type": "list", "element-id": 3, "element": "string", "element-required": True},
        {"type": "map", "key-id": 4, "key": "string", "value-id": 5, "value": "double", "value-required": False},
        {"type": "struct", "fields": [{"id": 1, "name": "id", "required": True, "type": "int", "doc": "key"}]},
    ]
    for obj in objects:
        assert type_to_json(type_from_json(obj)) == obj
    assert type_from_json(objects[0]) == ListType(3, t.STRING, element_required=True)
    assert type_from_json(objects[1]) == MapType(4, t.STRING, 5, t.DOUBLE)


def test_defaults_are_read_as_values_and_null_differs_from_absent():
    field = {
        "id": 1,
        "name": "id",
        "required": True,
        "type": "uuid",
        "initial-default": "0db3e2a8-9d1d-42b9-aa7b-74ebe558dceb",
    }
    schema = schema_from_json({"type": "struct", "schema-id": 0, "fields": [field]})
    assert str(schema.fields[0].initial_default) == field["initial-default"]
    assert schema.fields[0].write_default is UNSET
    nulled = schema_from_json({"type": "struct", "fields": [{**field, "write-default": None}]})
    assert nulled.fields[0].write_default is None
    assert schema_to_json(nulled)["fields"] == [{**field, "write-default": None}]


def test_a_schema_writes_its_keys_in_the_order_of_the_reference_implementation():
    schema = Schema(NestedField(1, "a", t.INT, required=True), schema_id=7, identifier_field_ids=[1])
    assert json.dumps(schema_to_json(schema)) == (
        '{"type": "struct", "schema-id": 7, "identifier-field-ids": [1], '
        '"fields": [{"id": 1, "name": "a", "required": true, "type": "int"}]}'
    )


@given(schemas(defaults=True))
@settings(max_examples=150, deadline=None)
def test_every_schema_survives_json_text(schema):
    assert schema_from_json(json.loads(json.dumps(schema_to_json(schema)))) == schema


@given(data_types())
@settings(max_examples=150, deadline=None)
def test_every_type_survives_json(data_type):
    fresh = assign_fresh_type_ids(data_type, IdCounter(0).next_id)
    assert type_from_json(type_to_json(fresh)) == fresh


FIELD = {"id": 1, "name": "a", "required": True, "type": "int"}


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (None, "found None"),
        (3, "a type is a string or an object"),
        ("struct", "unknown type"),
        ("int", "a schema must be a struct"),
        ({"type": "struct"}, "'fields' is missing"),
        ({"fields": []}, "a struct, list or map, found None"),
        ({"type": {"type": "struct"}, "fields": []}, "a struct, list or map, found a JSON object"),
        ({"type": "struct", "fields": {}}, "fields must be a list"),
        ({"type": "struct", "fields": [3]}, "fields[0]: a field must be an object"),
        ({"type": "struct", "fields": [{k: v for k, v in FIELD.items() if k != "id"}]}, "'id' is missing"),
        ({"type": "struct", "fields": [{k: v for k, v in FIELD.items() if k != "name"}]}, "'name' is missing"),
        ({"type": "struct", "fields": [{k: v for k, v in FIELD.items() if k != "required"}]}, "'required' is missing"),
        ({"type": "struct", "fields": [{k: v for k, v in FIELD.items() if k != "type"}]}, "'type' is missing"),
        ({"type": "struct", "fields": [{**FIELD, "id": "1"}]}, "id must be a 32-bit int"),
        ({"type": "struct", "fields": [{**FIELD, "id": True}]}, "id must be a 32-bit int"),
        ({"type": "struct", "fields": [{**FIELD, "id": -1}]}, "must not be negative"),
        ({"type": "struct", "fields": [{**FIELD, "id": 10**5000}]}, "more than 128 bits"),
        ({"type": "struct", "fields": [{**FIELD, "name": 5}]}, "name must be a string"),
        ({"type": "struct", "fields": [{**FIELD, "required": "true"}]}, "required must be true or false"),
        ({"type": "struct", "fields": [{**FIELD, "doc": 1}]}, "doc must be a string"),
        ({"type": "struct", "fields": [{**FIELD, "type": "decimal(39, 2)"}]}, "precision must be 1 to 38"),
        ({"type": "struct", "fields": [{**FIELD, "initial-default": "x"}]}, "fields[0]: initial-default"),
        ({"type": "struct", "fields": [{**FIELD, "type": "variant", "write-default": 1}]}, "must be null"),
        ({"type": "struct", "fields": [FIELD, {**FIELD, "name": "b"}]}, "field id 1 is used twice, by 'a' and 'b'"),
        ({"type": "struct", "fields": [FIELD, {**FIELD, "id": 2}]}, "two fields are named 'a'"),
        ({"type": "struct", "fields": [{**FIELD, "id": MAX_COLUMN_FIELD_ID + 1}]}, "reserved for metadata columns"),
        ({"type": "struct", "fields": [{**FIELD, "type": {"type": "list", "element": "int", "element-required": True}}]}, "'element-id'"),
        ({"type": "struct", "fields": [FIELD], "schema-id": "0"}, "schema-id must be"),
        ({"type": "struct", "fields": [FIELD], "identifier-field-ids": 1}, "must be a list of ints"),
        ({"type": "struct", "fields": [FIELD], "identifier-field-ids": [9]}, "no such field"),
    ],
)  # fmt: skip
def test_a_malformed_schema_is_corrupt_and_the_message_says_what_and_where(obj, message):
    with pytest.raises(MetadataCorrupt) as caught:
        schema_from_json(obj, where="schemas[3]")
    assert message in str(caught.value)
    assert str(caught.value).startswith("schemas[3]")


def test_an_id_may_be_zero_and_unknown_json_fields_are_tolerated():
    schema = schema_from_json({"type": "struct", "x": 1, "fields": [{**FIELD, "id": 0, "y": 2}]})
    assert schema.fields[0].field_id == 0


def test_reserved_ids_are_allowed_where_a_data_file_embeds_its_schema():
    obj = {"type": "struct", "fields": [{**FIELD, "id": 2147483540}]}
    assert schema_from_json(obj, allow_reserved_ids=True).fields[0].field_id == 2147483540


def nested_lists(depth: int) -> object:
    obj: object = "int"
    for level in range(depth):
        obj = {"type": "list", "element-id": level, "element": obj, "element-required": False}
    return obj


def test_nesting_up_to_the_limit_is_read_and_written_and_deeper_nesting_is_refused():
    deep = type_from_json(nested_lists(MAX_SCHEMA_DEPTH))
    assert type_to_json(deep) == nested_lists(MAX_SCHEMA_DEPTH)
    for depth in (MAX_SCHEMA_DEPTH + 1, 5_000):
        with pytest.raises(LimitExceeded, match="nest deeper"):
            type_from_json(nested_lists(depth))
    with pytest.raises(InvalidInput, match="nests deeper"):
        type_to_json(ListType(-1, ListType(-2, deep)))


def test_metadata_with_a_deep_default_ends_in_an_error_not_in_a_recursion():
    value: object = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(MetadataCorrupt, match="initial-default"):
        schema_from_json({"type": "struct", "fields": [{**FIELD, "initial-default": value}]})


def schemas_in(obj: object):
    if isinstance(obj, dict):
        if obj.get("type") == "struct" and isinstance(obj.get("fields"), list):
            yield obj
        for value in obj.values():
            yield from schemas_in(value)
    elif isinstance(obj, list):
        for value in obj:
            yield from schemas_in(value)


def test_every_schema_in_the_json_of_the_java_tests_survives_a_rewrite():
    payloads = json.loads((GOLDEN / "payloads" / "java_schema_payloads.json").read_text())
    found = [
        schema
        for file in payloads["files"].values()
        for payload in file
        for schema in schemas_in(json.loads(payload["json"]))
        if all("type" in field for field in schema["fields"])
    ]
    assert len(found) > 20
    for obj in found:
        if "schema-id" in obj:
            assert schema_to_json(schema_from_json(obj)) == obj
        else:
            assert type_to_json(type_from_json(obj)) == obj


DEFAULTS = sorted((GOLDEN / "defaults").glob("*.json"))


@pytest.mark.parametrize("path", DEFAULTS, ids=lambda path: path.stem)
def test_defaults_in_golden_tables_of_v2_and_v3_are_read_and_survive_a_rewrite(path):
    metadata = json.loads(path.read_text())
    schema = metadata["schemas"][-1]
    if path.stem.startswith("iceberg_cxx_schema_with_defaults"):
        # decimal(2, -5) is not a type: neither the specification's table nor the other readers allow a negative scale.
        with pytest.raises(MetadataCorrupt, match=r"unknown type 'decimal\(2, -5\)'"):
            schema_from_json(schema)
        schema = {**schema, "fields": [field for field in schema["fields"] if field["id"] != 18]}
    again = schema_to_json(schema_from_json(schema))
    assert schema_from_json(again) == schema_from_json(schema)
    assert [field.keys() for field in again["fields"]] == [field.keys() for field in schema["fields"]]
    assert any(field.initial_default is not UNSET for field in schema_from_json(schema).by_id.values())


@pytest.mark.golden_shared
def test_every_schema_of_every_golden_table_survives_a_rewrite():
    root = Path(__file__).parents[3] / "shared" / "golden"
    if not root.is_dir():
        pytest.skip("the golden tables outside the repository (../shared/golden) are not there")
    seen = 0
    for path in sorted(root.glob("*/**/metadata/*.metadata.json")):
        if "standalone" in path.parts:
            continue
        data = path.read_bytes()
        for obj in json.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).get("schemas", []):
            schema = schema_from_json(obj)
            written = schema_to_json(schema)
            assert schema_from_json(written) == schema, path
            if "default" not in str(obj):  # times in defaults may be written with other trailing zeros
                assert {"identifier-field-ids": [], **obj} == {"identifier-field-ids": [], **written}, path
            seen += 1
    assert seen > 300


def test_a_struct_value_default_by_field_id_survives_a_rewrite():
    point = {"type": "struct", "fields": [{"id": 2, "name": "x", "required": False, "type": "int"}]}
    field = {"id": 1, "name": "p", "required": False, "type": point, "initial-default": {"2": 5}, "write-default": {}}
    schema = schema_from_json({"type": "struct", "schema-id": 0, "fields": [field]})
    assert schema.fields[0].initial_default == {"x": 5}
    assert schema_to_json(schema)["fields"] == [field]
    assert isinstance(schema.fields[0].type, StructType)
