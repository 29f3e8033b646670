"""What a schema must keep to be written into a table of some format version."""

from __future__ import annotations

from typing import Final

from floeberg.errors import ColumnAlreadyExists, InvalidInput
from floeberg.spec.schemas.identifier_fields import check_identifier_fields
from floeberg.spec.schemas.metadata_columns import is_metadata_column, is_reserved_id
from floeberg.spec.schemas.schema import MAX_SCHEMA_DEPTH, Schema, type_depth, walk_fields
from floeberg.spec.types import V3_TYPES, IcebergType, NestedField, StructType, UnknownType
from floeberg.spec.values.defaults import check_default

V3: Final = 3
ENGINE_PREFIX: Final = "__floeberg_"
"""What the names of columns begin with that exist only inside a scan or a change of rows."""


def check_schema(schema: Schema, *, format_version: int, base: Schema | None = None) -> None:
    """Raises InvalidInput when the schema may not be written. With `base`, the types and defaults of fields that are
    there too are not judged again, so that a table with old sins can still evolve."""
    if type_depth(schema.as_struct) > MAX_SCHEMA_DEPTH:
        raise InvalidInput(f"the schema nests deeper than {MAX_SCHEMA_DEPTH} levels; flatten it")
    _check_names_and_ids(schema, base)
    for field, name in walk_fields(schema.fields):
        if base is None or field.field_id not in base.by_id:
            check_field(field, name=name, format_version=format_version)
    for column in schema.fields:
        known = base.by_id.get(column.field_id) if base else None
        if known is None or known.name != column.name:
            _check_not_reserved(column.name)
    check_identifier_fields(schema)


def _check_not_reserved(name: str) -> None:
    """Raises InvalidInput for names that engines take, most of them without regard to case, for columns of their own."""
    if is_metadata_column(name.lower()):
        raise InvalidInput(f"column name {name!r} is reserved for a metadata column; choose another")
    if name.lower().startswith(ENGINE_PREFIX):
        raise InvalidInput(f"column name {name!r}: names that begin with {ENGINE_PREFIX} are reserved; choose another")


def check_column_names(schema: Schema) -> None:
    """Raises ColumnAlreadyExists when two columns, or two members of a struct, have one name: nobody reads such a schema."""
    _check_member_names(schema.fields, inside="")
    for field, name in walk_fields(schema.fields):
        if isinstance(field.type, StructType):
            _check_member_names(field.type.members, inside=f" in {name!r}")


def check_field(field: NestedField, *, name: str, format_version: int) -> None:
    """Raises InvalidInput when a field's own type or defaults may not be written."""
    check_type_version(field.type, name=name, format_version=format_version)
    if isinstance(field.type, UnknownType) and field.required:
        raise InvalidInput(f"column {name!r} of type unknown must be optional", column=name)
    for default in (field.initial_default, field.write_default):
        check_default(field.type, default, name=name, format_version=format_version)


def check_type_version(data_type: IcebergType, *, name: str, format_version: int) -> None:
    """Raises InvalidInput for a type that the format version does not have."""
    if isinstance(data_type, V3_TYPES) and format_version < V3:
        raise InvalidInput(
            f"column {name!r}: type {data_type} needs format version {V3}, the table has "
            f"{format_version}: upgrade the table first",
            column=name,
        )


def _check_names_and_ids(schema: Schema, base: Schema | None) -> None:
    ids: set[int] = set()
    full_names: dict[str, int] = {}
    known = set(base.names.items()) if base else set()
    for field, name in walk_fields(schema.fields):
        if field.field_id in ids:
            raise InvalidInput(f"field id {field.field_id} is used twice, the second time by {name!r}")
        if is_reserved_id(field.field_id) or field.field_id < 0:
            raise InvalidInput(f"column {name!r} has the field id {field.field_id}, which columns must not use")
        ids.add(field.field_id)
        other = full_names.setdefault(name, field.field_id)
        if other != field.field_id and not {(other, name), (field.field_id, name)} <= known:
            raise ColumnAlreadyExists(
                f"name collision: the fields {other} and {field.field_id} would both be {name!r}; "
                "rename or drop one of them",
                column=name,
            )
        if isinstance(field.type, StructType):
            _check_member_names(field.type.members, inside=f" in {name!r}")
    _check_member_names(schema.fields, inside="")


def _check_member_names(members: tuple[NestedField, ...], *, inside: str) -> None:
    seen: set[str] = set()
    for member in members:
        if not member.name:
            raise InvalidInput(f"a field{inside} has an empty name")
        if member.name in seen:
            raise ColumnAlreadyExists(
                f"name collision: two fields{inside} would be named {member.name!r}; rename one of them"
            )
        seen.add(member.name)
