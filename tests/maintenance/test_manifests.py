"""Rewriting manifests from a table object."""

from __future__ import annotations

import pytest

from floeberg.errors import InvalidInput
from floeberg.testing.table_builder import TableBuilder


def many(version: int = 3) -> TableBuilder:
    builder = TableBuilder(
        partition_by=["p", "v"], format_version=version, properties={"write.delete.mode": "merge-on-read"}
    )
    for number in range(6):
        builder.append((number, number % 2, "abc"[number % 3]), (number + 10, number % 2, "abc"[number % 3]))
    return builder.delete("id in (1, 2)")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_manifests_become_few_and_are_clustered_by_the_fields_asked_for(version):
    builder = many(version)
    rows = builder.rows()
    before = builder.table.inspect.manifests().num_rows
    done = builder.table.maintenance.rewrite_manifests(sort_by=["v"])
    after = builder.table.inspect.manifests().num_rows
    assert (done.rewritten_manifests - done.added_manifests, builder.rows()) == (before - after, rows)
    assert [entry.data_file.partition[1] for entry in builder.live()] == sorted(
        entry.data_file.partition[1] for entry in builder.live()
    )
    assert builder.table.maintenance.rewrite_manifests().rewritten_manifests == 0
    assert builder.table.maintenance.check(read_rows=True).ok


def test_only_manifests_of_the_spec_are_rewritten():
    builder = many()
    with builder.table.update_spec() as spec:
        spec.remove_field("v")
    assert builder.table.maintenance.rewrite_manifests().rewritten_manifests == 0
    assert builder.table.maintenance.rewrite_manifests(spec_id=0).rewritten_manifests > 1


def test_fields_and_specs_that_are_not_there_are_refused():
    builder = many()
    with pytest.raises(InvalidInput, match="not nope"):
        builder.table.maintenance.rewrite_manifests(sort_by=["nope"])
    with pytest.raises(InvalidInput, match="7"):
        builder.table.maintenance.rewrite_manifests(spec_id=7)
