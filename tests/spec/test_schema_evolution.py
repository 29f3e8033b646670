"""Schema evolution: https://iceberg.apache.org/spec/#schema-evolution"""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput
from floeberg.spec import types as t
from floeberg.spec.evolution.schema_draft import PartitionSource
from floeberg.spec.evolution.schema_update import SchemaUpdate, partition_sources
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, Schema
from floeberg.spec.types import UNSET, ListType, MapType, NestedField, StructType

KEY = StructType((NestedField(20, "street", t.STRING, required=True), NestedField(21, "zip", t.INT, required=True)))
SCHEMA = Schema(
    NestedField(1, "id", t.INT, required=True),
    NestedField(2, "data", t.STRING),
    NestedField(3, "prefs", StructType((NestedField(8, "a", t.BOOLEAN, required=True), NestedField(9, "b", t.BOOLEAN)))),
    NestedField(4, "places", MapType(10, KEY, 11, StructType((NestedField(12, "lat", t.FLOAT), NestedField(13, "long", t.FLOAT))))),
    NestedField(5, "points", ListType(14, StructType((NestedField(15, "x", t.LONG), NestedField(16, "y", t.LONG))))),
    NestedField(6, "doubles", ListType(17, t.DOUBLE, element_required=True), required=True),
    NestedField(7, "counts", MapType(18, t.STRING, 19, t.INT)),
    schema_id=5,
)  # fmt: skip
LAST = 25


def update(schema: Schema = SCHEMA, *, version: int = 3, **options) -> SchemaUpdate:
    return SchemaUpdate(schema, format_version=version, last_column_id=LAST, **options)


def refuses(message: str):
    return pytest.raises(InvalidInput, match=message)


def names(schema: Schema) -> list[str]:
    return [field.name for field in schema]


def test_without_changes_the_schema_is_the_same_object():
    assert update().apply() is SCHEMA
    assert update().update_doc("id", None).update_type("id", t.INT).make_optional("data").apply() is SCHEMA


def test_a_changed_schema_has_the_next_schema_id():
    assert update().drop_column("data").apply().schema_id == 6


def test_added_columns_get_ids_above_every_id_ever_assigned():
    change = update().add_column("n", t.INT, doc="a count").add_column("s", StructType((NestedField(1, "q", t.INT),)))
    schema = change.apply()
    assert schema.fields[-2] == NestedField(26, "n", t.INT, doc="a count")
    assert schema.ids["s"] == 27
    assert schema.ids["s.q"] == 28
    assert change.last_column_id == 28


def test_the_last_column_id_never_starts_below_an_id_in_use():
    assert SchemaUpdate(SCHEMA, format_version=2, last_column_id=3).add_column("n", t.INT).apply().ids["n"] == 22


def test_fields_are_added_in_structs_list_elements_and_map_values():
    schema = (
        update().add_column("prefs.c", t.INT).add_column("points.z", t.LONG).add_column("places.alt", t.FLOAT).apply()
    )
    assert schema.ids["prefs.c"] == 26
    assert schema.ids["points.element.z"] == 27
    assert schema.ids["places.value.alt"] == 28
    assert update().add_column(("points", "element", "w"), t.INT).apply().ids["points.element.w"] == 26


def test_a_name_with_a_dot_is_given_as_a_tuple():
    schema = update().add_column(("a.b",), t.INT).apply()
    assert schema.find("a.b") == schema.fields[-1]
    renamed = SchemaUpdate(schema, format_version=3).rename_column(("a.b",), "c.d").apply()
    assert names(renamed)[-1] == "c.d"
    for path in (".", "a.", ".a"):
        with refuses("tuple"):
            update().add_column(path, t.INT)
    with refuses("empty path"):
        update().add_column((), t.INT)


@pytest.mark.parametrize(("path", "message"), [("id.x", "not a struct"), ("doubles.x", "not a struct"), ("counts.x", "not a struct"), ("nope.x", "no column 'nope'")])  # fmt: skip
def test_fields_cannot_be_added_to_what_is_no_struct(path, message):
    with refuses(message):
        update().add_column(path, t.INT)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_required_column_without_a_default_is_refused_unless_incompatible_changes_are_allowed(version):
    with refuses("cannot add the required column 'n' without a default"):
        update(version=version).add_column("n", t.INT, required=True)
    schema = update(version=version, allow_incompatible_changes=True).add_column("n", t.INT, required=True).apply()
    assert schema.fields[-1].required


@pytest.mark.parametrize("version", [1, 2])
def test_v3_types_and_defaults_are_refused_before_v3(version):
    with refuses("type variant needs format version 3"):
        update(version=version).add_column("v", t.VARIANT)
    with refuses("type timestamp_ns needs format version 3"):
        update(version=version).add_column("v", ListType(1, t.TIMESTAMP_NS)).apply()
    with refuses("needs format version 3"):
        update(version=version).add_column("n", t.INT, default=1)
    with refuses("needs format version 3"):
        update(version=version).update_default("data", "x")


