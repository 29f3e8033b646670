"""Builds tables for tests through the real write path: real files, real commits, in memory unless a catalog is given.

    builder = TableBuilder("id bigint, p int", partition_by=["p"], format_version=3)
    builder.append((1, 0), (2, 0), (3, 1)).delete("id = 2").tag("before")
    assert builder.rows() == [(1, 0), (3, 1)]

Files that are not committed yet come from `data_files`, `deletes` and `equality_deletes`, for tests of commits themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa
from pyroaring import BitMap64

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.arrow.columns.metrics_config import full_metrics
from floeberg.arrow.columns.types import arrow_schema
from floeberg.arrow.formats.write_properties import write_properties
from floeberg.arrow.write.data_files import DataFileWriter, FileKind
from floeberg.arrow.write.delete_files import DeletedFile
from floeberg.arrow.write.table_writer import TableWriter
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.workspace import Workspace
from floeberg.effects.protocols import Effects
from floeberg.expr.nodes import Expression
from floeberg.spec.schemas.projection import select
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, ManifestContent, ManifestEntry
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.storage.location import join

Row = tuple[Any, ...]


class TableBuilder:
    """One table, and what tests do with it. Rows are tuples in the order of the schema's columns."""

    def __init__(
        self,
        schema: str = "id bigint, p int, v string",
        *,
        partition_by: Sequence[str] = (),
        sort_by: Sequence[str] = (),
        format_version: int = 2,
        properties: Mapping[str, str] | None = None,
        in_catalog: Catalog | None = None,
        name: str = "db.t",
        effects: Effects | None = None,
    ) -> None:
        self.catalog = in_catalog or catalog("test", type="memory", effects=effects)
        self.catalog.create_namespace(name.rpartition(".")[0], if_not_exists=True)
        self.table: Table = self.catalog.create_table(
            name,
            schema,
            partition_by=partition_by,
            sort_by=sort_by,
            format_version=format_version,
            properties=properties,
        )
        self._name = name

    # committed at once

    def append(self, *rows: Row, branch: str = MAIN_BRANCH) -> Self:
        """Adds rows, in one commit."""
        self.table.append(self.arrow(rows), branch=branch)
        return self

    def delete(self, where: str) -> Self:
        """Deletes rows as the table's properties say."""
        self.table.delete(where)
        return self

    def branch(self, name: str) -> Self:
        with self.table.manage_refs() as refs:
            refs.create_branch(name)
        return self

    def tag(self, name: str) -> Self:
        with self.table.manage_refs() as refs:
            refs.create_tag(name)
        return self

    def set(self, properties: Mapping[str, str]) -> Self:
        with self.table.update_properties() as update:
            update.set(dict(properties))
        return self

    # looked at

    def rows(self, *, ref: str | None = None, snapshot_id: int | None = None) -> list[Row]:
        """The rows of a branch, tag or snapshot, sorted."""
        found = self.table.scan(ref=ref, snapshot_id=snapshot_id).to_arrow()
        return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)

    def live(self, content: ManifestContent = ManifestContent.DATA, *, ref: str = MAIN_BRANCH) -> list[ManifestEntry]:
        """The live entries of a branch or tag."""
        metadata = self.table.metadata
        workspace = Workspace(self.table._pointer)
        snapshot = metadata.snapshot_for_ref(ref)
        manifests = [] if snapshot is None else workspace.manifests(snapshot, metadata)
        return [e for m in manifests if m.content is content for e in workspace.live_entries(m, metadata)]

    def data(self, *, ref: str = MAIN_BRANCH) -> list[DataFile]:
        """The live data files, by path."""
        return sorted((entry.data_file for entry in self.live(ref=ref)), key=lambda file: file.file_path)

    def second(self) -> Table:
        """The same table, held by someone else."""
        return self.catalog.load_table(self._name)

    def view(
        self,
        where: Expression | None = None,
        *,
        isolation: IsolationLevel = IsolationLevel.SERIALIZABLE,
        branch: str = MAIN_BRANCH,
    ) -> ReadView:
        """What someone has read who looked at the table now."""
        snapshot = self.table.metadata.snapshot_for_ref(branch)
        start = None if snapshot is None else snapshot.snapshot_id
        return ReadView(starting_snapshot_id=start, conflict_filter=where, isolation=isolation)

    # written, not committed

    def arrow(self, rows: Iterable[Row]) -> pa.Table:
        names = [field.name for field in self.table.schema.fields]
        given = [dict(zip(names, row, strict=False)) for row in rows]
        kind = arrow_schema(self.table.schema)
        return pa.Table.from_pylist([{**dict.fromkeys(names), **row} for row in given], schema=kind)

    def data_files(self, *rows: Row) -> list[DataFile]:
        """Data files of these rows, one a partition."""
        return self._writer().write_data(self.arrow(rows))

    def data_file(self, *rows: Row) -> DataFile:
        """One data file; the rows are of one partition."""
        (file,) = self.data_files(*rows)
        return file

    def deletes(self, file: DataFile, *positions: int) -> DataFile:
        """Deletes of rows of a data file, as the table's version has them: a deletion vector from v3 on."""
        target = DeletedFile(file_path=file.file_path, spec_id=file.spec_id, partition=file.partition)
        if self.table.format_version >= 3:
            (vector,) = self._writer().write_vectors({target: BitMap64(positions)})
            return vector
        return self._writer().write_position_deletes({target: BitMap64(positions)})

    def deletes_of_several(self, positions: Mapping[str, Iterable[int]], *, of: DataFile) -> DataFile:
        """A position delete file for several data files of the partition of one of them (before v3)."""
        return self._writer().write_position_deletes(
            {
                DeletedFile(file_path=path, spec_id=of.spec_id, partition=of.partition): BitMap64(rows)
                for path, rows in positions.items()
            }
        )

    def equality_deletes(self, *keys: Row, columns: Sequence[str] = ("id",), of: DataFile | None = None) -> DataFile:
        """Deletes by the values of columns, in the partition of a data file or, in an unpartitioned table, everywhere."""
        metadata = self.table.metadata
        schema = select(metadata.current_schema, columns)
        location = join(metadata.location, f"data/{self.table._pointer.effects.ids.uuid()}-eq.parquet")
        writer = DataFileWriter(
            self.table._pointer.store_for(location),
            location,
            schema,
            properties=write_properties(metadata.properties, deletes=True),
            metrics=full_metrics(schema),
            kind=FileKind(
                content=FileContent.EQUALITY_DELETES,
                spec_id=metadata.default_spec_id if of is None else of.spec_id,
                partition=() if of is None else of.partition,
                equality_ids=tuple(field.field_id for field in schema.fields),
            ),
        )
        rows = pa.Table.from_pylist([dict(zip(columns, key, strict=True)) for key in keys], schema=arrow_schema(schema))
        for batch in rows.to_batches():
            writer.write(batch)
        return writer.close()

    def _writer(self) -> TableWriter:
        pointer = self.table._pointer
        return TableWriter(self.table.metadata, pointer.store_for, pointer.effects.ids.uuid())
