"""Compares a file with its manifest entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from floeberg.arrow.formats.footer import read_footer
from floeberg.arrow.scan.deletes import read_deletion_vector
from floeberg.effects.leniencies import gathered_leniencies
from floeberg.errors import FileNotFound, FloebergError, FormatError, MetadataCorrupt
from floeberg.files import puffin
from floeberg.maintenance.check_report import Findings, Problem
from floeberg.scan.manifest_frames import StoreFor
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH, DELETE_FILE_POS
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.values.single_value import from_bytes

EXACT_STATISTIC_BYTES: Final = 64
"""Writers may shorten longer statistics of texts, and round the greatest one up."""


@dataclass(frozen=True, slots=True)
class FileChecker:
    """Checks single files. Without `read_footers` only whether they are there and how long they are."""

    store_for: StoreFor
    schema: Schema
    name_mapping: NameMapping | None = None
    read_footers: bool = True

    def check(self, file: DataFile) -> Findings:
        """What is wrong with a file; its content raises nothing."""
        with gathered_leniencies() as tolerated:
            findings = self._checked(file)
        findings.tolerated(tolerated)
        return findings

    def _checked(self, file: DataFile) -> Findings:
        path, offset = file.identity
        findings = Findings(content_offset=offset)
        if file.key_metadata is not None:
            findings.warn(Problem.ENCRYPTED, path, "is encrypted; what it holds is not checked")
        try:
            size_bytes = self.store_for(path).size(path)
        except FileNotFound:
            findings.error(Problem.MISSING_FILE, path, "is not there")
            return findings
        except FloebergError as error:
            findings.error(Problem.UNREADABLE, path, str(error))
            return findings
        if size_bytes != file.file_size_in_bytes:
            findings.error(
                Problem.WRONG_SIZE, path, f"has {size_bytes} bytes, its entry says {file.file_size_in_bytes}"
            )
        if not self.read_footers or file.key_metadata is not None:
            return findings
        try:
            if file.is_deletion_vector:
                self._check_vector(file, size_bytes, findings)
            else:
                self._check_footer(file, findings)
        except FloebergError as error:
            problem = Problem.BAD_DELETE if file.is_deletion_vector else Problem.UNREADABLE
            findings.error(problem, path, str(error).removeprefix(f"{path}: ").removeprefix(f"{path} "))
        return findings

    def _check_vector(self, file: DataFile, size_bytes: int, findings: Findings) -> None:
        place = (file.content_offset, file.content_size_in_bytes)
        if file.content_offset is None or file.content_size_in_bytes is None or file.referenced_data_file is None:
            findings.error(
                Problem.BAD_DELETE,
                file.file_path,
                "is a deletion vector without data file, offset or size in its entry",
            )
            return
        read_deletion_vector(self.store_for(file.file_path), file)
        footer = read_puffin_footer(self.store_for, file.file_path, size_bytes)
        if place not in {(blob.offset, blob.length) for blob in footer.blobs if blob.type == puffin.DELETION_VECTOR_V1}:
            findings.error(
                Problem.BAD_DELETE, file.file_path,
                f"has no deletion vector at offset {place[0]} of {place[1]} bytes in its footer, as the entry says",
            )  # fmt: skip

    def _check_footer(self, file: DataFile, findings: Findings) -> None:
        schema = self.schema if file.content == 0 else _with_delete_columns(self.schema)
        footer = read_footer(
            self.store_for(file.file_path),
            file,
            schema,
            name_mapping=self.name_mapping,
            table_schema=self.schema if file.content == 0 else None,
        )
        if footer.record_count != file.record_count:
            findings.error(
                Problem.WRONG_COUNT, file.file_path,
                f"has {footer.record_count} rows, its entry says {file.record_count}",
            )  # fmt: skip
        for field_id, count in footer.null_value_counts.items():
            recorded = (file.null_value_counts or {}).get(field_id)
            if recorded is not None and recorded != count:
                findings.error(
                    Problem.WRONG_COUNT, file.file_path,
                    f"has {count} nulls in column {schema.names[field_id]}, its entry says {recorded}",
                )  # fmt: skip
        self._check_bounds(file, schema, footer.least, footer.greatest, findings)

    def _check_bounds(
        self, file: DataFile, schema: Schema, least: Mapping[int, Any], greatest: Mapping[int, Any], findings: Findings
    ) -> None:
        for kind, bounds, extremes in (("lower", file.lower_bounds, least), ("upper", file.upper_bounds, greatest)):
            for field_id, raw in (bounds or {}).items():
                if (column := schema.by_id.get(field_id)) is None:
                    continue
                name = schema.names[field_id]
                try:
                    bound = from_bytes(column.type, raw)
                except MetadataCorrupt as error:
                    findings.warn(Problem.WRONG_BOUNDS, file.file_path, f"{kind} bound of column {name}: {error}")
                    continue
                if field_id in extremes and _outside(extremes[field_id], bound, is_lower=kind == "lower"):
                    findings.error(
                        Problem.WRONG_BOUNDS, file.file_path,
                        f"holds {extremes[field_id]!r} in column {name}, its entry's {kind} bound is {bound!r}",
                    )  # fmt: skip


def _outside(value: Any, bound: Any, *, is_lower: bool) -> bool:
    """Whether a value lies beyond a bound. Python's order of floats holds: either zero bounds the other, NaN none."""
    if isinstance(value, (str, bytes)) and len(value) >= EXACT_STATISTIC_BYTES:
        value = value[: len(bound)]
    return bool(value < bound) if is_lower else bool(value > bound)


def _with_delete_columns(schema: Schema) -> Schema:
    """The columns of delete files: equality deletes have the table's, position deletes two of their own."""
    return Schema(*schema.fields, DELETE_FILE_PATH, DELETE_FILE_POS)


def read_puffin_footer(store_for: StoreFor, location: str, size_bytes: int) -> puffin.PuffinFooter:
    """The footer of a Puffin file, from its tail alone. Raises FormatError, FileNotFound."""
    store = store_for(location)
    try:
        tail = store.read(location, offset=max(0, size_bytes - puffin.TAIL_BYTES))
        length = min(size_bytes, puffin.footer_length(tail))
        data = store.read(location, offset=size_bytes - length)
        return puffin.read_footer(data, file_size_in_bytes=size_bytes)
    except FormatError as error:
        raise type(error)(f"{location}: {error}", **{**error.context, "location": location}) from error