def test_dropping_a_column_and_adding_its_name_again_gives_a_new_id():
    schema = update().drop_column("data").add_column("data", t.STRING).apply()
    assert schema.ids["data"] == 26
    assert schema.fields[-1].name == "data"


def test_a_dropped_struct_takes_its_members_with_it_and_members_can_be_dropped_alone():
    assert not {3, 8, 9} & update().drop_column("prefs").apply().by_id.keys()
    schema = update().drop_column("points.x").drop_column("places.value.lat").apply()
    assert not {15, 12} & schema.by_id.keys()


@pytest.mark.parametrize("path", ["doubles.element", "counts.key", "counts.value"])
def test_elements_keys_and_values_cannot_be_dropped(path):
    with refuses("cannot drop"):
        update().drop_column(path)


def test_a_struct_is_not_left_empty():
    with refuses("would leave the struct 'prefs' empty"):
        update().drop_column("prefs.a").drop_column("prefs.b").apply()
    assert update().drop_column("prefs.a").drop_column("prefs.b").add_column("prefs.c", t.INT).apply().ids["prefs.c"]


@pytest.mark.parametrize(
    "change",
    [
        lambda u: u.add_column("prefs.c", t.INT).drop_column("prefs"),
        lambda u: u.rename_column("prefs.a", "z").drop_column("prefs"),
        lambda u: u.update_doc("data", "x").drop_column("data"),
        lambda u: u.add_column("n", t.INT).drop_column("n"),
    ],
)
def test_what_an_update_changes_it_cannot_also_drop(change):
    with refuses("also changes it or adds to it"):
        change(update())


@pytest.mark.parametrize(
    "change",
    [
        lambda u: u.rename_column("data", "z"),
        lambda u: u.update_type("data", t.LONG),
        lambda u: u.move_first("data"),
        lambda u: u.drop_column("data"),
        lambda u: u.move_before("id", "data"),
    ],
)
def test_what_an_update_drops_it_cannot_also_change(change):
    with refuses("dropped by this update"):
        change(update().drop_column("data"))
    with refuses("'prefs' is dropped by this update"):
        update().drop_column("prefs").add_column("prefs.c", t.INT)


def test_renames_keep_ids_and_names_can_be_swapped():
    schema = update().rename_column("id", "data").rename_column("data", "id").rename_column("points.x", "ex").apply()
    assert (schema.names[1], schema.names[2], schema.names[15]) == ("data", "id", "points.element.ex")


def test_later_changes_may_use_the_old_name_or_the_new_one():
    schema = update().rename_column("id", "key").update_doc("id", "old").update_type("key", t.LONG).apply()
    assert schema.fields[0] == NestedField(1, "key", t.LONG, required=True, doc="old")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u: u.add_column("data", t.INT), "the name exists already"),
        (lambda u: u.add_column("points.x", t.INT), "the name exists already"),
        (lambda u: u.rename_column("id", "data"), "name collision"),
        (lambda u: u.rename_column("prefs.a", "b"), "name collision"),
        (lambda u: u.add_column("n", t.INT).rename_column("id", "n"), "name collision"),
        (lambda u: u.add_column(("prefs.a",), t.INT), "name collision"),
        (lambda u: u.rename_column("id", ""), "empty name"),
        (lambda u: u.rename_column("doubles.element", "e"), "fixed names"),
        (lambda u: u.add_column("_row_id", t.LONG), "reserved for a metadata column"),
        (lambda u: u.rename_column("id", "_file"), "reserved for a metadata column"),
        (lambda u: u.rename_column("nope", "x"), "no column 'nope'"),
    ],
)
def test_name_collisions_are_refused(change, message):
    with refuses(message):
        change(update()).apply()


def test_without_regard_to_case_columns_are_found_and_collisions_seen():
    schema = update(case_sensitive=False).update_doc("DATA", "x").add_column("PREFS.C", t.INT).apply()
    assert schema.fields[1].doc == "x"
    assert schema.ids["prefs.C"] == 26
    assert update(case_sensitive=False).update_doc(("PREFS", "A"), "x").apply().by_id[8].doc == "x"
    with refuses("without regard to case"):
        update(case_sensitive=False).add_column("DATA", t.INT).apply()
    assert update().add_column("DATA", t.INT).apply().ids["DATA"] == 26


