"""Evolution keeps ids unique forever: whatever sequence of changes, an id means one field for the table's life."""

from __future__ import annotations

import json
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.rules import check_schema
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_from_json, schema_to_json
from floeberg.spec.types import UNSET, StructType
from floeberg.spec.values.promotion import can_promote
from strategies.schemas import V3_PRIMITIVES, data_types, names, schemas, values


def path_of(schema: Schema, field_id: int) -> tuple[str, ...]:
    return tuple(schema.by_id[i].name for i in schema.path_to(field_id))


@st.composite
def change(draw, schema: Schema, update: SchemaUpdate) -> None:
    """One random change; refusals are part of the game."""
    ids = sorted(schema.by_id)
    path = path_of(schema, draw(st.sampled_from(ids))) if ids else ("gone",)
    kind = draw(
        st.sampled_from(
            ["add", "add", "nest", "drop", "rename", "first", "after", "type", "optional", "default", "union"]
        )
    )
    if kind == "add":
        update.add_column((draw(names),), draw(data_types()))
    elif kind == "nest":
        update.add_column((*path, draw(names)), draw(data_types()))
    elif kind == "drop":
        update.drop_column(path)
    elif kind == "rename":
        update.rename_column(path, draw(names))
    elif kind == "first":
        update.move_first(path)
    elif kind == "after":
        update.move_after(path, path_of(schema, draw(st.sampled_from(ids))) if ids else ("gone",))
    elif kind == "type":
        update.update_type(path, draw(st.sampled_from(V3_PRIMITIVES)))
    elif kind == "optional":
        update.make_optional(path)
    elif kind == "default":
        field = schema.find(".".join(path))
        update.update_default(path, draw(values(field.type)) if field is not None and field.type.is_primitive else None)
    else:
        update.union_by_name(draw(schemas(max_size=2)))


@given(schemas(max_size=3), st.data())
@settings(max_examples=60, deadline=None)
def test_an_id_means_one_field_for_ever(schema, data):
    last_column_id = schema.highest_field_id
    ever = {field_id: (schema.path_to(field_id)[:-1], schema.by_id[field_id].type) for field_id in schema.by_id}
    dropped: set[int] = set()
    for _ in range(data.draw(st.integers(1, 6))):
        update = SchemaUpdate(schema, format_version=3, last_column_id=last_column_id)
        for _ in range(data.draw(st.integers(1, 3))):
            with suppress(InvalidInput):
                data.draw(change(schema, update))
        try:
            evolved = update.apply()
        except InvalidInput:
            continue
        now = evolved.by_id
        assert not dropped & now.keys(), "a dropped id came back"
        for field_id, field in now.items():
            if field_id in ever:
                parents, before = ever[field_id]
                assert evolved.path_to(field_id)[:-1] == parents, "a field changed its struct"
                assert type(before) is type(field.type) or can_promote(before, field.type, 3)
            else:
                assert field_id > last_column_id, "a new field took an old id"
            ever[field_id] = (evolved.path_to(field_id)[:-1], field.type)
        dropped |= schema.by_id.keys() - now.keys()
        assert len(list(evolved.names)) == len(set(evolved.names))
        assert update.last_column_id >= max(last_column_id, evolved.highest_field_id)
        check_schema(evolved, format_version=3, base=schema)
        assert schema_from_json(json.loads(json.dumps(schema_to_json(evolved)))) == evolved
        schema, last_column_id = evolved, update.last_column_id


@given(schemas(), st.data())
@settings(max_examples=60, deadline=None)
def test_initial_defaults_never_change_but_for_their_type(schema, data):
    primitives = [field for field in schema.fields if field.type.is_primitive]
    if not primitives:
        return
    field = data.draw(st.sampled_from(primitives))
    try:
        evolved = (
            SchemaUpdate(schema, format_version=3).update_default((field.name,), data.draw(values(field.type))).apply()
        )
    except InvalidInput:
        return
    assert evolved.by_id[field.field_id].initial_default is UNSET
    assert isinstance(evolved.as_struct, StructType)
