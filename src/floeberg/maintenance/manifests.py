"""Rewriting manifests: the same files, in manifests clustered by partition, so that planning opens few of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from floeberg.commit.commit import commit_operations
from floeberg.commit.merging import MergePolicy
from floeberg.commit.operation import SnapshotTarget
from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.rewrite_manifests import RewriteManifests
from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenManifests:
    """The table after a rewrite of manifests, and how many went and came."""

    state: TableState
    rewritten_manifests: int = 0
    added_manifests: int = 0


def rewrite_manifests(
    pointer: TablePointer,
    state: TableState,
    *,
    spec_id: int | None = None,
    sort_by: Sequence[str] | None = None,
    branch: str = MAIN_BRANCH,
) -> RewrittenManifests:
    """Rewrites the manifests of one partition spec (the current one by default), clustered by its partition fields, those
    named in `sort_by` first. Raises InvalidInput for a spec or field that the table does not have."""
    metadata = state.metadata
    chosen = metadata.default_spec_id if spec_id is None else metadata.spec(spec_id).spec_id
    operation = RewriteManifests(
        choose=lambda manifest: manifest.partition_spec_id == chosen,
        sort_by=_positions(metadata, chosen, sort_by),
        target_size_bytes=MergePolicy.from_properties(metadata.properties).target_size_bytes,
        target=SnapshotTarget(branch=branch),
    )
    committed = commit_operations(pointer, state, [operation])
    summaries = [snapshot.summary for snapshot in committed.snapshots]
    return RewrittenManifests(
        state=committed.state,
        rewritten_manifests=sum(int(summary.get("manifests-replaced", "0")) for summary in summaries),
        added_manifests=sum(int(summary.get("manifests-created", "0")) for summary in summaries),
    )


def _positions(metadata: TableMetadata, spec_id: int, names: Sequence[str] | None) -> tuple[int, ...] | None:
    if names is None:
        return None
    fields = [field.name for field in metadata.spec(spec_id).fields]
    unknown = [name for name in names if name not in fields]
    if unknown or not names:
        raise InvalidInput(
            f"rewrite_manifests: sort_by takes partition fields of spec {spec_id} ({', '.join(fields) or 'none'}), not "
            f"{', '.join(unknown) or 'nothing'}"
        )
    return tuple(fields.index(name) for name in names)