def test_columns_move_first_before_and_after_also_new_ones_and_within_structs():
    schema = update().move_first("data").move_after("id", "prefs").apply()
    assert names(schema)[:3] == ["data", "prefs", "id"]
    schema = update().add_column("n", t.INT).move_before("n", "id").apply()
    assert names(schema)[:2] == ["n", "id"]
    schema = update().move_first("points.y").move_after("prefs.a", "prefs.b").apply()
    assert [f.name for f in schema.field("prefs").type.fields] == ["b", "a"]
    assert [f.name for f in schema.field("points.element").type.fields] == ["y", "x"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u: u.move_after("id", "id"), "itself"),
        (lambda u: u.move_after("prefs.a", "id"), "grouped into a struct or taken out of one"),
        (lambda u: u.move_before("id", "prefs.a"), "grouped into a struct or taken out of one"),
        (lambda u: u.move_first("doubles.element"), "only members of a struct"),
        (lambda u: u.move_first("counts.key"), "map keys cannot change"),
        (lambda u: u.move_before("id", "nope"), "no column 'nope'"),
    ],
)
def test_moves_into_or_out_of_structs_and_of_fixed_children_are_refused(change, message):
    with refuses(message):
        change(update())


def test_types_widen_in_place_also_inside_lists_and_maps():
    schema = update(version=2).update_type("id", t.LONG).update_type("places.lat", t.DOUBLE).update_type("counts.value", t.LONG).apply()  # fmt: skip
    assert schema.field("id") == NestedField(1, "id", t.LONG, required=True)
    assert schema.by_id[12].type == t.DOUBLE
    assert schema.by_id[7].type == MapType(18, t.STRING, 19, t.LONG)


@pytest.mark.parametrize(
    ("path", "data_type", "message"),
    [
        ("points.x", t.INT, "narrows"),
        ("data", t.INT, "not a promotion"),
        ("id", StructType((NestedField(1, "id", t.INT),)), "primitives and nested types cannot become each other"),
        ("prefs", t.INT, "primitives and nested types cannot become each other"),
        (
            "counts.value",
            StructType((NestedField(1, "v", t.INT),)),
            "primitives and nested types cannot become each other",
        ),
        ("points", ListType(1, t.LONG), "not a promotion"),
        ("places.key.zip", t.LONG, "map keys cannot change"),
        ("counts.key", t.BINARY, "map keys cannot change"),
        ("nope", t.INT, "no column"),
    ],
)
def test_changes_of_type_that_are_no_promotion_are_refused(path, data_type, message):
    with refuses(message):
        update().update_type(path, data_type)


@pytest.mark.parametrize(
    "change",
    [
        lambda u: u.add_column(("places", "key", "country"), t.STRING),
        lambda u: u.drop_column("places.key.zip"),
        lambda u: u.rename_column("places.key.zip", "code"),
        lambda u: u.make_optional("places.key.zip"),
        lambda u: u.move_first("places.key.zip"),
        lambda u: u.update_doc("places.key.zip", "x"),
        lambda u: u.make_optional("counts.key"),
    ],
)
def test_nothing_in_a_map_key_changes(change):
    with refuses("map keys cannot change"):
        change(update())


def test_a_date_becomes_a_timestamp_in_v3_and_its_defaults_become_midnight():
    schema = Schema(NestedField(1, "d", t.DATE, initial_default=1, write_default=None))
    assert SchemaUpdate(schema, format_version=3).update_type("d", t.TIMESTAMP).apply().fields[0] == NestedField(
        1, "d", t.TIMESTAMP, initial_default=86_400_000_000, write_default=None
    )
    with refuses("needs format version 3"):
        SchemaUpdate(schema, format_version=2).update_type("d", t.TIMESTAMP)
    with refuses("no time zone"):
        SchemaUpdate(schema, format_version=3).update_type("d", t.TIMESTAMPTZ)


@pytest.mark.parametrize("current", [True, False])
def test_a_promotion_that_would_change_partition_values_of_any_spec_is_refused(current):
    schema = Schema(NestedField(1, "d", t.DATE))
    source = PartitionSource(1, "d_part", "identity", current=current)
    with refuses(r"'d_part' \(identity\) would give other values"):
        SchemaUpdate(schema, format_version=3, partition_sources=[source]).update_type("d", t.TIMESTAMP)
    by_day = PartitionSource(1, "d_day", "day", current=current)
    assert SchemaUpdate(schema, format_version=3, partition_sources=[by_day]).update_type("d", t.TIMESTAMP).apply()


def test_unknown_becomes_any_type_with_fresh_ids_in_v3():
    schema = Schema(NestedField(1, "u", t.UNKNOWN))
    point = StructType((NestedField(1, "x", t.INT),))
    change = SchemaUpdate(schema, format_version=3).update_type("u", point).add_column("u.y", t.INT)
    assert change.apply().ids == {"u": 1, "u.x": 2, "u.y": 3}
    with refuses("hold only nulls"):
        SchemaUpdate(schema, format_version=3, allow_incompatible_changes=True).make_required("u")
    with refuses("must be optional"):
        update(allow_incompatible_changes=True).add_column("z", t.UNKNOWN, required=True)


