"""Rows and files of a simulated table. A data file is a small JSON document that says what a real one would hold, so that
thousands of histories can be read back row by row; everything above data files (manifests, lists, metadata) is real."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat
from floeberg.spec.types import IntegerType, LongType, NestedField
from floeberg.spec.values.single_value import to_bytes

SCHEMA: Final = Schema(
    NestedField(1, "id", LongType()), NestedField(2, "p", IntegerType()), NestedField(3, "v", LongType())
)
EQUALITY_IDS: Final = (1, 2)
_TYPES: Final = {field.field_id: field.type for field in SCHEMA.fields}


class Row(NamedTuple):
    """A version of a row: `v` is never given twice, so equal rows are the same version."""

    id: int
    p: int
    v: int


class StoredRow(NamedTuple):
    """A row in a data file; `row_id` only where the file carries it."""

    row: Row
    row_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file to be written, and its description for a commit."""

    file: DataFile
    content: bytes


class _Document(msgspec.Struct):
    rows: list[tuple[int, int, int, int | None]] = []
    positions: dict[str, dict[str, list[int]]] = {}
    keys: list[tuple[int, int]] = []


def data_file(path: str, rows: Sequence[StoredRow], *, spec_id: int, partition: tuple[object, ...]) -> NewFile:
    """A data file of these rows, with the metrics a real one would have."""
    content = msgspec.json.encode(_Document(rows=[(*row, row_id) for row, row_id in rows]))
    columns = {1: [row.id for row, _ in rows], 2: [row.p for row, _ in rows], 3: [row.v for row, _ in rows]}
    file = DataFile(
        file_path=path,
        file_format=FileFormat.PARQUET,
        spec_id=spec_id,
        partition=partition,
        record_count=len(rows),
        file_size_in_bytes=len(content),
        **_metrics(columns, len(rows)),  # type: ignore[arg-type]
    )
    return NewFile(file, content)


def equality_deletes(
    path: str, keys: Sequence[tuple[int, int]], *, spec_id: int, partition: tuple[object, ...]
) -> NewFile:
    """Deletes of all older rows with these (id, p)."""
    content = msgspec.json.encode(_Document(keys=list(keys)))
    columns = {1: [key for key, _ in keys], 2: [p for _, p in keys]}
    file = DataFile(
        content=FileContent.EQUALITY_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        spec_id=spec_id,
        partition=partition,
        record_count=len(keys),
        file_size_in_bytes=len(content),
        equality_ids=EQUALITY_IDS,
        **_metrics(columns, len(keys)),  # type: ignore[arg-type]
    )
    return NewFile(file, content)


def position_deletes(path: str, positions: Mapping[str, Iterable[int]], *, of: DataFile, name_file: bool) -> NewFile:
    """A position delete file (v2) for data files of the partition of `of`; it may say which one it is for."""
    listed = {target: sorted(rows) for target, rows in positions.items()}
    content = msgspec.json.encode(_Document(positions={"0": listed}))
    file = DataFile(
        content=FileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        spec_id=of.spec_id,
        partition=of.partition,
        record_count=sum(len(rows) for rows in listed.values()),
        file_size_in_bytes=len(content),
        referenced_data_file=of.file_path if name_file else None,
    )
    return NewFile(file, content)


def deletion_vectors(
    path: str, positions: Mapping[str, Iterable[int]], *, files: Mapping[str, DataFile]
) -> list[NewFile]:
    """The deletion vectors of several data files in one Puffin file."""
    listed = {str(4 + at): {target: sorted(rows)} for at, (target, rows) in enumerate(positions.items())}
    content = msgspec.json.encode(_Document(positions=listed))
    return [
        NewFile(
            DataFile(
                content=FileContent.POSITION_DELETES,
                file_path=path,
                file_format=FileFormat.PUFFIN,
                spec_id=files[target].spec_id,
                partition=files[target].partition,
                record_count=len(rows),
                file_size_in_bytes=len(content),
                referenced_data_file=target,
                content_offset=int(offset),
                content_size_in_bytes=40,
            ),
            content,
        )
        for offset, held in listed.items()
        for target, rows in held.items()
    ]


def rows_of(content: bytes) -> list[StoredRow]:
    return [StoredRow(Row(*row[:3]), row[3]) for row in _decoded(content).rows]


def keys_of(content: bytes) -> set[tuple[int, int]]:
    return set(_decoded(content).keys)


def positions_of(content: bytes, file: DataFile) -> dict[str, list[int]]:
    """The positions of a delete file, or of one deletion vector of a Puffin file."""
    held = _decoded(content).positions
    return held[str(file.content_offset if file.is_deletion_vector else 0)]


def _decoded(content: bytes) -> _Document:
    return msgspec.json.decode(content, type=_Document)


def _metrics(columns: Mapping[int, Sequence[int]], count: int) -> dict[str, object]:
    return {
        "value_counts": dict.fromkeys(columns, count),
        "null_value_counts": dict.fromkeys(columns, 0),
        "lower_bounds": {key: to_bytes(_TYPES[key], min(values)) for key, values in columns.items() if values},
        "upper_bounds": {key: to_bytes(_TYPES[key], max(values)) for key, values in columns.items() if values},
    }
