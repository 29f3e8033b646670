"""How large the rows of files are to Spark, which takes a file for as large as its bytes.

Spark broadcasts a side of a join that it takes for small. A well compressed file of 3 MB may hold two million rows, which take
300 MB in the memory of every executor; counted as rows, as manifests allow, it is large.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as st

_ROW: Final = 8
_SIZES: Final[dict[type[st.DataType], int]] = {
    st.BooleanType: 1,
    st.ByteType: 1,
    st.ShortType: 2,
    st.IntegerType: 4,
    st.FloatType: 4,
    st.DateType: 4,
    st.StringType: 20,
    st.BinaryType: 100,
}
_OTHER: Final = 8
_LEAST_BYTES: Final = 4 << 20
"""Whatever has no more bytes than this is broadcast anyway."""
_SHARE: Final = (3, 4)
"""Spark scales this to the columns that a query reads, with 8 bytes more for each row. The Java runtime counts the columns
alone: for rows of a few numbers that is three quarters, and sides just below the threshold are broadcast by both."""


def uncounted_bytes(schema: st.StructType, *, rows: int, stored_bytes: int) -> int:
    """The bytes of so many rows beyond those that files have; 0 where the difference cannot matter."""
    share, of = _SHARE
    counted = rows * (_ROW + _size(schema)) * share // of
    return counted - stored_bytes if counted > max(_LEAST_BYTES, stored_bytes) else 0


def _size(data_type: st.DataType) -> int:
    """What Spark takes for the size of a value whose column it has no statistics for."""
    match data_type:
        case st.StructType(fields=fields):
            return sum(_size(field.dataType) for field in fields)
        case st.ArrayType(elementType=element):
            return _size(element)
        case st.MapType(keyType=key, valueType=value):
            return _size(key) + _size(value)
        case st.DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
    return _SIZES.get(type(data_type), _OTHER)
