"""The destination of a write: the branch that a name, an option or the session names, or a staged snapshot
(write-audit-publish)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from floeberg.commit.cherry_pick import WAP_ID
from floeberg.commit.operation import Operation, SnapshotTarget
from floeberg.commit.refs import BeginBranch, CreateRef
from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH, RefType
from floeberg.sql.text.names import Selector

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAP_ENABLED: Final = "write.wap.enabled"
WAP_ID_SETTING: Final = "spark.wap.id"
WAP_BRANCH_SETTING: Final = "spark.wap.branch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The branch that is written, and that a change of rows reads. `operations_before` create it if it does
    not exist."""

    branch: str = MAIN_BRANCH
    wap_id: str | None = None
    read_branch: str = MAIN_BRANCH
    operations_before: Sequence[Operation] = field(default=())

    def snapshot_target(self, summary: dict[str, str]) -> SnapshotTarget:
        """Where the commit of a write adds its snapshot, with that summary."""
        if self.wap_id is None:
            return SnapshotTarget(branch=self.branch, summary=summary, begins_branch=bool(self.operations_before))
        return SnapshotTarget(branch=self.branch, stage_only=True, summary={**summary, WAP_ID: self.wap_id})


def destination(
    spark: SparkSession, metadata: TableMetadata, *, selector: Selector | None = None, branch: str | None = None
) -> Destination:
    """The destination of a write to a table: `selector` comes from its name (`t.branch_x`), `branch` from an option.

    The session's `spark.wap.branch` and `spark.wap.id` apply to tables whose `write.wap.enabled` is true. Raises InvalidInput
    when two of them differ, or when the name is that of a snapshot, tag or metadata table.
    """
    named = _named(selector, branch)
    enabled = metadata.properties.get(WAP_ENABLED, "false").lower() == "true"
    wap_branch = _setting(spark, WAP_BRANCH_SETTING) if enabled else None
    wap_id = _setting(spark, WAP_ID_SETTING) if enabled else None
    if wap_branch is not None and wap_id is not None:
        raise InvalidInput(f"{WAP_BRANCH_SETTING} and {WAP_ID_SETTING} are both set; unset one of them")
    if wap_id is not None:
        if named is not None:
            raise InvalidInput(f"a write to branch {named!r} cannot be staged; unset {WAP_ID_SETTING}")
        return Destination(wap_id=wap_id)
    if wap_branch is None:
        return Destination(branch=named or MAIN_BRANCH, read_branch=named or MAIN_BRANCH)
    if named is not None and named != wap_branch:
        raise InvalidInput(f"the write names branch {named!r}, and {WAP_BRANCH_SETTING} is {wap_branch!r}; unset one")
    return _wap_branch(metadata, wap_branch)


def _wap_branch(metadata: TableMetadata, branch: str) -> Destination:
    """The branch starts at the head of `main` when it is first written, and with the write itself if `main` has no snapshot."""
    if metadata.find_ref(branch) is not None:
        return Destination(branch=branch, read_branch=branch)
    head = metadata.current_snapshot
    made: Operation = BeginBranch(name=branch)
    if head is not None:
        made = CreateRef(name=branch, type=RefType.BRANCH, snapshot_id=head.snapshot_id, if_not_exists=True)
    return Destination(branch=branch, read_branch=MAIN_BRANCH, operations_before=(made,))


def _named(selector: Selector | None, branch: str | None) -> str | None:
    if selector is None:
        return branch
    if selector.kind != "branch":
        raise InvalidInput(f"a {selector.kind} of a table cannot be written; only a table and its branches can")
    if branch is not None and branch != selector.value:
        raise InvalidInput(f"the name says branch {selector.value!r}, and the option {branch!r}; keep one")
    return selector.value


def _setting(spark: SparkSession, key: str) -> str | None:
    value = spark.conf.get(key, None)
    return value or None
