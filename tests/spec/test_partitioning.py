"""Partition specs: JSON, types, paths, validation, terms as people write them."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.partitions.specs import (
    UNPARTITIONED,
    PartitionField,
    PartitionSpec,
    build_partition_spec,
    partition_fields_from_json,
    partition_fields_to_json,
    partition_spec_from_json,
    partition_spec_to_json,
)
from floeberg.spec.partitions.terms import PartitionTerm, parse_partition_term
from floeberg.spec.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    parse_transform,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    BINARY,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    GeometryType,
    ListType,
    NestedField,
    StructType,
)

SCHEMA = Schema(
    NestedField(1, "id", LONG, required=True),
    NestedField(2, "data", STRING),
    NestedField(3, "ts", TIMESTAMP),
    NestedField(4, "event", StructType((NestedField(5, "when", TIMESTAMP), NestedField(6, "kind", STRING)))),
    NestedField(7, "tags", ListType(8, STRING)),
    NestedField(9, "uid", UUID),
    NestedField(10, "price", DecimalType(9, 2)),
    NestedField(11, "raw", BINARY),
    NestedField(12, "place", GeometryType()),
    NestedField(13, "doc", VARIANT),
    NestedField(14, "ratio", DOUBLE),
)
SPEC_JSON = {
    "spec-id": 3,
    "fields": [
        {"source-id": 3, "field-id": 1000, "name": "ts_day", "transform": "day"},
        {"source-id": 1, "field-id": 1001, "name": "id_bucket", "transform": "bucket[16]"},
    ],
}


def test_the_example_of_appendix_c_is_read_and_written() -> None:
    spec = partition_spec_from_json(SPEC_JSON)
    assert spec == PartitionSpec(
        3,
        (
            PartitionField((3,), 1000, "ts_day", DAY),
            PartitionField((1,), 1001, "id_bucket", BucketTransform(16)),
        ),
    )
    assert partition_spec_to_json(spec) == SPEC_JSON


def test_a_v1_list_without_ids_counts_from_1000() -> None:
    fields = [{k: v for k, v in field.items() if k != "field-id"} for field in SPEC_JSON["fields"]]  # type: ignore[attr-defined]
    spec = partition_fields_from_json(fields)
    assert [field.field_id for field in spec.fields] == [1000, 1001]
    assert spec.spec_id == 0
    assert partition_fields_to_json(spec) == SPEC_JSON["fields"]


def test_a_multi_argument_field_has_source_ids_and_no_source_id() -> None:
    obj = {"spec-id": 0, "fields": [{"source-ids": [1, 2], "field-id": 1000, "name": "z", "transform": "zorder"}]}
    spec = partition_spec_from_json(obj)
    assert spec.fields[0].source_ids == (1, 2)
    assert spec.unknown_fields == spec.fields
    assert partition_spec_to_json(spec) == obj


def test_one_source_id_in_a_list_is_written_as_source_id() -> None:
    obj = {"spec-id": 0, "fields": [{"source-ids": [1], "field-id": 1000, "name": "id", "transform": "identity"}]}
    [field] = partition_fields_to_json(partition_spec_from_json(obj))
    assert field == {"source-id": 1, "field-id": 1000, "name": "id", "transform": "identity"}


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 99), min_size=1, max_size=3).map(tuple),
            st.sampled_from(["identity", "bucket[4]", "truncate[9]", "year", "month", "day", "hour", "void", "other"]),
        ),
        max_size=6,
    )
)
def test_every_spec_survives_json(parts: list[tuple[tuple[int, ...], str]]) -> None:
    fields = tuple(PartitionField(ids, 1000 + i, f"f{i}", parse_transform(t)) for i, (ids, t) in enumerate(parts))
    spec = PartitionSpec(7, fields)
    assert partition_spec_from_json(partition_spec_to_json(spec)) == spec


FIELD = {"source-id": 1, "field-id": 1000, "name": "a", "transform": "identity"}


@pytest.mark.parametrize(
    "obj",
    [
        None,
        [],
        {},
        {"spec-id": "0", "fields": []},
        {"spec-id": 0},
        {"spec-id": 0, "fields": {}},
        {"spec-id": 0, "fields": [1]},
        {"spec-id": 0, "fields": [{}]},
        {"spec-id": True, "fields": []},
        {"spec-id": 2**40, "fields": []},
        {"spec-id": 0, "fields": [{**FIELD, "name": ""}]},
        {"spec-id": 0, "fields": [{**FIELD, "transform": 3}]},
        {"spec-id": 0, "fields": [{**FIELD, "transform": "bucket[0]"}]},
        {"spec-id": 0, "fields": [{**FIELD, "source-id": None}]},
        {"spec-id": 0, "fields": [{**FIELD, "source-ids": []}]},
        {"spec-id": 0, "fields": [{**FIELD, "source-ids": ["1"]}]},
        {"spec-id": 0, "fields": [FIELD, {**FIELD, "field-id": 1001}]},
        {"spec-id": 0, "fields": [FIELD, {**FIELD, "name": "b"}]},
        {"spec-id": 0, "fields": [FIELD, {"source-id": 1, "name": "b", "transform": "identity"}]},
    ],
)
def test_a_malformed_spec_is_corrupt(obj: object) -> None:
    with pytest.raises(MetadataCorrupt):
        partition_spec_from_json(obj)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda i: (
            st.lists(i) | st.dictionaries(st.sampled_from(["spec-id", "fields", "name", "transform", "source-id"]), i)
        ),
    )
)
def test_any_json_is_a_spec_or_corrupt(obj: object) -> None:
    try:
        partition_spec_from_json(obj)
    except MetadataCorrupt:
        return


def test_the_partition_type_has_optional_fields_of_the_result_types() -> None:
    spec = build_partition_spec(SCHEMA, ["day(ts)", "bucket(16, id)", "truncate(4, data)", "uid"])
    assert spec.partition_type(SCHEMA) == StructType(
        (
            NestedField(1000, "ts_day", DATE),
            NestedField(1001, "id_bucket", INT),
            NestedField(1002, "data_trunc", STRING),
            NestedField(1003, "uid", UUID),
        )
    )


def test_an_old_spec_whose_source_column_was_dropped_still_has_a_type() -> None:
    spec = build_partition_spec(SCHEMA, ["day(ts)", "data", "bucket(4, id)", "void(uid)"])
    left = Schema(NestedField(14, "ratio", DOUBLE))
    assert [member.type for member in spec.partition_type(left)] == [DATE, UNKNOWN, INT, UNKNOWN]
    assert spec.path(left, (0, "x y", 3, None)) == "ts_day=1970-01-01/data=x+y/id_bucket=3/uid_null=null"


def test_a_field_of_an_unknown_transform_has_unknown_type() -> None:
    spec = PartitionSpec(0, (PartitionField((1, 2), 1000, "z", UnknownTransform("zorder")),))
    assert spec.partition_type(SCHEMA).members[0].type == UNKNOWN


def test_values_of_a_row_are_transformed_field_by_field() -> None:
    spec = build_partition_spec(SCHEMA, ["day(ts)", "bucket(16, id)", "truncate(2, data)", "event.kind"])
    row = {1: 34, 2: "iceberg", 3: -1, 6: None}
    assert spec.partition_values(SCHEMA, row) == (-1, (2017239379 & 0x7FFFFFFF) % 16, "ic", None)


@pytest.mark.parametrize(
    ("terms", "values", "expected"),
    [
        (["data"], ("a/b=c d",), "data=a%2Fb%3Dc+d"),
        (["data"], ("*.-_~!'()",), "data=*.-_%7E%21%27%28%29"),
        (["data"], ("é\U0001f9ca%+",), "data=%C3%A9%F0%9F%A7%8A%25%2B"),
        (["data"], ("",), "data="),
        (["data"], (None,), "data=null"),
        (["data"], ("..",), "data=.."),
        (["data", "bucket(16, id)"], ("x", 3), "data=x/id_bucket=3"),
        (["ts"], (1512151975038194,), "ts=2017-12-01T18%3A12%3A55.038194"),
        (["hour(ts)"], (-1,), "ts_hour=1969-12-31-23"),
        (["uid"], (uuid.UUID(int=1),), "uid=00000000-0000-0000-0000-000000000001"),
        (["price"], (Decimal("-1.50"),), "price=-1.50"),
        (["raw"], (b"\xff\xfe\xfd",), "raw=%2F%2F79"),
        (["ratio"], (1e10,), "ratio=1.0E10"),
        (["event.kind"], ("x",), "event.kind=x"),
        (["bucket(4, id) AS `my name/ü`"], (1,), "my+name%2F%C3%BC=1"),
        ([], (), ""),
    ],
)
def test_paths_are_escaped_as_the_reference_implementation_does(
    terms: list[str], values: tuple[object, ...], expected: str
) -> None:
    assert build_partition_spec(SCHEMA, terms).path(SCHEMA, values) == expected


def test_a_tuple_of_another_length_has_no_path() -> None:
    with pytest.raises(InvalidInput, match="2 partition values"):
        build_partition_spec(SCHEMA, ["data"]).path(SCHEMA, ("a", "b"))


def test_a_new_table_gets_the_names_the_reference_implementation_gives() -> None:
    terms = ["data", "year(ts)", "bucket(16, id)", "truncate(4, data)", "month(event.when)", "void(uid)"]
    names = [field.name for field in build_partition_spec(SCHEMA, terms).fields]
    assert names == ["data", "ts_year", "id_bucket", "data_trunc", "event.when_month", "uid_null"]


def test_a_second_bucket_of_a_column_is_told_apart_by_its_number() -> None:
    names = [field.name for field in build_partition_spec(SCHEMA, ["bucket(16, id)", "bucket(8, id)"]).fields]
    assert names == ["id_bucket", "id_bucket_8"]


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["nope"], "no column"),
        (["ID"], "no column"),
        (["tags.element"], "list or map"),
        (["tags"], "does not take"),
        (["event"], "does not take"),
        (["place"], "does not take"),
        (["doc"], "does not take"),
        (["bucket(4, ratio)"], "does not take"),
        (["hour(id)"], "does not take"),
        (["day(ts)", "hour(ts)"], "redundant"),
        (["data", "data AS other"], "redundant"),
        (["bucket(4, id)", "bucket(4, id) AS again"], "redundant"),
        (["bucket(4, id) AS data"], "name of a column"),
        (["day(ts) AS ts"], "name of a column"),
        (["data AS id"], "name of a column"),
        (["bucket(4, id) AS x", "truncate(3, data) AS x"], "used twice"),
        (["bucket(0, id)"], "number of buckets"),
    ],
)
def test_a_spec_that_does_not_fit_the_schema_is_refused(terms: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        build_partition_spec(SCHEMA, terms)


def test_new_specs_never_use_an_unknown_transform() -> None:
    spec = PartitionSpec(0, (PartitionField((1,), 1000, "z", UnknownTransform("zorder")),))
    with pytest.raises(InvalidInput, match="not known"):
        spec.validate(SCHEMA)


def test_columns_are_found_without_regard_to_case_on_request() -> None:
    spec = build_partition_spec(SCHEMA, ["DAY(TS)"], case_sensitive=False)
    assert spec.fields[0] == PartitionField((3,), 1000, "ts_day", DAY)


def test_specs_are_equivalent_by_sources_transforms_and_names() -> None:
    spec = build_partition_spec(SCHEMA, ["day(ts)", "data"])
    other = PartitionSpec(9, (PartitionField((3,), 2000, "ts_day", DAY), PartitionField((2,), 2001, "data", IDENTITY)))
    assert spec.compatible_with(other)
    assert not spec.compatible_with(PartitionSpec(9, other.fields[::-1]))
    assert not spec.compatible_with(UNPARTITIONED)


def test_a_spec_of_void_fields_alone_is_unpartitioned() -> None:
    assert UNPARTITIONED.is_unpartitioned
    assert PartitionSpec(1, (PartitionField((1,), 1000, "id", VOID),)).is_unpartitioned
    assert not PartitionSpec(1, (PartitionField((1,), 1000, "id", IDENTITY),)).is_unpartitioned
    assert UNPARTITIONED.last_assigned_field_id == 999


@pytest.mark.parametrize(
    ("text", "transform", "column"),
    [
        ("col", IDENTITY, "col"),
        ("a.b.c", IDENTITY, "a.b.c"),
        ("identity(col)", IDENTITY, "col"),
        ("year(ts)", YEAR, "ts"),
        ("years(ts)", YEAR, "ts"),
        ("months( ts )", MONTH, "ts"),
        ("Day(ts)", DAY, "ts"),
        ("days(event.when)", DAY, "event.when"),
        ("date(ts)", DAY, "ts"),
        ("hours(ts)", HOUR, "ts"),
        ("date_hour(ts)", HOUR, "ts"),
        ("bucket(16, id)", BucketTransform(16), "id"),
        ("bucket(id, 16)", BucketTransform(16), "id"),
        ("bucket[16](id)", BucketTransform(16), "id"),
        ("truncate(4, s)", TruncateTransform(4), "s"),
        ("truncate( s , 4 )", TruncateTransform(4), "s"),
        ("void(x)", VOID, "x"),
        ("`day`", IDENTITY, "day"),
        ("day(`odd ``name`, `)", None, None),
        ("day(`odd ``name`)", DAY, "odd `name"),
        ('bucket(4, "a b".c)', BucketTransform(4), "a b.c"),
        ("größe", IDENTITY, "größe"),
    ],
)
def test_terms_are_read_as_people_write_them(text: str, transform: Transform | None, column: str | None) -> None:
    if transform is None or column is None:
        with pytest.raises(InvalidInput):
            parse_partition_term(text)
        return
    assert parse_partition_term(text) == PartitionTerm(transform, column)


@pytest.mark.parametrize("text", ["day(ts)", "bucket(16, id)", "truncate(4, s)", "col", "void(x)", "hour(a.b)"])
def test_a_term_prints_as_it_is_written(text: str) -> None:
    assert str(parse_partition_term(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "day()",
        "day(a, b)",
        "bucket(16)",
        "bucket(a, b)",
        "zorder(a, b)",
        "day[3](ts)",
        "bucket[4](4, id)",
        "a b",
        "day(ts) AS",
        "lower(x)",
        "(" * 5000,
    ],
)
def test_what_is_no_term_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_partition_term(text)
