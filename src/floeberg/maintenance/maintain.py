"""Maintenance by policy: what is worth doing now is done, in the right order, and said with figures before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from floeberg.commit.pointer import TablePointer, TableState
from floeberg.commit.workspace import Workspace
from floeberg.effects.progress import Progress
from floeberg.maintenance.expire import Expiry, expire_snapshots
from floeberg.maintenance.last_look import PLANNED_ACTIONS, added_since_last_look, remember_looks
from floeberg.maintenance.manifests import rewrite_manifests
from floeberg.maintenance.measured_read import measured_read_ms
from floeberg.maintenance.policy import (
    Figures,
    Policy,
    figures,
    reason_to_compact,
    reason_to_expire,
    reason_to_rewrite_deletes,
    reason_to_rewrite_manifests,
)
from floeberg.maintenance.rewrite.compact import RewriteRequest, rewrite_data_files
from floeberg.maintenance.rewrite.delete_files import (
    DeleteRewriteRequest,
    convert_equality_deletes,
    rewrite_position_deletes,
)
from floeberg.maintenance.rewrite.engine import RewriteEngine

Done = tuple[TableState, bool]
"""The table after a piece of work, and whether none of it is left because others kept it from its commit."""
_FEWEST_FILES: Final = 5
"""What a group of files is rewritten from on; fewer where the table's policy counts fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One piece of maintenance: what was done, why, and the figures before and after."""

    name: str
    reason: str
    before: Figures
    after: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintained:
    """The table after maintenance; without actions there was nothing to do. The times are of planning a scan and reading its
    first rows, before and after, where they were measured."""

    state: TableState
    actions: tuple[Action, ...] = ()
    read_ms_before: int | None = None
    read_ms_after: int | None = None


def maintain_table(
    pointer: TablePointer,
    state: TableState,
    engine: RewriteEngine,
    *,
    dry_run: bool = False,
    measure_reads: bool = False,
    progress: Progress | None = None,
) -> Maintained:
    """Compacts, rewrites deletes and manifests, and expires snapshots, each where the table's policy says that it is worth
    it; a dry run only says so. Deciding reads the metadata and the manifest list and nothing else; where files are planned
    and none is worth rewriting, a table property says so to the next round. With `measure_reads` the first rows of the table
    are read before and after, where there is something to do."""
    policy, start = Policy.of(state.metadata.properties), state.metadata
    actions: list[Action] = []
    in_vain: dict[str, int] = {}
    works: dict[str, tuple[Callable[[Figures], str | None], Callable[[], Done]]] = {
        "compact": (
            lambda now: reason_to_compact(now, policy, added_since_last_look(start, "compact")),
            lambda: _compact(pointer, state, engine, progress),
        ),
        "rewrite_deletes": (
            lambda now: reason_to_rewrite_deletes(now, policy, added_since_last_look(start, "rewrite_deletes")),
            lambda: _deletes(pointer, state, engine, progress),
        ),
        "rewrite_manifests": (
            lambda now: reason_to_rewrite_manifests(now, policy),
            lambda: (rewrite_manifests(pointer, state).state, True),
        ),
        "expire_snapshots": (
            lambda _: reason_to_expire(state.metadata, now_ms=pointer.effects.clock.now_ms()),
            lambda: (expire_snapshots(pointer, state, Expiry()).state, True),
        ),
    }
    before = _figures(pointer, state)
    measures = measure_reads and not dry_run and any(reason_for(before) for reason_for, _ in works.values())
    read_ms_before = measured_read_ms(pointer, state) if measures else None
    for name, (reason_for, work) in works.items():
        reason = reason_for(before)
        if reason is None:
            continue
        was, is_complete = state, False
        if not dry_run:
            state, is_complete = work()
        if not dry_run and state.metadata is was.metadata:
            if is_complete and name in PLANNED_ACTIONS and was.metadata.current_snapshot_id is not None:
                in_vain[name] = was.metadata.current_snapshot_id  # the figures looked worse than the files are
            continue
        after = before if dry_run else _figures(pointer, state)
        actions.append(Action(name=name, reason=reason, before=before, after=after))
        before = after
    state = remember_looks(pointer, state, in_vain)
    return Maintained(
        state=state,
        actions=tuple(actions),
        read_ms_before=read_ms_before if actions else None,
        read_ms_after=measured_read_ms(pointer, state) if measures and actions else None,
    )


def _figures(pointer: TablePointer, state: TableState) -> Figures:
    current = state.metadata.current_snapshot
    manifests = [] if current is None else Workspace(pointer).manifests(current, state.metadata)
    return figures(state.metadata, list(manifests))


def _compact(pointer: TablePointer, state: TableState, engine: RewriteEngine, progress: Progress | None) -> Done:
    policy = Policy.of(state.metadata.properties)
    request = RewriteRequest(
        options={
            "partial-progress.enabled": "true",
            "remove-dangling-deletes": "true",
            "delete-ratio-threshold": str(policy.delete_ratio),
            "min-input-files": str(max(2, min(_FEWEST_FILES, policy.min_small_files))),
        }
    )
    done = rewrite_data_files(pointer, state, engine, request, progress=progress)
    return done.state, done.failed_data_files == 0


def _deletes(pointer: TablePointer, state: TableState, engine: RewriteEngine, progress: Progress | None) -> Done:
    request = DeleteRewriteRequest()
    converted = convert_equality_deletes(pointer, state, engine, request, progress=progress)
    return rewrite_position_deletes(pointer, converted.state, request, progress=progress).state, True
