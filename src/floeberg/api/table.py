"""Tables, as the public API has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from floeberg.api.attach import to_spark
from floeberg.api.caches import Caches
from floeberg.api.incremental import AppendScan, ChangeScan
from floeberg.api.inspect import Inspect
from floeberg.api.maintenance import Maintenance
from floeberg.api.moments import to_milliseconds
from floeberg.api.row_writes import MakeChange, RowWrites, Txn
from floeberg.api.scan import Scan, ScanSource, Where
from floeberg.api.transaction import Transaction
from floeberg.api.update import ManageRefs, UpdateProperties, UpdateSchema, UpdateSortOrder, UpdateSpec
from floeberg.api.writing import Change
from floeberg.catalogs.base import LoadedTable
from floeberg.catalogs.identifiers import Identifier
from floeberg.commit.commit import Committed, commit_operations, skip_committed
from floeberg.commit.idempotence import AppTransaction, last_committed
from floeberg.commit.operation import Operation
from floeberg.errors import FloebergError
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import SortOrder
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH, SnapshotRef
from floeberg.spec.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Table(RowWrites):
    """A table at one moment. Reading sees the state it was loaded with until `refresh`. A change is planned on the table's
    current state, whatever this object saw before, and brings the object up to date."""

    def __init__(self, loaded: LoadedTable, *, identifier: Identifier | None, caches: Caches | None = None) -> None:
        self._pointer = loaded.pointer
        self._state = loaded.state
        self._caches = Caches() if caches is None else caches
        self.identifier = identifier

    def __repr__(self) -> str:
        return f"Table({self.name}, {self.metadata.location})"

    @property
    def name(self) -> str:
        """The full name, with the catalog's; the location for a table without a catalog."""
        return self._pointer.identifier

    @property
    def metadata(self) -> TableMetadata:
        return self._state.metadata

    @property
    def metadata_location(self) -> str | None:
        return self._state.metadata_location

    @property
    def location(self) -> str:
        return self.metadata.location

    @property
    def format_version(self) -> int:
        return self.metadata.format_version

    @property
    def schema(self) -> Schema:
        return self.metadata.current_schema

    @property
    def spec(self) -> PartitionSpec:
        return self.metadata.default_spec

    @property
    def sort_order(self) -> SortOrder:
        return self.metadata.default_sort_order

    @property
    def properties(self) -> Mapping[str, str]:
        return self.metadata.properties

    @property
    def snapshots(self) -> Sequence[Snapshot]:
        return self.metadata.snapshots

    @property
    def current_snapshot(self) -> Snapshot | None:
        return self.metadata.current_snapshot

    @property
    def refs(self) -> Mapping[str, SnapshotRef]:
        return self.metadata.refs

    @property
    def inspect(self) -> Inspect:
        """The metadata tables: `t.inspect.files()`."""
        return Inspect(self._pointer, self._state)

    @property
    def maintenance(self) -> Maintenance:
        """What keeps the table healthy: `t.maintenance.expire_snapshots()`."""
        return Maintenance(self)

    def scan(
        self,
        select: Sequence[str] | None = None,
        where: Where = None,
        *,
        limit: int | None = None,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: datetime | str | int | None = None,
        metadata_columns: bool | Sequence[str] = False,
        case_sensitive: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> Scan:
        """The rows for which `where` is true: `t.scan(select=["id"], where="price > 3").to_arrow()`.

        Of the current snapshot, or of the one that `snapshot_id`, `ref` (a branch or tag) or `as_of` names: a time as text
        (`"2026-01-01"`, in UTC unless it says its zone), an aware datetime or milliseconds. `metadata_columns` adds `_file`,
        `_pos` and so on (True, or a list of names); options are those of `ScanOptions`.
        """
        return Scan(
            self._source,
            select=select,
            where=where,
            limit=limit,
            snapshot_id=snapshot_id,
            ref=ref,
            as_of=as_of,
            metadata_columns=metadata_columns,
            case_sensitive=case_sensitive,
            options=options,
        )

    def scan_appends(
        self,
        from_snapshot_id: int | None = None,
        to_snapshot_id: int | None = None,
        *,
        select: Sequence[str] | None = None,
        where: Where = None,
        limit: int | None = None,
        metadata_columns: bool | Sequence[str] = False,
        case_sensitive: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> AppendScan:
        """The rows that appends added after a snapshot (None: ever) up to another (None: now); snapshots of other operations
        are skipped, and later deletes are not applied."""
        return AppendScan(
            self._source,
            from_snapshot_id=from_snapshot_id,
            to_snapshot_id=to_snapshot_id,
            select=select,
            where=where,
            limit=limit,
            metadata_columns=metadata_columns,
            case_sensitive=case_sensitive,
            options=options,
        )

    def scan_changes(
        self,
        from_snapshot_id: int | None = None,
        to_snapshot_id: int | None = None,
        *,
        select: Sequence[str] | None = None,
        where: Where = None,
        keep_carried_over: bool = False,
        compute_updates: bool | None = None,
        identifier_columns: Sequence[str] | None = None,
        net_changes: bool = False,
        case_sensitive: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> ChangeScan:
        """The rows that were inserted and deleted after a snapshot (None: from the beginning) up to another (None: now), by
        any operation. Rows that a rewrite only copied are left out.

        With `identifier_columns`, or `compute_updates` and the table's identifier fields, a row that is deleted and inserted
        by one snapshot is an update. `net_changes` leaves out what later snapshots of the range undo. `where` chooses among
        the deleted and inserted rows, before updates are told.
        """
        return ChangeScan(
            self._source,
            from_snapshot_id=from_snapshot_id,
            to_snapshot_id=to_snapshot_id,
            select=select,
            where=where,
            keep_carried_over=keep_carried_over,
            compute_updates=compute_updates,
            identifier_columns=identifier_columns,
            net_changes=net_changes,
            case_sensitive=case_sensitive,
            options=options,
        )

    def to_spark(
        self,
        spark: SparkSession,
        select: Sequence[str] | None = None,
        where: str | None = None,
        *,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: datetime | str | int | None = None,
        metadata_columns: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> DataFrame:
        """The rows as a Spark DataFrame. `where` is a condition in Spark's SQL; it also leaves out files that hold no such
        rows. The session need not be attached."""
        return to_spark(
            spark,
            LoadedTable(self._pointer, self._state),
            select=select,
            where=where,
            snapshot_id=snapshot_id,
            ref=ref,
            as_of_ms=to_milliseconds(as_of),
            metadata_columns=metadata_columns,
            options=options,
        )

    @property
    def _source(self) -> ScanSource:
        return ScanSource(self._pointer, self.metadata, self._caches)

    def refresh(self) -> Table:
        """Loads the newest state of the table. Raises TableNotFound when the table no longer exists or another has its name."""
        self._state = self._pointer.refresh()
        return self

    def _commit(self, *operations: Operation, once: AppTransaction | None = None) -> Committed:
        """Commits operations as one change; with `once`, unless the branch holds
        that version of its app already."""
        committed = commit_operations(self._pointer, self._state, operations, once=once)
        self._state = committed.state
        return committed

    def txn_version(self, app_id: str, *, branch: str = MAIN_BRANCH) -> int | None:
        """The last version of an application that a branch holds (`txn` of a write); None when it holds none."""
        found = last_committed(self.metadata, app_id, branch=branch)
        return None if found is None else found.version

    def _apply(self, operations: list[Operation], once: AppTransaction | None = None) -> Committed:
        """Commits what an update block collected."""
        return self._commit(*operations, once=once)

    def _change(
        self, make: MakeChange, branch: str, snapshot_properties: Mapping[str, str] | None, txn: Txn | None
    ) -> Snapshot | None:
        once = _once(txn, branch)
        if once is not None and (skipped := skip_committed(self._pointer, once)) is not None:
            self._state = skipped.state
            return None
        self.refresh()
        head = self.metadata.snapshot_for_ref(branch)
        planned = make(
            Change(
                self._source,
                starting_snapshot_id=None if head is None else head.snapshot_id,
                branch=branch,
                snapshot_properties=snapshot_properties,
            )
        )
        if planned.operation is None and once is None:
            return None
        operations = () if planned.operation is None else (planned.operation,)
        try:
            committed = self._commit(*operations, once=once)
        except FloebergError as error:
            planned.failed(error)
            raise
        if committed.skipped is not None:
            planned.writer.discard()
            return None
        return committed.snapshots[-1]

    def transaction(self, *, txn: Txn | None = None, branch: str = MAIN_BRANCH) -> Transaction:
        """Several changes as one commit: `with t.transaction() as tx: …`.

        It begins with the table's current state, which this object shows from then on: what `t.scan()` reads inside the
        block is what the changes are validated against. With `txn` (an application's id and a version) it commits nothing
        when `branch` holds that version already.
        """
        return Transaction(self.refresh(), once=_once(txn, branch))

    def update_schema(self, *, case_sensitive: bool = True, allow_incompatible_changes: bool = False) -> UpdateSchema:
        """`with t.update_schema() as u: u.add_column("x", "bigint")`"""
        return UpdateSchema(
            self.refresh(), case_sensitive=case_sensitive, allow_incompatible_changes=allow_incompatible_changes
        )

    def update_spec(self, *, case_sensitive: bool = True) -> UpdateSpec:
        """`with t.update_spec() as u: u.add_field("day(ts)")`"""
        return UpdateSpec(self.refresh(), case_sensitive=case_sensitive)

    def update_sort_order(self, *, case_sensitive: bool = True) -> UpdateSortOrder:
        """`with t.update_sort_order() as u: u.order_by("ts desc")`"""
        return UpdateSortOrder(self.refresh(), case_sensitive=case_sensitive)

    def update_properties(self) -> UpdateProperties:
        """`with t.update_properties() as u: u.set({"write.delete.mode": "merge-on-read"})`"""
        return UpdateProperties(self.refresh())

    def manage_refs(self) -> ManageRefs:
        """`with t.manage_refs() as r: r.create_tag("q3")`"""
        return ManageRefs(self.refresh())


def _once(txn: Txn | None, branch: str) -> AppTransaction | None:
    if txn is None:
        return None
    app_id, version = txn
    return AppTransaction(app_id=app_id, version=version, branch=branch)
