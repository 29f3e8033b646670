"""Iceberg schemas as Avro's for data files, ids and logical types included: https://iceberg.apache.org/spec/#avro"""

from __future__ import annotations

from typing import Any, Final

from floeberg.errors import InvalidInput
from floeberg.files.avro_types import AVRO_PRIMITIVES, avro_field_name, decimal_required_bytes
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import (
    UNSET,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UuidType,
    VariantType,
)

_WKB: Final = frozenset({GeometryType, GeographyType})


def avro_schema(schema: Schema) -> dict[str, Any]:
    """The Avro record schema of a data file."""
    return _Names().record(schema.fields, "table")


class _Names:
    """Avro wants each named type defined once: records and fixed types are told apart by the ids they hold."""

    def __init__(self) -> None:
        self._defined: set[str] = set()

    def record(self, members: tuple[NestedField, ...], name: str) -> dict[str, Any]:
        seen: set[str] = set()
        fields = []
        for member in members:
            field = self._field(member)
            if field["name"] in seen:
                raise InvalidInput(f"column {member.name!r}: two columns of a struct have one Avro name")
            seen.add(field["name"])
            fields.append(field)
        return {"type": "record", "name": name, "fields": fields}

    def _field(self, member: NestedField) -> dict[str, Any]:
        field: dict[str, Any] = {"name": avro_field_name(member.name), "field-id": member.field_id}
        if field["name"] != member.name:
            field["iceberg-field-name"] = member.name
        field["type"] = self._type(member)
        if member.optional and (member.write_default is UNSET or member.write_default is None):
            field["default"] = None
        if member.doc:
            field["doc"] = member.doc
        return field

    def _type(self, member: NestedField) -> Any:
        inner = self._inner(member.type, member.field_id)
        return ["null", inner] if member.optional else inner

    def _inner(self, data_type: IcebergType, field_id: int) -> Any:
        match data_type:
            case StructType():
                return self.record(data_type.members, f"r{field_id}")
            case ListType():
                return {"type": "array", "items": self._type(data_type.element), "element-id": data_type.element_id}
            case MapType(key_type=StringType()):
                return {
                    "type": "map",
                    "values": self._type(data_type.value),
                    "key-id": data_type.key_id,
                    "value-id": data_type.value_id,
                }
            case MapType():
                pair = self.record(data_type.fields, f"k{data_type.key_id}_v{data_type.value_id}")
                return {"type": "array", "logicalType": "map", "items": pair}
            case DecimalType(precision=precision, scale=scale):
                return self._fixed(
                    f"decimal_{precision}_{scale}",
                    decimal_required_bytes(precision),
                    {"logicalType": "decimal", "precision": precision, "scale": scale},
                )
            case UuidType():
                return self._fixed("uuid_fixed", 16, {"logicalType": "uuid"})
            case VariantType():
                parts = [{"name": name, "type": "bytes"} for name in ("metadata", "value")]
                return {"type": "record", "name": f"r{field_id}", "fields": parts, "logicalType": "variant"}
            case FixedType(length=length):
                return self._fixed(f"fixed_{length}", length, {})
        return "bytes" if type(data_type) in _WKB else AVRO_PRIMITIVES[type(data_type)]

    def _fixed(self, name: str, size: int, extra: dict[str, Any]) -> Any:
        if name in self._defined:
            return name
        self._defined.add(name)
        return {"type": "fixed", "name": name, "size": size, **extra}
