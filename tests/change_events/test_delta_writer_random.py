"""Random events in random batches, with keys and rows that move between partitions while the table's spec changes."""

import random
from collections import Counter

import pytest

from floeberg.spec.snapshots.manifest_entry import FileContent, ManifestContent
from floeberg.testing.table_builder import TableBuilder
from lakes.cdc_batches import write_batch
from models.cdc_model import COLUMNS, LastState

SEQUENCES = 1_000
PER_TABLE = 10
"""Sequences of keys of their own that share a table and its commits, because a commit costs more than a sequence."""
GROUPS = 10
SPECS = ((), ("p",), ("bucket(3, id)",), ("id",), ("p", "truncate(2, v)"))


def _evolve(builder: TableBuilder, chance: random.Random) -> None:
    table = builder.table.refresh()
    with table.update_spec() as update:
        for field in table.metadata.default_spec.fields:
            if str(field.transform) != "void":
                update.remove_field(field.name)
        for term in chance.choice(SPECS):
            update.add_field(term)


def run_sequences(seed: int) -> None:
    chance = random.Random(seed)
    version, upsert, collapse = chance.choice([2, 3]), chance.random() < 0.5, chance.random() < 0.5
    granularity = chance.choice(["file", "partition"])
    builder = TableBuilder(
        COLUMNS,
        partition_by=chance.choice(SPECS),
        format_version=version,
        properties={"write.delete.granularity": granularity},
    )
    sources = [LastState(chance, first_key=100 * number) for number in range(PER_TABLE)]
    for number in range(chance.randrange(2, 5)):
        if number and chance.random() < 0.4:
            _evolve(builder, chance)
        events = [event for source in sources for event in source.batch(chance.randrange(12), upsert=upsert)]
        write_batch(
            builder,
            events,
            tasks=chance.choice([1, 1, 2]),
            batch_rows=chance.choice([1, 7, 30, 1000]),
            upsert=upsert,
            collapse=collapse,
        )
    builder.table.refresh()
    assert builder.rows() == sorted((row for source in sources for row in source.rows.values()), key=repr), seed
    replayed: Counter[tuple[object, ...]] = Counter()
    for change in builder.table.scan_changes().to_arrow().to_pylist():
        *row, kind, _, _ = change.values()
        replayed[tuple(row)] += 1 if kind == "INSERT" else -1
        assert replayed[tuple(row)] >= 0, seed
    assert sorted(replayed.elements(), key=repr) == builder.rows(), seed
    deletes = builder.live(ManifestContent.DELETES)
    if version == 3:
        positions = [e.data_file for e in deletes if e.data_file.content is FileContent.POSITION_DELETES]
        assert all(file.is_deletion_vector for file in positions)


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_batches_of_events_leave_the_last_state_of_every_key(group: int) -> None:
    tables = SEQUENCES // PER_TABLE // GROUPS
    for seed in range(group * tables, (group + 1) * tables):
        run_sequences(seed)
