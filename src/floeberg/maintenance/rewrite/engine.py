"""What maintenance asks of an engine that reads and writes rows. Maintenance plans and commits; the Arrow engine works in
this process, the Spark engine in Spark's workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyroaring import BitMap64

from floeberg.maintenance.rewrite.file_groups import FileGroup
from floeberg.maintenance.rewrite.layout import Layout
from floeberg.maintenance.rewrite.options import RewriteOptions
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile


@dataclass(frozen=True, slots=True, eq=False)
class SourceRows:
    """The live rows of one source file that were written, by position."""

    file_path: str
    live: BitMap64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RewrittenGroup:
    """A group and the new files with its live rows.

    `sources` says which rows were written, in their order over all the new files; None where the order is not kept.
    """

    group: FileGroup
    files: tuple[DataFile, ...]
    sources: tuple[SourceRows, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePlan:
    """How groups of a table are written."""

    metadata: TableMetadata
    layout: Layout
    options: RewriteOptions


class RewriteEngine(Protocol):
    """Writes the live rows of groups to new files. Nothing is committed."""

    @property
    def runs_groups_at_once(self) -> bool:
        """Whether several groups may be rewritten at a time, by threads of this process."""
        ...

    def rewrite(self, group: FileGroup, plan: RewritePlan) -> RewrittenGroup:
        """The group's live rows, with their row lineage where the table has it, in new files. Leaves no file behind when it
        fails."""
        ...

    def deleted_positions(self, tasks: Sequence[FileScanTask], metadata: TableMetadata) -> Mapping[str, BitMap64]:
        """The positions of all rows of data files that their deletes delete, by path; files without any are left out."""
        ...

    def discard(self, files: Sequence[DataFile]) -> None:
        """Removes files that no commit refers to."""
        ...
