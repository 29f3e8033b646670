"""Which column of a table each column of a file is: by the file's field ids, by the table's name mapping, or by position or
name where there is neither. https://iceberg.apache.org/spec/#column-projection"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from floeberg.arrow.formats.file_schema import FileField, has_ids
from floeberg.effects.leniencies import Leniency, tolerate
from floeberg.errors import DataFileCorrupt
from floeberg.spec.schemas.name_mapping import MappedField, NameMapping, create_name_mapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import MapType, NestedField, NestedType


def resolve_ids(
    fields: tuple[FileField, ...],
    *,
    location: str,
    name_mapping: NameMapping | None,
    by_position: Schema | None = None,
    by_name: Schema | None = None,
    map_partly: bool = False,
) -> tuple[FileField, ...]:
    """The columns with ids: the file's own, or those that the table's name mapping gives to a file without any.

    https://iceberg.apache.org/spec/#column-projection. Without both, columns are those of a schema by their positions or
    by their names, whichever the format's reader gives. With `map_partly` the mapping also counts for columns without an
    id of a file in which others have one. Raises DataFileCorrupt where nothing says which column is which.
    """
    if not fields:
        return fields
    if has_ids(fields):
        if name_mapping is not None and map_partly:
            fields = _mapped_columns(fields, name_mapping)
        _note_partial_ids(fields, location)
        return fields
    if name_mapping is not None:
        return _mapped_columns(fields, name_mapping)
    if by_position is not None:
        return fields_by_position(fields, by_position, location=location)
    if by_name is not None:
        tolerate(
            Leniency.COLUMNS_BY_NAME, location, "has no field ids, and the table no name mapping: columns go by name"
        )
        return _mapped_columns(fields, create_name_mapping(by_name))
    raise _without_ids(fields, location, "the table has no name mapping to find its columns")


def spelled_mapping(mapping: NameMapping, fields: Sequence[FileField]) -> NameMapping:
    """The mapping with a file's spelling of names beside its own, where they differ in case alone and mean one column."""
    return NameMapping(_spelled(mapping.fields, fields, [field.name for field in fields]))


def _spelled(
    mappings: tuple[MappedField, ...], fields: Sequence[FileField], names: Sequence[str]
) -> tuple[MappedField, ...]:
    known = {name: number for number, mapping in enumerate(mappings) for name in mapping.names}
    found = list(mappings)
    for field, name in zip(fields, names, strict=True):
        number = known.get(name)
        if number is None:
            alike = [at for at, mapping in enumerate(mappings) if _is_spelling(name, mapping, names)]
            if len(alike) != 1:
                continue
            number = alike[0]
            found[number] = replace(found[number], names=(*found[number].names, name))
        below = _spelled(found[number].fields, field.children, _child_names(field))
        found[number] = replace(found[number], fields=below)
    return tuple(found)


def _is_spelling(name: str, mapping: MappedField, names: Sequence[str]) -> bool:
    """Whether the name is that of a mapped column but for its case, and the only one of the file that is."""
    lowered = {known.lower() for known in mapping.names}
    rivals = [other for other in names if other.lower() in lowered]
    return mapping.field_id is not None and rivals == [name]


def _without_ids(fields: Sequence[FileField], location: str, why: str) -> DataFileCorrupt:
    return DataFileCorrupt(
        f"{location} has no field ids, and {why} ({', '.join(repr(field.name) for field in fields[:10])}); set the table "
        "property schema.name-mapping.default, or read with the option match-columns-by-name",
        location=location,
    )


def _note_partial_ids(fields: Sequence[FileField], location: str) -> None:
    left_out = [field.name for field in _members(fields) if field.field_id is None]
    if left_out:
        tolerate(
            Leniency.PARTIAL_FIELD_IDS,
            location,
            f"has field ids for some columns only; {', '.join(map(repr, left_out[:10]))} are taken as not there",
        )


def _members(fields: Sequence[FileField]) -> Iterator[FileField]:
    """The columns, and the members of structs that have ids, which are found by theirs."""
    for field in fields:
        yield field
        below = field
        while below.children and not below.is_struct:
            below = below.children[-1]
        if field.field_id is not None and below.is_struct and not _is_variant(below):
            yield from _members(below.children)


def _is_variant(field: FileField) -> bool:
    """Whether a struct is laid out as a variant, whose parts have no ids."""
    names = {child.name for child in field.children}
    return "metadata" in names and names <= {"metadata", "value", "typed_value"}


