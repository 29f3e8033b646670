"""ALTER TABLE: each statement one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from floeberg.catalogs.base import LoadedTable
from floeberg.commit.operation import Operation
from floeberg.commit.refs import CreateRef, RemoveRef, Retention
from floeberg.commit.table_changes import ChangeLocation, ChangeProperties, ChangeSortOrder, ChangeSpec
from floeberg.spark.ddl.create import COMMENT
from floeberg.spark.ddl.property_names import check_on_alter
from floeberg.spark.host.execution import Execution, commit
from floeberg.spark.host.results import nothing
from floeberg.spec.evolution.partition_update import PartitionSpecUpdate
from floeberg.spec.partitions.sort_orders import build_sort_order
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.spec.snapshots.refs import RefType
from floeberg.sql.statements.statements import (
    AddPartitionField,
    CommentOn,
    CreateReference,
    DropPartitionField,
    DropReference,
    ReplacePartitionField,
    SetTableLocation,
    SetTableProperties,
    SetWriteOrder,
    UnsetTableProperties,
)
from floeberg.sql.text.names import Name
from floeberg.storage.location import parse_from_user

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DISTRIBUTION: Final = "write.distribution-mode"


def change(execution: Execution, table: Name, *operations: Operation) -> DataFrame:
    """Commits operations to a table by name."""
    commit(load(execution, table), *operations)
    return nothing(execution.spark)


def load(execution: Execution, table: Name) -> LoadedTable:
    return execution.session.load_named(table.parts)


def set_properties(execution: Execution, statement: SetTableProperties) -> DataFrame:
    properties = dict(statement.properties)
    check_on_alter(execution.session.table_identifier(statement.table.parts), properties)
    return change(execution, statement.table, ChangeProperties(set=properties))


def unset_properties(execution: Execution, statement: UnsetTableProperties) -> DataFrame:
    return change(execution, statement.table, ChangeProperties(remove=statement.keys))


def set_location(execution: Execution, statement: SetTableLocation) -> DataFrame:
    return change(execution, statement.table, ChangeLocation(location=parse_from_user(statement.location).text))


def comment_on_table(execution: Execution, statement: CommentOn) -> DataFrame:
    if statement.comment is None:
        return change(execution, statement.name, ChangeProperties(remove=(COMMENT,)))
    return change(execution, statement.name, ChangeProperties(set={COMMENT: statement.comment}))


def add_partition_field(execution: Execution, statement: AddPartitionField) -> DataFrame:
    term = statement.term

    def edit(update: PartitionSpecUpdate) -> None:
        update.add_field(term, term.name)

    return change(execution, statement.table, ChangeSpec(edit=edit, case_sensitive=False))


def drop_partition_field(execution: Execution, statement: DropPartitionField) -> DataFrame:
    table = load(execution, statement.table)
    wanted = _existing(table, statement.term)

    def edit(update: PartitionSpecUpdate) -> None:
        update.remove_field(wanted)

    commit(table, ChangeSpec(edit=edit, case_sensitive=False))
    return nothing(execution.spark)


def replace_partition_field(execution: Execution, statement: ReplacePartitionField) -> DataFrame:
    table = load(execution, statement.table)
    old, new = _existing(table, statement.old), statement.new

    def edit(update: PartitionSpecUpdate) -> None:
        update.remove_field(old)
        update.add_field(new, new.name)

    commit(table, ChangeSpec(edit=edit, case_sensitive=False))
    return nothing(execution.spark)


def _existing(table: LoadedTable, term: PartitionTerm) -> str | PartitionTerm:
    """A plain name means the field of that name, where there is one, and else the column."""
    names = {field.name for field in table.state.metadata.default_spec.fields}
    plain = term.column.strip("`")
    return plain if str(term) == term.column and plain in names else term


def set_write_order(execution: Execution, statement: SetWriteOrder) -> DataFrame:
    table = load(execution, statement.table)
    order = build_sort_order(table.state.metadata.current_schema, statement.order, case_sensitive=False)
    operations: list[Operation] = [ChangeSortOrder(order=order, case_sensitive=False)]
    if statement.distribution_mode is not None:
        operations.append(ChangeProperties(set={DISTRIBUTION: statement.distribution_mode}))
    commit(table, *operations)
    return nothing(execution.spark)


def create_reference(execution: Execution, statement: CreateReference) -> DataFrame:
    retention = Retention(
        min_snapshots_to_keep=statement.min_snapshots_to_keep,
        max_snapshot_age_ms=statement.max_snapshot_age_ms,
        max_ref_age_ms=statement.max_ref_age_ms,
    )
    operation = CreateRef(
        name=statement.name,
        type=RefType(statement.kind),
        snapshot_id=statement.snapshot_id,
        retention=None if retention == Retention() else retention,
        replace=statement.replace,
        must_exist=not statement.create,
        if_not_exists=statement.if_not_exists,
    )
    return change(execution, statement.table, operation)


def drop_reference(execution: Execution, statement: DropReference) -> DataFrame:
    operation = RemoveRef(name=statement.name, type=RefType(statement.kind), if_exists=statement.if_exists)
    return change(execution, statement.table, operation)
