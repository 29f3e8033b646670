"""What users give where a schema, or how to partition and sort by it, is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from floeberg.arrow.columns.types import iceberg_schema
from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.sql.ddl.types import schema_from_ddl

AnySchema: TypeAlias = "Schema | pa.Schema | str"


def to_schema(given: AnySchema) -> Schema:
    """A schema from what users give."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, pa.Schema):
        return iceberg_schema(given)
    if isinstance(given, str):
        return schema_from_ddl(given)
    raise InvalidInput(f"a schema is a floeberg.Schema, a pyarrow.Schema or Spark DDL text, not {type(given).__name__}")


def terms(given: str | Sequence[str]) -> tuple[str, ...]:
    """Terms to partition or sort by: one as text, or several."""
    return (given,) if isinstance(given, str) else tuple(given)
