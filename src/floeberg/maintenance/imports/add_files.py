"""Adds the data files of a folder or of another table to a table, where they lie: no row is copied.

https://iceberg.apache.org/docs/latest/spark-procedures/#add_files
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo

from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.formats.import_file import ImportedFile
from floeberg.commit.add_files import AddFiles, import_mapping, refuse_duplicates
from floeberg.commit.commit import commit_operations
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.workspace import Workspace
from floeberg.errors import InvalidInput
from floeberg.maintenance.file_work import FileWork
from floeberg.maintenance.imports.describe import FileDescriber, FileToImport, describe_files
from floeberg.maintenance.imports.folders import HIVE_NULL, SourceFile
from floeberg.maintenance.imports.partition_values import partition_value
from floeberg.spec.metadata.partition_types import partition_type_of
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.partitions.transforms import IdentityTransform, VoidTransform
from floeberg.spec.schemas.name_mapping import NameMapping, with_names_of
from floeberg.spec.snapshots.manifest_entry import FileFormat
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.types import IcebergType

FORMATS = (FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is added. `columns` are the source's partition columns, `partition_filter` chooses partitions by some of them."""

    files: Sequence[SourceFile]
    columns: tuple[str, ...] = ()
    file_format: FileFormat = FileFormat.PARQUET
    partition_filter: Mapping[str, str] = field(default_factory=dict)
    check_duplicate_files: bool = True
    ignore_missing_files: bool = False
    """Whether files that are gone by the time they are opened are left out."""
    zone: tzinfo = UTC
    """Of timestamps in the names of folders."""
    engine_summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFiles:
    """The table after files were added, and how many files and partitions that changed."""

    state: TableState
    added_files: int
    changed_partitions: int


def file_format_of(name: str) -> FileFormat:
    """Raises InvalidInput for a format that data files do not have."""
    found = next((one for one in FORMATS if one == name.lower()), None)
    if found is None:
        raise InvalidInput(f"data files are {', '.join(FORMATS)}, not {name!r:.40}")
    return found


