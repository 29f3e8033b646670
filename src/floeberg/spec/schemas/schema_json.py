"""Types and schemas to and from JSON builtins: https://iceberg.apache.org/spec/#schemas (Appendix C)

Reading is strict: what the specification's table requires must be there with its JSON type. JSON fields that the table
does not name are tolerated and not kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from floeberg.errors import FloebergError, InvalidInput, LimitExceeded, MetadataCorrupt
from floeberg.spec.schemas.identifier_fields import identifier_problem
from floeberg.spec.schemas.schema import MAX_COLUMN_FIELD_ID, MAX_SCHEMA_DEPTH, Schema, type_depth, walk_fields
from floeberg.spec.types import (
    UNSET,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    primitive_from_string,
)
from floeberg.spec.values import single_value as values
from floeberg.spec.values.defaults import NULL_DEFAULT_TYPES

_MAX_INT: Final = 2**31 - 1
_DEFAULT_KEYS: Final = ("initial-default", "write-default")


def type_from_json(obj: object, *, where: str = "type") -> IcebergType:
    """The type of a JSON form. Raises MetadataCorrupt, or LimitExceeded below MAX_SCHEMA_DEPTH levels."""
    result = _read_type(obj, where=where, depth=0)
    if isinstance(result, (StructType, ListType, MapType)):
        _check_unique_ids(result.fields, where=where)
    return result


def schema_from_json(obj: object, *, where: str = "schema", allow_reserved_ids: bool = False) -> Schema:
    """The schema of a JSON form; without `schema-id` (which v1 may leave out) its id is 0. Reserved ids, which only the
    schema embedded in a data file may have, are corrupt unless allowed. Raises MetadataCorrupt, LimitExceeded."""
    struct = _read_type(obj, where=where, depth=0)
    if not isinstance(struct, StructType) or not isinstance(obj, dict):
        raise MetadataCorrupt(f"{where}: a schema must be a struct, found {struct}", where=where)
    ids = _check_unique_ids(struct.fields, where=where)
    if not allow_reserved_ids and ids and max(ids) > MAX_COLUMN_FIELD_ID:
        raise MetadataCorrupt(
            f"{where}: field id {max(ids)} is above {MAX_COLUMN_FIELD_ID}; such ids are reserved for metadata columns",
            where=where,
        )
    schema_id = 0 if obj.get("schema-id") is None else _read_int(obj, "schema-id", where=where)
    identifiers = obj.get("identifier-field-ids")
    if identifiers is None:
        identifiers = []
    if not isinstance(identifiers, list) or not all(_is_int(item) for item in identifiers):
        raise MetadataCorrupt(f"{where}: identifier-field-ids must be a list of ints", where=where)
    schema = Schema(*struct.members, schema_id=schema_id, identifier_field_ids=identifiers)
    for field_id in identifiers:
        if problem := identifier_problem(schema, field_id):
            raise MetadataCorrupt(f"{where}: identifier field {field_id}: {problem}", where=where)
    return schema


def type_to_json(data_type: IcebergType) -> object:
    """The JSON form of a type: a string, or an object for a nested type. Raises InvalidInput beyond
    MAX_SCHEMA_DEPTH."""
    if type_depth(data_type) > MAX_SCHEMA_DEPTH:
        raise InvalidInput(f"the type nests deeper than {MAX_SCHEMA_DEPTH} levels; flatten it")
    return _write_type(data_type)


def schema_to_json(schema: Schema) -> dict[str, object]:
    """The JSON form of a schema, keys in the order that the reference implementation writes."""
    fields = type_to_json(schema.as_struct)
    assert isinstance(fields, dict)
    result: dict[str, object] = {"type": "struct", "schema-id": schema.schema_id}
    if schema.identifier_field_ids:
        result["identifier-field-ids"] = list(schema.identifier_field_ids)
    result["fields"] = fields["fields"]
    return result


def _read_type(obj: object, *, where: str, depth: int) -> IcebergType:
    if isinstance(obj, str):
        try:
            return primitive_from_string(obj)
        except InvalidInput as error:
            raise MetadataCorrupt(f"{where}: {error}", where=where) from error
    if not isinstance(obj, dict):
        raise MetadataCorrupt(f"{where}: a type is a string or an object, found {_shown(obj)}", where=where)
    if depth >= MAX_SCHEMA_DEPTH:
        raise LimitExceeded(f"{where}: types nest deeper than {MAX_SCHEMA_DEPTH} levels", where=where)
    match obj.get("type"):
        case "struct":
            return _read_struct(obj, where=where, depth=depth)
        case "list":
            return ListType(
                element_id=_read_id(obj, "element-id", where=where),
                element_type=_read_type(_get(obj, "element", where), where=f"{where}.element", depth=depth + 1),
                element_required=_read_bool(obj, "element-required", where=where),
            )
        case "map":
            return MapType(
                key_id=_read_id(obj, "key-id", where=where),
                key_type=_read_type(_get(obj, "key", where), where=f"{where}.key", depth=depth + 1),
                value_id=_read_id(obj, "value-id", where=where),
                value_type=_read_type(_get(obj, "value", where), where=f"{where}.value", depth=depth + 1),
                value_required=_read_bool(obj, "value-required", where=where),
            )
        case other:
            raise MetadataCorrupt(
                f"{where}: a nested type is a struct, list or map, found {_shown(other)}", where=where
            )


def _read_struct(obj: dict[str, object], *, where: str, depth: int) -> StructType:
    fields = _get(obj, "fields", where)
    if not isinstance(fields, list):
        raise MetadataCorrupt(f"{where}: a struct's fields must be a list, found {_shown(fields)}", where=where)
    members = tuple(
        _read_field(item, where=f"{where}.fields[{index}]", depth=depth) for index, item in enumerate(fields)
    )
    seen: set[str] = set()
    for member in members:
        if member.name in seen:
            raise MetadataCorrupt(f"{where}: two fields are named {_shown(member.name)}", where=where)
        seen.add(member.name)
    return StructType(members)


def _read_field(obj: object, *, where: str, depth: int) -> NestedField:
    if not isinstance(obj, dict):
        raise MetadataCorrupt(f"{where}: a field must be an object, found {_shown(obj)}", where=where)
    name = _get(obj, "name", where)
    if not isinstance(name, str):
        raise MetadataCorrupt(f"{where}: name must be a string, found {_shown(name)}", where=where)
    doc = obj.get("doc")
    if doc is not None and not isinstance(doc, str):
        raise MetadataCorrupt(f"{where}: doc must be a string, found {_shown(doc)}", where=where)
    data_type = _read_type(_get(obj, "type", where), where=f"{where}.type", depth=depth + 1)
    initial, write = (_read_default(data_type, obj, key, where=where) for key in _DEFAULT_KEYS)
    return NestedField(
        field_id=_read_id(obj, "id", where=where),
        name=name,
        type=data_type,
        required=_read_bool(obj, "required", where=where),
        doc=doc,
        initial_default=initial,
        write_default=write,
    )


def _read_default(data_type: IcebergType, obj: dict[str, object], key: str, *, where: str) -> object:
    if key not in obj:
        return UNSET
    given = obj[key]
    if given is not None and isinstance(data_type, NULL_DEFAULT_TYPES):
        raise MetadataCorrupt(f"{where}: {key} of a column of type {data_type} must be null", where=where)
    if _nests_deeper(given, 2 * type_depth(data_type)):
        raise MetadataCorrupt(f"{where}: {key} nests deeper than its type", where=where)
    try:
        return values.from_json(data_type, given)
    except FloebergError as error:
        raise MetadataCorrupt(f"{where}: {key}: {error}", where=where) from error


def _nests_deeper(value: object, levels: int) -> bool:
    """Whether JSON nests deeper than that. A list takes one level, a map two."""
    level = [value]
    for _ in range(levels + 1):
        level = [child for item in level for child in _json_children(item)]
        if not level:
            return False
    return bool(level)


def _json_children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _write_type(data_type: IcebergType) -> object:
    if isinstance(data_type, StructType):
        return {"type": "struct", "fields": [_write_field(member) for member in data_type.members]}
    if isinstance(data_type, ListType):
        return {
            "type": "list",
            "element-id": data_type.element_id,
            "element": _write_type(data_type.element_type),
            "element-required": data_type.element_required,
        }
    if isinstance(data_type, MapType):
        return {
            "type": "map",
            "key-id": data_type.key_id,
            "key": _write_type(data_type.key_type),
            "value-id": data_type.value_id,
            "value": _write_type(data_type.value_type),
            "value-required": data_type.value_required,
        }
    return str(data_type)


def _write_field(field: NestedField) -> dict[str, object]:
    result: dict[str, object] = {
        "id": field.field_id,
        "name": field.name,
        "required": field.required,
        "type": _write_type(field.type),
    }
    if field.doc is not None:
        result["doc"] = field.doc
    for key, value in zip(_DEFAULT_KEYS, (field.initial_default, field.write_default), strict=True):
        if value is not UNSET:
            result[key] = values.to_json(field.type, value)
    return result


def _check_unique_ids(fields: Iterable[NestedField], *, where: str) -> set[int]:
    seen: dict[int, str] = {}
    for field, name in walk_fields(fields):
        if field.field_id in seen:
            raise MetadataCorrupt(
                f"{where}: field id {field.field_id} is used twice, by {_shown(seen[field.field_id])} and "
                f"{_shown(name)}",
                where=where,
            )
        seen[field.field_id] = name
    return set(seen)


def _get(obj: dict[str, object], key: str, where: str) -> object:
    if key not in obj:
        raise MetadataCorrupt(f"{where}: required field {key!r} is missing", where=where)
    return obj[key]


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_INT


def _read_int(obj: dict[str, object], key: str, *, where: str) -> int:
    value = _get(obj, key, where)
    if not isinstance(value, int) or not _is_int(value):
        raise MetadataCorrupt(f"{where}: {key} must be a 32-bit int, found {_shown(value)}", where=where)
    return value


def _read_id(obj: dict[str, object], key: str, *, where: str) -> int:
    value = _read_int(obj, key, where=where)
    if value < 0:
        raise MetadataCorrupt(f"{where}: {key} must not be negative, found {value}", where=where)
    return value


def _read_bool(obj: dict[str, object], key: str, *, where: str) -> bool:
    value = _get(obj, key, where)
    if not isinstance(value, bool):
        raise MetadataCorrupt(f"{where}: {key} must be true or false, found {_shown(value)}", where=where)
    return value


def _shown(value: object) -> str:
    """What a message shows of a value from outside: short, and never a walk into deep nesting."""
    if isinstance(value, (dict, list)):
        return f"a JSON {'object' if isinstance(value, dict) else 'array'}"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return "a number of more than 128 bits"
    return repr(value)[:80]
