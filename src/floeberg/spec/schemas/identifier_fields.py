"""The rules on identifier fields: https://iceberg.apache.org/spec/#identifier-field-ids"""

from __future__ import annotations

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import DoubleType, FloatType, StructType, VariantType


def identifier_problem(schema: Schema, field_id: int) -> str | None:
    """Why a field must not identify rows, or None when it may."""
    field = schema.find(field_id)
    if field is None:
        return "there is no such field in the schema"
    if field.type.is_nested or isinstance(field.type, VariantType):
        return f"{schema.names[field_id]!r} is not a primitive field"
    if isinstance(field.type, (FloatType, DoubleType)):
        return f"{schema.names[field_id]!r} is a {field.type}; float and double cannot identify rows"
    if field.optional:
        return f"{schema.names[field_id]!r} is optional; an identifier must never be null"
    for parent_id in schema.path_to(field_id)[:-1]:
        parent = schema.by_id[parent_id]
        if not isinstance(parent.type, StructType):
            return f"{schema.names[field_id]!r} is nested in the {_kind(parent.type)} {schema.names[parent_id]!r}"
        if parent.optional:
            return f"{schema.names[field_id]!r} is nested in the optional struct {schema.names[parent_id]!r}"
    return None


def check_identifier_fields(schema: Schema) -> None:
    """Raises InvalidInput when an identifier field of the schema breaks a rule."""
    for field_id in schema.identifier_field_ids:
        if problem := identifier_problem(schema, field_id):
            raise InvalidInput(
                f"field {field_id} cannot be an identifier field: {problem}; "
                "name only required, non-float primitives in required structs",
                field_id=field_id,
            )


def _kind(data_type: object) -> str:
    return type(data_type).__name__.removesuffix("Type").lower()
