"""Identifier field ids (seed 002): https://iceberg.apache.org/spec/#identifier-field-ids"""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec import types as t
from floeberg.spec.schemas.identifier_fields import check_identifier_fields, identifier_problem
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_from_json, schema_to_json
from floeberg.spec.types import ListType, MapType, NestedField, StructType

X = NestedField(20, "x", t.INT, required=True)
SCHEMA = Schema(
    NestedField(1, "id", t.LONG, required=True),
    NestedField(2, "maybe", t.LONG),
    NestedField(3, "ratio", t.FLOAT, required=True),
    NestedField(4, "share", t.DOUBLE, required=True),
    NestedField(5, "here", StructType((X,)), required=True),
    NestedField(6, "there", StructType((NestedField(21, "y", t.INT, required=True),))),
    NestedField(
        7, "many", ListType(22, StructType((NestedField(23, "z", t.INT, required=True),)), True), required=True
    ),
    NestedField(8, "pairs", MapType(24, t.STRING, 25, t.INT, True), required=True),
    NestedField(9, "any", t.VARIANT, required=True),
)


@pytest.mark.parametrize("field_id", [1, 20])
def test_seed_002_required_primitives_may_identify_rows_also_in_required_structs(field_id):
    assert identifier_problem(SCHEMA, field_id) is None


@pytest.mark.parametrize(
    ("field_id", "why"),
    [(2, "optional"), (3, "float"), (4, "double"), (5, "not a primitive"), (21, "nested in the optional struct 'there'"),
     (22, "not a primitive"), (23, "nested in the list 'many'"), (24, "nested in the map 'pairs'"),
     (25, "nested in the map 'pairs'"), (9, "not a primitive"), (99, "no such field")],
)  # fmt: skip
def test_seed_002_what_may_be_null_or_inexact_or_many_cannot_identify_rows(field_id, why):
    assert why in (identifier_problem(SCHEMA, field_id) or "")
    broken = Schema(*SCHEMA.fields, identifier_field_ids=[field_id])
    with pytest.raises(InvalidInput, match="cannot be an identifier field"):
        check_identifier_fields(broken)
    with pytest.raises(MetadataCorrupt, match=f"identifier field {field_id}"):
        schema_from_json(schema_to_json(broken))


def test_identifier_fields_have_full_names():
    schema = Schema(*SCHEMA.fields, identifier_field_ids=[1, 20])
    check_identifier_fields(schema)
    assert [schema.names[field_id] for field_id in schema.identifier_field_ids] == ["id", "here.x"]
