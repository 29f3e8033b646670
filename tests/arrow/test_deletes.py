"""Deletes: position files, equality files and vectors take away the rows that they say, and no other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from pyroaring import BitMap64

from floeberg.arrow.columns.key_set import KeySet
from floeberg.arrow.columns.metrics_config import metrics_config
from floeberg.arrow.columns.physical import array_of
from floeberg.arrow.formats.open_file import ReadOptions
from floeberg.arrow.formats.write_properties import WriteProperties
from floeberg.arrow.scan.data_file import FileToRead, read_data_file
from floeberg.arrow.scan.delete_cache import DeleteCache
from floeberg.arrow.scan.deletes import DeleteLoader, RowDeletes, key_schema, read_position_deletes
from floeberg.arrow.write.conform import conform
from floeberg.arrow.write.data_files import DataFileWriter, FileKind
from floeberg.arrow.write.delete_files import DeletedFile, write_position_deletes, write_vectors
from floeberg.effects.system import SystemClock
from floeberg.errors import DataFileCorrupt, InvalidInput, ManifestCorrupt, PuffinCorrupt
from floeberg.spec.schemas.metadata_columns import DELETE_FILE_PATH, DELETE_FILE_POS, DELETE_FILE_ROW_ID
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat
from floeberg.spec.types import DOUBLE, INT, LONG, STRING, NestedField, StructType
from floeberg.storage.memory import MemoryStore
from strategies.arrow_rows import FILTER_TYPES, canonical, optional, table_of

ALL_FORMATS = [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO]
NAN = float("nan")
DATA = "memory://bucket/data/1"
OTHER = "memory://bucket/data/2"


def put(
    store: MemoryStore, location: str, rows: list[tuple[Any, ...]], schema: Schema, *, file_format: FileFormat, kind: FileKind | None = None
) -> DataFile:  # fmt: skip
    writer = DataFileWriter(
        store, location, schema,
        properties=WriteProperties(file_format=file_format), metrics=metrics_config(schema, {}), kind=kind,
    )  # fmt: skip
    for batch in conform(table_of(rows, schema), schema):
        writer.write(batch)
    return writer.close()


def put_equality(
    store: MemoryStore, location: str, rows: list[tuple[Any, ...]], schema: Schema, *, ids: tuple[int, ...],
    file_format: FileFormat = FileFormat.PARQUET,
) -> DataFile:  # fmt: skip
    kind = FileKind(content=FileContent.EQUALITY_DELETES, equality_ids=ids)
    return put(store, location, rows, schema, file_format=file_format, kind=kind)


def survivors(store: MemoryStore, file: DataFile, schema: Schema, deletes: RowDeletes) -> list[dict[str, Any]]:
    batches = read_data_file(
        FileToRead(data_file=file), store=store, projection=schema, table_schema=schema, deletes=deletes,
        options=ReadOptions(batch_rows=3),
    )  # fmt: skip
    return [row for batch in batches for row in batch.to_pylist()]


# ------------------------------------------------------------------------------------------------------- positions


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_position_deletes_name_their_file_and_rows(file_format: FileFormat) -> None:
    store = MemoryStore(SystemClock())
    schema = Schema(NestedField(1, "x", LONG))
    data = put(store, DATA, [(i,) for i in range(10)], schema, file_format=FileFormat.PARQUET)
    found = write_position_deletes(
        store, "memory://bucket/d", {OTHER: BitMap64([0]), DATA: BitMap64([9, 2])},
        spec_id=1, partition=("p",), properties={"write.delete.format.default": file_format.value},
    )  # fmt: skip
    assert (found.content, found.record_count, found.spec_id, found.partition) == (
        FileContent.POSITION_DELETES, 3, 1, ("p",),
    )  # fmt: skip
    assert found.referenced_data_file is None
    assert found.sort_order_id is None
    assert found.file_format is file_format
    assert read_position_deletes(store, found) == {DATA: BitMap64([2, 9]), OTHER: BitMap64([0])}
    assert read_position_deletes(store, found, data_file_path=OTHER) == {OTHER: BitMap64([0])}
    deletes = DeleteLoader(lambda _: store, [schema]).load(DATA, [found])
    assert [row["x"] for row in survivors(store, data, schema, deletes)] == [0, 1, 3, 4, 5, 6, 7, 8]


def test_position_deletes_are_sorted_with_exact_path_bounds_and_their_only_file() -> None:
    store = MemoryStore(SystemClock())
    long_path = "memory://bucket/data/" + "x" * 200
    found = write_position_deletes(store, "memory://bucket/d", {long_path: BitMap64([5, 1, 3])}, spec_id=0)
    assert found.referenced_data_file == long_path
    assert found.lower_bounds is not None
    assert found.upper_bounds is not None
    path_id = DELETE_FILE_PATH.field_id
    assert found.lower_bounds[path_id] == found.upper_bounds[path_id] == long_path.encode()
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(store.read("memory://bucket/d")))
    assert table.column("pos").to_pylist() == [1, 3, 5]
    assert [int(f.metadata[b"PARQUET:field_id"]) for f in table.schema] == [path_id, DELETE_FILE_POS.field_id]
    both = write_position_deletes(store, "memory://bucket/d2", {"b": BitMap64([1]), "a": BitMap64([7])}, spec_id=0)
    assert pq.read_table(pa.BufferReader(store.read(both.file_path))).to_pylist() == [
        {"file_path": "a", "pos": 7}, {"file_path": "b", "pos": 1},
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="needs a position"):
        write_position_deletes(store, "memory://bucket/d3", {"a": BitMap64()}, spec_id=0)


def test_the_old_row_column_is_ignored() -> None:
    store = MemoryStore(SystemClock())
    row = NestedField(DELETE_FILE_ROW_ID, "row", StructType((NestedField(1, "x", LONG),)), required=True)
    schema = Schema(DELETE_FILE_PATH, DELETE_FILE_POS, row)
    for number, file_format in enumerate(ALL_FORMATS):
        kind = FileKind(content=FileContent.POSITION_DELETES)
        file = put(store, f"memory://bucket/r{number}", [(DATA, 4, (1,))], schema, file_format=file_format, kind=kind)
        assert read_position_deletes(store, file) == {DATA: BitMap64([4])}


def test_paths_match_exactly_unless_schemes_are_to_be_ignored() -> None:
    store = MemoryStore(SystemClock())
    deletes = {"hdfs://host:8020/t/data/f": BitMap64([0]), "/t/data/f": BitMap64([2])}
    file = write_position_deletes(store, "memory://bucket/d", deletes, spec_id=0)
    schema = Schema(NestedField(1, "x", LONG))
    exact = DeleteLoader(lambda _: store, [schema]).load("/t/data/f", [file])
    assert exact.positions == BitMap64([2])
    lenient = DeleteLoader(lambda _: store, [schema], ignore_scheme=True)
    assert lenient.load("s3://bucket/t/data/f", [file]).positions == BitMap64([0, 2])
    assert lenient.load("file:/t/data/f", [file]).positions == BitMap64([0, 2])


def test_positions_that_are_null_or_negative_are_corrupt() -> None:
    store = MemoryStore(SystemClock())
    kind = FileKind(content=FileContent.POSITION_DELETES)
    loose = Schema(replace(DELETE_FILE_PATH, required=False), replace(DELETE_FILE_POS, required=False))
    for rows in ([(DATA, None)], [(DATA, -1)]):
        file = put(store, "memory://bucket/d", rows, loose, file_format=FileFormat.PARQUET, kind=kind)
        with pytest.raises(DataFileCorrupt, match="memory://bucket/d"):
            read_position_deletes(store, file)


# --------------------------------------------------------------------------------------------------------- vectors


def test_deletion_vectors_are_written_and_read_by_their_place() -> None:
    store = MemoryStore(SystemClock())
    vectors = {
        DeletedFile(file_path=DATA, spec_id=2, partition=("a",)): BitMap64([1, 3]),
        DeletedFile(file_path=OTHER, spec_id=5): BitMap64([2**33]),
    }
    first, second = write_vectors(store, "memory://bucket/v.puffin", vectors)
    assert (first.referenced_data_file, first.record_count, first.spec_id, first.partition) == (DATA, 2, 2, ("a",))
    assert first.is_deletion_vector
    schema = Schema(NestedField(1, "x", LONG))
    data = put(store, DATA, [(i,) for i in range(5)], schema, file_format=FileFormat.PARQUET)
    loader = DeleteLoader(lambda _: store, [schema])
    assert [row["x"] for row in survivors(store, data, schema, loader.load(DATA, [first]))] == [0, 2, 4]
    assert loader.load(OTHER, [second]).positions == BitMap64([2**33])


def test_a_vector_wins_over_position_deletes_and_there_is_one_at_most() -> None:
    store = MemoryStore(SystemClock())
    (vector,) = write_vectors(store, "memory://bucket/v", {DeletedFile(file_path=DATA, spec_id=0): BitMap64([1])})
    positions = write_position_deletes(store, "memory://bucket/d", {DATA: BitMap64([0])}, spec_id=0)
    loader = DeleteLoader(lambda _: store, [Schema(NestedField(1, "x", LONG))])
    assert loader.load(DATA, [positions, vector]).positions == BitMap64([1])
    with pytest.raises(ManifestCorrupt, match="2 deletion vectors"):
        loader.load(DATA, [vector, vector])
    with pytest.raises(ManifestCorrupt, match="is for"):
        loader.load(OTHER, [vector])
    wrong = structs.replace(vector, record_count=7, content_size_in_bytes=vector.content_size_in_bytes)
    with pytest.raises(PuffinCorrupt, match="memory://bucket/v"):
        DeleteLoader(lambda _: store, []).load(DATA, [wrong])


# -------------------------------------------------------------------------------------------------------- equality


@settings(max_examples=100)
@given(data=st.data())
def test_key_sets_contain_what_a_set_of_rows_contains(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(FILTER_TYPES), min_size=1, max_size=3))
    pool = [data.draw(st.lists(optional(kind, required=False), min_size=1, max_size=3)) for kind in kinds]
    row = st.tuples(*(st.sampled_from(values) for values in pool))
    keys, rows = data.draw(st.lists(row, max_size=6)), data.draw(st.lists(row, max_size=6))
    made = KeySet([array_of([key[i] for key in keys], kind) for i, kind in enumerate(kinds)])
    columns = [array_of([None, *(r[i] for r in rows)], kind).slice(1) for i, kind in enumerate(kinds)]
    expected = {repr(canonical(key)) for key in keys}
    assert made.contains(columns).tolist() == [repr(canonical(r)) in expected for r in rows]
    assert len(made) == len(expected)


def test_equal_hashes_of_different_keys_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from floeberg.arrow.columns import key_set

    monkeypatch.setattr(key_set, "_hash_rows", lambda columns: np.zeros(len(columns[0]), dtype=np.uint64))
    made = KeySet([pa.array([1, 2, 3, None])])
    assert made.contains([pa.array([3, 9, None, 1])]).tolist() == [True, False, True, True]


TABLE = Schema(NestedField(1, "id", LONG), NestedField(2, "category", STRING), NestedField(3, "name", STRING))
ANIMALS: list[tuple[Any, ...]] = [
    (1, "marsupial", "Koala"), (2, "toy", "Teddy"), (3, None, "Grizzly"), (4, None, "Polar"),
]  # fmt: skip


@pytest.mark.parametrize("file_format", ALL_FORMATS)
@pytest.mark.parametrize(
    ("columns", "rows", "ids", "left"),
    [
        ((1,), [(3,)], (1,), {1, 2, 4}),
        ((1, 2, 3), [(3, None, "Grizzly")], (1,), {1, 2, 4}),
        ((1, 2, 3), [(4, None, "Polar")], (1, 2), {1, 2, 3}),
        ((2,), [(None,)], (2,), {1, 2}),
        ((2, 1), [(None, 1), ("toy", 2)], (2, 1), {1, 3, 4}),
    ],
)
def test_the_specification_s_equality_deletes(
    file_format: FileFormat, columns: tuple[int, ...], rows: list[tuple[Any, ...]], ids: tuple[int, ...], left: set[int]
) -> None:
    store = MemoryStore(SystemClock())
    data = put(store, DATA, ANIMALS, TABLE, file_format=file_format)
    keys = Schema(*(TABLE.field(i) for i in columns))
    deletes = put_equality(store, "memory://bucket/e", rows, keys, ids=ids, file_format=file_format)
    loaded = DeleteLoader(lambda _: store, [TABLE]).load(DATA, [deletes])
    assert {row["id"] for row in survivors(store, data, TABLE, loaded)} == left


def test_several_sets_of_ids_apply_together() -> None:
    store = MemoryStore(SystemClock())
    data = put(store, DATA, ANIMALS, TABLE, file_format=FileFormat.PARQUET)
    by_id = put_equality(store, "memory://bucket/e1", [(1,)], Schema(TABLE.field(1)), ids=(1,))
    by_name = put_equality(store, "memory://bucket/e2", [("Teddy",), ("x",)], Schema(TABLE.field(3)), ids=(3,))
    more = put_equality(store, "memory://bucket/e3", [(4,)], Schema(TABLE.field(1)), ids=(1,))
    positions = write_position_deletes(store, "memory://bucket/d", {DATA: BitMap64([2])}, spec_id=0)
    loaded = DeleteLoader(lambda _: store, [TABLE]).load(DATA, [by_id, by_name, more, positions])
    assert survivors(store, data, TABLE, loaded) == []
    loaded = DeleteLoader(lambda _: store, [TABLE]).load(DATA, [by_id, by_name])
    # Key columns that the query does not ask for are read and do not come out.
    batches = read_data_file(
        FileToRead(data_file=data), store=store, projection=Schema(TABLE.field(2)), table_schema=TABLE, deletes=loaded
    )
    assert [row for batch in batches for row in batch.to_pylist()] == [{"category": None}, {"category": None}]


@pytest.mark.parametrize("file_format", ALL_FORMATS)
def test_a_key_column_that_was_dropped_still_deletes(file_format: FileFormat) -> None:
    store = MemoryStore(SystemClock())
    data = put(store, DATA, ANIMALS, TABLE, file_format=file_format)
    deletes = put_equality(store, "memory://bucket/e", [("toy",)], Schema(TABLE.field(2)), ids=(2,))
    now = Schema(TABLE.field(1), TABLE.field(3), schema_id=1)
    loaded = DeleteLoader(lambda _: store, [now, TABLE]).load(DATA, [deletes])
    assert survivors(store, data, now, loaded) == [
        {"id": 1, "name": "Koala"}, {"id": 3, "name": "Grizzly"}, {"id": 4, "name": "Polar"},
    ]  # fmt: skip
    with pytest.raises(ManifestCorrupt, match="column id 2"):
        DeleteLoader(lambda _: store, [now]).load(DATA, [deletes])


def test_a_dropped_member_of_a_struct_still_deletes() -> None:
    old = Schema(NestedField(1, "s", StructType((NestedField(2, "k", INT), NestedField(3, "v", INT)))))
    now = Schema(NestedField(1, "s", StructType((NestedField(3, "v", INT),))))
    store = MemoryStore(SystemClock())
    data = put(store, DATA, [((1, 10),), ((2, 20),), (None,)], old, file_format=FileFormat.PARQUET)
    keys = Schema(NestedField(1, "s", StructType((NestedField(2, "k", INT),))))
    one = put_equality(store, "memory://bucket/e", [((1,),)], keys, ids=(2,))
    loader = DeleteLoader(lambda _: store, [now, old])
    assert survivors(store, data, now, loader.load(DATA, [one])) == [{"s": {"v": 20}}, {"s": None}]
    # A null struct implies a null key.
    null = put_equality(store, "memory://bucket/e2", [(None,)], keys, ids=(2,))
    assert survivors(store, data, now, loader.load(DATA, [null])) == [{"s": {"v": 10}}, {"s": {"v": 20}}]


def test_a_key_column_added_later_has_its_default_in_older_files() -> None:
    store = MemoryStore(SystemClock())
    data = put(store, DATA, [(1,), (2,)], Schema(TABLE.field(1)), file_format=FileFormat.PARQUET)
    for default, key, left in ((None, None, 0), ("new", "new", 0), ("new", "old", 2)):
        added = NestedField(9, "added", STRING, initial_default=default)
        table = Schema(TABLE.field(1), added)
        deletes = put_equality(store, f"memory://bucket/e{key}", [(key,)], Schema(added), ids=(9,))
        loaded = DeleteLoader(lambda _: store, [table]).load(DATA, [deletes])
        assert len(survivors(store, data, table, loaded)) == left


def test_promoted_key_columns_match_older_delete_files() -> None:
    store = MemoryStore(SystemClock())
    data = put(store, DATA, [(1,), (2,), (2**40,)], Schema(NestedField(1, "x", LONG)), file_format=FileFormat.PARQUET)
    deletes = put_equality(store, "memory://bucket/e", [(2,)], Schema(NestedField(1, "x", INT)), ids=(1,))
    schema = Schema(NestedField(1, "x", LONG))
    loaded = DeleteLoader(lambda _: store, [schema]).load(DATA, [deletes])
    assert [row["x"] for row in survivors(store, data, schema, loaded)] == [1, 2**40]


def test_nan_deletes_nan_and_a_zero_only_the_zero_of_its_sign() -> None:
    store = MemoryStore(SystemClock())
    schema = Schema(NestedField(1, "d", DOUBLE))
    data = put(store, DATA, [(NAN,), (0.0,), (-0.0,), (None,)], schema, file_format=FileFormat.PARQUET)
    deletes = put_equality(store, "memory://bucket/e", [(NAN,), (-0.0,)], schema, ids=(1,))
    left = survivors(store, data, schema, DeleteLoader(lambda _: store, [schema]).load(DATA, [deletes]))
    assert [None if row["d"] is None else math.copysign(1, row["d"]) for row in left] == [1.0, None]


def test_an_equality_delete_file_without_its_key_column_is_corrupt() -> None:
    store = MemoryStore(SystemClock())
    deletes = put_equality(store, "memory://bucket/e", [(1,)], Schema(TABLE.field(1)), ids=(1, 2))
    loader = DeleteLoader(lambda _: store, [TABLE])
    with pytest.raises(DataFileCorrupt, match="lacks the required column 'category'"):
        loader.load(DATA, [deletes])
    with pytest.raises(ManifestCorrupt, match="no equality ids"):
        loader.load(DATA, [structs.replace(deletes, equality_ids=None)])


def test_what_is_read_is_shared_and_bounded() -> None:
    store = MemoryStore(SystemClock())
    positions = write_position_deletes(
        store, "memory://bucket/d", {f"f{i}": BitMap64([i]) for i in range(50)}, spec_id=0
    )
    equality = put_equality(store, "memory://bucket/e", [(1,)], Schema(TABLE.field(1)), ids=(1,))
    cache = DeleteCache()
    loader = DeleteLoader(lambda _: store, [TABLE], cache=cache)
    for i in range(50):
        assert loader.load(f"f{i}", [positions, equality]).positions == BitMap64([i])
    assert cache.loads == 2
    tiny = DeleteCache(max_bytes=10)
    loader = DeleteLoader(lambda _: store, [TABLE], cache=tiny)
    for i in range(3):
        assert loader.load(f"f{i}", [positions]).positions == BitMap64([i])
    assert tiny.nbytes <= 10


def test_delete_files_of_a_moved_table_are_found_by_locate() -> None:
    store = MemoryStore(SystemClock())
    old = "s3://old/data/1"
    positions = write_position_deletes(store, "memory://bucket/d", {old: BitMap64([3])}, spec_id=0)
    recorded = structs.replace(positions, file_path="s3://old/d")
    moved = DeleteLoader(lambda _: store, [TABLE], locate=lambda path: path.replace("s3://old", "memory://bucket"))
    assert moved.load(old, [recorded]).positions == BitMap64([3])


def test_the_least_recently_used_leaves_the_cache_first() -> None:
    cache = DeleteCache(max_bytes=100)
    for key in ("a", "b", "a", "c"):
        cache.get(key, lambda: "loaded", lambda _: 50)
    assert cache.loads == 3
    cache.get("a", lambda: "again", lambda _: 50)
    assert cache.loads == 3
    cache.get("b", lambda: "again", lambda _: 50)
    assert cache.loads == 4


def test_key_schemas_take_each_column_from_the_first_schema_that_has_it() -> None:
    old = Schema(NestedField(1, "x", INT), NestedField(2, "y", INT))
    now = Schema(NestedField(1, "x", LONG))
    found = key_schema([now, old], [1, 2])
    assert [(f.field_id, f.type) for f in found.fields] == [(1, LONG), (2, INT)]
