"""What users ask of a table's rows, turned into operations: files are written at once, the commit comes after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from floeberg.api.scan import ScanOptions, ScanSource, Where, to_expression
from floeberg.arrow.assign import assigner
from floeberg.arrow.filter import referenced_ids
from floeberg.arrow.row_level import Assignments, RowChange, RowLevelEngine, RowLevelMode
from floeberg.arrow.table_writer import TableWriter, to_arrow
from floeberg.arrow.upsert import Upsert
from floeberg.commit.append import Append
from floeberg.commit.isolation import IsolationLevel, ReadView
from floeberg.commit.operation import Operation, Target
from floeberg.commit.overwrite import Overwrite
from floeberg.commit.replace_partitions import ReplacePartitions
from floeberg.commit.row_delta import RowDelta
from floeberg.errors import FloebergError, InvalidInput, UnsupportedFeature
from floeberg.expr.bind import bind
from floeberg.expr.nodes import TRUE, AlwaysTrue, Expression
from floeberg.scan.plan import plan_files
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import choose_snapshot
from floeberg.spec.data_file import FileContent
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.refs import MAIN_BRANCH
from floeberg.spec.schema_projection import prune_columns

Assigned = Mapping[str, Any]

_ENCRYPTION_KEY: Final = "encryption.key-id"


@dataclass(frozen=True, slots=True)
class Planned:
    """A change whose files are written; without an operation there is nothing to do."""

    operation: Operation | None
    writer: TableWriter

    def failed(self, error: FloebergError) -> None:
        """Removes the files that were written, where the error proves that no commit refers to them."""
        if error.cleanup_safe or isinstance(error, InvalidInput):
            self.writer.discard()


class Change:
    """One change of the rows of a branch, planned on the state that `source` holds."""

    def __init__(
        self,
        source: ScanSource,
        *,
        starting_snapshot_id: int | None,
        branch: str = MAIN_BRANCH,
        snapshot_properties: Mapping[str, str] | None = None,
        uncommitted: frozenset[str] = frozenset(),
    ) -> None:
        refuse_encrypted(source.metadata)
        self._source = source
        self._metadata = source.metadata
        self._schema = source.metadata.current_schema
        self._starting_snapshot_id = starting_snapshot_id
        self._uncommitted = uncommitted
        self._target = Target(branch=branch, summary=dict(snapshot_properties or {}))
        self._writer = TableWriter(source.metadata, source.pointer.store_for, source.pointer.effects.ids.uuid())

    def append(self, data: Any) -> Planned:
        files = self._written(data)
        return Planned(Append(files=files, target=self._target) if files else None, self._writer)

    def overwrite(self, data: Any, where: Where, *, case_sensitive: bool) -> Planned:
        condition = bind(to_expression(where), self._schema, case_sensitive=case_sensitive)
        if isinstance(condition, AlwaysTrue):
            added = self._written(data)
            return Planned(Overwrite(added=added, row_filter=TRUE, target=self._target), self._writer)
        with self._discarding():
            change = self._engine("delete").delete(self._plan(condition))
            added = self._writer.write_data(to_arrow(data))
            change.added += added
            change.counts.inserted += sum(file.record_count for file in added)
        return self._planned(change, condition, kind="delete")

    def overwrite_partitions(self, data: Any) -> Planned:
        files = self._written(data)
        return Planned(ReplacePartitions(files=files, target=self._target) if files else None, self._writer)

    def delete(self, where: Where, *, case_sensitive: bool) -> Planned:
        condition = self._condition(where, "delete", case_sensitive=case_sensitive)
        with self._discarding():
            change = self._engine("delete").delete(self._plan(condition))
        return self._planned(change, condition, kind="delete")

    def update(self, assigned: Assigned, where: Where, *, case_sensitive: bool) -> Planned:
        condition = self._condition(where, "update", case_sensitive=case_sensitive)
        columns = prune_columns(self._schema, referenced_ids(condition))
        assignments = Assignments(columns, assigner(assigned, self._schema, case_sensitive=case_sensitive))
        with self._discarding():
            change = self._engine("update").update(self._plan(condition), assignments)
        return self._planned(change, condition, kind="update")

    def upsert(self, data: Any, on: Sequence[str] | None) -> Planned:
        keys = [on] if isinstance(on, str) else list(on or self._identifier_names())
        if not keys:
            raise InvalidInput(
                f"table {self._source.pointer.identifier} has no identifier fields; say which columns make the key (on=[…])"
            )
        upsert = Upsert(to_arrow(data), self._schema, keys)
        condition = upsert.condition()
        with self._discarding():
            change = self._engine("merge").update(self._plan(condition), upsert, then=upsert.unmatched)
        return self._planned(change, condition, kind="merge")

    def _identifier_names(self) -> list[str]:
        return [self._schema.names[field_id] for field_id in self._schema.identifier_field_ids]

    def _condition(self, where: Where, verb: str, *, case_sensitive: bool) -> Expression:
        if where is None:
            raise InvalidInput(f"{verb} needs a condition; for every row, where='true'")
        return bind(to_expression(where), self._schema, case_sensitive=case_sensitive)

    def _written(self, data: Any) -> list[Any]:
        with self._discarding():
            return self._writer.write_data(to_arrow(data))

    def _plan(self, condition: Expression) -> ScanPlan:
        chosen = choose_snapshot(self._metadata, ref=self._target.branch)
        return plan_files(
            self._metadata,
            replace(chosen, schema=self._schema),
            store_for=self._source.pointer.store_for,
            where=condition,
            cache=self._source.caches.frames,
            with_metrics=True,
            all_deletes=True,
        )

    def _engine(self, kind: str) -> RowLevelEngine:
        reader = replace(self._source.reader(self._schema, ScanOptions()), uncommitted=self._uncommitted)
        name = f"write.{kind}.mode"
        text = self._metadata.properties.get(name, RowLevelMode.COPY_ON_WRITE)
        if text not in list(RowLevelMode):
            raise InvalidInput(f"table property {name} is {' or '.join(RowLevelMode)}, not {text!r:.60}")
        return RowLevelEngine(reader, self._writer, RowLevelMode(text))

    def _planned(self, change: RowChange, condition: Expression, *, kind: str) -> Planned:
        if change.is_empty:
            return Planned(None, self._writer)
        view = ReadView(
            starting_snapshot_id=self._starting_snapshot_id,
            conflict_filter=condition,
            isolation=self._isolation(kind),
        )
        target = replace(self._target, summary={**change.counts.summary(), **self._target.summary})
        if change.removed_deletes or any(file.content is not FileContent.DATA for file in change.added):
            return Planned(
                RowDelta(
                    added=change.added,
                    removed_deletes=change.removed_deletes,
                    removed_data=change.removed_data,
                    referenced=change.referenced,
                    view=view,
                    target=target,
                ),
                self._writer,
            )
        operation = Overwrite(added=change.added, removed=change.removed_data, view=view, target=target)
        return Planned(operation, self._writer)

    def _isolation(self, kind: str) -> IsolationLevel:
        name = f"write.{kind}.isolation-level"
        text = self._metadata.properties.get(name, IsolationLevel.SERIALIZABLE)
        if text not in list(IsolationLevel):
            raise InvalidInput(f"table property {name} is {' or '.join(IsolationLevel)}, not {text!r:.60}")
        return IsolationLevel(text)

    def _discarding(self) -> _Discarding:
        return _Discarding(self._writer)


class _Discarding:
    """Removes what was written when an error ends the writing: no commit can know of it yet."""

    def __init__(self, writer: TableWriter) -> None:
        self._writer = writer

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self._writer.discard()


def refuse_encrypted(metadata: TableMetadata) -> None:
    """Raises UnsupportedFeature for tables that are encrypted: what was written here would not be."""
    current = metadata.current_snapshot
    encrypted = current is not None and current.key_id is not None
    if encrypted or len(metadata.encryption_keys) or _ENCRYPTION_KEY in metadata.properties:
        raise UnsupportedFeature(
            f"table {metadata.location} is encrypted; encrypted tables cannot be written here", table=metadata.location
        )
