"""The delta writer: the events of one task become data files, equality deletes, and deletes of rows that were inserted and
deleted in the same batch. https://iceberg.apache.org/spec/#row-level-deletes

The events come sorted by key, so the rows of a key that are still to be deleted by position are those of the key at hand;
sorting more events than memory holds is left to the engine that sorts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from floeberg.arrow.formats.io import remove
from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.write.data_files import RollingWriter
from floeberg.arrow.write.delete_files import DeletedFile, write_position_deletes, write_vectors
from floeberg.arrow.write.locations import DataLocations
from floeberg.change_events.sequences import (
    BadEvent,
    EventCounts,
    EventRules,
    KeyChanges,
    key_changes,
    refuse_bad,
    screened,
    whole_keys,
)
from floeberg.effects.protocols import Store
from floeberg.files.deletion_vector import bitmap_of
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent

StoreFor: TypeAlias = Callable[[str], Store]
OnBad: TypeAlias = Callable[[list[BadEvent]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaLayout:
    """What the files of a batch look like, for every task of it. It travels to workers."""

    table: str
    location: str
    schema: Schema
    spec: PartitionSpec
    delete_specs: tuple[PartitionSpec, ...]
    """The specs that equality deletes are written under, so that they reach every live data file."""
    key_ids: tuple[int, ...]
    format_version: int
    by_partition: bool
    """Whether position delete files (v2) hold the deletes of a partition, not of one data file."""
    properties: Mapping[str, str]
    write_id: UUID

    @property
    def key_schema(self) -> Schema:
        return Schema(*(self.schema.by_id[field_id] for field_id in self.key_ids))


@dataclass(slots=True)
class WrittenDelta:
    """The files of a task, for a commit, and what became of its events."""

    files: list[DataFile] = field(default_factory=list)
    referenced: frozenset[str] = frozenset()
    """The new data files that have rows deleted by position."""
    counts: EventCounts = field(default_factory=EventCounts)


class DeltaWriter:
    """Writes the events of one task. `task` tells the writers of one batch apart."""

    def __init__(
        self,
        layout: DeltaLayout,
        rules: EventRules,
        store_for: StoreFor,
        *,
        task: int = 0,
        on_bad: OnBad | None = None,
    ) -> None:
        self._layout = layout
        self._rules = rules
        self._locations = DataLocations(layout.location, layout.properties, layout.write_id, task=task)
        self._store = store_for(self._locations.folder)
        self._on_bad = on_bad or self._refuse
        self._data = self._writer(layout.spec, layout.schema, FileContent.DATA)
        self._keys = [
            self._writer(spec, layout.key_schema, FileContent.EQUALITY_DELETES) for spec in layout.delete_specs
        ]
        self._dead: dict[str, BitMap64] = {}
        self._deletes: list[DataFile] = []

    def write(self, events: Iterable[pa.RecordBatch]) -> WrittenDelta:
        """Applies sorted events. Raises InvalidInput for bad ones, unless they are taken elsewhere; nothing that was
        written is left then."""
        counts = EventCounts()

        def good() -> Iterable[pa.RecordBatch]:
            for batch in events:
                kept, bad = screened(batch, self._rules)
                if bad:
                    counts.events += len(bad)
                    counts.bad += len(bad)
                    self._on_bad(bad)
                yield kept

        try:
            for batch in whole_keys(good(), self._rules.keys):
                changes = key_changes(batch, self._rules)
                counts.add(changes.counts)
                if changes.bad:
                    self._on_bad(changes.bad)
                self._apply(changes)
            return self._finished(counts)
        except BaseException:
            self._abort()
            raise

    def _apply(self, changes: KeyChanges) -> None:
        schema = self._layout.schema
        names = [name for name in changes.rows.schema.names if name in schema.ids]
        if changes.rows.num_rows:
            placed = self._data.place(changes.rows.select(names))
            for part in placed if changes.dead.any() else ():
                positions = part.first_position + np.flatnonzero(changes.dead[part.rows])
                if len(positions):
                    self._dead.setdefault(part.file_path, BitMap64()).update(bitmap_of(positions))
        if changes.deleted.num_rows:
            keys = changes.deleted.select(list(self._rules.keys))
            for writer in self._keys:
                writer.write(keys)

    def _finished(self, counts: EventCounts) -> WrittenDelta:
        data = self._data.close()
        deletes = [file for writer in self._keys for file in writer.close()]
        self._write_dead({file.file_path: file for file in data})
        return WrittenDelta([*data, *deletes, *self._deletes], frozenset(self._dead), counts)

    def _write_dead(self, data: Mapping[str, DataFile]) -> None:
        """Deletes of rows of files that this task wrote: a deletion vector for each file, or position delete files."""
        dead = {
            DeletedFile(file_path=path, spec_id=data[path].spec_id, partition=data[path].partition): positions
            for path, positions in self._dead.items()
        }
        if not dead:
            return
        if self._layout.format_version > 2:
            location = self._locations.new_location("", suffix="-deletes.puffin")
            self._deletes += write_vectors(self._store, location, dead)
            return
        groups: dict[object, dict[DeletedFile, BitMap64]] = {}
        for file, positions in dead.items():
            key = repr(file.partition) if self._layout.by_partition else file.file_path
            groups.setdefault(key, {})[file] = positions
        for group in groups.values():
            self._deletes.append(self._position_deletes(group))

    def _position_deletes(self, dead: Mapping[DeletedFile, BitMap64]) -> DataFile:
        one = next(iter(dead))
        spec = self._layout.spec
        path = spec.path(self._layout.schema, one.partition) if spec.fields else ""
        return write_position_deletes(
            self._store,
            self._locations.new_location(path, suffix=f"-deletes.{self._format(deletes=True)}"),
            {file.file_path: positions for file, positions in dead.items()},
            spec_id=one.spec_id,
            partition=one.partition,
            properties=self._layout.properties,
        )

    def _writer(self, spec: PartitionSpec, schema: Schema, content: FileContent) -> RollingWriter:
        deletes = content is not FileContent.DATA
        suffix = f"{'-deletes' if deletes else ''}.{self._format(deletes=deletes)}"
        return RollingWriter(
            self._store,
            schema,
            spec=spec,
            new_location=lambda path: self._locations.new_location(path, suffix=suffix),
            properties=self._layout.properties,
            content=content,
            equality_ids=self._layout.key_ids if deletes else None,
        )

    def _format(self, *, deletes: bool) -> str:
        return str(write_properties(self._layout.properties, deletes=deletes).file_format)

    def _refuse(self, bad: list[BadEvent]) -> None:
        refuse_bad(bad, self._layout.table)

    def _abort(self) -> None:
        for writer in (self._data, *self._keys):
            writer.abort()
        for location in {file.file_path for file in self._deletes}:
            remove(self._store, location)
