"""The key of a table for CDC: columns whose values name a row."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    NestedField,
    UnknownType,
    VariantType,
)

_FLOATS = (FloatType, DoubleType)
_NO_KEYS = (VariantType, UnknownType, GeometryType, GeographyType)


def key_fields(
    schema: Schema, keys: Sequence[str] | str | None, *, table: str, case_sensitive: bool = True
) -> tuple[NestedField, ...]:
    """The columns of a key, by default the identifier fields. Raises InvalidInput for none, unknown, nested, doubled ones
    and for types whose equality does not name a row (the spec allows no float or double in equality deletes)."""
    names = [keys] if isinstance(keys, str) else list(keys or _identifier_names(schema))
    if not names:
        raise InvalidInput(
            f"table {table} has no identifier fields; say which columns make the key (keys=[…])", table=table
        )
    fields = []
    for name in names:
        field = schema.find(name, case_sensitive=case_sensitive)
        if field is None:
            known = ", ".join(one.name for one in schema.fields[:30])
            raise InvalidInput(f"table {table} has no key column {name!r}; its columns are {known}", table=table)
        if field not in schema.fields or field.type.is_nested or isinstance(field.type, _NO_KEYS):
            raise InvalidInput(
                f"table {table}: column {name!r} ({field.type}) cannot be a key; use primitive columns at the top level",
                table=table,
            )
        if isinstance(field.type, _FLOATS):
            raise InvalidInput(
                f"table {table}: key column {name!r} is {field.type}; floating-point values are not compared exactly, so "
                "they cannot be keys. Use another column, or one of type decimal",
                table=table,
            )
        if field in fields:
            raise InvalidInput(f"table {table}: key column {name!r} is given twice", table=table)
        fields.append(field)
    return tuple(fields)


def _identifier_names(schema: Schema) -> list[str]:
    return [schema.names[field_id] for field_id in schema.identifier_field_ids]
