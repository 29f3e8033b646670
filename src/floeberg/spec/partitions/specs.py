"""Partition specs: https://iceberg.apache.org/spec/#partitioning"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.partitions.terms import PartitionTerm, check_source, parse_partition_term, resolve_source
from floeberg.spec.partitions.transforms import (
    BucketTransform,
    IdentityTransform,
    TemporalTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    parse_transform,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import UNKNOWN, IcebergType, NestedField, StructType
from floeberg.spec.values.temporal import INT_MAX

PARTITION_FIELD_ID_START: Final = 1000
"""Ids of partition fields count from here, in every version."""


@dataclass(frozen=True, slots=True)
class PartitionField:
    """How one partition value is made from a source column (several, for a multi-argument transform)."""

    source_ids: tuple[int, ...]
    field_id: int
    name: str
    transform: Transform

    def __post_init__(self) -> None:
        object.__setattr__(self, "source_ids", tuple(self.source_ids))
        name: object = self.name
        if not isinstance(name, str):
            raise InvalidInput(f"the name of a partition field is a text, not {name!r:.60}")

    @property
    def source_id(self) -> int:
        """The source column, or the first of several."""
        return self.source_ids[0]

    def same_definition(self, other: PartitionField) -> bool:
        """Equal source columns and transform, whatever the name and id."""
        return self.source_ids == other.source_ids and self.transform == other.transform

    def __str__(self) -> str:
        return f"{self.field_id}: {self.name}: {self.transform}({', '.join(map(str, self.source_ids))})"


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """How the tuple of partition values of a data file is made from its rows."""

    spec_id: int
    fields: tuple[PartitionField, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))

    @property
    def is_unpartitioned(self) -> bool:
        """No fields, or none but void ones."""
        return all(isinstance(field.transform, VoidTransform) for field in self.fields)

    @property
    def last_assigned_field_id(self) -> int:
        return max((field.field_id for field in self.fields), default=PARTITION_FIELD_ID_START - 1)

    @property
    def identity_source_ids(self) -> frozenset[int]:
        return frozenset(field.source_id for field in self.fields if isinstance(field.transform, IdentityTransform))

    @property
    def unknown_fields(self) -> tuple[PartitionField, ...]:
        """Fields whose transform is not known here: no data may be written with this spec when there are any."""
        return tuple(field for field in self.fields if isinstance(field.transform, UnknownTransform))

    def field(self, name_or_id: str | int) -> PartitionField | None:
        """The field of that name or id."""
        return next((f for f in self.fields if name_or_id in (f.name, f.field_id)), None)

    def compatible_with(self, other: PartitionSpec) -> bool:
        """Equivalent: the same names, transforms and source columns in the same order; ids do not matter."""
        return len(self.fields) == len(other.fields) and all(
            mine.same_definition(theirs) and mine.name == theirs.name
            for mine, theirs in zip(self.fields, other.fields, strict=True)
        )

    def with_id(self, spec_id: int) -> PartitionSpec:
        return PartitionSpec(spec_id, self.fields)

    def partition_type(self, schema: Schema) -> StructType:
        """The type of partition tuples. Where it hangs on a source column that was dropped, or on a transform that is
        not known, it is `unknown`: the type in the manifest's own schema then says how values are stored."""
        return StructType(
            tuple(
                NestedField(field.field_id, field.name, field.transform.result_type(_source_type(schema, field)))
                for field in self.fields
            )
        )

    def partition_values(self, schema: Schema, values: Mapping[int, object]) -> tuple[object, ...]:
        """The partition tuple of a row, given its values by source column id."""
        return tuple(
            field.transform.apply(_source_type(schema, field), values.get(field.source_id)) for field in self.fields
        )

    def path(self, schema: Schema, values: Sequence[object]) -> str:
        """`name=value/…` of a partition tuple, escaped as the reference implementation escapes it.
        Raises InvalidInput when the tuple has another length."""
        if len(values) != len(self.fields):
            raise InvalidInput(
                f"{len(values)} partition values for the {len(self.fields)} fields of spec {self.spec_id}"
            )
        types = self.partition_type(schema).members
        return "/".join(
            f"{escape(field.name)}={escape(field.transform.to_human_string(of.type, value))}"
            for field, of, value in zip(self.fields, types, values, strict=True)
        )

    def validate(self, schema: Schema) -> None:
        """Raises InvalidInput when this spec may not be given to a table with the schema."""
        names: set[str] = set()
        for field in self.fields:
            check_field(schema, field)
            if field.name in names:
                raise InvalidInput(f"partition field name {field.name!r} is used twice; name one of them otherwise")
            names.add(field.name)
        self._check_redundant(str)

    def _check_redundant(self, kind_of: Callable[[Transform], str]) -> None:
        """Raises InvalidInput when two fields derive the same kind of value from the same columns."""
        definitions: dict[tuple[tuple[int, ...], str], PartitionField] = {}
        for field in self.fields:
            if isinstance(field.transform, VoidTransform):
                continue
            key = (field.source_ids, kind_of(field.transform))
            if key in definitions:
                raise InvalidInput(f"partition field {field} is redundant beside {definitions[key]}")
            definitions[key] = field

    def __str__(self) -> str:
        return "[" + "".join(f"\n  {field}" for field in self.fields) + ("\n]" if self.fields else "]")


