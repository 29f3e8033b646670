"""Planning: from a snapshot and a filter to the files to read, each with its deletes and the residual of the filter.

https://iceberg.apache.org/spec/#scan-planning. The work is done on columns: partition summaries skip manifests, partitions
and metrics skip files, deletes are joined; objects are made only for tasks that are requested one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_ as both
from typing import Final

import polars as pl

from floeberg.errors import UnsupportedFeature
from floeberg.expr.bind import bind
from floeberg.expr.manifest_eval import summaries_may_match
from floeberg.expr.nodes import TRUE, AlwaysTrue, BoundPredicate, Expression, and_, fold, not_, or_
from floeberg.expr.projection import inclusive_projection
from floeberg.files.metric_columns import ALL_MAPS, NULL_COUNTS, metric_names, with_metric_columns
from floeberg.scan.delete_index import PATH_ID, DeleteIndex
from floeberg.scan.explanation import Counter, Tally, add_reasons
from floeberg.scan.frame_cache import FrameCache
from floeberg.scan.manifest_frames import DEFAULT_THREADS, FilesOfSpec, ManifestReader, StoreFor, joined
from floeberg.scan.pruning import conjuncts, field_ids, metrics_mask, metrics_masks, partition_mask
from floeberg.scan.scan_plan import ScanPlan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.partitions.specs import PartitionSpec
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import EntryStatus, FileContent, FileFormat, ManifestContent, ManifestFile

LIVE: Final = pl.col("status") != EntryStatus.DELETED
FILES_AT_ONCE: Final = 4_096
_NO_INDEX: Final = (pl.col("content") != FileContent.DATA) | (pl.col("file_format") != FileFormat.PUFFIN)
"""Some writers list indexes (Puffin files) as if they were data files; they hold no rows."""


def plan_files(
    metadata: TableMetadata,
    chosen: SnapshotChoice,
    *,
    store_for: StoreFor,
    where: Expression = TRUE,
    case_sensitive: bool = True,
    cache: FrameCache | None = None,
    with_metrics: bool = False,
    keep_metrics_of: frozenset[int] = frozenset(),
    ignore_scheme: bool = False,
    all_deletes: bool = False,
    threads: int = DEFAULT_THREADS,
) -> ScanPlan:
    """The files of a snapshot that may hold rows for which `where` is true, with the deletes that apply to them.

    Reads the manifest list and the manifests that summaries do not rule out, each once, and nothing else. `with_metrics`
    keeps the metrics maps of the planned files, `keep_metrics_of` those of some columns as columns of the plan's frames;
    `ignore_scheme` is for position deletes whose paths have another form than the manifests' (as some engines write them).
    `all_deletes` is for rewrites of planned files (copy-on-write, compaction): deletes of rows that do not match the filter
    must be applied too, or the rewrite would bring deleted rows back. Otherwise delete files without rows that match may be
    left out.

    Raises UnsupportedFeature for encrypted tables, FormatError, InvalidInput when the filter does not fit the schema.
    """
    reader = ManifestReader(metadata, chosen.schema, store_for, cache=cache, threads=threads)
    bound = bind(where, chosen.schema, case_sensitive=case_sensitive)
    manifests = () if chosen.snapshot is None else reader.manifests(chosen.snapshot)
    planner = Planner(metadata, chosen.schema, bound, reader=reader)
    return planner.plan(
        manifests,
        keep_metrics_of=keep_metrics_of,
        with_metrics=with_metrics,
        ignore_scheme=ignore_scheme,
        all_deletes=all_deletes,
    )


@dataclass(frozen=True, slots=True)
class _Pruned:
    """What is left of a manifest, and how many files its partitions and metrics ruled out."""

    files: FilesOfSpec
    live: int
    by_partition: int
    by_metrics: int
    partition_reasons: list[tuple[Expression, int]]
    metrics_reasons: list[tuple[Expression, int]]


class Planner:
    """One filter, bound to one schema, over manifests of one table."""

    def __init__(self, metadata: TableMetadata, schema: Schema, bound: Expression, *, reader: ManifestReader) -> None:
        self._metadata = metadata
        self._schema = schema
        self._bound = bound
        self._reader = reader
        self._tally = Tally(bound)
        self._projections: dict[int, Expression] = {}

    def plan(
        self,
        manifests: Sequence[ManifestFile],
        *,
        entries: pl.Expr = LIVE,
        keep_metrics_of: frozenset[int] = frozenset(),
        with_metrics: bool = False,
        ignore_scheme: bool = False,
        all_deletes: bool = False,
    ) -> ScanPlan:
        """The selected entries of data manifests, with the deletes of delete manifests. The metric columns of
        `keep_metrics_of` stay in the plan's frames."""
        data = [manifest for manifest in manifests if manifest.content is ManifestContent.DATA]
        deletes = [manifest for manifest in manifests if manifest.content is ManifestContent.DELETES]
        delete_parts = self.delete_files(deletes, all_deletes=all_deletes)
        index = self.delete_index(delete_parts, ignore_scheme=ignore_scheme)
        metrics_of = index.equality_ids | keep_metrics_of
        parts = self.data_files(data, entries=entries, metrics_of=metrics_of, with_metrics=with_metrics)
        delete_parts, lists = _applied_alone(delete_parts, index.match(parts))
        planned = [part.with_column(numbers) for part, numbers in zip(parts, lists, strict=True)]
        return ScanPlan(
            parts=[without_metric_columns(part, keep=keep_metrics_of) for part in planned],
            deletes=[without_metric_columns(part) for part in delete_parts],
            schema=self._schema,
            filter=self._bound,
            explanation=self._tally.explanation(deletes_applied=sum(part.frame.height for part in delete_parts)),
        )

    def data_files(
        self,
        manifests: Sequence[ManifestFile],
        *,
        entries: pl.Expr = LIVE,
        metrics_of: frozenset[int] = frozenset(),
        with_metrics: bool = False,
    ) -> list[FilesOfSpec]:
        """The entries of data manifests that may hold rows for which the filter is true, with metric columns."""

        def read(manifest: ManifestFile) -> pl.DataFrame:
            asked = self._asked_of_metrics(self._reader.spec(manifest))
            return self._reader.frame(manifest, metrics_of=asked | metrics_of, with_metrics=with_metrics)

        kept: list[FilesOfSpec] = []
        chosen = entries & _NO_INDEX
        for batch in self._batches(self._possible(manifests, self._tally.data, entries), read):
            asked = self._asked_of_metrics(batch.spec)
            pruned = self._in_partition(_chosen(batch, chosen))
            pruned = _by_metrics(pruned, conjuncts(_about(self._bound, asked)), drop=asked - metrics_of)
            kept.append(self._counted(pruned, self._tally.data))
        return joined(kept)

    def _asked_of_metrics(self, spec: PartitionSpec) -> frozenset[int]:
        """The columns whose metrics can rule out more than the partition: not those partitioned by identity."""
        return field_ids(self._bound) - spec.identity_source_ids

    def delete_files(
        self, manifests: Sequence[ManifestFile], *, entries: pl.Expr = LIVE, all_deletes: bool = False
    ) -> list[FilesOfSpec]:
        """The entries of delete manifests that may delete rows for which the filter is true (or, with `all_deletes`, any row
        of a file that may hold such rows), with the metric columns that tell which data files they apply to. The null counts
        stay: they tell how equality fields are compared."""

        def read(manifest: ManifestFile) -> pl.DataFrame:
            return self._reader.frame(manifest, with_metrics=True)

        possible = self._possible(manifests, self._tally.deletes, entries)
        parts = joined(
            self._counted(self._in_partition(_chosen(batch, entries)), self._tally.deletes)
            for batch in self._batches(possible, read)
        )
        keys = {PATH_ID}.union(*(_distinct_ids(part.frame) for part in parts))
        kept: list[FilesOfSpec] = []
        for part in parts:
            frame = with_metric_columns(part.frame, keys).drop([name for name in ALL_MAPS if name != NULL_COUNTS])
            mask = _equality_mask(TRUE if all_deletes else self._bound, frame)
            self._tally.deletes.by_metrics += int((~mask).sum())
            kept.append(replace(part, frame=frame.filter(mask)))
        return kept

    def delete_index(self, parts: Sequence[FilesOfSpec], *, ignore_scheme: bool = False) -> DeleteIndex:
        """The index of delete files of this planner."""
        newest_first = sorted(self._metadata.schemas, key=lambda schema: schema.schema_id, reverse=True)
        return DeleteIndex(parts, [self._schema, *newest_first], ignore_scheme=ignore_scheme)

    def _projection(self, spec: PartitionSpec) -> Expression:
        known = self._projections.get(spec.spec_id)
        if known is None:
            known = self._projections[spec.spec_id] = inclusive_projection(spec, self._schema, self._bound)
            if not isinstance(known, AlwaysTrue):
                self._tally.projections[spec.spec_id] = str(known)
        return known

    def _possible(
        self, manifests: Sequence[ManifestFile], counter: Counter, entries: pl.Expr
    ) -> Sequence[ManifestFile]:
        """The manifests that the manifest list does not rule out, by its summaries of live entries."""
        counter.manifests += len(manifests)
        if entries is not LIVE:
            return manifests
        kept: list[ManifestFile] = []
        for manifest in manifests:
            if not manifest.may_have_live_files:
                counter.empty += 1
            elif summaries_may_match(self._projection(self._reader.spec(manifest)), manifest.partitions):
                kept.append(manifest)
            else:
                added, existing = manifest.added_files_count, manifest.existing_files_count
                counter.skip(None if added is None or existing is None else added + existing)
        return kept

    def _batches(
        self, manifests: Sequence[ManifestFile], read: Callable[[ManifestFile], pl.DataFrame]
    ) -> Iterator[FilesOfSpec]:
        """The manifests' entries, those of several manifests of a spec at once: evaluating many files at a time costs hardly
        more than few."""
        waiting: dict[int, list[FilesOfSpec]] = {}
        for manifest, frame in zip(manifests, self._reader.in_parallel(read, manifests), strict=True):
            spec = self._reader.spec(manifest)
            group = waiting.setdefault(spec.spec_id, [])
            group.append(FilesOfSpec(spec, self._reader.partition_type(spec), frame))
            if sum(part.frame.height for part in group) >= FILES_AT_ONCE:
                yield from joined(waiting.pop(spec.spec_id))
        for group in waiting.values():
            yield from joined(group)

    def _in_partition(self, files: FilesOfSpec) -> _Pruned:
        """The files whose partition may hold matching rows."""
        frame = files.frame
        live = frame.height
        reasons = []
        projection = self._projection(files.spec)
        if not isinstance(projection, AlwaysTrue):
            masks = [(part, partition_mask(part, frame)) for part in conjuncts(projection)]
            reasons = [(part, int((~mask).sum())) for part, mask in masks]
            frame = _filtered(frame, [mask for _, mask in masks])
        _refuse_encrypted(frame)
        return _Pruned(replace(files, frame=frame), live, live - frame.height, 0, reasons, [])

    def _counted(self, pruned: _Pruned, counter: Counter) -> FilesOfSpec:
        counter.live += pruned.live
        counter.by_partition += pruned.by_partition
        counter.by_metrics += pruned.by_metrics
        if counter is self._tally.data:
            add_reasons(self._tally.partition_reasons, pruned.partition_reasons)
            add_reasons(self._tally.metrics_reasons, pruned.metrics_reasons)
        return pruned.files


