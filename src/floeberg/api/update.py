"""Changes of a table's definition as context managers: collected inside, one commit at the end, nothing on an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Protocol, Self

from floeberg.commit.cherry_pick import CherryPick, Publish
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.refs import (
    CreateRef,
    FastForward,
    RemoveRef,
    RenameBranch,
    Retention,
    SetBranchSnapshot,
    SetRetention,
    snapshot_before,
)
from floeberg.commit.table_changes import (
    ChangeProperties,
    ChangeSchema,
    ChangeSortOrder,
    ChangeSpec,
    partition_update_of,
    schema_update_of,
)
from floeberg.errors import InvalidInput
from floeberg.spec.evolution.partition_update import PartitionSpecUpdate
from floeberg.spec.evolution.schema_update import ColumnPath, SchemaUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.sort_orders import build_sort_order
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import MAIN_BRANCH, RefType
from floeberg.spec.types import UNSET, IcebergType
from floeberg.sql.ddl.types import type_from_ddl


class Committer(Protocol):
    """What takes a finished change: a table commits it, a transaction keeps it for later."""

    @property
    def metadata(self) -> TableMetadata: ...

    def _apply(self, operations: list[Operation]) -> object: ...


class _Update:
    """A change that is collected in a `with` block."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            operations = self._operations()
            if operations:
                self._committer._apply(operations)

    def _operations(self) -> list[Operation]:
        raise AssertionError("every update says what it does")


class UpdateSchema(_Update):
    """Evolves the schema. A change that is not allowed raises at once."""

    def __init__(
        self, committer: Committer, *, case_sensitive: bool = True, allow_incompatible_changes: bool = False
    ) -> None:
        super().__init__(committer)
        self._case_sensitive = case_sensitive
        self._allow_incompatible = allow_incompatible_changes
        self._edits: list[Callable[[SchemaUpdate], object]] = []
        self._preview = schema_update_of(
            committer.metadata, case_sensitive=case_sensitive, allow_incompatible=allow_incompatible_changes
        )

    def _edit(self, edit: Callable[[SchemaUpdate], object]) -> Self:
        edit(self._preview)
        self._edits.append(edit)
        return self

    def add_column(
        self,
        path: ColumnPath,
        type: IcebergType | str,
        *,
        required: bool = False,
        doc: str | None = None,
        default: object = UNSET,
    ) -> Self:
        """Adds a column or a nested field; the type as an object or as Spark DDL text (`"array<string>"`)."""
        kind = type_from_ddl(type) if isinstance(type, str) else type
        return self._edit(lambda u: u.add_column(path, kind, required=required, doc=doc, default=default))

    def drop_column(self, path: ColumnPath) -> Self:
        return self._edit(lambda u: u.drop_column(path))

    def rename_column(self, path: ColumnPath, new_name: str) -> Self:
        return self._edit(lambda u: u.rename_column(path, new_name))

    def move_first(self, path: ColumnPath) -> Self:
        return self._edit(lambda u: u.move_first(path))

    def move_before(self, path: ColumnPath, other: ColumnPath) -> Self:
        return self._edit(lambda u: u.move_before(path, other))

    def move_after(self, path: ColumnPath, other: ColumnPath) -> Self:
        return self._edit(lambda u: u.move_after(path, other))

    def update_type(self, path: ColumnPath, type: IcebergType | str) -> Self:
        kind = type_from_ddl(type) if isinstance(type, str) else type
        return self._edit(lambda u: u.update_type(path, kind))

    def update_doc(self, path: ColumnPath, doc: str | None) -> Self:
        return self._edit(lambda u: u.update_doc(path, doc))

    def make_optional(self, path: ColumnPath) -> Self:
        return self._edit(lambda u: u.make_optional(path))

    def make_required(self, path: ColumnPath) -> Self:
        return self._edit(lambda u: u.make_required(path))

    def update_default(self, path: ColumnPath, value: object) -> Self:
        return self._edit(lambda u: u.update_default(path, value))

    def drop_default(self, path: ColumnPath) -> Self:
        return self._edit(lambda u: u.drop_default(path))

    def set_identifier_fields(self, paths: Iterable[ColumnPath]) -> Self:
        chosen = list(paths)
        return self._edit(lambda u: u.set_identifier_fields(chosen))

    def union_by_name(self, schema: Schema) -> Self:
        return self._edit(lambda u: u.union_by_name(schema))

    def _operations(self) -> list[Operation]:
        if not self._edits:
            return []
        edits = tuple(self._edits)

        def replay(update: SchemaUpdate) -> None:
            for edit in edits:
                edit(update)

        return [
            ChangeSchema(edit=replay, case_sensitive=self._case_sensitive, allow_incompatible=self._allow_incompatible)
        ]


