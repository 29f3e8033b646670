"""Which columns Spark may be asked for under their own names."""

from __future__ import annotations

from dataclasses import replace

from floeberg.spark.read.parquet.field_names import changed_types, renamed_ids, unsafe_ids
from lakes.scan_tables import new_table


def test_a_name_is_unsafe_once_it_meant_another_field_and_without_a_whole_history_none_is_safe() -> None:
    table = new_table(schema="id bigint, A int, b int, s struct<x: int>")
    assert unsafe_ids(table.metadata) == frozenset()
    with table.update_schema() as u:
        u.drop_column("A")
    with table.update_schema() as u:
        u.rename_column("b", "a")
        u.rename_column("s.x", "y")
        u.update_type("id", "bigint")
    ids = {schema.schema_id: {f.name: f.field_id for f in schema.fields} for schema in table.metadata.schemas}[0]
    assert unsafe_ids(table.metadata) == {ids["A"], ids["b"]}
    assert renamed_ids(table.metadata) == {ids["b"], table.schema.field("s.y").field_id}
    assert changed_types(table.metadata) == frozenset()
    assert unsafe_ids(replace(table.metadata, schemas=table.metadata.schemas[1:])) is None