def _by_metrics(pruned: _Pruned, conditions: Sequence[Expression], *, drop: frozenset[int]) -> _Pruned:
    """The files whose metrics do not rule out that all conditions hold for some row."""
    frame = pruned.files.frame
    masks = metrics_masks(conditions, frame)
    kept = without_columns(_filtered(frame, masks), metric_names(drop))
    return replace(
        pruned,
        files=replace(pruned.files, frame=kept),
        by_metrics=frame.height - kept.height,
        metrics_reasons=[(condition, int((~mask).sum())) for condition, mask in zip(conditions, masks, strict=True)],
    )


def _equality_mask(bound: Expression, frame: pl.DataFrame) -> pl.Series:
    """False for equality deletes whose keys cannot be those of a row that matches the filter. Only equality fields describe
    the deleted rows: other columns of the file mean nothing."""
    asked = field_ids(bound)
    mask = pl.Series([True], dtype=pl.Boolean).new_from_index(0, frame.height)
    for ids in frame.get_column("equality_ids").drop_nulls().unique().to_list():
        if asked.intersection(ids):
            of_ids = (frame.get_column("equality_ids") == pl.Series([ids], dtype=pl.List(pl.Int32))).fill_null(False)
            mask = mask & (~of_ids | metrics_mask(_about(bound, frozenset(ids)), frame))
    return mask


