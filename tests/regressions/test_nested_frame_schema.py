"""A DataFrame with structs, lists and maps had no Iceberg schema: the placeholder ids of nested fields met those of the top."""

from __future__ import annotations

from floeberg.spark.host.types.spark_types import iceberg_schema_of


def test_nested_fields_of_a_dataframe_get_ids_of_their_own() -> None:
    from pyspark.sql import types as st

    inner = st.StructType([st.StructField("a", st.IntegerType()), st.StructField("b", st.ArrayType(st.StringType()))])
    schema = iceberg_schema_of(
        st.StructType(
            [
                st.StructField("id", st.LongType(), nullable=False),
                st.StructField("s", inner),
                st.StructField("m", st.MapType(st.StringType(), inner)),
            ]
        )
    )
    assert [(field.field_id, field.name) for field in schema.fields] == [(1, "id"), (2, "s"), (3, "m")]
    assert len(schema.by_id) == len(set(schema.names.values())) == 3 + 3 + 2 + 3
