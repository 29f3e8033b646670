"""Leaves out files of a plan that hold none of the keys of a join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from floeberg.expr.nodes import BoundReference
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.kept_plans import Same, kept_plan
from floeberg.scan.matching_files import may_tell_apart, with_matching_files, with_one_file
from floeberg.scan.scan_plan import ScanPlan
from floeberg.spark.read.joins.key_values import JoinKey, KeyValues, key_predicate, key_reference

_VALUES_LIKE_A_FILE: Final = 10
"""So many values take as much memory as the file of a plan."""


@dataclass(frozen=True, slots=True)
class PrunedBy:
    """How many files were left after one key was used, and whose."""

    files: int
    source: str


def pruned_by_keys(
    plan: ScanPlan, keys: Sequence[JoinKey], cache: FrameCache | None = None, *, keeps_one: Callable[[], bool] = bool
) -> tuple[ScanPlan, tuple[PrunedBy, ...]]:
    """The plan without files that hold none of the keys, and who left out how many. The plan keeps the metrics of the key
    columns. `cache` has what came of the same plan and keys before. Where no file holds a key, one is left if `keeps_one` says
    so."""
    steps: list[PrunedBy] = []
    for key in keys:
        reference = key_reference(key.column, plan.schema)
        if len(plan) < 2 or reference is None or not may_tell_apart(plan, reference):
            continue
        found = key.keys.values(beside_rows=plan.record_count)
        if found is None:
            continue
        same = (Same(plan), reference.field_id, key.op, key.added, found.type, Same(found.values))
        key_files = len(plan) + len(found.values) // _VALUES_LIKE_A_FILE
        fewer = kept_plan(cache, same, partial(_with_keys, plan, found, key, reference), key_files=key_files)
        if not len(fewer) and keeps_one():
            fewer = with_one_file(plan)
        if len(fewer) < len(plan):
            plan = fewer
            steps.append(PrunedBy(len(plan), found.source))
    return plan, tuple(steps)


def _with_keys(plan: ScanPlan, found: KeyValues, key: JoinKey, reference: BoundReference) -> ScanPlan:
    """The plan without files that hold none of the key's values."""
    predicate = key_predicate(found, reference, op=key.op, added=key.added)
    return plan if predicate is None else with_matching_files(plan, predicate)