def _about(bound: Expression, ids: frozenset[int]) -> Expression:
    """The part of an expression (without Not) that depends on some columns only, true whatever the others hold."""
    return fold(
        bound,
        leaf=lambda node: (
            TRUE if isinstance(node, BoundPredicate) and node.term.reference.field_id not in ids else node
        ),
        every=lambda parts: and_(*parts),
        some=lambda parts: or_(*parts),
        negate=not_,
    )


def _distinct_ids(frame: pl.DataFrame) -> set[int]:
    return set(frame.get_column("equality_ids").explode().drop_nulls().unique().to_list())


def _chosen(files: FilesOfSpec, entries: pl.Expr) -> FilesOfSpec:
    return replace(files, frame=_filtered(files.frame, [files.frame.select(entries).to_series()]))


def _filtered(frame: pl.DataFrame, masks: Sequence[pl.Series]) -> pl.DataFrame:
    mask = reduce(both, masks)
    return frame if mask.all() else frame.filter(mask)


def without_metric_columns(part: FilesOfSpec, *, keep: Collection[int] = ()) -> FilesOfSpec:
    """The files without the columns that only planning needs."""
    kept = set(metric_names(keep))
    gone = [name for name in part.frame.columns if "." in name and name not in kept]
    return replace(part, frame=without_columns(part.frame, gone))


