"""Pruning of whole frames says exactly what the evaluation of single files says."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings

from floeberg.expr.bind import bind
from floeberg.expr.evaluate import keeps
from floeberg.expr.metrics_eval import may_contain_match
from floeberg.expr.projection import inclusive_projection
from floeberg.files.frame import manifest_frame
from floeberg.files.manifest import write_manifest
from floeberg.scan.metric_columns import METRIC_MAPS, with_metric_columns
from floeberg.scan.pruning import field_ids, metrics_mask, partition_mask
from floeberg.spec.data_file import DataFile, EntryStatus, FileFormat, ManifestEntry
from floeberg.spec.partitioning import PartitionField, PartitionSpec
from floeberg.spec.transforms import parse_transform
from floeberg.spec.values import to_bytes
from strategies.expressions import COLUMN_IDS, COLUMNS, POOLS, SCHEMA, TRANSFORMS, random_expression, seeds

FILES = 12


def random_files(rng: random.Random) -> list[DataFile]:
    """Files whose metrics may be missing, contradictory, of another length, or NaN."""
    return [
        DataFile(
            file_path=f"f{number}",
            file_format=FileFormat.PARQUET,
            record_count=rng.choice((0, 1, 5, 5, 5)),
            file_size_in_bytes=1,
            value_counts=random_counts(rng),
            null_value_counts=random_counts(rng),
            nan_value_counts=random_counts(rng),
            lower_bounds=random_bounds(rng),
            upper_bounds=random_bounds(rng),
        )
        for number in range(FILES)
    ]


def random_counts(rng: random.Random) -> dict[int, int] | None:
    if rng.random() < 0.1:
        return None
    choices = (-1, 0, 0, 0, 1, 3, 5, 5, 5, 6, 2**63 - 1)
    return {COLUMN_IDS[name]: rng.choice(choices) for name in COLUMNS if rng.random() < 0.9}


def random_bounds(rng: random.Random) -> dict[int, bytes] | None:
    if rng.random() < 0.1:
        return None
    return {COLUMN_IDS[name]: random_bound(rng, name) for name in COLUMNS if rng.random() < 0.85}


def random_bound(rng: random.Random, name: str) -> bytes:
    data_type, pool = POOLS[name]
    match rng.randrange(10):
        case 0:
            return rng.randbytes(rng.choice((0, 1, 2, 4, 8, 16, 20)))
        case 1:
            return to_bytes(data_type, rng.choice(pool))[: rng.randrange(9)]
        case 2:
            return to_bytes(POOLS["i"][0], rng.choice(POOLS["i"][1]))
        case 3:
            return to_bytes(POOLS["f"][0], rng.choice(POOLS["f"][1]))
    return to_bytes(data_type, rng.choice(pool))


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
@settings(max_examples=150)
def test_metrics_of_a_frame_prune_exactly_what_metrics_of_each_file_prune(seed: int) -> None:
    rng = random.Random(seed)
    files = random_files(rng)
    frame = frame_of(files)
    for _ in range(12):
        bound = bind(random_expression(rng), SCHEMA)
        found = metrics_mask(bound, with_metric_columns(frame, field_ids(bound)))
        assert found.to_list() == [may_contain_match(bound, file) for file in files], str(bound)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_long_list_of_literals_prunes_as_its_members_do(column: str) -> None:
    rng = random.Random(7)
    data_type, pool = POOLS[column]
    values = [value for value in pool if value == value]
    for _ in range(30):
        files = random_files(rng)
        frame = with_metric_columns(frame_of(files), [COLUMN_IDS[column]])
        some = rng.choices(values, k=40)
        from floeberg.expr.bind import bind_reference
        from floeberg.expr.nodes import BoundPredicate, Op

        for op in (Op.IN, Op.NOT_IN):
            bound = BoundPredicate(op, bind_reference(column, SCHEMA), tuple(some))
            assert metrics_mask(bound, frame).to_list() == [may_contain_match(bound, file) for file in files]
    assert data_type is POOLS[column][0]


def random_spec(rng: random.Random) -> PartitionSpec:
    columns = rng.sample(COLUMNS, 3)
    fields = tuple(
        PartitionField((COLUMN_IDS[name],), 1000 + place, f"p{place}", parse_transform(rng.choice(TRANSFORMS[name])))
        for place, name in enumerate(columns)
    )
    return PartitionSpec(1, fields)


def random_partition(rng: random.Random, spec: PartitionSpec) -> tuple[object, ...]:
    names = {number: name for name, number in COLUMN_IDS.items()}
    values = []
    for field in spec.fields:
        data_type, pool = POOLS[names[field.source_id]]
        value = None if rng.random() < 0.2 else rng.choice(pool)
        try:
            values.append(field.transform.apply(data_type, value))
        except ValueError:
            values.append(None)
    return tuple(values)


@given(seeds)
@settings(max_examples=100)
def test_partitions_of_a_frame_are_kept_exactly_as_single_partitions_are(seed: int) -> None:
    rng = random.Random(seed)
    spec = random_spec(rng)
    base = random_files(rng)[0]
    files = [replace(base, partition=random_partition(rng, spec), spec_id=1) for _ in range(FILES)]
    entries = [ManifestEntry(status=EntryStatus.ADDED, snapshot_id=1, data_file=file) for file in files]
    written = write_manifest(entries, schema=SCHEMA, spec=spec, format_version=2, snapshot_id=1)
    listed = written.to_manifest_file("m", 1)
    frame = manifest_frame(written.data, listed, partition_type=spec.partition_type(SCHEMA))
    for _ in range(8):
        projection = inclusive_projection(spec, SCHEMA, random_expression(rng))
        expected = [keeps(projection, file.partition) for file in files]
        assert partition_mask(projection, frame).to_list() == expected, str(projection)
