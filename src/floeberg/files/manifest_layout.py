"""How the records of a manifest lie: which of the writer's fields is which, and how they are decoded as flat columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from floeberg.effects.leniencies import Leniency
from floeberg.errors import ManifestCorrupt
from floeberg.files.avro_container import Header
from floeberg.files.avro_decode import DecodePlan, first_records, plan_decoding
from floeberg.files.avro_wire import WireField, WireType, parse_writer_schema
from floeberg.files.limits import DecodeLimits
from floeberg.files.manifest_columns import (
    DATA_FILE_COLUMNS,
    DATA_FILE_ID,
    ENTRY_COLUMNS,
    PARTITION_ID,
    Column,
    check_kind,
    has_nullable_items,
    is_field,
    match,
    matcher,
)

_CACHED_SCHEMA_BYTES: Final = 256 * 1024
_ENTRY_BY_ID, _ENTRY_BY_NAME = matcher(ENTRY_COLUMNS)
_FILE_BY_ID, _FILE_BY_NAME = matcher(DATA_FILE_COLUMNS)


@dataclass(frozen=True, slots=True)
class ManifestLayout:
    """A manifest's record flattened: how its fields are decoded, and which of them hold the partition.

    `branches` are columns of numbers that each have one value: the branch of a union that every record must have.
    `with_lengths` decodes partition values of Avro's fixed type as if a length stood before each; None without such."""

    plan: DecodePlan
    partition: tuple[WireField, ...]
    partition_is_nullable: bool
    branches: dict[str, int] = field(default_factory=dict)
    nullable_items: frozenset[str] = frozenset()
    with_lengths: DecodePlan | None = None

    @property
    def leniencies(self) -> list[tuple[Leniency, str]]:
        """In which ways the writer's schema is not as specified."""
        found: list[tuple[Leniency, str]] = []
        if self.branches:
            found.append((Leniency.OPTIONAL_RECORD, "declares data_file as optional, which every entry must have"))
        if self.nullable_items:
            names = ", ".join(sorted(self.nullable_items))
            found.append((Leniency.OPTIONAL_ITEM, f"declares the items of {names} as optional; null ones are left out"))
        enums = [name for name, wire in self.plan.columns.items() if wire.logical == "enum" and "skip." not in name]
        if enums:
            found.append((Leniency.ENUM_FOR_STRING, f"has enums for the texts of {', '.join(enums)}"))
        return found


def layout_of(header: Header, limits: DecodeLimits) -> ManifestLayout:
    """The layout that a manifest's writer schema says. Raises ManifestCorrupt, LimitExceeded."""
    if (schema := header.metadata.get("avro.schema")) is None:
        raise ManifestCorrupt("the Avro header has no schema")
    if len(schema) > _CACHED_SCHEMA_BYTES:
        return _layout(parse_writer_schema(schema, limits))
    return _cached_layout(schema, limits)


@lru_cache(maxsize=256)
def _cached_layout(schema: bytes, limits: DecodeLimits) -> ManifestLayout:
    """The manifests of a table have few schemas: one for each spec and format version."""
    return _layout(parse_writer_schema(schema, limits))


def _layout(fields: tuple[WireField, ...]) -> ManifestLayout:
    builder = _Builder()
    for one in fields:
        if is_field(one, DATA_FILE_ID, "data_file"):
            builder.data_file(one)
        else:
            builder.column(one, match(one, _ENTRY_BY_ID, _ENTRY_BY_NAME))
    return builder.layout()


