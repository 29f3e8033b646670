"""Spark types as the text of a CAST; PySpark's own text leaves names unquoted."""

from __future__ import annotations

from pyspark.sql import types as st

from floeberg.sql.text.lexer import quote_name


def type_text(data_type: st.DataType) -> str:
    """The type as Spark's parser reads it."""
    if isinstance(data_type, st.StructType):
        members = ", ".join(f"{quote_name(field.name)}: {type_text(field.dataType)}" for field in data_type.fields)
        return f"struct<{members}>"
    if isinstance(data_type, st.ArrayType):
        return f"array<{type_text(data_type.elementType)}>"
    if isinstance(data_type, st.MapType):
        return f"map<{type_text(data_type.keyType)}, {type_text(data_type.valueType)}>"
    return str(data_type.simpleString())