class UpdateSpec(_Update):
    """Evolves how new data is partitioned."""

    def __init__(self, committer: Committer, *, case_sensitive: bool = True) -> None:
        super().__init__(committer)
        self._case_sensitive = case_sensitive
        self._edits: list[Callable[[PartitionSpecUpdate], object]] = []
        self._preview = partition_update_of(committer.metadata, case_sensitive=case_sensitive)

    def _edit(self, edit: Callable[[PartitionSpecUpdate], object]) -> Self:
        edit(self._preview)
        self._edits.append(edit)
        return self

    def add_field(self, term: str, name: str | None = None) -> Self:
        """Adds a field such as `day(ts)`, `bucket(16, id)`, `truncate(4, name)` or a column itself."""
        return self._edit(lambda u: u.add_field(term, name))

    def remove_field(self, name_or_term: str) -> Self:
        return self._edit(lambda u: u.remove_field(name_or_term))

    def rename_field(self, name: str, new_name: str) -> Self:
        return self._edit(lambda u: u.rename_field(name, new_name))

    def _operations(self) -> list[Operation]:
        if not self._edits:
            return []
        edits = tuple(self._edits)

        def replay(update: PartitionSpecUpdate) -> None:
            for edit in edits:
                edit(update)

        return [ChangeSpec(edit=replay, case_sensitive=self._case_sensitive)]


class UpdateSortOrder(_Update):
    """Sets the order in which new files are sorted."""

    def __init__(self, committer: Committer, *, case_sensitive: bool = True) -> None:
        super().__init__(committer)
        self._case_sensitive = case_sensitive
        self._terms: list[str] | None = None

    def order_by(self, *terms: str) -> Self:
        """Sorts by terms such as `"ts desc"` or `"bucket(16, id) asc nulls last"`; none at all means unsorted."""
        asked = [*(self._terms or ()), *terms]
        build_sort_order(self._committer.metadata.current_schema, asked, case_sensitive=self._case_sensitive)
        self._terms = asked
        return self

    def asc(self, term: str, nulls: str = "first") -> Self:
        return self.order_by(f"{term} asc nulls {nulls}")

    def desc(self, term: str, nulls: str = "last") -> Self:
        return self.order_by(f"{term} desc nulls {nulls}")

    def _operations(self) -> list[Operation]:
        if self._terms is None:
            return []
        return [ChangeSortOrder(terms=tuple(self._terms), case_sensitive=self._case_sensitive)]


class UpdateProperties(_Update):
    """Sets and removes table properties."""

    def __init__(self, committer: Committer) -> None:
        super().__init__(committer)
        self._set: dict[str, str] = {}
        self._remove: set[str] = set()

    def set(self, properties: dict[str, str] | None = None, /, **more: str) -> Self:
        """Sets properties given as a dict (`{"commit.retry.num-retries": "8"}`) or as keywords."""
        for key, value in {**(properties or {}), **more}.items():
            if not isinstance(value, str):
                raise InvalidInput(f"property {key} must be a text, not {value!r}")
            self._set[key] = value
            self._remove.discard(key)
        return self

    def remove(self, *keys: str) -> Self:
        for key in keys:
            if not isinstance(key, str):
                raise InvalidInput(f"properties are removed by their names, as remove('a', 'b'), not {key!r:.60}")
            self._remove.add(key)
            self._set.pop(key, None)
        return self

    def _operations(self) -> list[Operation]:
        if not self._set and not self._remove:
            return []
        return [ChangeProperties(set=dict(self._set), remove=frozenset(self._remove))]


