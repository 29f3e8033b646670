"""Which specs equality deletes must be written under. An equality delete reaches the data files of its own spec and
partition, or all of them when its spec has no fields. https://iceberg.apache.org/spec/#scan-planning"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from floeberg.commit.operation import Named
from floeberg.commit.producer import branch_head
from floeberg.commit.workspace import Workspace
from floeberg.errors import ValidationConflict
from floeberg.spec.changes.updates import AddPartitionSpec, MetadataUpdate
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.partitions.transforms import VoidTransform
from floeberg.spec.snapshots.manifest_entry import ManifestContent
from floeberg.spec.snapshots.refs import MAIN_BRANCH


@dataclass(frozen=True, slots=True)
class DeleteReach:
    """The specs that a batch writes its equality deletes under; `added` is among them where the commit must add it."""

    specs: tuple[PartitionSpec, ...]
    added: PartitionSpec | None = None

    @property
    def is_global(self) -> bool:
        return any(not spec.fields for spec in self.specs)


def live_spec_ids(metadata: TableMetadata, workspace: Workspace, *, branch: str = MAIN_BRANCH) -> frozenset[int]:
    """The specs of the data files of a branch."""
    head = branch_head(metadata, branch, workspace, begins=True)
    manifests = [] if head is None else workspace.manifests(head, metadata)
    return frozenset(
        manifest.partition_spec_id
        for manifest in manifests
        if manifest.content is ManifestContent.DATA and manifest.may_have_live_files
    )


def delete_reach(metadata: TableMetadata, live: Collection[int], key_ids: Collection[int]) -> DeleteReach:
    """The specs of the table's live files where the key tells each one's partitions; else one without fields, which the
    table gets if it has none. The rows that a batch brings do not count: what is deleted may lie in other partitions."""
    wanted = [metadata.spec(spec_id) for spec_id in sorted({*live, metadata.default_spec_id})]
    if all(spec.fields and _is_told_by(spec, key_ids) for spec in wanted):
        return DeleteReach(tuple(wanted))
    for spec in metadata.partition_specs:
        if not spec.fields:  # readers differ on a spec of void fields only
            return DeleteReach((spec,))
    added = PartitionSpec(max(spec.spec_id for spec in metadata.partition_specs) + 1)
    return DeleteReach((added,), added)


def _is_told_by(spec: PartitionSpec, key_ids: Collection[int]) -> bool:
    return not spec.unknown_fields and all(
        isinstance(field.transform, VoidTransform) or set(field.source_ids) <= set(key_ids) for field in spec.fields
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AddGlobalSpec:
    """Adds a spec without fields, which is not the default. Raises ValidationConflict when another commit took its id."""

    spec: PartitionSpec

    def updates(self, base: TableMetadata, workspace: Named) -> list[MetadataUpdate]:
        known = next((spec for spec in base.partition_specs if spec.spec_id == self.spec.spec_id), None)
        if known is not None and not known.fields:
            return []
        if known is not None or any(not spec.fields for spec in base.partition_specs):
            raise ValidationConflict(
                f"table {workspace.identifier}: another commit changed the partition specs after the equality deletes of "
                "this one were written; apply the batch again",
                table=workspace.identifier,
                retry_can_help=True,
            )
        return [AddPartitionSpec(self.spec)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequireReach:
    """Refuses the commit when a branch has data files that equality deletes under the given specs do not reach: a commit
    in between may have written under another spec. Looked at again on every attempt."""

    specs: Sequence[PartitionSpec]
    branch: str = MAIN_BRANCH

    def updates(self, base: TableMetadata, workspace: Workspace) -> list[MetadataUpdate]:
        if any(not spec.fields for spec in self.specs):
            return []
        missed = live_spec_ids(base, workspace, branch=self.branch) - {spec.spec_id for spec in self.specs}
        if missed:
            raise ValidationConflict(
                f"table {workspace.identifier}: another commit added data files under partition spec {min(missed)}, which "
                "the equality deletes of this one do not reach; apply the batch again",
                table=workspace.identifier,
                retry_can_help=True,
            )
        return []
