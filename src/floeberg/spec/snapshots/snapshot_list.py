"""A table's snapshots as they lie in its metadata: checked at once, found by id, parsed when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NoReturn

import msgspec

from floeberg.errors import MetadataCorrupt
from floeberg.spec.json.documents import Document, DocumentKind, Documents
from floeberg.spec.json.fields import LONG_MAX, Int32, Int64
from floeberg.spec.json.limits import Limits
from floeberg.spec.json.strict import check_depth
from floeberg.spec.snapshots.snapshot import LENIENT_SNAPSHOTS, SNAPSHOT_FIELDS, SNAPSHOTS, UNSIGNED_LONG_MAX, Snapshot


class _Shape(msgspec.Struct, rename="kebab", gc=False):
    """A snapshot's fields and their types, so that a long list is checked without building snapshots."""

    timestamp_ms: Int64
    snapshot_id: Int64
    parent_snapshot_id: Int64 | None = None
    sequence_number: Int64 | None = None
    manifest_list: str | None = None
    manifests: list[str] | None = None
    schema_id: Int32 | None = None
    first_row_id: Int64 | None = None
    added_rows: Int64 | None = None
    key_id: str | None = None


class _LenientShape(_Shape, rename="kebab", gc=False):
    """The same with ids up to an unsigned long."""

    snapshot_id: int
    parent_snapshot_id: int | None = None


class SnapshotList(Documents[Snapshot]):
    """A table's snapshots, in the order of its metadata."""

    __slots__ = ("positions",)

    def __init__(
        self,
        kind: DocumentKind[Snapshot] = SNAPSHOTS,
        documents: Iterable[Document] = (),
        *,
        parsed: dict[int, Snapshot] | None = None,
        positions: dict[object, int] | None = None,
    ) -> None:
        super().__init__(kind, documents, parsed=parsed)
        if positions is None:
            positions = {document["snapshot-id"]: at for at, document in enumerate(self._documents)}
        self.positions = positions

    def find(self, snapshot_id: int) -> Snapshot | None:
        position = self.positions.get(snapshot_id)
        return None if position is None else self.item(position)

    def has_id(self, snapshot_id: int) -> bool:
        return snapshot_id in self.positions

    def ids(self) -> Iterator[int]:
        return (snapshot_id for snapshot_id in self.positions if isinstance(snapshot_id, int))

    def parent_id(self, snapshot_id: int) -> int | None:
        """The parent's id, without parsing either; None also for an unknown snapshot."""
        position = self.positions.get(snapshot_id)
        parent = None if position is None else self._documents[position].get("parent-snapshot-id")
        return parent if isinstance(parent, int) else None

    def appended(self, item: Snapshot) -> SnapshotList:
        position = len(self._documents)
        return SnapshotList(
            self.kind,
            (*self._documents, self.kind.to_json(item)),
            parsed={**self._parsed, position: item},
            positions={**self.positions, item.snapshot_id: position},
        )

    def with_sequence_numbers(self) -> SnapshotList:
        """The snapshots of a v1 table, which have none and count as 0: from v2 on the field is required, and readers
        insist on it."""
        return SnapshotList(self.kind, [{"sequence-number": 0, **one} for one in self._documents])

    def without(self, snapshot_ids: frozenset[int]) -> SnapshotList:
        return SnapshotList(self.kind, [one for one in self._documents if one["snapshot-id"] not in snapshot_ids])


def check_snapshots(
    documents: tuple[Document, ...], *, last_sequence_number: int, where: str, limits: Limits
) -> SnapshotList:
    """The snapshots of a metadata file, after a check of their fields' types and ranges, of unique ids and of sequence
    numbers. Raises MetadataCorrupt."""
    limits.check("snapshots", len(documents), where)
    kind = LENIENT_SNAPSHOTS if limits.lenient else SNAPSHOTS
    shapes: list[_Shape]
    try:
        shapes = msgspec.convert(documents, list[_LenientShape] if limits.lenient else list[_Shape])
        _check_summaries(documents)
    except (msgspec.ValidationError, TypeError) as error:
        _raise_for_wrong_one(documents, where, kind, str(error))
    if any(one.manifest_list is None and one.manifests is None for one in shapes):
        _raise_for_wrong_one(documents, where, kind, "one has neither manifest-list nor manifests")
    if limits.lenient and any(one.snapshot_id > UNSIGNED_LONG_MAX for one in shapes):
        _raise_for_wrong_one(documents, where, kind, "an id is out of range")
    if max((one.sequence_number or 0 for one in shapes), default=0) > last_sequence_number:
        wrong = max(shapes, key=lambda one: one.sequence_number or 0)
        raise MetadataCorrupt(
            f"{where}: snapshot {wrong.snapshot_id} has sequence number {wrong.sequence_number}, above the table's "
            f"last-sequence-number {last_sequence_number}",
            where=where,
            snapshot_id=wrong.snapshot_id,
        )
    if not all(map(SNAPSHOT_FIELDS.issuperset, documents)):  # only fields that are not known here can nest
        check_depth(list(documents), where=f"{where}: snapshots", limits=limits)
    snapshots = SnapshotList(kind, documents)
    if len(snapshots.positions) != len(documents):
        raise MetadataCorrupt(f"{where}: two snapshots have the same snapshot-id", where=where)
    return snapshots


def _check_summaries(documents: tuple[Document, ...]) -> None:
    """Raises TypeError unless every summary is missing or an object of texts; joining all is the quickest way to know."""
    summaries: list[Any] = [found for document in documents if (found := document.get("summary")) is not None]
    "".join(chain.from_iterable(map(dict.values, summaries)))


def _raise_for_wrong_one(
    documents: tuple[Document, ...], where: str, kind: DocumentKind[Snapshot], reason: str
) -> NoReturn:
    """Finds the snapshot that is wrong, to say which and why."""
    for position, document in enumerate(documents):
        try:
            kind.parse(document, f"{where}: snapshots[{position}]")
        except MetadataCorrupt as error:
            message = str(error)
            snapshot_id = document.get("snapshot-id")
            if isinstance(snapshot_id, int) and LONG_MAX < snapshot_id <= UNSIGNED_LONG_MAX:
                message += "; Limits(lenient=True) reads such ids"
            raise MetadataCorrupt(message, **error.context) from error
    raise MetadataCorrupt(f"{where}: snapshots: {reason}", where=where)