def fields_by_position(fields: tuple[FileField, ...], schema: Schema, *, location: str) -> tuple[FileField, ...]:
    """The columns of a file without ids with those of the schema's columns at the same positions.

    Raises DataFileCorrupt unless the ids of the schema's columns are 1 to n in this order: after a column was dropped and
    another added, or moved, positions say nothing. And where a struct has another number of members.
    """
    if [column.field_id for column in schema.fields] != list(range(1, len(schema.fields) + 1)):
        raise _without_ids(
            fields,
            location,
            "the table neither a name mapping nor its first columns in their first order, by which to find its columns",
        )
    tolerate(
        Leniency.COLUMNS_BY_POSITION,
        location,
        "has no field ids, and the table no name mapping: columns go by position"
        + "".join(
            f", {field.name!r} is {column.name!r}"
            for field, column in zip(fields, schema.fields, strict=False)
            if field.name != column.name
        )[:200],
    )
    placed = [_placed(field, column, location) for field, column in zip(fields, schema.fields, strict=False)]
    return (*placed, *fields[len(placed) :])


def _placed(field: FileField, target: NestedField, location: str) -> FileField:
    """The field as the target, its children as the target's at the same positions."""
    below = target.type.fields if isinstance(target.type, NestedType) else ()
    children = field.children
    if isinstance(target.type, MapType) and not field.is_map and len(children) == 1 and len(children[0].children) == 2:
        pairs = replace(children[0], children=_placed_all(children[0].children, below, field, location))
        return replace(field, field_id=target.field_id, children=(pairs,))
    if below and children:
        children = _placed_all(children, below, field, location)
    return replace(field, field_id=target.field_id, children=children)


def _placed_all(
    fields: Sequence[FileField], targets: Sequence[NestedField], around: FileField, location: str
) -> tuple[FileField, ...]:
    if len(fields) != len(targets):
        raise DataFileCorrupt(
            f"{location} has no field ids, and {around.name!r} has {len(fields)} members in the file, {len(targets)} in the "
            "table: positions do not say which is which; set the table property schema.name-mapping.default",
            location=location,
        )
    return tuple(_placed(field, target, location) for field, target in zip(fields, targets, strict=True))


def _mapped_columns(fields: Sequence[FileField], mapping: NameMapping) -> tuple[FileField, ...]:
    return _mapped_all(fields, [field.name for field in fields], mapping.fields)


def _mapped_all(
    fields: Sequence[FileField], names: Sequence[str], mappings: Sequence[MappedField]
) -> tuple[FileField, ...]:
    """Fields of one level with the ids that the mapping gives to their names.

    A renamed column has several names, and a file may hold another column under a later one. Names are in the order in
    which the column got them, so the first that a file has is the column's.
    """
    found = [next((one for one in mappings if name in one.names), None) for name in names]
    first: dict[int, int] = {}
    for number, (name, mapping) in enumerate(zip(names, found, strict=True)):
        if mapping is not None:
            known = first.setdefault(id(mapping), number)
            if mapping.names.index(name) < mapping.names.index(names[known]):
                first[id(mapping)] = number
    return tuple(
        _mapped(field, mapping if mapping is not None and first[id(mapping)] == number else None)
        for number, (field, mapping) in enumerate(zip(fields, found, strict=True))
    )


def _mapped(field: FileField, mapping: MappedField | None) -> FileField:
    """The field with the id that the mapping gives to it, unless it has one of its own."""
    below = mapping.fields if mapping is not None else ()
    field_id = field.field_id if field.field_id is not None or mapping is None else mapping.field_id
    if _is_list_of_pairs(field) and {"key", "value"} <= {name for one in below for name in one.names}:
        (pair,) = field.children
        pairs = replace(pair, children=_mapped_all(pair.children, ["key", "value"], below))
        return replace(field, field_id=field_id, children=(pairs,))
    return replace(field, field_id=field_id, children=_mapped_all(field.children, _child_names(field), below))


def refuse_ambiguous(fields: Sequence[FileField], mapping: NameMapping, *, location: str) -> None:
    """Raises DataFileCorrupt for a file without ids in which two columns are one column of the mapping."""
    _refuse_ambiguous(fields, [field.name for field in fields], mapping.fields, location)


def _refuse_ambiguous(
    fields: Sequence[FileField], names: Sequence[str], mappings: Sequence[MappedField], location: str
) -> None:
    for mapping in mappings:
        own = [number for number, name in enumerate(names) if name in mapping.names]
        if len(own) > 1:
            raise DataFileCorrupt(
                f"{location} has the columns {', '.join(repr(names[number]) for number in own)}, which are all names of one "
                f"column of the table (id {mapping.field_id}); copy its rows instead of adding the file, or take the names "
                "that are not this column's out of the table property schema.name-mapping.default",
                location=location,
            )
        for number in own:
            _refuse_ambiguous(fields[number].children, _child_names(fields[number]), mapping.fields, location)


def _is_list_of_pairs(field: FileField) -> bool:
    """Whether a list may be a map: Avro has maps of texts only, others are arrays of records of two fields."""
    return len(field.children) == 1 and not field.is_struct and len(field.children[0].children) == 2


def _child_names(field: FileField) -> list[str]:
    """The names that mappings use: lists and maps have fixed ones, whatever the file calls them."""
    if field.is_struct:
        return [child.name for child in field.children]
    if field.is_map:
        return ["key", "value"]
    return ["element"] * len(field.children)