class _Builder:
    def __init__(self) -> None:
        self._columns: dict[str, WireType] = {}
        self._partition: WireField | None = None
        self._has_data_file = False
        self._branches: dict[str, int] = {}
        self._nullable_items: set[str] = set()

    def column(self, member: WireField, known: Column | None) -> None:
        if known is None:
            self._columns[f"skip.{len(self._columns)}"] = member.type
            return
        check_kind(known, member.type)
        if has_nullable_items(member.type):
            self._nullable_items.add(known.name)
        if known.name in self._columns:
            raise ManifestCorrupt(f"the manifest's Avro schema has {known.name} twice", column=known.name)
        self._columns[known.name] = member.type

    def data_file(self, member: WireField) -> None:
        if self._has_data_file or member.type.kind != "record":
            raise ManifestCorrupt("the manifest's Avro schema has no record data_file that every entry has")
        self._has_data_file = True
        if member.type.null_index is not None or member.type.is_only_branch:
            # The branch is a number before the record; where it were null, nothing behind it would fit.
            name = f"branch.{len(self._columns)}"
            self._columns[name] = WireType(kind="long")
            self._branches[name] = 0 if member.type.is_only_branch else 1 - (member.type.null_index or 0)
        for one in member.type.fields:
            if is_field(one, PARTITION_ID, "partition"):
                self._put_partition(one)
            else:
                self.column(one, match(one, _FILE_BY_ID, _FILE_BY_NAME))

    def _put_partition(self, member: WireField) -> None:
        if self._partition is not None or member.type.kind != "record":
            raise ManifestCorrupt("the manifest's Avro schema has a partition that is no record")
        self._partition = member
        if member.type.null_index is not None or member.type.is_only_branch:
            self._columns["partition"] = member.type
            return
        for place, one in enumerate(member.type.fields):
            self._columns[f"partition.{place}"] = one.type

    def layout(self) -> ManifestLayout:
        if not self._has_data_file:
            raise ManifestCorrupt("this Avro file is no manifest: its records have no data_file")
        wire = None if self._partition is None else self._partition.type
        with_lengths = {name: _with_length(found) for name, found in self._columns.items() if "partition" in name}
        changed = any(found != self._columns[name] for name, found in with_lengths.items())
        return ManifestLayout(
            plan_decoding(self._columns),
            () if wire is None else wire.fields,
            wire is not None and (wire.null_index is not None or wire.is_only_branch),
            branches=self._branches,
            nullable_items=frozenset(self._nullable_items),
            with_lengths=plan_decoding(self._columns | with_lengths) if changed else None,
        )


def _with_length(wire: WireType) -> WireType:
    """A partition value, or the record of them, as the Java library writes fixed ones: as bytes, a length before each."""
    if wire.kind == "record":
        return replace(wire, fields=tuple(replace(one, type=_with_length(one.type)) for one in wire.fields))
    return replace(wire, kind="bytes", size=0) if wire.kind == "fixed" and wire.logical is None else wire


def is_plausible(body: bytes | bytearray, records: int, layout: ManifestLayout, plan: DecodePlan | None = None) -> bool:
    """Whether the first records are entries, decoded by the layout's plan or another."""
    found = first_records(body, records, plan or layout.plan)
    return found is not None and all(_is_entry(record, layout) for record in found)


def has_lengths(body: bytes | bytearray, records: int, layout: ManifestLayout) -> bool:
    """Whether the first records are entries with a length before each partition value of Avro's fixed type: then each
    has the length that its type says. Without any such value nothing says so."""
    if layout.with_lengths is None or not is_plausible(body, records, layout, layout.with_lengths):
        return False
    sizes = {place: one.type.size for place, one in enumerate(layout.partition) if one.type != _with_length(one.type)}
    lengths: set[tuple[int, int]] = set()
    for record in first_records(body, records, layout.with_lengths) or ():
        for place, size in sizes.items():
            whole = record.get("partition")
            value = whole.get(f"f{place}") if isinstance(whole, dict) else record.get(f"partition.{place}")
            if isinstance(value, bytes):
                lengths.add((len(value), size))
    return bool(lengths) and all(found == size for found, size in lengths)


def _is_entry(record: Mapping[str, Any], layout: ManifestLayout) -> bool:
    numbers = (record.get("record_count") or 0, record.get("file_size_in_bytes") or 0)
    codes = (record.get("status") or 0, record.get("content") or 0)
    return (
        all(record[name] == branch for name, branch in layout.branches.items())
        and all(number >= 0 for number in numbers)
        and all(0 <= code <= 2 for code in codes)
    )