UNPARTITIONED: Final = PartitionSpec(0)


def check_field(schema: Schema, field: PartitionField) -> None:
    """Raises InvalidInput when a new field does not fit the schema: its source, its transform, or a name that belongs
    to another column (only an identity or void field may bear the name of its own source column)."""
    if not field.name:
        raise InvalidInput(f"partition field {field.field_id} needs a name")
    for source_id in field.source_ids:
        if (source := schema.find(source_id)) is not None:
            check_source(schema, source, field.transform)
        elif not isinstance(field.transform, VoidTransform):
            raise InvalidInput(f"partition field {field}: the schema has no column with id {source_id}")
    clash = schema.find(field.name)
    if clash is None:
        return
    own = field.source_ids == (clash.field_id,) and isinstance(field.transform, (IdentityTransform, VoidTransform))
    dropped = isinstance(field.transform, VoidTransform) and schema.find(field.source_id) is None
    if not own and not dropped:
        raise InvalidInput(f"partition field name {field.name!r} is the name of a column; name the field otherwise")


def escape(text: str) -> str:
    """As `java.net.URLEncoder` with UTF-8."""
    return quote_plus(text, safe="*", errors="replace").replace("~", "%7E")


def default_field_name(column: str, transform: Transform, *, numbered: bool) -> str:
    """The name the reference implementation gives: `id_bucket` when a table is created, `id_bucket_16` (numbered) when
    its spec evolves."""
    match transform:
        case IdentityTransform():
            return column
        case BucketTransform(num_buckets=number):
            return f"{column}_bucket_{number}" if numbered else f"{column}_bucket"
        case TruncateTransform(width=number):
            return f"{column}_trunc_{number}" if numbered else f"{column}_trunc"
        case VoidTransform():
            return f"{column}_null"
        case _:
            return f"{column}_{transform}"


def build_partition_spec(
    schema: Schema, terms: Iterable[str | PartitionTerm], *, spec_id: int = 0, case_sensitive: bool = True
) -> PartitionSpec:
    """The spec of a new table from terms such as `day(ts)`. Raises InvalidInput."""
    fields: list[PartitionField] = []
    for given in terms:
        term = given if isinstance(given, PartitionTerm) else parse_partition_term(given)
        source = resolve_source(schema, term.column, term.transform, case_sensitive=case_sensitive)
        column = schema.names[source.field_id]
        name = term.name or default_field_name(column, term.transform, numbered=False)
        if term.name is None and any(field.name == name for field in fields):
            name = default_field_name(column, term.transform, numbered=True)
        fields.append(PartitionField((source.field_id,), PARTITION_FIELD_ID_START + len(fields), name, term.transform))
    spec = PartitionSpec(spec_id, tuple(fields))
    spec.validate(schema)
    spec._check_redundant(_kind)
    return spec


def _kind(transform: Transform) -> str:
    """In a new spec one time transform a column is enough; a spec that evolves may go from days to hours beside them."""
    return "time" if isinstance(transform, TemporalTransform) else str(transform)


