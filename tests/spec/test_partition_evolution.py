"""Partition evolution: https://iceberg.apache.org/spec/#partition-evolution"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput
from floeberg.spec.evolution.partition_update import PartitionSpecUpdate
from floeberg.spec.partitions.specs import UNPARTITIONED, PartitionField, PartitionSpec, build_partition_spec
from floeberg.spec.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    VOID,
    BucketTransform,
    TruncateTransform,
    UnknownTransform,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import LONG, STRING, TIMESTAMP, NestedField

SCHEMA = Schema(
    NestedField(1, "id", LONG),
    NestedField(2, "category", STRING),
    NestedField(3, "event_ts", TIMESTAMP),
)
OPS = json.loads((Path(__file__).parents[1] / "golden" / "vectors" / "java_interop_ops.json").read_text())


def update(spec: PartitionSpec, version: int = 2, *history: PartitionSpec) -> PartitionSpecUpdate:
    return PartitionSpecUpdate(SCHEMA, spec, format_version=version, specs=history)


CATEGORY = build_partition_spec(SCHEMA, ["category"])


def _shard_was_dropped(version: int) -> PartitionSpecUpdate:
    old = PartitionSpec(0, (PartitionField((1,), 1005, "id_shard", BucketTransform(8)),))
    return update(PartitionSpec(1, (PartitionField((2,), 1006, "category", IDENTITY),)), version, old)


# Each operation of the reference's vector: the update that does it, and the fields of the spec that it gives.
OPERATIONS = {
    "add_identity_field": (
        lambda: update(UNPARTITIONED).add_field("category"),
        ["1000: category: identity(2)"],
    ),
    "add_transform_fields": (
        lambda: (
            update(UNPARTITIONED)
            .add_field("bucket(16, id)")
            .add_field("truncate(8, category)")
            .add_field("year(event_ts)")
        ),
        ["1000: id_bucket_16: bucket[16](1)", "1001: category_trunc_8: truncate[8](2)", "1002: event_ts_year: year(3)"],
    ),
    "remove_field_v2": (lambda: update(CATEGORY).remove_field("category"), []),
    "remove_field_v1_void": (lambda: update(CATEGORY, 1).remove_field("category"), ["1000: category: void(2)"]),
    "rename_field": (lambda: update(CATEGORY).rename_field("category", "cat"), ["1000: cat: identity(2)"]),
    "field_id_recycling": (
        lambda: _shard_was_dropped(2).add_field("bucket(8, id)"),
        ["1006: category: identity(2)", "1005: id_shard: bucket[8](1)"],
    ),
    "delete_then_readd": (
        lambda: update(CATEGORY).remove_field("category").add_field("category"),
        ["1000: category: identity(2)"],
    ),
}


@pytest.mark.parametrize("operation", OPS["update_partition_spec"])
def test_every_operation_of_the_reference_gives_the_spec_that_its_vector_describes(operation: str) -> None:
    make, fields = OPERATIONS[operation]
    found = [f"{f.field_id}: {f.name}: {f.transform}({f.source_ids[0]})" for f in make().apply().fields]
    assert found == fields


def test_add_identity_field() -> None:
    spec = update(UNPARTITIONED).add_field("category").apply()
    assert spec == PartitionSpec(1, (PartitionField((2,), 1000, "category", IDENTITY),))


def test_add_transform_fields_with_the_generated_names() -> None:
    changed = update(UNPARTITIONED)
    changed.add_field("bucket(16, id)").add_field("truncate(8, category)").add_field("year(event_ts)")
    assert [(f.field_id, f.name, str(f.transform)) for f in changed.apply().fields] == [
        (1000, "id_bucket_16", "bucket[16]"),
        (1001, "category_trunc_8", "truncate[8]"),
        (1002, "event_ts_year", "year"),
    ]
    assert changed.last_assigned_field_id == 1002


def test_remove_field_leaves_nothing_in_v2() -> None:
    assert update(CATEGORY).remove_field("category").apply() == PartitionSpec(1, ())


def test_remove_field_leaves_a_void_field_with_its_id_in_v1() -> None:
    spec = update(CATEGORY, 1).remove_field("category").apply()
    assert spec == PartitionSpec(1, (PartitionField((2,), 1000, "category", VOID),))


def test_rename_field_keeps_the_id() -> None:
    assert update(CATEGORY).rename_field("category", "cat").apply().fields == (
        PartitionField((2,), 1000, "cat", IDENTITY),
    )


def test_field_ids_and_names_are_recycled_from_older_specs_in_v2() -> None:
    old = PartitionSpec(0, (PartitionField((1,), 1005, "id_shard", BucketTransform(8)),))
    current = PartitionSpec(1, (PartitionField((2,), 1006, "category", IDENTITY),))
    spec = update(current, 2, old).add_field("bucket(8, id)").apply()
    assert spec.fields[-1] == old.fields[0]
    renamed = update(current, 2, old).add_field("bucket(8, id)", "other").apply()
    assert renamed.fields[-1] == PartitionField((1,), 1007, "other", BucketTransform(8))


def test_field_ids_are_not_recycled_in_v1() -> None:
    old = PartitionSpec(0, (PartitionField((1,), 1000, "id_shard", BucketTransform(8)),))
    spec = update(PartitionSpec(1, (PartitionField((1,), 1000, "id_shard", VOID),)), 1, old).add_field("bucket(8, id)")
    assert spec.apply().fields[-1] == PartitionField((1,), 1001, "id_bucket_8", BucketTransform(8))


def test_removing_and_adding_back_is_no_change() -> None:
    assert update(CATEGORY).remove_field("category").add_field("category").apply() is CATEGORY
    renamed = update(CATEGORY).remove_field("category").add_field("category", "cat").apply()
    assert renamed.fields == (PartitionField((2,), 1000, "cat", IDENTITY),)


def test_adding_back_a_field_that_v1_made_void_renames_the_void_one() -> None:
    void = update(CATEGORY, 1).remove_field("category").apply()
    spec = update(void, 1, CATEGORY).add_field("category").apply()
    assert spec.fields == (
        PartitionField((2,), 1000, "category_1000", VOID),
        PartitionField((2,), 1001, "category", IDENTITY),
    )


def test_an_id_that_a_void_field_of_v1_days_still_holds_is_not_given_twice_in_v2() -> None:
    void = update(CATEGORY, 1).remove_field("category").apply()
    spec = update(void, 2, CATEGORY).add_field("category").apply()
    assert [(f.field_id, f.name) for f in spec.fields] == [(1000, "category_1000"), (1001, "category")]


def test_replacing_a_field_under_its_name_frees_the_name() -> None:
    days = PartitionSpec(0, (PartitionField((3,), 1000, "part", DAY),))
    v1 = update(days, 1).remove_field("part").add_field("hour(event_ts)", "part").apply()
    assert [(f.field_id, f.name, f.transform) for f in v1.fields] == [(1000, "part_1000", VOID), (1001, "part", HOUR)]
    v2 = update(days, 2).remove_field("part").add_field("hour(event_ts)", "part").apply()
    assert [(f.field_id, f.name, f.transform) for f in v2.fields] == [(1001, "part", HOUR)]


def test_a_rename_onto_the_name_of_a_void_field_moves_that_one_away() -> None:
    spec = PartitionSpec(0, (PartitionField((3,), 1000, "part", VOID), PartitionField((3,), 1001, "event_ts_day", DAY)))
    fields = update(spec, 1).rename_field("event_ts_day", "part").apply().fields
    assert [f.name for f in fields] == ["part_1000", "part"]


def test_a_field_is_removed_by_term_too() -> None:
    spec = build_partition_spec(SCHEMA, ["day(event_ts) AS d", "bucket(4, id)"])
    assert [f.name for f in update(spec).remove_field("days(event_ts)").apply().fields] == ["id_bucket"]
    assert [f.name for f in update(spec).remove_field("id_bucket").apply().fields] == ["d"]


def test_a_coarser_transform_may_follow_a_finer_one() -> None:
    hours = build_partition_spec(SCHEMA, ["hour(event_ts)"])
    spec = update(hours).remove_field("event_ts_hour").add_field("day(event_ts)").apply()
    assert [(f.field_id, f.name) for f in spec.fields] == [(1001, "event_ts_day")]


def test_an_equivalent_spec_of_the_table_is_used_again() -> None:
    empty = PartitionSpec(1, ())
    assert update(empty, 2, CATEGORY).add_field("category").apply() is CATEGORY


def test_new_ids_follow_the_last_one_the_table_assigned() -> None:
    changed = PartitionSpecUpdate(SCHEMA, UNPARTITIONED, format_version=2, last_assigned_field_id=1041)
    assert changed.add_field("category").apply().fields[0].field_id == 1042


def test_columns_are_found_without_regard_to_case_on_request() -> None:
    changed = PartitionSpecUpdate(SCHEMA, UNPARTITIONED, format_version=2, case_sensitive=False)
    assert changed.add_field("DAY(EVENT_TS)").apply().fields[0].name == "event_ts_day"


def test_the_name_of_a_term_is_used() -> None:
    assert update(UNPARTITIONED).add_field("bucket(4, id) AS shard").apply().fields[0].name == "shard"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda u: u.add_field("category"), "the spec has it"),
        (lambda u: u.add_field("id").add_field("id"), "twice"),
        (lambda u: u.add_field("bucket(4, id)", "category"), "has the name"),
        (lambda u: u.add_field("day(event_ts)").add_field("hour(event_ts)"), "redundant"),
        (lambda u: u.add_field("bucket(4, id)", "event_ts").apply(), "name of a column"),
        (lambda u: u.add_field("bucket(4, id)", "x").add_field("bucket(8, id)", "x").apply(), "used twice"),
        (lambda u: u.add_field("nope"), "no column"),
        (lambda u: u.add_field("hour(id)"), "does not take"),
        (lambda u: u.remove_field("nope"), "the fields are: category"),
        (lambda u: u.remove_field("bucket(4, id)"), "the fields are: category"),
        (lambda u: u.add_field("id").remove_field("id"), "which this update adds"),
        (lambda u: u.add_field("id").rename_field("id", "x"), "which this update adds"),
        (lambda u: u.rename_field("category", "x").remove_field("category"), "rename and remove"),
        (lambda u: u.remove_field("category").rename_field("category", "x"), "remove and rename"),
        (lambda u: u.rename_field("nope", "x"), "no partition field"),
        (lambda u: u.rename_field("category", "id").apply(), "name of a column"),
    ],
)
def test_a_change_that_may_not_be_says_why(change: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        change(update(CATEGORY))  # type: ignore[operator]


def test_a_refused_field_takes_no_id() -> None:
    changed = update(UNPARTITIONED, 1).add_field("day(event_ts)")
    with pytest.raises(InvalidInput, match="redundant"):
        changed.add_field("hour(event_ts)")
    assert [field.field_id for field in changed.add_field("id").apply().fields] == [1000, 1001]


def test_hours_come_beside_the_days_that_a_table_has() -> None:
    days = build_partition_spec(SCHEMA, ["day(event_ts)"])
    both = update(days).add_field("hour(event_ts)").apply()
    both.validate(SCHEMA)
    assert [str(field.transform) for field in both.fields] == ["day", "hour"]


def test_a_spec_with_an_unknown_transform_cannot_evolve() -> None:
    spec = PartitionSpec(0, (PartitionField((1,), 1000, "z", UnknownTransform("zorder")),))
    with pytest.raises(InvalidInput, match="unknown transform"):
        update(spec)


def test_a_spec_whose_source_was_dropped_must_lose_the_field() -> None:
    spec = PartitionSpec(0, (PartitionField((99,), 1000, "gone", IDENTITY), PartitionField((2,), 1001, "c", IDENTITY)))
    with pytest.raises(InvalidInput, match="no column with id 99"):
        update(spec).rename_field("c", "d").apply()
    assert len(update(spec).remove_field("gone").apply().fields) == 1
    assert update(spec, 1).remove_field("gone").apply().fields[0].transform == VOID


TERMS = ["id", "category", "bucket(4, id)", "bucket(8, id)", "truncate(2, category)", "day(event_ts)", "year(event_ts)"]


@given(
    st.lists(st.lists(st.tuples(st.booleans(), st.sampled_from(TERMS)), max_size=3), max_size=6),
    st.sampled_from([1, 2]),
)
def test_ids_stay_bound_to_one_definition_over_any_history(steps: list[list[tuple[bool, str]]], version: int) -> None:
    specs = [UNPARTITIONED]
    current, last = UNPARTITIONED, 999
    for step in steps:
        changed = PartitionSpecUpdate(SCHEMA, current, format_version=version, specs=specs, last_assigned_field_id=last)
        for add, term in step:
            try:
                (changed.add_field if add else changed.remove_field)(term)
            except InvalidInput:
                continue
        try:
            current = changed.apply()
        except InvalidInput:
            continue
        last = changed.last_assigned_field_id
        if all(spec.spec_id != current.spec_id for spec in specs):
            specs.append(current)
        assert len({f.field_id for f in current.fields}) == len(current.fields)
        assert len({f.name for f in current.fields}) == len(current.fields)
        if version == 1:
            assert [f.field_id for f in current.fields] == list(range(1000, 1000 + len(current.fields)))
    by_id: dict[int, set[tuple[tuple[int, ...], str]]] = {}
    for field in (field for spec in specs for field in spec.fields if field.transform != VOID):
        by_id.setdefault(field.field_id, set()).add((field.source_ids, str(field.transform)))
    assert all(len(definitions) == 1 for definitions in by_id.values())
    assert len({spec.spec_id for spec in specs}) == len(specs)


def test_the_width_is_part_of_a_definition() -> None:
    spec = PartitionSpec(0, (PartitionField((2,), 1000, "t", TruncateTransform(2)),))
    assert [f.field_id for f in update(spec).add_field("truncate(3, category)").apply().fields] == [1000, 1001]