def without_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The frame without some of its columns; polars' own method goes through its query engine, which costs milliseconds."""
    gone = set(names)
    return pl.DataFrame([column for column in frame.get_columns() if column.name not in gone]) if gone else frame


def _applied_alone(
    deletes: Sequence[FilesOfSpec], lists: Sequence[pl.Series]
) -> tuple[list[FilesOfSpec], list[pl.Series]]:
    """The delete files that apply to some data file, and for each data file their numbers among these. A plan may be kept for
    long, and of a table with many deletion vectors a filter leaves few data files."""
    none = pl.Series(dtype=pl.UInt32)
    used = pl.concat([none, *(one.explode().drop_nulls() for one in lists)]).unique().sort()
    kept: list[FilesOfSpec] = []
    first = 0
    for part in deletes:
        own = used.filter(used.is_between(first, first + part.frame.height, closed="left")) - first
        kept.append(replace(part, frame=part.frame[own]))
        first += part.frame.height
    if not used.len() or used.len() == first:
        return kept, list(lists)
    numbers = pl.element().replace_strict(used, pl.int_range(used.len(), eager=True), return_dtype=used.dtype)
    return kept, [one.list.eval(numbers) for one in lists]


def _refuse_encrypted(frame: pl.DataFrame) -> None:
    if frame.get_column("key_metadata").null_count() == frame.height:
        return
    encrypted = frame.filter(pl.col("key_metadata").bin.size() > 0)
    if encrypted.height:
        path = encrypted.get_column("file_path")[0]
        raise UnsupportedFeature(f"{path} is encrypted (key_metadata); encrypted files cannot be read here", file=path)
