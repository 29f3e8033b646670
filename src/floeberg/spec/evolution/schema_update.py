"""Schema evolution: https://iceberg.apache.org/spec/#schema-evolution

A `SchemaUpdate` collects changes and makes the new schema of them; it touches no table. Columns are named by their full
name in the schema before the update (`"address.zip"`, `"points.x"` for `"points.element.x"`); a name that is not there
is looked for among the names as changed so far. A name with a dot of its own is given as a tuple of parts: `("a.b",)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from floeberg.errors import ColumnNotFound, InvalidInput
from floeberg.spec.evolution.schema_draft import ROOT, PartitionSource, SchemaDraft, TableFacts
from floeberg.spec.evolution.schema_union import union_by_name
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.rules import check_schema
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNSET, IcebergType, NestedField, NestedType

ColumnPath = str | Sequence[str]


def partition_sources(specs: Iterable[PartitionSpec], *, default_spec_id: int) -> tuple[PartitionSource, ...]:
    """What a `SchemaUpdate` must know of a table's partition specs."""
    return tuple(
        PartitionSource(source_id, field.name, str(field.transform), current=spec.spec_id == default_spec_id)
        for spec in specs
        for field in spec.fields
        for source_id in field.source_ids
    )


class SchemaUpdate:
    """Changes to a schema, each checked as it is asked for; `apply` gives the schema that results.

    `partition_sources` are the sources of all partition specs, `sort_source_ids` those of the current sort order: what
    the table still needs is not dropped. Every refusal raises InvalidInput and says why.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        format_version: int,
        last_column_id: int | None = None,
        partition_sources: Iterable[PartitionSource] = (),
        sort_source_ids: Iterable[int] = (),
        case_sensitive: bool = True,
        allow_incompatible_changes: bool = False,
    ) -> None:
        facts = TableFacts(
            format_version=format_version,
            partition_sources=tuple(partition_sources),
            sort_source_ids=tuple(sort_source_ids),
            allow_incompatible_changes=allow_incompatible_changes,
        )
        last = schema.highest_field_id if last_column_id is None else last_column_id
        self._draft = SchemaDraft(schema, facts, last_column_id=last)
        self._case_sensitive = case_sensitive
        self._identifier_paths: list[ColumnPath] | None = None

    @property
    def last_column_id(self) -> int:
        """The highest column id that the table has assigned, ids of dropped columns and of this update included."""
        return self._draft.ids.last_column_id

    def add_column(
        self,
        path: ColumnPath,
        data_type: IcebergType,
        *,
        required: bool = False,
        doc: str | None = None,
        default: object = UNSET,
    ) -> Self:
        """Adds a column, or a field of a struct (also in a list's element or a map's value), at the end. The default
        is that of rows written before and of rows written from now on; other than null it needs v3."""
        parent, name = _split(path)
        parent_id = self._resolve(parent) if parent else ROOT
        self._draft.add(parent_id, name, data_type, required=required, doc=doc, default=default)
        return self

    def drop_column(self, path: ColumnPath) -> Self:
        self._draft.drop(self._resolve(path))
        return self

    def rename_column(self, path: ColumnPath, new_name: str) -> Self:
        """Renames the last part of the path; `new_name` is the new last part, a dot in it is literal."""
        self._draft.rename(self._resolve(path), new_name)
        return self

    def move_first(self, path: ColumnPath) -> Self:
        self._draft.move(self._resolve(path), "first")
        return self

    def move_before(self, path: ColumnPath, other: ColumnPath) -> Self:
        self._draft.move(self._resolve(path), "before", self._resolve(other))
        return self

    def move_after(self, path: ColumnPath, other: ColumnPath) -> Self:
        self._draft.move(self._resolve(path), "after", self._resolve(other))
        return self

    def update_type(self, path: ColumnPath, data_type: IcebergType) -> Self:
        """Widens a type by a promotion that the table's format version allows."""
        self._draft.set_type(self._resolve(path), data_type)
        return self

    def update_doc(self, path: ColumnPath, doc: str | None) -> Self:
        self._draft.set_doc(self._resolve(path), doc)
        return self

    def make_optional(self, path: ColumnPath) -> Self:
        self._draft.set_required(self._resolve(path), False)
        return self

    def make_required(self, path: ColumnPath) -> Self:
        """Refused unless incompatible changes are allowed or the column is added here with a default."""
        self._draft.set_required(self._resolve(path), True)
        return self

    def update_default(self, path: ColumnPath, value: object) -> Self:
        """Sets the default of rows written from now on (`write-default`)."""
        self._draft.set_write_default(self._resolve(path), value)
        return self

    def drop_default(self, path: ColumnPath) -> Self:
        """Removes the default of rows written from now on."""
        self._draft.set_write_default(self._resolve(path), UNSET)
        return self

    def set_identifier_fields(self, paths: Iterable[ColumnPath]) -> Self:
        """Makes exactly these the identifier fields; they are named as the finished schema names them."""
        chosen = list(paths)
        self._identifier_paths = chosen
        return self

    def union_by_name(self, other: Schema) -> Self:
        """Adds and widens until the schema holds every column of `other`."""
        union_by_name(self._draft, other, case_sensitive=self._case_sensitive)
        return self

    def apply(self) -> Schema:
        """The new schema, with the id after the old one's (the metadata builder gives the final id); the old schema
        itself when nothing changed."""
        base = self._draft.base
        fields = self._draft.build()
        if emptied := self._draft.emptied_structs():
            raise InvalidInput(f"dropping every member would leave the struct {emptied[0]!r} empty; drop it instead")
        changed = Schema(*fields, schema_id=base.schema_id + 1)
        result = Schema(*fields, schema_id=base.schema_id + 1, identifier_field_ids=self._identifier_field_ids(changed))
        check_schema(result, format_version=self._draft.facts.format_version, base=base)
        if not self._case_sensitive:
            self._check_names_without_case(result)
        return base if result.same_columns(base) else result

    def _resolve(self, path: ColumnPath) -> int:
        """The id that a path names: in the schema before the update, else in the schema as changed so far."""
        field = _find(self._draft.base, path, case_sensitive=self._case_sensitive)
        if field is not None and not self._draft.is_dropped(field.field_id):
            return field.field_id
        so_far = _find(Schema(*self._draft.build()), path, case_sensitive=self._case_sensitive)
        if so_far is not None:
            return so_far.field_id
        if field is not None:
            raise InvalidInput(f"column {_shown(path)!r} is dropped by this update", column=_shown(path))
        known = ", ".join(member.name for member in self._draft.members(ROOT)[:30])
        raise ColumnNotFound(f"no column {_shown(path)!r}; the columns are: {known}", column=_shown(path))

    def _identifier_field_ids(self, schema: Schema) -> tuple[int, ...]:
        if self._identifier_paths is None:
            for field_id in self._draft.base.identifier_field_ids:
                if field_id not in schema.by_id:
                    name = self._draft.base.names[field_id]
                    raise InvalidInput(
                        f"cannot drop {name!r}: it is an identifier field; set other identifier fields first",
                        column=name,
                    )
            return self._draft.base.identifier_field_ids
        ids: dict[int, None] = {}
        for path in self._identifier_paths:
            field = _find(schema, path, case_sensitive=self._case_sensitive)
            if field is None:
                raise InvalidInput(f"{_shown(path)!r} cannot be an identifier field: there is no such column")
            ids[field.field_id] = None
        return tuple(ids)

    def _check_names_without_case(self, schema: Schema) -> None:
        seen: dict[str, str] = {}
        for name in schema.names.values():
            other = seen.setdefault(name.lower(), name)
            if other != name and not {other, name} <= set(self._draft.base.names.values()):
                raise InvalidInput(f"name collision without regard to case: {other!r} and {name!r}")