def test_required_becomes_optional_but_not_back():
    schema = update().make_optional("id").make_optional("doubles.element").make_optional("prefs.a").apply()
    assert schema.by_id[1].optional
    assert schema.by_id[6].type == ListType(17, t.DOUBLE)
    assert schema.by_id[8].optional
    with refuses("cannot make 'data' required: rows written before may hold null"):
        update().make_required("data")
    assert update(allow_incompatible_changes=True).make_required("data").apply().by_id[2].required
    assert update().add_column("n", t.INT, default=1).make_required("n").apply().fields[-1].required


def test_docs_and_defaults_are_set_and_removed():
    schema = update().update_doc("data", "text").update_default("data", "x").apply()
    assert (schema.by_id[2].doc, schema.by_id[2].write_default, schema.by_id[2].initial_default) == ("text", "x", UNSET)
    again = SchemaUpdate(schema, format_version=3).update_doc("data", None).update_default("data", None).apply()
    assert (again.by_id[2].doc, again.by_id[2].write_default) == (None, None)
    for path in ("doubles.element", "counts.value"):
        with refuses("only members of a struct"):
            update().update_default(path, 1)
        with refuses("only members of a struct"):
            update().update_doc(path, "x")
    with refuses("required column 'id' to null"):
        update().update_default("id", None)
    with refuses("the default is wrong"):
        update().update_default("id", "x")


def test_columns_that_the_current_spec_or_sort_order_needs_are_not_dropped():
    spec = [PartitionSource(8, "a_bucket", "bucket[4]"), PartitionSource(2, "old", "identity", current=False)]
    with refuses(r"partition field 'a_bucket' \(bucket\[4\]\) of the current spec needs it"):
        update(partition_sources=spec).drop_column("prefs.a")
    with refuses("cannot drop 'prefs': the partition field"):
        update(partition_sources=spec).drop_column("prefs")
    with refuses("the current sort order needs it"):
        update(sort_source_ids=[15]).drop_column("points")
    assert update(partition_sources=spec).drop_column("data").apply()
    gone = [PartitionSource(2, "data", "void")]
    assert update(partition_sources=gone).drop_column("data").apply()


def test_identifier_fields_are_set_by_the_finished_names_and_kept_through_renames():
    schema = update().set_identifier_fields(["key"]).rename_column("id", "key").apply()
    assert schema.identifier_field_ids == (1,)
    again = SchemaUpdate(schema, format_version=3).rename_column("key", "pk").apply()
    assert again.identifier_field_ids == (1,)
    assert (
        SchemaUpdate(schema, format_version=3).set_identifier_fields([]).drop_column("key").apply().identifier_field_ids
        == ()
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u: u.drop_column("id"), "it is an identifier field; set other identifier fields first"),
        (lambda u: u.make_optional("id"), "optional"),
        (lambda u: u.set_identifier_fields(["data"]), "optional"),
        (lambda u: u.set_identifier_fields(["nope"]), "no such column"),
        (lambda u: u.set_identifier_fields(["points.x"]), "optional"),
        (lambda u: u.set_identifier_fields(["doubles.element"]), "double"),
    ],
)
def test_identifier_fields_are_neither_dropped_nor_weakened(change, message):
    schema = Schema(*SCHEMA.fields, identifier_field_ids=[1])
    with refuses(message):
        change(update(schema)).apply()


def test_a_table_with_defaults_in_v2_can_still_evolve():
    schema = Schema(NestedField(1, "a", t.INT, initial_default=3, write_default=3))
    evolved = SchemaUpdate(schema, format_version=2).rename_column("a", "b").add_column("c", t.INT).apply()
    assert evolved.fields[0] == NestedField(1, "b", t.INT, initial_default=3, write_default=3)


def test_a_table_that_has_a_column_with_a_reserved_name_can_still_evolve():
    schema = Schema(NestedField(1, "_file", t.STRING))
    assert SchemaUpdate(schema, format_version=2).add_column("b", t.INT).apply().ids == {"_file": 1, "b": 2}


def test_ids_never_reach_the_reserved_range():
    change = SchemaUpdate(SCHEMA, format_version=2, last_column_id=MAX_COLUMN_FIELD_ID)
    with refuses("no column id is left"):
        change.add_column("n", t.INT)


def test_the_sources_of_a_tables_partition_specs_are_told_to_an_update():
    specs = [
        PartitionSpec(0, (PartitionField((2,), 1000, "data", parse_transform("identity")),)),
        PartitionSpec(1, (PartitionField((1,), 1001, "id_bucket", parse_transform("bucket[4]")),)),
    ]
    assert partition_sources(specs, default_spec_id=1) == (
        PartitionSource(2, "data", "identity", current=False),
        PartitionSource(1, "id_bucket", "bucket[4]", current=True),
    )