def partition_spec_to_json(spec: PartitionSpec) -> dict[str, object]:
    """The object form: https://iceberg.apache.org/spec/#partition-specs"""
    return {"spec-id": spec.spec_id, "fields": partition_fields_to_json(spec)}


def partition_fields_to_json(spec: PartitionSpec) -> list[dict[str, object]]:
    """The field list alone, as in the deprecated `partition-spec` of v1."""
    return [
        {"name": field.name, "transform": str(field.transform), **source_ids_to_json(field.source_ids),
         "field-id": field.field_id}
        for field in spec.fields
    ]  # fmt: skip


def partition_spec_from_json(obj: object) -> PartitionSpec:
    """A spec of the object form. Raises MetadataCorrupt."""
    if not isinstance(obj, Mapping):
        raise MetadataCorrupt("a partition spec must be a JSON object")
    return partition_fields_from_json(obj.get("fields"), spec_id=json_int(obj, "spec-id", "a partition spec"))


def partition_fields_from_json(obj: object, *, spec_id: int = 0) -> PartitionSpec:
    """A spec of a field list. Where no field has an id (v1), ids count from 1000. Raises MetadataCorrupt."""
    where = f"partition spec {spec_id}"
    if not isinstance(obj, list) or not all(isinstance(item, Mapping) for item in obj):
        raise MetadataCorrupt(f"{where}: `fields` must be a JSON array of objects")
    without_id = sum("field-id" not in item for item in obj)
    if without_id not in (0, len(obj)):
        raise MetadataCorrupt(f"{where}: {without_id} of {len(obj)} fields have no `field-id`; all or none may")
    fields = tuple(
        PartitionField(
            source_ids_from_json(item, where),
            PARTITION_FIELD_ID_START + position if without_id else json_int(item, "field-id", where),
            json_text(item, "name", where),
            transform_from_json(item, where),
        )
        for position, item in enumerate(obj)
    )
    for what, values in (("name", [f.name for f in fields]), ("field-id", [f.field_id for f in fields])):
        if len(set(values)) != len(values):
            raise MetadataCorrupt(f"{where}: the same `{what}` stands on two fields")
    return PartitionSpec(spec_id, fields)


def source_ids_to_json(source_ids: tuple[int, ...]) -> dict[str, object]:
    """`source-id` for one source column, `source-ids` for several, never both."""
    return {"source-id": source_ids[0]} if len(source_ids) == 1 else {"source-ids": list(source_ids)}


def source_ids_from_json(item: Mapping[str, object], where: str) -> tuple[int, ...]:
    """The source columns of a partition or sort field; `source-ids` wins. Raises MetadataCorrupt."""
    several = item.get("source-ids")
    if several is None:
        return (json_int(item, "source-id", where),)
    if not isinstance(several, list) or not several or not all(_is_int(entry) for entry in several):
        raise MetadataCorrupt(f"{where}: `source-ids` must be an array of column ids")
    return tuple(several)


def transform_from_json(item: Mapping[str, object], where: str) -> Transform:
    """The transform of a partition or sort field. Raises MetadataCorrupt."""
    try:
        return parse_transform(json_text(item, "transform", where))
    except InvalidInput as error:
        raise MetadataCorrupt(f"{where}: {error}") from error


def json_int(item: Mapping[str, object], key: str, where: str) -> int:
    """A required 32-bit integer. Raises MetadataCorrupt."""
    value = item.get(key)
    if not isinstance(value, int) or not _is_int(value):
        raise MetadataCorrupt(f"{where}: `{key}` must be a 32-bit integer, not {str(value)[:40]!r}")
    return value


def json_text(item: Mapping[str, object], key: str, where: str) -> str:
    """A required text. Raises MetadataCorrupt."""
    value = item.get(key)
    if not isinstance(value, str) or not value:
        raise MetadataCorrupt(f"{where}: `{key}` must be a text that is not empty, not {str(value)[:40]!r}")
    return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -INT_MAX <= value <= INT_MAX


def _source_type(schema: Schema, field: PartitionField) -> IcebergType:
    source = schema.find(field.source_id)
    return UNKNOWN if source is None else source.type
