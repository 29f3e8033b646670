"""What users give where a schema is wanted."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

from floeberg.arrow.types import iceberg_schema
from floeberg.errors import InvalidInput
from floeberg.spec.schema import Schema
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
