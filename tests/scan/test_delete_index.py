"""Deletes are matched to data files as the specification's rules say, whatever their number."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings

from floeberg.commit.append import Append
from floeberg.errors import ManifestCorrupt
from floeberg.expr.bind import bind_reference
from floeberg.expr.bounds import Known
from floeberg.expr.evaluate import order_key
from floeberg.expr.metrics_eval import known_of_column
from floeberg.files.manifest import write_manifest
from floeberg.files.manifest_frame import manifest_frame
from floeberg.files.metric_columns import ALL_MAPS, with_metric_columns
from floeberg.scan import delete_index
from floeberg.scan.delete_index import PATH_ID, DeleteIndex
from floeberg.scan.manifest_frames import FilesOfSpec
from floeberg.spec.partitions.specs import PartitionField, PartitionSpec
from floeberg.spec.partitions.transforms import parse_transform
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import (
    DataFile,
    EntryStatus,
    FileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
)
from floeberg.spec.types import DOUBLE, LONG, STRING, NestedField
from floeberg.spec.values.single_value import to_bytes
from lakes.scan_tables import (
    add_deletes,
    data_file,
    deletes_by_file,
    deletion_vector,
    equality_delete,
    new_table,
    plan,
    position_delete,
)
from strategies.expressions import seeds

SCHEMA = Schema(NestedField(1, "k", LONG), NestedField(2, "s", STRING), NestedField(3, "d", DOUBLE))
SPECS = (
    PartitionSpec(0),
    PartitionSpec(1, (PartitionField((3,), 1000, "d", parse_transform("identity")),)),
    PartitionSpec(2, (PartitionField((3,), 1000, "d_null", parse_transform("void")),)),
)
PARTITIONS = {0: [()], 1: [(None,), (float("nan"),), (0.0,), (-0.0,), (1.5,)], 2: [(None,)]}
Aged = tuple[DataFile, int]


def random_metrics(rng: random.Random, rows: int) -> dict[str, Any]:
    counts: dict[str, Any] = {"value_counts": {}, "null_value_counts": {}, "nan_value_counts": {}}
    bounds: dict[str, dict[int, bytes]] = {"lower_bounds": {}, "upper_bounds": {}}
    pools: dict[int, list[Any]] = {1: [1, 2, 3, 4], 2: ["a", "b", "c"], 3: [0.0, 1.0, 2.0]}
    for field_id, pool in pools.items():
        low, high = sorted(rng.choices(pool, k=2))
        if rng.random() < 0.8:
            bounds["lower_bounds"][field_id] = to_bytes(SCHEMA.by_id[field_id].type, low)
            bounds["upper_bounds"][field_id] = to_bytes(SCHEMA.by_id[field_id].type, high)
        if rng.random() < 0.8:
            counts["value_counts"][field_id] = rows
            counts["null_value_counts"][field_id] = rng.choice((0, 0, 1, rows))
        if rng.random() < 0.8:
            counts["nan_value_counts"][field_id] = rng.choice((0, 0, 1)) if field_id == 3 else 0
    return {**counts, **bounds}


def random_file(rng: random.Random, number: int, **more: Any) -> DataFile:
    spec = rng.choice(SPECS)
    rows = rng.choice((1, 4))
    given = {"file_format": FileFormat.PARQUET, **random_metrics(rng, rows), **more}
    return DataFile(
        file_path=f"file{number}",
        spec_id=spec.spec_id,
        partition=rng.choice(PARTITIONS[spec.spec_id]),
        record_count=rows,
        file_size_in_bytes=10,
        **given,
    )


def random_deletes(rng: random.Random, data: list[Aged]) -> list[Aged]:
    deletes: list[Aged] = []
    vectors: set[str] = set()
    for number in range(100, 100 + rng.randrange(1, 15)):
        sequence_number = rng.randrange(1, 5)
        target, target_age = rng.choice(data)
        kind = rng.randrange(4)
        if kind == 0:
            ids = rng.choice(((1,), (2,), (1, 2), (3,), (2, 1), (99,)))
            deletes.append(
                (random_file(rng, number, content=FileContent.EQUALITY_DELETES, equality_ids=ids), sequence_number)
            )
            continue
        common: dict[str, Any] = {
            "file_path": f"file{number}", "content": FileContent.POSITION_DELETES, "record_count": 1,
            "file_size_in_bytes": 1, "spec_id": target.spec_id, "partition": target.partition,
            "file_format": FileFormat.PARQUET,
        }  # fmt: skip
        path = target.file_path.encode()
        if kind == 1:
            low, high = sorted(rng.choices([file.file_path.encode() for file, _ in data], k=2))
            bounds = {} if rng.random() < 0.3 else {"lower_bounds": {PATH_ID: low}, "upper_bounds": {PATH_ID: high}}
            if bounds and low == high:
                bounds = {"lower_bounds": {PATH_ID: path}, "upper_bounds": {PATH_ID: path}}
            deletes.append((DataFile(**{**common, **bounds}), sequence_number))
        elif kind == 2:
            deletes.append((DataFile(**common, referenced_data_file=target.file_path), sequence_number))
        elif target.file_path not in vectors:
            vectors.add(target.file_path)
            common |= {"file_format": FileFormat.PUFFIN, "content_offset": 4, "content_size_in_bytes": 4}
            deletes.append(
                (DataFile(**common, referenced_data_file=target.file_path), max(sequence_number, target_age))
            )
    return deletes


def parts_of(files: list[Aged], content: ManifestContent, metrics_of: set[int]) -> list[FilesOfSpec]:
    """The files as frames, through the bytes of a manifest."""
    parts = []
    for spec in SPECS:
        entries = [
            ManifestEntry(
                status=EntryStatus.EXISTING,
                snapshot_id=1,
                data_sequence_number=age,
                file_sequence_number=age,
                data_file=file,
            )
            for file, age in files
            if file.spec_id == spec.spec_id
        ]
        written = write_manifest(entries, schema=SCHEMA, spec=spec, format_version=3, snapshot_id=9, content=content)
        kind = spec.partition_type(SCHEMA)
        frame = manifest_frame(written.data, written.to_manifest_file("m", 9), partition_type=kind)
        parts.append(FilesOfSpec(spec, kind, with_metric_columns(frame, metrics_of).drop(ALL_MAPS)))
    return parts


def same_partition(a: DataFile, b: DataFile) -> bool:
    return a.spec_id == b.spec_id and all(
        repr(one) == repr(other) for one, other in zip(a.partition, b.partition, strict=True)
    )


def may_share_keys(data: DataFile, delete: DataFile) -> bool:
    for field_id in delete.equality_ids or ():
        if field_id not in SCHEMA.by_id:
            continue
        reference = bind_reference(SCHEMA.names[field_id], SCHEMA)
        mine, theirs = known_of_column(reference, data), known_of_column(reference, delete)
        if not _may_share(mine, theirs):
            return False
    return True


def _may_share(a: Known, b: Known) -> bool:
    if not a.no_nulls and not b.no_nulls:
        return True
    if not a.no_nans and not b.no_nans:
        return True
    if any(one.only_nulls or one.only_nans or one.only_nulls_or_nans for one in (a, b)):
        return False
    if a.lower is not None and b.upper is not None and order_key(a.lower) > order_key(b.upper):
        return False
    return a.upper is None or b.lower is None or bool(order_key(b.lower) <= order_key(a.upper))


def applies(data: DataFile, age: int, delete: DataFile, delete_age: int, *, has_vector: bool) -> bool:
    """The rules, read from the specification, for one pair."""
    if delete.content is FileContent.EQUALITY_DELETES:
        unpartitioned = SPECS[delete.spec_id].is_unpartitioned
        in_scope = unpartitioned or same_partition(data, delete)
        return age < delete_age and in_scope and may_share_keys(data, delete)
    if delete.is_deletion_vector:
        return delete.referenced_data_file == data.file_path
    if has_vector or age > delete_age or not same_partition(data, delete):
        return False
    if delete.referenced_data_file is not None:
        return delete.referenced_data_file == data.file_path
    path = data.file_path.encode()
    return all(
        (
            (delete.lower_bounds or {}).get(PATH_ID, path) <= path,
            (delete.upper_bounds or {}).get(PATH_ID, path) >= path,
        )
    )


@given(seeds)
@settings(max_examples=30)
def test_matching_by_joins_equals_the_rules_applied_to_every_pair(seed: int) -> None:
    rng = random.Random(seed)
    data = [(random_file(rng, number), rng.randrange(1, 5)) for number in range(rng.randrange(1, 20))]
    deletes = random_deletes(rng, data)
    delete_parts = parts_of(deletes, ManifestContent.DELETES, {PATH_ID, 1, 2, 3, 99})
    index = DeleteIndex(delete_parts, [SCHEMA])
    data_parts = parts_of(data, ManifestContent.DATA, set(index.equality_ids))
    paths = [path for part in delete_parts for path in part.frame.get_column("file_path")]
    found: dict[str, set[str]] = {}
    for part, lists in zip(data_parts, index.match(data_parts), strict=True):
        for path, numbers in zip(part.frame.get_column("file_path"), lists, strict=True):
            found[path] = {paths[number] for number in numbers}
    with_vector = {delete.referenced_data_file for delete, _ in deletes if delete.is_deletion_vector}
    for file, age in data:
        expected = {
            delete.file_path
            for delete, delete_age in deletes
            if applies(file, age, delete, delete_age, has_vector=file.file_path in with_vector)
        }
        assert found[file.file_path] == expected


def test_matching_in_small_steps_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = new_table()
    files = [data_file(table, f"f{n}", id=(n, n)) for n in range(20)]
    table._commit(Append(files=files))
    for n in range(0, 20, 3):
        add_deletes(table, equality_delete(table, f"e{n}", "id", id=(n, n + 4)))
    whole = deletes_by_file(plan(table))
    monkeypatch.setattr(delete_index, "PAIRS_AT_ONCE", 7)
    assert deletes_by_file(plan(table)) == whole
    assert whole["f3"] == ["e0", "e3"]


def test_equality_deletes_apply_only_to_older_files_and_position_deletes_also_to_those_of_their_commit() -> None:
    table = new_table()
    first = data_file(table, "first")
    table._commit(Append(files=[first]))
    second = data_file(table, "second")
    add_deletes(table, second, equality_delete(table, "eq", "id"), position_delete(table, "pos", first, second))
    table._commit(Append(files=[data_file(table, "third")]))
    assert deletes_by_file(plan(table)) == {"first": ["eq", "pos"], "second": ["pos"], "third": []}


def test_equality_deletes_of_an_unpartitioned_spec_apply_to_files_of_every_spec() -> None:
    table = new_table()
    table._commit(Append(files=[data_file(table, "plain")]))
    with table.update_spec() as update:
        update.add_field("day")
    table._commit(Append(files=[data_file(table, "by_day", partition=(3,))]))
    everywhere = equality_delete(table, "everywhere", "id", spec_id=0, partition=())
    add_deletes(table, everywhere, equality_delete(table, "of_day_3", "id", partition=(3,)))
    assert deletes_by_file(plan(table)) == {"plain": ["everywhere"], "by_day": ["everywhere", "of_day_3"]}


def test_a_deletion_vector_takes_the_place_of_position_deletes_of_its_file() -> None:
    table = new_table(format_version=2)
    one, other = data_file(table, "one"), data_file(table, "other")
    table._commit(Append(files=[one, other]))
    add_deletes(table, position_delete(table, "pos", one, other))
    with table.update_properties() as update:
        update.set({"format-version": "3"})
    add_deletes(table, deletion_vector(table, "dv", one))
    assert deletes_by_file(plan(table)) == {"one": ["dv"], "other": ["pos"]}


def test_paths_of_another_scheme_are_compared_only_when_not_told_otherwise() -> None:
    table = new_table()
    one = data_file(table, "one")
    table._commit(Append(files=[one]))
    deletes = position_delete(table, "pos")
    path = b"hdfs://elsewhere" + one.file_path.encode()
    deletes = position_delete(table, "pos", lower_bounds={PATH_ID: path}, upper_bounds={PATH_ID: path})
    add_deletes(table, deletes)
    assert deletes_by_file(plan(table)) == {"one": []}
    assert deletes_by_file(plan(table, ignore_scheme=True)) == {"one": ["pos"]}


def matched(deletes: list[Aged], data: list[Aged]) -> list[pl.Series]:
    index = DeleteIndex(parts_of(deletes, ManifestContent.DELETES, {PATH_ID}), [SCHEMA])
    return index.match(parts_of(data, ManifestContent.DATA, set()))


def vector(target: str, **more: Any) -> Aged:
    given = {"spec_id": 0, "partition": (), "referenced_data_file": target, **more}
    file = DataFile(
        content=FileContent.POSITION_DELETES, file_path="v", file_format=FileFormat.PUFFIN, record_count=1,
        file_size_in_bytes=1, content_offset=4, content_size_in_bytes=4, **given,
    )  # fmt: skip
    return file, 3


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([vector("file1"), vector("file1")], "more than one deletion vector"),
        ([vector("file1", spec_id=1, partition=(1.5,))], "another partition"),
    ],
)
def test_deletion_vectors_that_contradict_each_other_or_their_file_are_corrupt(
    vectors: list[Aged], message: str
) -> None:
    data = DataFile(file_path="file1", file_format=FileFormat.PARQUET, record_count=5, file_size_in_bytes=5)
    with pytest.raises(ManifestCorrupt, match=message):
        matched(vectors, [(data, 1)])


def test_a_deletion_vector_that_names_no_file_is_corrupt() -> None:
    parts = parts_of([vector("file1")], ManifestContent.DELETES, {PATH_ID})
    nameless = [replace(p, frame=p.frame.with_columns(referenced_data_file=pl.lit(None, pl.String))) for p in parts]
    with pytest.raises(ManifestCorrupt, match="does not name its data file"):
        DeleteIndex(nameless, [SCHEMA])


def test_a_deletion_vector_older_than_its_file_is_corrupt() -> None:
    data = DataFile(file_path="file1", file_format=FileFormat.PARQUET, record_count=5, file_size_in_bytes=5)
    index = DeleteIndex(parts_of([vector("file1")], ManifestContent.DELETES, {PATH_ID}), [SCHEMA])
    with pytest.raises(ManifestCorrupt, match="older than"):
        index.match(parts_of([(data, 4)], ManifestContent.DATA, set()))


def test_equality_deletes_without_columns_are_corrupt() -> None:
    file = DataFile(
        content=FileContent.EQUALITY_DELETES,
        file_path="e",
        file_format=FileFormat.PARQUET,
        record_count=1,
        file_size_in_bytes=1,
    )
    with pytest.raises(ManifestCorrupt, match="equality_ids"):
        DeleteIndex(parts_of([(file, 1)], ManifestContent.DELETES, {PATH_ID}), [SCHEMA])


def test_no_deletes_match_nothing() -> None:
    index = DeleteIndex([], [SCHEMA])
    data = DataFile(file_path="file1", file_format=FileFormat.PARQUET, record_count=5, file_size_in_bytes=5)
    lists = index.match(parts_of([(data, 1)], ManifestContent.DATA, set()))
    assert [series.to_list() for series in lists] == [[[]], [], []]
    assert lists[0].dtype == pl.List(pl.UInt32)
