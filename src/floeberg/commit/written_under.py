"""A check between operations of one commit: files that were already written fit the schema and specs they are committed to."""

from __future__ import annotations

from dataclasses import dataclass

from floeberg.commit.operation import Named
from floeberg.errors import ValidationConflict
from floeberg.spec.changes.updates import MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenUnder:
    """Refuses a commit whose own changes of the schema, partition spec or sort order get other ids when they are replayed
    than when its files were written: a concurrent commit took those ids, and readers would misread the files.

    `start` is the table before the changes, `planned` the one that the files were written for.
    """

    start: TableMetadata
    planned: TableMetadata

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        if not (self._columns_stay(base) and self._spec_stays(base) and self._order_stays(base)):
            raise ValidationConflict(
                f"table {workspace.identifier}: another commit changed the schema, partitioning or order after files were "
                "written under changes of this one; run the whole transaction again",
                table=workspace.identifier,
                retry_can_help=True,
            )
        return []

    def _columns_stay(self, base: TableMetadata) -> bool:
        """Concurrent changes of existing columns do not matter: column ids are never reused."""
        found = base.current_schema.by_id
        return all(
            found.get(field_id) == column
            for field_id, column in self.planned.current_schema.by_id.items()
            if field_id > self.start.last_column_id
        )

    def _spec_stays(self, base: TableMetadata) -> bool:
        planned = self.planned.default_spec
        return planned.spec_id in self.start.specs_by_id or base.specs_by_id.get(planned.spec_id) == planned

    def _order_stays(self, base: TableMetadata) -> bool:
        planned = self.planned.default_sort_order
        known = {order.order_id: order for order in base.sort_orders}
        return any(order == planned for order in self.start.sort_orders) or known.get(planned.order_id) == planned
