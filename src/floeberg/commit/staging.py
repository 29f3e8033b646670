"""What a table's definition will be after changes that are not committed yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from floeberg.commit.operation import Operation
from floeberg.commit.table_changes import DEFINITION_CHANGES
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class _Name:
    identifier: str


def preview(metadata: TableMetadata, operations: Iterable[Operation]) -> TableMetadata:
    """The metadata with the changes of schema, spec, order, properties and location among the operations applied, so that
    the next change of a transaction can build on them. Nothing is written."""
    for operation in operations:
        if isinstance(operation, DEFINITION_CHANGES):
            updates = operation.updates(metadata, _Name(metadata.location))
            metadata = apply_updates(metadata, updates, now_ms=metadata.last_updated_ms)
    return metadata
