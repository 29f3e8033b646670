"""Default values (seed 002): https://iceberg.apache.org/spec/#default-values"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from floeberg.errors import InvalidInput
from floeberg.spec import types as t
from floeberg.spec.evolution.schema_update import SchemaUpdate
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.schemas.schema_json import schema_from_json
from floeberg.spec.types import UNSET, ListType, MapType, NestedField, StructType, TimestampNsType, TimeType
from floeberg.spec.values.defaults import check_default, initial_value, retype, write_value
from floeberg.testing.table_builder import TableBuilder

POINT = StructType(
    (
        NestedField(2, "x", t.INT, initial_default=0, write_default=0),
        NestedField(3, "y", t.INT, initial_default=0, write_default=0),
    )
)


@pytest.mark.parametrize(("point_default", "result"), [(UNSET, UNSET), (None, None), ({}, {"x": 0, "y": 0})])
def test_a_struct_that_is_not_there_takes_its_default_made_of_its_members_defaults(point_default, result):
    field = NestedField(1, "point", POINT, initial_default=point_default, write_default=point_default)
    assert initial_value(field) == result
    assert write_value(field) == result


def test_seed_002_a_member_missing_from_a_structs_default_takes_its_own_default():
    field = NestedField(1, "point", POINT, initial_default={"x": 7}, write_default={"y": 8})
    assert initial_value(field) == {"x": 7, "y": 0}
    assert write_value(field) == {"x": 0, "y": 8}


def test_seed_002_struct_defaults_are_understood_in_nested_structs():
    outer = NestedField(1, "o", StructType((NestedField(4, "p", POINT),)), initial_default={"p": {"x": 1}})
    assert initial_value(outer) == {"p": {"x": 1, "y": 0}}


def test_a_structs_default_without_a_value_for_a_required_member_is_an_error():
    point = StructType((NestedField(2, "x", t.INT, required=True), NestedField(3, "y", t.INT)))
    assert initial_value(NestedField(1, "p", point, initial_default={"x": 7})) == {"x": 7, "y": None}
    for default in ({}, {"x": None}, {"y": 1}):
        with pytest.raises(InvalidInput, match="needs a default for its required 'x'"):
            initial_value(NestedField(1, "p", point, initial_default=default))


def test_seed_002_defaults_in_metadata_of_v2_are_understood():
    obj = {"type": "struct", "fields": [{"id": 1, "name": "a", "required": False, "type": "int", "initial-default": 3}]}
    assert initial_value(schema_from_json(obj).fields[0]) == 3


@pytest.mark.parametrize("version", [1, 2])
def test_writing_a_default_other_than_null_needs_v3(version):
    with pytest.raises(InvalidInput, match="needs format version 3"):
        check_default(t.INT, 3, name="a", format_version=version)
    assert check_default(t.INT, None, name="a", format_version=version) is None
    assert check_default(t.INT, UNSET, name="a", format_version=version) is UNSET


@pytest.mark.parametrize("data_type", [t.UNKNOWN, t.VARIANT, t.GeometryType(), t.GeographyType()])
def test_unknown_variant_and_geo_columns_must_default_to_null(data_type):
    with pytest.raises(InvalidInput, match="must default to null"):
        check_default(data_type, b"", name="a", format_version=3)


def test_a_struct_is_written_with_a_default_of_null_or_empty():
    assert check_default(POINT, {}, name="p", format_version=3) == {}
    with pytest.raises(InvalidInput, match=r"null or \{\}"):
        check_default(POINT, {"x": 1}, name="p", format_version=3)
    needy = StructType((NestedField(2, "x", t.INT, required=True),))
    with pytest.raises(InvalidInput, match="required member 'x'"):
        check_default(needy, {}, name="p", format_version=3)


def test_a_default_is_checked_against_its_type_and_put_into_its_physical_form():
    assert str(check_default(t.DecimalType(9, 2), Decimal("1.5"), name="a", format_version=3)) == "1.50"
    assert check_default(ListType(1, t.INT), (1, None), name="a", format_version=3) == [1, None]
    assert check_default(MapType(1, t.STRING, 2, t.INT), {"a": 1}, name="a", format_version=3) == {"a": 1}
    for data_type, value in [
        (t.INT, 2**31),
        (t.INT, True),
        (t.STRING, 1),
        (t.DATE, "2020-01-01"),
        (ListType(1, t.INT), 3),
    ]:
        with pytest.raises(InvalidInput, match="the default is wrong"):
            check_default(data_type, value, name="a", format_version=3)
    with pytest.raises(InvalidInput, match="holds structs"):
        check_default(ListType(1, POINT), [], name="a", format_version=3)


def test_seed_002_adding_a_field_sets_both_defaults_and_only_the_write_default_changes():
    base = Schema(NestedField(1, "id", t.INT))
    added = SchemaUpdate(base, format_version=3).add_column("n", t.INT, required=True, default=5).apply()
    assert (added.fields[1].initial_default, added.fields[1].write_default) == (5, 5)
    changed = SchemaUpdate(added, format_version=3).update_default("n", 6).apply()
    assert (changed.fields[1].initial_default, changed.fields[1].write_default) == (5, 6)
    dropped = SchemaUpdate(changed, format_version=3).drop_default("n").apply()
    assert (dropped.fields[1].initial_default, dropped.fields[1].write_default) == (5, UNSET)


def test_seed_002_a_required_field_is_added_with_defaults_that_are_not_null():
    base = Schema(NestedField(1, "id", t.INT))
    for default in (UNSET, None):
        with pytest.raises(InvalidInput, match="without a default"):
            SchemaUpdate(base, format_version=3).add_column("n", t.INT, required=True, default=default)


def test_seed_002_an_optional_field_may_be_added_with_explicit_null_defaults():
    base = Schema(NestedField(1, "id", t.INT))
    v3 = SchemaUpdate(base, format_version=3).add_column("n", t.INT, default=None).apply()
    assert (v3.fields[1].initial_default, v3.fields[1].write_default) == (None, None)
    v2 = SchemaUpdate(base, format_version=2).add_column("n", t.INT, default=None).apply()
    assert v2.fields[1].initial_default is UNSET


def test_a_structs_default_follows_its_members_through_rename_and_drop():
    field = NestedField(1, "p", POINT, initial_default={"x": 1, "y": 2})
    renamed = StructType((NestedField(3, "why", t.INT),))
    assert retype(field, renamed).initial_default == {"why": 2}
    evolved = SchemaUpdate(Schema(field), format_version=3).rename_column("p.x", "ex").drop_column("p.y").apply()
    assert evolved.fields[0].initial_default == {"ex": 1}


def test_a_structs_default_follows_its_members_inside_lists_and_maps():
    renamed = StructType((NestedField(2, "ex", t.INT), NestedField(3, "y", t.INT)))
    many = NestedField(1, "l", ListType(9, POINT), initial_default=[{"x": 1}, None])
    assert retype(many, ListType(9, renamed)).initial_default == [{"ex": 1}, None]
    pairs = NestedField(1, "m", MapType(8, t.STRING, 9, POINT), initial_default={"k": {"x": 1}})
    assert retype(pairs, MapType(8, t.STRING, 9, renamed)).initial_default == {"k": {"ex": 1}}


UTC_PLUS_TWO = dt.timezone(dt.timedelta(hours=2))


@pytest.mark.parametrize(
    ("kind", "given", "physical"),
    [
        ("date", dt.date(1969, 12, 31), -1),
        ("timestamp_ntz", dt.datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        ("timestamp", dt.datetime(1970, 1, 1, 2, 0, 1, tzinfo=UTC_PLUS_TWO), 1_000_000),
        ("decimal(9, 2)", 7, Decimal("7.00")),
        ("bigint", np.int64(7), 7),
        ("array<date>", [dt.date(1970, 1, 2), None], [1, None]),
        ("map<date, date>", {dt.date(1970, 1, 2): dt.date(1970, 1, 3)}, {1: 2}),
    ],
)
def test_a_default_may_be_given_as_pythons_own_value(kind: str, given: object, physical: object) -> None:
    builder = TableBuilder("id bigint", format_version=3)
    with builder.table.update_schema() as update:
        update.add_column("c", kind, default=given)
        update.add_column("d", kind)
        update.update_default("d", given)
    added, changed = builder.table.schema.find("c"), builder.table.schema.find("d")
    assert (added.initial_default, added.write_default, changed.write_default) == (physical, physical, physical)


@pytest.mark.parametrize(("kind", "physical"), [(TimeType(), 61_000_000), (TimestampNsType(), None)])
def test_times_and_nanoseconds_have_defaults_of_pythons_own_values(kind: Any, physical: int | None) -> None:
    given = dt.time(0, 1, 1) if physical else dt.datetime(1970, 1, 1, 0, 0, 0, 5)
    builder = TableBuilder("id bigint", format_version=3)
    with builder.table.update_schema() as update:
        update.add_column("c", kind, default=given)
    assert builder.table.schema.find("c").initial_default == (physical or 5_000)


def test_the_error_of_a_default_says_how_dates_and_times_are_given() -> None:
    update = TableBuilder("id bigint", format_version=3).table.update_schema()
    with pytest.raises(InvalidInput, match="with tzinfo where the type has a zone"):
        update.add_column("c", "timestamp", default=dt.datetime(2020, 1, 1))