def columns_of(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """The partition columns of files that were found in folders. Raises InvalidInput when they differ."""
    for file in files[1:]:
        if tuple(map(str.lower, file.columns)) != tuple(map(str.lower, files[0].columns)):
            raise InvalidInput(
                f"{files[0].location} lies in a partition by ({', '.join(files[0].columns)}), {file.location} in one by "
                f"({', '.join(file.columns)}); add the files of each layout by themselves"
            )
    return files[0].columns if files else ()


def add_files(pointer: TablePointer, state: TableState, work: FileWork, request: ImportRequest) -> AddedFiles:
    """Adds files in one commit, or none of them.

    Raises InvalidInput when partitions do not fit the table, DataFileCorrupt for a file that cannot be read as the table's,
    FileAlreadyExists for one that the table holds already.
    """
    metadata = state.metadata
    spec = _compatible_spec(state, request.columns)
    files = _placed(state, spec, request)
    locations = [file.location for file in files]
    if request.check_duplicate_files:
        refuse_duplicates(locations, metadata, Workspace(pointer), branch=MAIN_BRANCH)
    describer = FileDescriber(
        schema=metadata.current_schema,
        spec_id=spec.spec_id,
        file_format=request.file_format,
        metrics=metrics_config(metadata.current_schema, metadata.properties, sort_order=metadata.default_sort_order),
        name_mapping=import_mapping(metadata),
        known_names=_known_names(metadata),
    )
    imported = describe_files(work, describer, files, ignores_missing=request.ignore_missing_files)
    if not imported:
        return AddedFiles(state=state, added_files=0, changed_partitions=0)
    operation = AddFiles(
        files=[one.data_file for one in imported],
        schema_id=metadata.current_schema_id,
        name_mapping=_names(imported),
        check_duplicates=request.check_duplicate_files,
    )
    committed = commit_operations(pointer, state, [operation], engine_summary=request.engine_summary)
    return AddedFiles(
        state=committed.state,
        added_files=len(imported),
        changed_partitions=len({one.data_file.partition for one in imported}),
    )


def _compatible_spec(state: TableState, columns: tuple[str, ...]) -> PartitionSpec:
    """The spec that partitions by these columns themselves: the table's default, or an older one. Raises InvalidInput."""
    metadata = state.metadata
    default = metadata.default_spec
    others = sorted(metadata.partition_specs, key=lambda spec: -spec.spec_id)
    if default.is_unpartitioned == (not columns):
        wanted = sorted(name.lower() for name in columns)
        for spec in (default, *others):
            if _identity_columns(metadata, spec) == wanted:
                return spec
    shown = ", ".join(str(one) for one in default.fields) or "nothing"
    raise InvalidInput(
        f"table {state.identifier} is partitioned by {shown}, and the files by {', '.join(columns) or 'nothing'}; files can be "
        "added to a table that is partitioned by the same columns, without a transform. For one partition give the folder "
        "above it and a partition_filter",
        table=state.identifier,
    )


def _identity_columns(metadata: TableMetadata, spec: PartitionSpec) -> list[str] | None:
    """The columns of a spec of nothing but identity transforms, sorted in lower case; None for another."""
    fields = [one for one in spec.fields if not isinstance(one.transform, VoidTransform)]
    names = metadata.current_schema.names
    if any(not isinstance(one.transform, IdentityTransform) or one.source_id not in names for one in fields):
        return None
    return sorted(names[one.source_id].lower() for one in fields)


def _placed(state: TableState, spec: PartitionSpec, request: ImportRequest) -> list[FileToImport]:
    """The files of the partitions that are asked for, each with its partition in the table. Raises InvalidInput."""
    metadata = state.metadata
    names = metadata.current_schema.names
    types = [member.type for member in partition_type_of(metadata, spec.spec_id).members]
    columns: list[tuple[int, str, IcebergType] | None] = [
        None if isinstance(one.transform, VoidTransform) else (one.source_id, names[one.source_id].lower(), kind)
        for one, kind in zip(spec.fields, types, strict=True)
    ]
    wanted = _wanted(state, request, {column[1]: column[2] for column in columns if column is not None})
    found: list[FileToImport] = []
    for file in request.files:
        texts = {name.lower(): text for name, text in file.partition}
        values = [None if one is None else _value(file, one[1], texts[one[1]], one[2], request.zone) for one in columns]
        by_name = {one[1]: value for one, value in zip(columns, values, strict=True) if one is not None}
        if all(by_name[name] == value for name, value in wanted.items()):
            constants = {one[0]: value for one, value in zip(columns, values, strict=True) if one is not None}
            found.append(FileToImport(file.location, tuple(values), constants))
    if wanted and not found:
        raise InvalidInput(
            f"table {state.identifier}: no partition of the source has {dict(request.partition_filter)}",
            table=state.identifier,
        )
    _refuse_twice(state, found)
    return found


def _wanted(state: TableState, request: ImportRequest, types: Mapping[str, IcebergType]) -> dict[str, object]:
    """The values that the partition filter asks for. Raises InvalidInput for a column that is no partition column."""
    wanted: dict[str, object] = {}
    for name, text in request.partition_filter.items():
        kind = types.get(name.lower())
        if kind is None:
            raise InvalidInput(
                f"table {state.identifier}: partition_filter names {name!r}, which is no partition column "
                f"({', '.join(types) or 'there is none'})",
                table=state.identifier,
            )
        wanted[name.lower()] = None if text == HIVE_NULL else partition_value(text, kind, zone=request.zone)
    return wanted


def _value(file: SourceFile, column: str, text: str | None, kind: IcebergType, zone: tzinfo) -> object:
    if text is None:
        return None
    try:
        return partition_value(text, kind, zone=zone)
    except InvalidInput as error:
        raise InvalidInput(f"{file.location}: partition column {column!r}: {error}", location=file.location) from error


def _refuse_twice(state: TableState, files: Sequence[FileToImport]) -> None:
    seen: set[str] = set()
    for file in files:
        if file.location in seen:
            raise InvalidInput(
                f"table {state.identifier}: the source has {file.location} in two partitions; its rows would be there twice",
                table=state.identifier,
            )
        seen.add(file.location)


def _known_names(metadata: TableMetadata) -> dict[int, frozenset[str]]:
    """The names that each top-level column has or had."""
    found: dict[int, set[str]] = {}
    for schema in metadata.schemas:
        for column in schema.fields:
            found.setdefault(column.field_id, set()).add(column.name)
    return {field_id: frozenset(names) for field_id, names in found.items()}


def _names(imported: Sequence[ImportedFile]) -> NameMapping | None:
    """The names of columns in files without field ids; None when all have them."""
    merged: NameMapping | None = None
    seen: set[NameMapping] = set()
    for one in imported:
        if one.name_mapping is not None and one.name_mapping not in seen:
            seen.add(one.name_mapping)
            merged = one.name_mapping if merged is None else with_names_of(merged, one.name_mapping)
    return merged
