"""Pruning of whole frames says exactly what the evaluation of single files says."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from msgspec import structs

from floeberg.expr.bind import bind, bind_reference
from floeberg.expr.evaluate import keeps
from floeberg.expr.metrics_eval import may_contain_match
from floeberg.expr.nodes import PREFIX_OPS, SET_OPS, UNARY_OPS, BoundPredicate, Op
from floeberg.expr.projection import inclusive_projection
from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_frame import manifest_frame
from floeberg.files.metric_columns import METRIC_MAPS, with_metric_columns
from floeberg.scan.pruning import field_ids, metrics_mask, partition_mask
from floeberg.spec.snapshots.manifest_entry import DataFile, EntryStatus, ManifestEntry
from strategies.expressions import COLUMN_IDS, COLUMNS, POOLS, SCHEMA, random_expression, seeds
from strategies.file_metrics import FILES, random_files, random_partition, random_spec


def frame_of(files: list[DataFile]) -> pl.DataFrame:
    def pairs(metric: str) -> list[Any]:
        maps = [getattr(file, metric) for file in files]
        return [None if one is None else [{"key": k, "value": v} for k, v in one.items()] for one in maps]

    values = {metric: pl.Int64 if "counts" in metric else pl.Binary for metric in METRIC_MAPS}
    return pl.DataFrame(
        [
            pl.Series("record_count", [file.record_count for file in files]),
            *(
                pl.Series(metric, pairs(metric), dtype=pl.List(pl.Struct({"key": pl.Int32, "value": kind})))
                for metric, kind in values.items()
            ),
        ]
    )


@given(seeds)
@settings(max_examples=15)
def test_metrics_of_a_frame_prune_exactly_what_metrics_of_each_file_prune(seed: int) -> None:
    rng = random.Random(seed)
    files = random_files(rng)
    frame = frame_of(files)
    for _ in range(10):
        bound = bind(random_expression(rng), SCHEMA)
        found = metrics_mask(bound, with_metric_columns(frame, field_ids(bound)))
        assert found.to_list() == [may_contain_match(bound, file) for file in files], str(bound)


@pytest.mark.parametrize("column", COLUMNS)
def test_every_operator_on_every_type_prunes_as_single_files_are_pruned(column: str) -> None:
    rng = random.Random(7)
    values = [value for value in POOLS[column][1] if value == value]
    reference = bind_reference(column, SCHEMA)
    for _ in range(2):
        files = random_files(rng)
        frame = with_metric_columns(frame_of(files), [COLUMN_IDS[column]])
        for op in Op:
            if op in PREFIX_OPS and column != "s":
                continue
            # Long lists of literals are searched in another way than short ones.
            counts = (3, 40) if op in SET_OPS else (0,) if op in UNARY_OPS else (1,)
            for count in counts:
                bound = BoundPredicate(op, reference, tuple(rng.choices(values, k=count)))
                expected = [may_contain_match(bound, file) for file in files]
                assert metrics_mask(bound, frame).to_list() == expected, str(bound)


@given(seeds)
@settings(max_examples=20)
def test_partitions_of_a_frame_are_kept_exactly_as_single_partitions_are(seed: int) -> None:
    rng = random.Random(seed)
    spec = random_spec(rng)
    base = random_files(rng)[0]
    files = [structs.replace(base, partition=random_partition(rng, spec), spec_id=1) for _ in range(FILES)]
    entries = [ManifestEntry(status=EntryStatus.ADDED, snapshot_id=1, data_file=file) for file in files]
    written = write_manifest(entries, schema=SCHEMA, spec=spec, format_version=2, snapshot_id=1)
    listed = written.to_manifest_file("m", 1)
    frame = manifest_frame(written.data, listed, partition_type=spec.partition_type(SCHEMA))
    for _ in range(8):
        projection = inclusive_projection(spec, SCHEMA, random_expression(rng))
        expected = [keeps(projection, file.partition) for file in files]
        assert partition_mask(projection, frame).to_list() == expected, str(projection)