class ManageRefs(_Update):
    """Branches and tags, rolling back and publishing."""

    def __init__(self, committer: Committer) -> None:
        super().__init__(committer)
        self._done: list[Operation] = []

    def _add(self, operation: Operation) -> Self:
        self._done.append(operation)
        return self

    def create_branch(
        self,
        name: str,
        snapshot_id: int | None = None,
        *,
        retention: Retention | None = None,
        replace: bool = False,
        if_not_exists: bool = False,
    ) -> Self:
        """Makes a branch at a snapshot, the current one by default. Raises RefAlreadyExists at the commit."""
        return self._add(
            CreateRef(
                name=name,
                type=RefType.BRANCH,
                snapshot_id=snapshot_id,
                retention=retention,
                replace=replace,
                if_not_exists=if_not_exists,
            )
        )

    def create_tag(
        self,
        name: str,
        snapshot_id: int | None = None,
        *,
        max_ref_age_ms: int | None = None,
        replace: bool = False,
        if_not_exists: bool = False,
    ) -> Self:
        """Makes a tag at a snapshot, the current one by default. Raises RefAlreadyExists at the commit."""
        retention = None if max_ref_age_ms is None else Retention(max_ref_age_ms=max_ref_age_ms)
        return self._add(
            CreateRef(
                name=name,
                type=RefType.TAG,
                snapshot_id=snapshot_id,
                retention=retention,
                replace=replace,
                if_not_exists=if_not_exists,
            )
        )

    def remove_branch(self, name: str, *, if_exists: bool = False) -> Self:
        return self._add(RemoveRef(name=name, type=RefType.BRANCH, if_exists=if_exists))

    def remove_tag(self, name: str, *, if_exists: bool = False) -> Self:
        return self._add(RemoveRef(name=name, type=RefType.TAG, if_exists=if_exists))

    def rename_branch(self, name: str, to: str) -> Self:
        return self._add(RenameBranch(name=name, to=to))

    def set_retention(self, name: str, retention: Retention) -> Self:
        return self._add(SetRetention(name=name, retention=retention))

    def fast_forward(self, branch: str, to: str) -> Self:
        return self._add(FastForward(branch=branch, to=to))

    def rollback_to_snapshot(self, snapshot_id: int, *, branch: str = MAIN_BRANCH) -> Self:
        return self._add(SetBranchSnapshot(snapshot_id=snapshot_id, branch=branch, must_be_ancestor=True))

    def rollback_to_timestamp(self, timestamp_ms: int, *, branch: str = MAIN_BRANCH) -> Self:
        metadata = self._committer.metadata
        goal = snapshot_before(metadata, timestamp_ms, branch=branch, identifier=metadata.location)
        return self.rollback_to_snapshot(goal, branch=branch)

    def set_current_snapshot(self, snapshot_id: int, *, branch: str = MAIN_BRANCH) -> Self:
        return self._add(SetBranchSnapshot(snapshot_id=snapshot_id, branch=branch))

    def cherry_pick(self, snapshot_id: int, *, branch: str = MAIN_BRANCH) -> Self:
        return self._add(CherryPick(snapshot_id=snapshot_id, target=SnapshotTarget(branch=branch)))

    def publish(self, wap_id: str, *, branch: str = MAIN_BRANCH) -> Self:
        """Publishes the staged snapshot of a WAP id."""
        return self._add(Publish(wap_id=wap_id, target=SnapshotTarget(branch=branch)))

    def _operations(self) -> list[Operation]:
        return list(self._done)
