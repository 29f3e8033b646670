"""Union by name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from floeberg.errors import InvalidInput
from floeberg.spec import types as t
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, ListType, MapType, NestedField, StructType
from strategies.schemas import V2_PRIMITIVES, schemas


def table(*fields: NestedField) -> Schema:
    return Schema(*fields)


def union(base: Schema, other: Schema, *, version: int = 3, **options) -> Schema:
    return SchemaUpdate(base, format_version=version, **options).union_by_name(other).apply()


BASE = table(
    NestedField(1, "id", t.INT, required=True),
    NestedField(2, "s", StructType((NestedField(5, "a", t.FLOAT),))),
    NestedField(3, "l", ListType(6, StructType((NestedField(7, "x", t.INT),)))),
    NestedField(4, "m", MapType(8, t.STRING, 9, t.INT)),
)


def test_missing_columns_are_added_optional_at_the_end_at_every_level():
    other = table(
        NestedField(1, "new", t.STRING, required=True, doc="d"),
        NestedField(2, "s", StructType((NestedField(3, "b", t.INT),))),
        NestedField(4, "l", ListType(5, StructType((NestedField(6, "y", t.INT),)))),
    )
    schema = union(BASE, other)
    assert schema.ids["new"] == 10
    assert schema.by_id[10] == NestedField(10, "new", t.STRING, doc="d")
    assert (schema.ids["s.b"], schema.ids["l.element.y"]) == (11, 12)
    assert schema.fields[0].required


def test_wider_types_widen_narrower_ones_change_nothing():
    wider = table(NestedField(1, "id", t.LONG, required=True), NestedField(4, "m", MapType(8, t.STRING, 9, t.LONG)))
    widened = union(BASE, wider)
    assert (widened.by_id[1].type, widened.by_id[9].type) == (t.LONG, t.LONG)
    assert union(widened, BASE) is widened


def test_optional_doc_and_write_default_are_taken_over():
    schema = union(BASE, table(NestedField(1, "id", t.INT, doc="key", write_default=4)))
    assert schema.fields[0] == NestedField(1, "id", t.INT, doc="key", write_default=4)


def test_added_columns_take_their_defaults_along_in_v3():
    added = union(BASE, table(NestedField(1, "n", t.INT, initial_default=1, write_default=2))).fields[-1]
    assert (added.initial_default, added.write_default) == (1, 2)
    from_ddl = union(BASE, table(NestedField(1, "n", t.INT, write_default=2))).fields[-1]
    assert (from_ddl.initial_default, from_ddl.write_default) == (2, 2)
    assert union(BASE, table(NestedField(1, "n", t.INT)), version=2).fields[-1].initial_default is UNSET


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (NestedField(1, "id", t.STRING), "not a promotion"),
        (NestedField(1, "id", StructType((NestedField(2, "x", t.INT),))), "cannot become each other"),
        (NestedField(1, "s", t.INT), "cannot become each other"),
        (NestedField(1, "s", ListType(2, t.INT)), "not a promotion"),
        (NestedField(1, "m", MapType(2, t.INT, 3, t.INT)), "map keys cannot change"),
    ],
)
def test_contradictions_are_refused(other, message):
    with pytest.raises(InvalidInput, match=message):
        union(BASE, table(other))


def test_a_key_struct_may_be_narrower_in_the_other_schema_but_never_wider():
    key = StructType((NestedField(2, "a", t.LONG, required=True), NestedField(3, "b", t.INT, required=True)))
    base = table(NestedField(1, "m", MapType(4, key, 5, t.INT)))
    narrower = StructType((NestedField(2, "a", t.INT, required=True),))
    assert union(base, table(NestedField(1, "m", MapType(4, narrower, 5, t.INT)))) is base
    wider = StructType((NestedField(2, "c", t.INT),))
    with pytest.raises(InvalidInput, match="map keys cannot change"):
        union(base, table(NestedField(1, "m", MapType(4, wider, 5, t.INT))))


def test_names_match_without_regard_to_case_on_request():
    other = table(NestedField(1, "ID", t.LONG, required=True))
    assert union(BASE, other, case_sensitive=False).by_id[1] == NestedField(1, "id", t.LONG, required=True)
    assert union(BASE, other).by_id[10].name == "ID"
    twice = table(NestedField(1, "aa", t.INT), NestedField(2, "AA", t.INT))
    with pytest.raises(InvalidInput, match="ambiguous"):
        union(twice, table(NestedField(1, "Aa", t.INT)), case_sensitive=False)


@given(schemas(V2_PRIMITIVES), schemas(V2_PRIMITIVES))
@settings(max_examples=100, deadline=None)
def test_a_union_holds_every_column_of_both_keeps_every_id_and_is_idempotent(base, other):
    try:
        schema = union(base, other)
    except InvalidInput:
        return
    assert all(schema.names[field_id] == name for field_id, name in base.names.items())
    assert set(other.names.values()) <= set(schema.names.values())
    assert len(schema.by_id) == len(set(schema.by_id))
    assert union(schema, other) is schema


@given(schemas())
@settings(max_examples=50, deadline=None)
def test_a_union_with_itself_changes_nothing(schema):
    assert union(schema, schema) is schema
