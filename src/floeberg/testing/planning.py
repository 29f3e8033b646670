"""What one change of a simulated table looks at and draws when it is planned."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.table_changes import ChangeProperties
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.transforms import IdentityTransform
from floeberg.spec.snapshots.manifest_entry import DataFile
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.testing.model import Change, Condition, Nothing, Rows, TableModel
from floeberg.testing.sim_reader import SimReader, TableView
from floeberg.testing.sim_rows import NewFile, Row, StoredRow, data_file

TAG: Final = "sim.tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit: what it is called, what it does, and what it means for a branch."""

    name: str
    tag: str
    operations: Sequence[Operation]
    files: Sequence[NewFile] = ()
    change: Change = Nothing()
    branch: str = MAIN_BRANCH
    staged: bool = False
    creates_branch: str | None = None


@dataclass(slots=True)
class Shared:
    """What all writers of a history share: the reader, the model that judges it, and what each tag meant."""

    reader: SimReader
    model: TableModel
    next_value: int = 1
    changes: dict[str, Change] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)


class Files(Protocol):
    """Who gives a writer's files their names and its rows their values."""

    def path(self, suffix: str) -> str: ...

    def value(self) -> int: ...


class Planning:
    """What one plan looks at and draws."""

    def __init__(
        self, writer: Files, metadata: TableMetadata, tag: str, *, shared: Shared, chance: random.Random
    ) -> None:
        self.writer = writer
        self.metadata = metadata
        self.tag = tag
        self.random = chance
        self.shared = shared
        self.head = metadata.snapshot_for_ref(MAIN_BRANCH)
        self.number = len(self.shared.numbers) + 1
        self.shared.numbers[tag] = self.number

    @property
    def table(self) -> TableView:
        return self.shared.reader.view(self.head, self.metadata)

    def target(self, **more: object) -> SnapshotTarget:
        return SnapshotTarget(summary={TAG: self.tag}, **more)  # type: ignore[arg-type]

    def tagged(self) -> ChangeProperties:
        """Marks a commit that makes no snapshot of its own."""
        return ChangeProperties(set={f"{TAG}.{self.tag}": "1"})

    def view(self, where: Condition) -> ReadView:
        return ReadView(
            starting_snapshot_id=None if self.head is None else self.head.snapshot_id,
            conflict_filter=where.expression(),
            isolation=self.random.choice([IsolationLevel.SERIALIZABLE, IsolationLevel.SNAPSHOT]),
        )

    def condition(self) -> Condition:
        low = self.random.randrange(0, 9)
        return self.random.choice(
            [
                Condition(p=self.random.randrange(3)),
                Condition(p=self.random.randrange(3), below_id=low + 1),
                Condition(from_id=low, below_id=low + 3),
                Condition(from_id=low, below_id=low + 1),
            ]
        )

    def new_rows(self, *, p: int | None = None) -> Rows:
        count = self.random.randrange(1, 4)
        return frozenset(
            Row(self.random.randrange(10), self.random.randrange(3) if p is None else p, self.writer.value())
            for _ in range(count)
        )

    def data_files(self, rows: Sequence[StoredRow]) -> list[NewFile]:
        """Data files of the current spec, one a partition."""
        groups: dict[tuple[object, ...], list[StoredRow]] = {}
        for stored in sorted(rows):
            groups.setdefault(self.partition(stored.row), []).append(stored)
        spec_id = self.metadata.default_spec_id
        return [
            data_file(self.writer.path("parquet"), group, spec_id=spec_id, partition=partition)
            for partition, group in groups.items()
        ]

    def partition(self, row: Row, spec_id: int | None = None) -> tuple[object, ...]:
        fields = self.metadata.spec(spec_id).fields
        return tuple(row.p if isinstance(field.transform, IdentityTransform) else None for field in fields)

    def inserted(self, rows: Rows) -> list[NewFile]:
        return self.data_files([StoredRow(row) for row in rows])

    @property
    def is_partitioned(self) -> bool:
        return not self.metadata.default_spec.is_unpartitioned


def files_of(new: Sequence[NewFile]) -> list[DataFile]:
    return [one.file for one in new]
