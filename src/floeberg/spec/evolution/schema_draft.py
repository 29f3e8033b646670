"""A schema being changed, field by field id: every change is checked as it is made.

https://iceberg.apache.org/spec/#schema-evolution
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from floeberg.errors import ColumnAlreadyExists, InvalidInput
from floeberg.spec.schemas.projection import IdCounter, assign_fresh_type_ids
from floeberg.spec.schemas.rules import check_field
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, IcebergType, ListType, MapType, NestedField, NestedType, StructType, UnknownType
from floeberg.spec.values.defaults import check_default, physical_default, retype
from floeberg.spec.values.promotion import can_promote, changes_partition_values, promote_value, refusal

ROOT: Final = -1
"""Stands for the table where a struct's field id is asked for."""


@dataclass(frozen=True, slots=True)
class PartitionSource:
    """That a partition field named `name` has this column as a source; `current` when its spec is the default one."""

    source_id: int
    name: str
    transform: str
    current: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What of a table decides whether a change of its schema is allowed."""

    format_version: int
    partition_sources: tuple[PartitionSource, ...] = ()
    sort_source_ids: tuple[int, ...] = ()
    allow_incompatible_changes: bool = False


class SchemaDraft:
    """The fields of a schema as a tree of ids that can be edited; `build` makes them fields again."""

    def __init__(self, base: Schema, facts: TableFacts, *, last_column_id: int) -> None:
        self.base = base
        self.facts = facts
        self.ids = IdCounter(max(last_column_id, base.highest_field_id))
        self.dropped: set[int] = set()
        self.added: set[int] = set()
        self._fields: dict[int, NestedField] = {}
        self._members: dict[int, list[int]] = {}
        self._parents: dict[int, int] = {}
        self._changed: set[int] = set()
        self._in_map_key: set[int] = set()
        self._members[ROOT] = [field.field_id for field in base.fields]
        self._index(base.fields, ROOT)

    def _index(self, fields: Iterable[NestedField], parent_id: int) -> None:
        stack = [(field, parent_id) for field in fields]
        while stack:
            field, parent = stack.pop()
            self._fields[field.field_id] = field
            self._parents[field.field_id] = parent
            above = self._fields.get(parent)
            if parent in self._in_map_key or (
                above is not None and isinstance(above.type, MapType) and above.type.key_id == field.field_id
            ):
                self._in_map_key.add(field.field_id)
            if isinstance(field.type, StructType):
                self._members[field.field_id] = [member.field_id for member in field.type.members]
            if isinstance(field.type, NestedType):
                stack.extend((child, field.field_id) for child in field.type.fields)

    def field(self, field_id: int) -> NestedField:
        """The field as changed so far; of a nested type only the kind and the ids are up to date."""
        return self._fields[field_id]

    def name(self, field_id: int) -> str:
        """The full name as changed so far."""
        parts = []
        while field_id != ROOT:
            parts.append(self._fields[field_id].name)
            field_id = self._parents[field_id]
        return ".".join(reversed(parts))

    def members(self, struct_id: int) -> list[NestedField]:
        """Members of a struct, or of the table, that are not dropped."""
        return [self._fields[i] for i in self._members[struct_id]]

    def is_dropped(self, field_id: int) -> bool:
        """Whether the field or something around it is dropped."""
        while field_id != ROOT:
            if field_id in self.dropped:
                return True
            field_id = self._parents[field_id]
        return False

    def struct_to_add_to(self, field_id: int) -> int:
        """The struct that new fields go to: the field itself, a list's element or a map's value."""
        if field_id == ROOT:
            return ROOT
        data_type = self._fields[field_id].type
        if isinstance(data_type, ListType):
            field_id = data_type.element_id
        elif isinstance(data_type, MapType):
            field_id = data_type.value_id
        data_type = self._fields[field_id].type
        if not isinstance(data_type, StructType):
            raise InvalidInput(
                f"cannot add a field to {self.name(field_id)!r}: it is {_described(data_type)}, not a struct"
            )
        return field_id

    def add(
        self, parent_id: int, name: str, data_type: IcebergType, *, required: bool, doc: str | None, default: object
    ) -> int:
        """Adds a field at the end of a struct, with fresh ids for it and all it holds; returns its id."""
        parent_id = self.struct_to_add_to(parent_id)
        full_name = name if parent_id == ROOT else f"{self.name(parent_id)}.{name}"
        if parent_id != ROOT:
            self._check_editable(parent_id, "add a field to")
        if any(member.name == name for member in self.members(parent_id)):
            raise ColumnAlreadyExists(f"cannot add column {full_name!r}: the name exists already", column=full_name)
        version = self.facts.format_version
        if required and default in (None, UNSET) and not self.facts.allow_incompatible_changes:
            way_out = "give a default" if version >= 3 else "make it optional (defaults need format version 3)"
            raise InvalidInput(
                f"cannot add the required column {full_name!r} without a default: rows written before have no value "
                f"for it; {way_out}, or allow incompatible changes",
                column=full_name,
            )
        if default is None and version < 3:
            default = UNSET
        field_id = self.ids.next_id()
        fresh = assign_fresh_type_ids(data_type, self.ids.next_id)
        default = check_default(fresh, physical_default(fresh, default), name=full_name, format_version=version)
        field = NestedField(
            field_id, name, fresh, required=required, doc=doc, initial_default=default, write_default=default
        )
        check_field(field, name=full_name, format_version=version)
        self._index([field], parent_id)
        self._members[parent_id].append(field_id)
        self.added.add(field_id)
        return field_id

    def drop(self, field_id: int) -> None:
        """Removes a member of a struct, or a column."""
        name = self.name(field_id)
        self._check_editable(field_id, "drop")
        parent_id = self._parents[field_id]
        if field_id not in self._members.get(parent_id, ()):
            raise InvalidInput(f"cannot drop {name!r}: a list keeps its element and a map its key and value")
        if field_id in self.added or self._has_changes(field_id):
            raise InvalidInput(f"cannot drop {name!r}: this update also changes it or adds to it; do one or the other")
        self._check_not_needed(field_id, name)
        self._members[parent_id].remove(field_id)
        self.dropped.add(field_id)

    def rename(self, field_id: int, new_name: str) -> None:
        self._check_editable(field_id, "rename")
        if not new_name:
            raise InvalidInput(f"cannot rename {self.name(field_id)!r} to an empty name")
        if field_id not in self._members.get(self._parents[field_id], ()):
            raise InvalidInput(f"cannot rename {self.name(field_id)!r}: elements, keys and values have fixed names")
        self._replace(replace(self._fields[field_id], name=new_name))

    def move(self, field_id: int, side: Literal["first", "before", "after"], anchor_id: int | None = None) -> None:
        """Moves a member within its struct."""
        name = self.name(field_id)
        self._check_editable(field_id, "move")
        siblings = self._members.get(self._parents[field_id], [])
        if field_id not in siblings:
            raise InvalidInput(f"cannot move {name!r}: only members of a struct have an order")
        if side == "first" or anchor_id is None:
            siblings.remove(field_id)
            siblings.insert(0, field_id)
            return
        if anchor_id == field_id:
            raise InvalidInput(f"cannot move {name!r} {side} itself")
        if anchor_id not in siblings:
            raise InvalidInput(
                f"cannot move {name!r} {side} {self.name(anchor_id)!r}: that is in another struct, and fields cannot "
                "be grouped into a struct or taken out of one"
            )
        siblings.remove(field_id)
        siblings.insert(siblings.index(anchor_id) + (side == "after"), field_id)

    def set_type(self, field_id: int, data_type: IcebergType) -> None:
        """Promotes a field's type; https://iceberg.apache.org/spec/#schema-evolution"""
        self._check_editable(field_id, "change the type of")
        field = self._fields[field_id]
        if field.type == data_type:
            return
        name = self.name(field_id)
        if not can_promote(field.type, data_type, self.facts.format_version):
            why = refusal(field.type, data_type, self.facts.format_version)
            raise InvalidInput(f"cannot change the type of {name!r}: {why}", column=name)
        for source in self.facts.partition_sources:
            if source.source_id == field_id and changes_partition_values(field.type, data_type, source.transform):
                raise InvalidInput(
                    f"cannot change the type of {name!r} from {field.type} to {data_type}: the partition field "
                    f"{source.name!r} ({source.transform}) would give other values than those written",
                    column=name,
                )
        fresh = assign_fresh_type_ids(data_type, self.ids.next_id)
        initial, write = (
            default if default is UNSET else promote_value(field.type, data_type, default)
            for default in (field.initial_default, field.write_default)
        )
        promoted = replace(field, type=fresh, initial_default=initial, write_default=write)
        self._replace(promoted)
        self._index([promoted], self._parents[field_id])

    def set_doc(self, field_id: int, doc: str | None) -> None:
        self._check_editable(field_id, "change the doc of")
        if field_id not in self._members.get(self._parents[field_id], ()):
            raise InvalidInput(f"cannot document {self.name(field_id)!r}: only members of a struct have a doc")
        self._replace(replace(self._fields[field_id], doc=doc))

    def set_required(self, field_id: int, required: bool) -> None:
        self._check_editable(field_id, "change the nullability of")
        field = self._fields[field_id]
        if field.required == required:
            return
        if required and isinstance(field.type, UnknownType):
            raise InvalidInput(f"cannot make {self.name(field_id)!r} required: columns of type unknown hold only nulls")
        defaulted_add = field_id in self.added and field.initial_default not in (None, UNSET)
        if required and not defaulted_add and not self.facts.allow_incompatible_changes:
            raise InvalidInput(
                f"cannot make {self.name(field_id)!r} required: rows written before may hold null; "
                "allow incompatible changes if you know that they do not"
            )
        self._replace(replace(field, required=required))

    def set_write_default(self, field_id: int, value: object) -> None:
        """Sets the default of rows written from now on; UNSET removes it. The initial default never changes."""
        self._check_editable(field_id, "change the default of")
        name = self.name(field_id)
        field = self._fields[field_id]
        if field_id not in self._members.get(self._parents[field_id], ()):
            raise InvalidInput(f"cannot set a default of {name!r}: only members of a struct have defaults")
        if value is None and field.required:
            raise InvalidInput(f"cannot set the default of the required column {name!r} to null; drop its default")
        if value is None and self.facts.format_version < 3:
            value = UNSET
        current = self._type(field)
        given = physical_default(current, value)
        value = check_default(current, given, name=name, format_version=self.facts.format_version)
        self._replace(replace(field, write_default=value))

    def build(self) -> tuple[NestedField, ...]:
        """The fields as changed."""
        return tuple(self._built(i) for i in self._members[ROOT])

    def emptied_structs(self) -> list[str]:
        """Names of structs that drops have left without a member."""
        return [
            self.name(struct_id)
            for struct_id, members in self._members.items()
            if struct_id != ROOT and not members and not self.is_dropped(struct_id)
            and any(self._parents[i] == struct_id for i in self.dropped)
        ]  # fmt: skip

    def _built(self, field_id: int) -> NestedField:
        field = self._fields[field_id]
        data_type = self._type(field)
        return field if data_type == field.type else retype(field, data_type)

    def _type(self, field: NestedField) -> IcebergType:
        if isinstance(field.type, StructType):
            return StructType(tuple(self._built(i) for i in self._members[field.field_id]))
        if isinstance(field.type, ListType):
            element = self._built(field.type.element_id)
            return replace(field.type, element_type=element.type, element_required=element.required)
        if isinstance(field.type, MapType):
            value = self._built(field.type.value_id)
            return replace(field.type, value_type=value.type, value_required=value.required)
        return field.type

    def _replace(self, field: NestedField) -> None:
        self._fields[field.field_id] = field
        self._changed.add(field.field_id)

    def _has_changes(self, field_id: int) -> bool:
        """Whether the field or something in it was changed or added by this update."""
        return any(field_id in self._path(i) for i in self._changed | self.added)

    def _path(self, field_id: int) -> list[int]:
        path = []
        while field_id != ROOT:
            path.append(field_id)
            field_id = self._parents[field_id]
        return path

    def _check_editable(self, field_id: int, verb: str) -> None:
        if self.is_dropped(field_id):
            raise InvalidInput(f"cannot {verb} {self.name(field_id)!r}: this update drops it")
        if field_id in self._in_map_key:
            raise InvalidInput(
                f"cannot {verb} {self.name(field_id)!r}: map keys cannot change, for two keys might become equal"
            )

    def _check_not_needed(self, field_id: int, name: str) -> None:
        for source in self.facts.partition_sources:
            if source.current and source.transform != "void" and field_id in self._path_of_source(source.source_id):
                raise InvalidInput(
                    f"cannot drop {name!r}: the partition field {source.name!r} ({source.transform}) of the current "
                    "spec needs it; remove the partition field first",
                    column=name,
                )
        for source_id in self.facts.sort_source_ids:
            if field_id in self._path_of_source(source_id):
                raise InvalidInput(
                    f"cannot drop {name!r}: the current sort order needs it; replace the sort order first", column=name
                )

    def _path_of_source(self, source_id: int) -> list[int]:
        return self._path(source_id) if source_id in self._fields else []


def _described(data_type: IcebergType) -> str:
    kind = type(data_type).__name__.removesuffix("Type").lower()
    return f"a {kind}" if data_type.is_nested else f"of type {data_type}"
