"""Describes files to import, each by itself: what runs in threads here or in Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec import structs

from floeberg.arrow.columns.metrics_config import MetricsConfig
from floeberg.arrow.formats.import_file import ImportedFile, describe_file
from floeberg.effects.protocols import Store
from floeberg.spec.schemas.name_mapping import NameMapping
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import FileFormat

DEFAULT_THREADS: Final = 8


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


class DescribeFiles(Protocol):
    """Describes files, in their order."""

    def __call__(self, describer: FileDescriber, files: Sequence[FileToImport]) -> list[ImportedFile]: ...


@dataclass(frozen=True, slots=True)
class InThreads:
    """Describes files in this process."""

    store_for: Callable[[str], Store]
    parallelism: int | None = None

    def __call__(self, describer: FileDescriber, files: Sequence[FileToImport]) -> list[ImportedFile]:
        def described(file: FileToImport) -> ImportedFile:
            return describer.describe(self.store_for(file.location), file)

        threads = min(self.parallelism or DEFAULT_THREADS, max(1, len(files)))
        if threads == 1:
            return [described(file) for file in files]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(described, files))
