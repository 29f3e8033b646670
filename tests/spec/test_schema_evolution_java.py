"""The same changes as the reference implementation made give the same metadata (files and operations it wrote)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floeberg.spec import types as t
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.schema_json import schema_from_json, schema_to_json
from floeberg.spec.types import MapType, NestedField, StructType

GOLDEN = Path(__file__).parents[1] / "golden" / "schema" / "java_update_schema"

ADDRESS = StructType(
    tuple(NestedField(20 + i, name, kind, required=True) for i, (name, kind) in enumerate(
        [("address", t.STRING), ("city", t.STRING), ("state", t.STRING), ("zip", t.INT)]
    ))
)  # fmt: skip
PLACE = StructType((NestedField(9, "lat", t.INT, required=True), NestedField(8, "long", t.INT)))

CHANGES = {
    "add_top_level_columns": lambda u: (
        u.add_column("count", t.INT)
        .add_column("note", t.STRING, doc="a free-text note")
        .add_column("category", t.STRING, required=True, default="uncategorized")
    ),
    "add_nested_struct_and_map": lambda u: u.add_column("locations", MapType(1, ADDRESS, 2, PLACE)),
    "rename_and_move": lambda u: (
        u.rename_column("email", "email_address").move_first("email").move_after("id", "first_name")
    ),
    "update_type_promotion": lambda u: (
        u.update_type("id", t.LONG).update_type("measure", t.DOUBLE).update_type("amount", t.DecimalType(18, 2))
    ),
    "make_optional_and_delete": lambda u: u.make_optional("name").drop_column("legacy"),
    "set_identifier_fields": lambda u: u.set_identifier_fields(["id", "tenant"]),
    "add_required_with_default_and_update_default": lambda u: u.add_column(
        "status", t.STRING, required=True, default="active"
    ).update_default("status", "pending"),
}


def test_every_scenario_of_the_reference_implementation_is_here():
    scenarios = json.loads((GOLDEN / "java_interop_ops.json").read_text())["update_schema"]
    assert scenarios.keys() == CHANGES.keys()


@pytest.mark.parametrize("scenario", CHANGES)
def test_an_evolution_gives_what_the_reference_implementation_wrote(scenario):
    base = json.loads((GOLDEN / scenario / "base.metadata.json").read_text())
    evolved = json.loads((GOLDEN / scenario / "java_evolved.metadata.json").read_text())
    change = SchemaUpdate(
        schema_from_json(base["schemas"][-1]),
        format_version=base["format-version"],
        last_column_id=base["last-column-id"],
    )
    schema = CHANGES[scenario](change).apply()
    assert schema_to_json(schema) == evolved["schemas"][-1]
    assert change.last_column_id == evolved["last-column-id"]
