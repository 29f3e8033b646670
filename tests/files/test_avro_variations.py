"""Manifests and manifest lists read the same under every writer schema that Avro's resolution rules allow."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from floeberg.effects.leniencies import gathered_leniencies
from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_frame import decode_manifest
from floeberg.files.manifest_list import read_manifest_list, write_manifest_list
from floeberg.spec.snapshots.manifest_entry import FieldSummary, ManifestFile
from strategies.avro_variations import vary_container
from strategies.data_files import SNAPSHOT_ID, manifests

SEEDS = st.integers(0, 2**32)


@settings(max_examples=150)
@given(manifests(), SEEDS)
def test_a_manifest_reads_the_same_under_another_writer_schema(manifest, seed: int) -> None:
    schema, spec, content, listed = manifest
    written = write_manifest(
        listed, schema=schema, spec=spec, format_version=3, snapshot_id=SNAPSHOT_ID, content=content
    )
    options = {"partition_type": spec.partition_type(schema), "listed": written.to_manifest_file("m.avro", 1)}
    few = {**options, "select": {"file_path"}, "metrics_of": {1, 2}}
    varied = vary_container(written.data, random.Random(seed))
    with gathered_leniencies():
        expected = decode_manifest(written.data, **options)
        assert_frame_equal(decode_manifest(varied, **options), expected)
        assert_frame_equal(decode_manifest(varied, decoder="fastavro", **options), expected)
        assert_frame_equal(decode_manifest(varied, **few), decode_manifest(written.data, **few))


def random_list(rng: random.Random) -> list[ManifestFile]:
    def summary() -> FieldSummary:
        lower, upper = (rng.choice((None, rng.randbytes(rng.randint(0, 6)), b"text")) for _ in range(2))
        return FieldSummary(
            contains_null=rng.random() < 0.5,
            contains_nan=rng.choice((None, True, False)),
            lower_bound=lower,
            upper_bound=upper,
        )

    return [
        ManifestFile(
            manifest_path=f"s3://bucket/é-{number}.avro",
            manifest_length=rng.choice((10, 2**40)),
            partition_spec_id=rng.randint(0, 5),
            sequence_number=rng.randint(0, 9),
            min_sequence_number=rng.randint(0, 9),
            added_snapshot_id=rng.choice((1, 2**62)),
            added_files_count=rng.randint(0, 9),
            existing_files_count=rng.randint(0, 9),
            deleted_files_count=rng.randint(0, 9),
            added_rows_count=rng.choice((0, 7, 2**40)),
            existing_rows_count=rng.randint(0, 9),
            deleted_rows_count=rng.randint(0, 9),
            partitions=rng.choice((None, (), tuple(summary() for _ in range(2)))),
            key_metadata=rng.choice((None, b"key", b"\xff")),
        )
        for number in range(rng.randint(0, 5))
    ]


@pytest.mark.parametrize("seed", range(250))
def test_a_manifest_list_reads_the_same_under_another_writer_schema(seed: int) -> None:
    rng = random.Random(seed)
    listed = random_list(rng)
    data = write_manifest_list(listed, format_version=2, snapshot_id=5, parent_snapshot_id=None, sequence_number=7)
    varied = vary_container(data, rng)
    with gathered_leniencies():
        assert read_manifest_list(varied) == tuple(listed)
        assert read_manifest_list(varied, decoder="fastavro") == tuple(listed)
