"""Snapshots loaded with `snapshots=refs`: those that branches and tags point to, and the others when somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import overload

from floeberg.spec.json.documents import Document, DocumentKind
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.snapshots.snapshot_list import SnapshotList

LoadAll = Callable[[], tuple[Document, ...]]


class PartialSnapshotList(SnapshotList):
    """A table's snapshots of which some are not loaded. Asking for one that is here loads nothing; whatever reasons over all
    of them (their number, their order, the absence of one) loads the rest first."""

    __slots__ = ("_load", "_lock")

    def __init__(self, kind: DocumentKind[Snapshot], documents: tuple[Document, ...], *, load: LoadAll | None) -> None:
        super().__init__(kind, documents)
        self._load = load
        self._lock = threading.Lock()

    @property
    def is_partial(self) -> bool:
        return self._load is not None

    def complete(self) -> None:
        """Loads the snapshots that are missing. Raises what loading the table raises."""
        with self._lock:
            if self._load is None:
                return
            every = self._load()
            known = {document["snapshot-id"] for document in every}
            documents = (*every, *(one for one in self._documents if one["snapshot-id"] not in known))
            self._documents = documents
            self._parsed = {}
            self.positions = {document["snapshot-id"]: at for at, document in enumerate(documents)}
            self._load = None

    @property
    def documents(self) -> tuple[Document, ...]:
        self.complete()
        return self._documents

    def item(self, position: int) -> Snapshot:
        self.complete()
        return super().item(position)

    def find(self, snapshot_id: int) -> Snapshot | None:
        position = self.positions.get(snapshot_id)
        if position is not None:
            return self.kind.parse(self._documents[position], f"snapshot {snapshot_id}")
        self.complete()
        return super().find(snapshot_id)

    def has_id(self, snapshot_id: int) -> bool:
        if snapshot_id not in self.positions:
            self.complete()
        return snapshot_id in self.positions

    def ids(self) -> Iterator[int]:
        self.complete()
        return super().ids()

    def parent_id(self, snapshot_id: int) -> int | None:
        self.has_id(snapshot_id)
        return super().parent_id(snapshot_id)

    def appended(self, item: Snapshot) -> SnapshotList:
        return self._whole().appended(item)

    def with_sequence_numbers(self) -> SnapshotList:
        return self._whole().with_sequence_numbers()

    def without(self, snapshot_ids: frozenset[int]) -> SnapshotList:
        return self._whole().without(snapshot_ids)

    def __len__(self) -> int:
        self.complete()
        return super().__len__()

    @overload
    def __getitem__(self, index: int) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Snapshot, ...]: ...
    def __getitem__(self, index: int | slice) -> Snapshot | tuple[Snapshot, ...]:
        self.complete()
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Snapshot]:
        self.complete()
        return super().__iter__()

    def __eq__(self, other: object) -> bool:
        self.complete()
        if isinstance(other, PartialSnapshotList):
            other.complete()
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return (SnapshotList, (self.kind, self.documents))

    def _whole(self) -> SnapshotList:
        self.complete()
        return SnapshotList(self.kind, self._documents)
