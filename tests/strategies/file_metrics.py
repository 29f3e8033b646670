"""Files with random metrics, good and bad, and random partitions, over the columns of `strategies.expressions`."""

from __future__ import annotations

import random

from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.spec.values.single_value import to_bytes
from strategies.expressions import COLUMN_IDS, COLUMNS, POOLS, TRANSFORMS

FILES = 40


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


def random_spec(rng: random.Random, spec_id: int = 1, first_field_id: int = 1000) -> PartitionSpec:
    columns = rng.sample(COLUMNS, 3)
    fields = tuple(
        PartitionField(
            (COLUMN_IDS[name],),
            first_field_id + place,
            f"p{first_field_id + place}",
            parse_transform(rng.choice(TRANSFORMS[name])),
        )
        for place, name in enumerate(columns)
    )
    return PartitionSpec(spec_id, fields)


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
