"""A rewrite engine during whose work other writers commit, for tests of maintenance beside writers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyroaring import BitMap64

from floeberg.maintenance.rewrite.arrow_engine import ArrowEngine
from floeberg.maintenance.rewrite.engine import RewriteEngine, RewritePlan, RewrittenGroup
from floeberg.maintenance.rewrite.file_groups import FileGroup
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.manifest_entry import DataFile


class InterruptedEngine:
    """The Arrow engine; what others do comes after a group's files are written and before they are committed. `others` are
    called one for each group that is written, as long as there are any."""

    def __init__(self, engine: ArrowEngine, *others: Callable[[], object]) -> None:
        self._engine: RewriteEngine = engine
        self._others = list(others)
        self.groups_written = 0

    @property
    def runs_groups_at_once(self) -> bool:
        return False

    def rewrite(self, group: FileGroup, plan: RewritePlan) -> RewrittenGroup:
        """The group, rewritten, and then somebody else's commit."""
        written = self._engine.rewrite(group, plan)
        self.groups_written += 1
        if self._others:
            self._others.pop(0)()
        return written

    def deleted_positions(self, tasks: Sequence[FileScanTask], metadata: TableMetadata) -> Mapping[str, BitMap64]:
        """What the Arrow engine finds, and then somebody else's commit."""
        found = self._engine.deleted_positions(tasks, metadata)
        if self._others:
            self._others.pop(0)()
        return found

    def discard(self, files: Sequence[DataFile]) -> None:
        self._engine.discard(files)
