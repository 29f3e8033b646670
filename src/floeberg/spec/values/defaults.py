"""Default values of fields: https://iceberg.apache.org/spec/#default-values

Read: a struct's default may give values for its members (as older texts of the specification allowed) or none (`{}`);
a member that it does not give takes the member's own default. Defaults are understood in metadata of every version.
Written: a struct's default is null or `{}`, and a default other than null needs v3.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.spec.types import (
    UNSET,
    DateType,
    DecimalType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    VariantType,
)
from floeberg.spec.values import single_value as values
from floeberg.spec.values.temporal import Unit, parse_date, parse_time, parse_timestamp
from floeberg.spec.values.whole_numbers import whole_number

NULL_DEFAULT_TYPES: Final = (UnknownType, VariantType, GeometryType, GeographyType)
"""Columns of these types must default to null."""
_TEMPORAL_HINT: Final = (
    "; add_column and update_default take a date, a time without tzinfo, or a datetime, with tzinfo where the type has a zone; "
    "in a schema they are counts of days, microseconds or nanoseconds, since 1970-01-01 or midnight"
)


def initial_value(field: NestedField) -> object:
    """The `initial-default` of a field that a data file was written without, UNSET when there is none; that of a struct is a
    dict of all members. Raises InvalidInput for a required member without a default."""
    return _completed_default(field, field.initial_default, initial_value)


def write_value(field: NestedField) -> object:
    """The `write-default` of a field that a writer was given no value for, under the rules of `initial_value`."""
    return _completed_default(field, field.write_default, write_value)


def _completed_default(field: NestedField, default: object, member_default: Callable[[NestedField], object]) -> object:
    if default is None or not isinstance(field.type, StructType) or not isinstance(default, Mapping):
        return default
    members = {}
    for member in field.type.members:
        if member.name in default:
            value = _completed_default(member, default[member.name], member_default)
        else:
            value = member_default(member)
        if member.required and (value is UNSET or value is None):
            raise InvalidInput(f"the default of column {field.name!r} needs a default for its required {member.name!r}")
        members[member.name] = None if value is UNSET else value
    return members


def physical_default(data_type: IcebergType, value: object) -> object:
    """A default in its physical form, where it is given as Python's own date, time, datetime or whole number. Others, and
    those that are of another type, stay as they are, for `check_default` to judge."""
    value = value if (number := whole_number(value)) is None else number
    match data_type, value:
        case ListType(), list() | tuple():
            return [physical_default(data_type.element_type, item) for item in value]
        case MapType(), Mapping():
            return {
                physical_default(data_type.key_type, key): physical_default(data_type.value_type, item)
                for key, item in value.items()
            }
        case DecimalType(), int() if not isinstance(value, bool):
            return Decimal(value)
        case DateType(), dt.date() if not isinstance(value, dt.datetime):
            return parse_date(value.isoformat())
        case TimeType(), dt.time() if value.tzinfo is None:
            return parse_time(value.isoformat())
        case ((TimestampType() | TimestampNsType()), dt.datetime()) if value.utcoffset() is None:
            return parse_timestamp(value.isoformat(), unit=_unit(data_type), zoned=False)
        case ((TimestamptzType() | TimestamptzNsType()), dt.datetime()) if value.utcoffset() is not None:
            return parse_timestamp(value.astimezone(dt.UTC).isoformat(), unit=_unit(data_type), zoned=True)
    return value


def _unit(data_type: IcebergType) -> Unit:
    return "ns" if isinstance(data_type, (TimestampNsType, TimestamptzNsType)) else "us"


def check_default(data_type: IcebergType, value: object, *, name: str, format_version: int) -> object:
    """A default to be written, in its physical form. Raises InvalidInput when the rules forbid it."""
    if value is None or value is UNSET:
        return value
    if format_version < 3:
        raise InvalidInput(
            f"column {name!r}: a default other than null needs format version 3, the table has {format_version}: "
            "upgrade the table first",
            column=name,
        )
    if isinstance(data_type, NULL_DEFAULT_TYPES):
        raise InvalidInput(f"column {name!r}: columns of type {data_type} must default to null", column=name)
    if isinstance(data_type, StructType):
        return _check_struct_default(data_type, value, name=name)
    if isinstance(data_type, (ListType, MapType)) and _holds_struct(data_type):
        raise InvalidInput(f"column {name!r}: a list or map that holds structs must default to null", column=name)
    try:
        return values.from_json(data_type, values.to_json(data_type, value))
    except InvalidInput as error:
        hint = _TEMPORAL_HINT if isinstance(value, (dt.date, dt.time)) else ""
        raise InvalidInput(f"column {name!r}: the default is wrong: {error}{hint}", column=name) from error


def _check_struct_default(struct: StructType, value: object, *, name: str) -> object:
    if value != {}:
        raise InvalidInput(
            f"column {name!r}: a struct's default is null or {{}}; set the members' defaults on the members",
            column=name,
        )
    for member in struct.members:
        if member.required and (member.write_default in (None, UNSET) or member.initial_default in (None, UNSET)):
            raise InvalidInput(
                f"column {name!r}: its default {{}} needs a default of its required member {member.name!r}",
                column=name,
            )
    return {}


def _holds_struct(data_type: IcebergType) -> bool:
    if isinstance(data_type, ListType):
        return _holds_struct(data_type.element_type)
    if isinstance(data_type, MapType):
        return _holds_struct(data_type.key_type) or _holds_struct(data_type.value_type)
    return isinstance(data_type, StructType)


def retype(field: NestedField, data_type: IcebergType) -> NestedField:
    """The field with another type in which members were renamed, added or removed: its defaults, which name members,
    follow by field id."""
    initial, write = (
        default if default in (None, UNSET) else _follow(field.type, data_type, default)
        for default in (field.initial_default, field.write_default)
    )
    return replace(field, type=data_type, initial_default=initial, write_default=write)


def _follow(old: IcebergType, new: IcebergType, value: object) -> object:
    if value is None:
        return None
    if isinstance(old, StructType) and isinstance(new, StructType) and isinstance(value, Mapping):
        result = {}
        for member in old.members:
            kept = new.field(member.field_id)
            if kept is not None and member.name in value:
                result[kept.name] = _follow(member.type, kept.type, value[member.name])
        return result
    if isinstance(old, ListType) and isinstance(new, ListType) and isinstance(value, list):
        return [_follow(old.element_type, new.element_type, item) for item in value]
    if isinstance(old, MapType) and isinstance(new, MapType):
        if isinstance(value, Mapping):
            return {key: _follow(old.value_type, new.value_type, item) for key, item in value.items()}
        if isinstance(value, list):
            return [(key, _follow(old.value_type, new.value_type, item)) for key, item in value]
    return value
