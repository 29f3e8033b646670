"""A change of rows as files, and as the operation that commits them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from floeberg.arrow.changes.row_level import FoundRows, RowCounts
from floeberg.arrow.scan.execute import TableReader
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.isolation import ReadView
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.row_delta import RowDelta
from floeberg.row_changes.deletes import WrittenDeletes, write_deletes
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent


@dataclass(slots=True)
class RowChange:
    """The files of a change of rows, for a commit."""

    added: list[DataFile] = field(default_factory=list)
    removed_data: list[DataFile] = field(default_factory=list)
    removed_deletes: list[DataFile] = field(default_factory=list)
    referenced: frozenset[str] = frozenset()
    """The data files that new deletes are for."""
    counts: RowCounts = field(default_factory=RowCounts)

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed_data or self.removed_deletes)

    def operation(self, view: ReadView, target: SnapshotTarget) -> Operation | None:
        """What commits the change, validated against what `view` says was read; None when there is nothing to do.

        A change with delete files is a row delta, and so is one that only adds rows; one that replaces data files by
        others is an overwrite.
        """
        if self.is_empty:
            return None
        target = replace(target, summary={**self.counts.summary(), **target.summary})
        deletes = self.removed_deletes or any(file.content is not FileContent.DATA for file in self.added)
        if not deletes and self.removed_data:
            return Overwrite(added=self.added, removed=self.removed_data, view=view, target=target)
        return RowDelta(
            added=self.added,
            removed_deletes=self.removed_deletes,
            removed_data=self.removed_data,
            referenced=self.referenced,
            view=view,
            target=target,
        )


def with_written_deletes(found: FoundRows, *, reader: TableReader, writer: TableWriter) -> RowChange:
    """Writes the deletes of rows that an engine found by position, and gives its change with them and the files it wrote."""
    return with_deletes(found, write_deletes(found.deleted, reader=reader, writer=writer))


def with_deletes(found: FoundRows, deletes: WrittenDeletes) -> RowChange:
    """The change of rows that an engine found, with the files that it wrote and the deletes that are written."""
    return RowChange(
        added=[*found.written, *deletes.added],
        removed_data=found.replaced,
        removed_deletes=deletes.removed,
        referenced=frozenset(rows.task.data_file.file_path for rows in found.deleted),
        counts=found.counts,
    )
