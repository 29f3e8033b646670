"""What a plan read and left out, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from floeberg.expr.nodes import AlwaysTrue, Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCounts:
    """Manifests and live files of one kind (data or deletes). Counts of files are None where a skipped manifest's list
    entry does not say how many it has."""

    manifests: int
    manifests_without_live_files: int
    manifests_skipped_by_partition: int
    manifests_read: int
    files: int | None
    files_in_skipped_manifests: int | None
    files_skipped_by_partition: int
    files_skipped_by_metrics: int
    files_kept: int


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of the filter (all parts must hold) and how many files it alone would leave out, of those it was tested on."""

    condition: str
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The whole account of a plan. `projections` are the filter as it reads on the partitions of each spec."""

    filter: str
    projections: Mapping[int, str]
    data: LevelCounts
    deletes: LevelCounts
    deletes_applied: int
    partition_reasons: tuple[Reason, ...]
    metrics_reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The account in words, a line for each level."""
        lines = [f"filter: {self.filter}"]
        lines += [f"  on partitions of spec {spec_id}: {text}" for spec_id, text in self.projections.items()]
        lines += _level("data", self.data)
        lines += [f"  by partition, {reason.condition}: {reason.files} files" for reason in self.partition_reasons]
        lines += [f"  by metrics, {reason.condition}: {reason.files} files" for reason in self.metrics_reasons]
        if self.deletes.manifests:
            lines += _level("delete", self.deletes)
            lines.append(f"delete files applied: {self.deletes_applied} of {self.deletes.files_kept}")
        return lines


def _level(kind: str, counts: LevelCounts) -> list[str]:
    read = f"{kind} manifests read: {counts.manifests_read} of {counts.manifests}"
    skipped = f"{counts.manifests_skipped_by_partition} skipped by partition summaries"
    skipped += f", {counts.manifests_without_live_files} without live files"
    total = "unknown" if counts.files is None else str(counts.files)
    within = "unknown" if counts.files_in_skipped_manifests is None else str(counts.files_in_skipped_manifests)
    return [
        f"{read} ({skipped})",
        f"{kind} files kept: {counts.files_kept} of {total} ({within} in skipped manifests, "
        f"{counts.files_skipped_by_partition} skipped by partition, {counts.files_skipped_by_metrics} by metrics)",
    ]


@dataclass(slots=True)
class Counter:
    """Counts one kind's manifests and files while a plan is made."""

    manifests: int = 0
    empty: int = 0
    skipped: int = 0
    skipped_files: int | None = 0
    live: int = 0
    by_partition: int = 0
    by_metrics: int = 0

    def skip(self, files: int | None) -> None:
        """A manifest that its summaries rule out."""
        self.skipped += 1
        self.skipped_files = None if files is None or self.skipped_files is None else self.skipped_files + files

    def counts(self) -> LevelCounts:
        return LevelCounts(
            manifests=self.manifests,
            manifests_without_live_files=self.empty,
            manifests_skipped_by_partition=self.skipped,
            manifests_read=self.manifests - self.empty - self.skipped,
            files=None if self.skipped_files is None else self.skipped_files + self.live,
            files_in_skipped_manifests=self.skipped_files,
            files_skipped_by_partition=self.by_partition,
            files_skipped_by_metrics=self.by_metrics,
            files_kept=self.live - self.by_partition - self.by_metrics,
        )


@dataclass(slots=True)
class Tally:
    """Counts everything while a plan is made."""

    filter: Expression
    data: Counter = field(default_factory=Counter)
    deletes: Counter = field(default_factory=Counter)
    projections: dict[int, str] = field(default_factory=dict)
    partition_reasons: dict[str, int] = field(default_factory=dict)
    metrics_reasons: dict[str, int] = field(default_factory=dict)

    def explanation(self, *, deletes_applied: int) -> Explanation:
        return Explanation(
            filter=str(self.filter),
            projections=dict(self.projections),
            data=self.data.counts(),
            deletes=self.deletes.counts(),
            deletes_applied=deletes_applied,
            partition_reasons=_reasons(self.partition_reasons),
            metrics_reasons=_reasons(self.metrics_reasons),
        )


def add_reasons(into: dict[str, int], found: Iterable[tuple[Expression, int]]) -> None:
    """Adds how many files each part of a filter rules out."""
    for condition, files in found:
        if not isinstance(condition, AlwaysTrue):
            text = str(condition)
            into[text] = into.get(text, 0) + files


def _reasons(counts: Mapping[str, int]) -> tuple[Reason, ...]:
    return tuple(Reason(text, files) for text, files in sorted(counts.items(), key=lambda item: -item[1]))