def _split(path: ColumnPath) -> tuple[ColumnPath | None, str]:
    if isinstance(path, str):
        parent, dot, name = path.rpartition(".")
        if dot and not (parent and name):
            raise InvalidInput(f"{path!r} is no column path; give a name with a dot as a tuple: ({path!r},)")
        return (parent or None), name
    parts = _parts(path)
    if not parts:
        raise InvalidInput("an empty path names no column")
    return (parts[:-1] or None), parts[-1]


def _parts(path: object) -> tuple[str, ...]:
    """Raises InvalidInput for what is no path."""
    parts = tuple(path) if isinstance(path, Iterable) else (path,)
    if not all(isinstance(part, str) for part in parts):
        raise InvalidInput(f"a column is named by a text, or by the texts of its path, not by {path!r:.60}")
    return tuple(str(part) for part in parts)


def _find(schema: Schema, path: ColumnPath, *, case_sensitive: bool) -> NestedField | None:
    if isinstance(path, str):
        return schema.find(path, case_sensitive=case_sensitive)
    fields: tuple[NestedField, ...] = schema.fields
    found: NestedField | None = None
    for part in _parts(path):
        found = _member(fields, part, case_sensitive=case_sensitive)
        if found is None:
            return None
        fields = found.type.fields if isinstance(found.type, NestedType) else ()
    return found


def _member(fields: tuple[NestedField, ...], name: str, *, case_sensitive: bool) -> NestedField | None:
    """The field of that name."""
    exact = [field for field in fields if field.name == name]
    if not exact and not case_sensitive:
        exact = [field for field in fields if field.name.lower() == name.lower()]
    if len(exact) > 1:
        raise InvalidInput(f"column {name!r} is ambiguous without regard to case")
    return exact[0] if exact else None


def _shown(path: ColumnPath) -> str:
    return path if isinstance(path, str) else ".".join(path)
