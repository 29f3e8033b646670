"""Describes files to import, each by itself: what runs in threads here or in Spark's workers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from floeberg.arrow.columns.metrics_config import MetricsConfig
from floeberg.arrow.formats.import_file import ImportedFile, describe_file
from floeberg.effects.protocols import Store
from floeberg.errors import FileNotFound
from floeberg.maintenance.file_work import FileWork
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import FileFormat


@dataclass(frozen=True, slots=True)
class FileToImport:
    """A file and the partition that it goes to: physical values in the order of the spec's fields, and by column id."""

    location: str
    partition: tuple[object, ...] = ()
    constants: Mapping[int, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDescriber:
    """What it takes to describe files of one table. Travels to workers."""

    schema: Schema
    spec_id: int
    file_format: FileFormat
    metrics: MetricsConfig
    name_mapping: NameMapping
    known_names: Mapping[int, Collection[str]]

    def describe(self, store: Store, file: FileToImport) -> ImportedFile:
        """Raises DataFileCorrupt, FileNotFound, each naming the file."""
        found = describe_file(
            store,
            file.location,
            self.file_format,
            schema=self.schema,
            metrics=self.metrics,
            name_mapping=self.name_mapping,
            constants=file.constants,
            known_names=self.known_names,
        )
        described = structs.replace(found.data_file, spec_id=self.spec_id, partition=file.partition)
        return ImportedFile(described, found.name_mapping)


@dataclass(frozen=True, slots=True)
class _Describing:
    """Describes one file after the other. Travels to workers."""

    work: FileWork
    describer: FileDescriber
    ignores_missing: bool

    def __call__(self, file: FileToImport) -> ImportedFile | None:
        try:
            return self.describer.describe(self.work.store_for(file.location), file)
        except FileNotFound:
            if self.ignores_missing:
                return None
            raise


def describe_files(
    work: FileWork, describer: FileDescriber, files: Sequence[FileToImport], *, ignores_missing: bool = False
) -> list[ImportedFile]:
    """Describes files, in their order; those that are gone may be left out. Raises DataFileCorrupt, FileNotFound, each naming
    the file."""
    found = work.each(_Describing(work, describer, ignores_missing), files)
    return [one for one in found if one is not None]
