"""A disk that is full, a read-only mount, a quota: the error says that nothing was written, nothing is left of it, and the
next write that fits succeeds."""

from __future__ import annotations

import errno
import os
import random
import resource
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from floeberg.api.catalog import Catalog, catalog
from floeberg.api.table import Table
from floeberg.effects.system import SystemIds
from floeberg.errors import CommitUnknown, StorageError, WriteRefused
from floeberg.storage.hdfs import HdfsStore

FORMATS = ("parquet", "orc", "avro")
_DDL = "k bigint, p bigint, s string"
_LIMIT_BYTES = 48_000


def _rows(count: int, *, first: int = 0) -> pa.Table:
    rng = random.Random(first)
    keys = range(first, first + count)
    texts = [f"{rng.getrandbits(256):064x}" for _ in keys]
    schema = pa.schema([("k", pa.int64()), ("p", pa.int64()), ("s", pa.string())])
    return pa.table({"k": [*keys], "p": [key % 2 for key in keys], "s": texts}, schema=schema)


def _lake(kind: str, folder: Path) -> Catalog:
    warehouse = str(folder / "lake")
    if kind == "sql":
        return catalog("lake", type="sql", uri=f"sqlite:///{folder}/lake.db", warehouse=warehouse)
    return catalog("lake", warehouse=warehouse)


def _table(folder: Path, *, kind: str = "filesystem", properties: dict[str, str] | None = None) -> Table:
    lake = _lake(kind, folder)
    lake.create_namespace("db")
    return lake.create_table("db.t", _DDL, format_version=3, properties=properties or {})


def _files(folder: Path) -> set[str]:
    return {
        path.name
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(("lake.db", ".", "version"))
    }


@contextmanager
def _file_size_limit(size_bytes: int) -> Iterator[None]:
    """The kernel refuses to write files beyond a size, as a full disk or a quota does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_data_file_that_does_not_fit_leaves_nothing_and_a_small_one_succeeds(
    file_format: str, tmp_path: Path
) -> None:
    table = _table(tmp_path, properties={"write.format.default": file_format})
    table.append(_rows(10))
    before = _files(tmp_path)
    with _file_size_limit(_LIMIT_BYTES):
        with pytest.raises(WriteRefused, match=r"could not be written: File too large"):
            table.append(_rows(3000, first=100))
        assert _files(tmp_path) == before
        table.append(_rows(10, first=10))
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == list(range(20))


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_every_change_of_rows_is_refused_as_a_whole(file_format: str, mode: str, tmp_path: Path) -> None:
    properties = {"write.format.default": file_format} | {
        f"write.{k}.mode": mode for k in ("delete", "update", "merge")
    }
    table = _table(tmp_path, properties=properties)
    table.append(_rows(3000))
    before = _files(tmp_path)
    changes: dict[str, Callable[[], object]] = {
        "update": lambda: table.update({"k": lambda rows: rows.column("k")}, where="k < 2900"),
        "upsert": lambda: table.upsert(_rows(3000), on=["k"]),
        "overwrite": lambda: table.overwrite(_rows(3000, first=5000), where="k > 5"),
        "overwrite all": lambda: table.overwrite(_rows(3000, first=5000)),
        "overwrite partitions": lambda: table.overwrite_partitions(_rows(3000, first=5000)),
        "transaction": lambda: _transaction(table),
    }
    if mode == "copy-on-write":
        changes["delete"] = lambda: table.delete(where="k = 1")
    with _file_size_limit(_LIMIT_BYTES):
        for name, change in changes.items():
            with pytest.raises(WriteRefused):
                change()
            assert _files(tmp_path) == before, name
    assert table.refresh().scan().count() == 3000


def _transaction(table: Table) -> None:
    with table.transaction() as tx:
        tx.append(_rows(5, first=9000))
        tx.append(_rows(3000, first=9100))


class _FailingSync:
    """The sync of that number, from 1 on, fails: each file of an operation is the last one that fitted, in turn."""

    def __init__(self, number: int, code: int) -> None:
        self.left = number
        self._code = code
        self._real = os.fsync

    def __call__(self, descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            self.left -= 1
            if self.left == 0:
                raise OSError(self._code, os.strerror(self._code))
        self._real(descriptor)


@pytest.mark.parametrize("kind", ["filesystem", "sql"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_whichever_file_cannot_be_written_the_table_stays_as_it_was(
    kind: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = {f"write.{name}.mode": "merge-on-read" for name in ("delete", "update")}
    table = _table(tmp_path, kind=kind, properties=modes)
    table.append(_rows(10))
    changes: dict[str, Callable[[], object]] = {
        "append": lambda: table.append(_rows(3, first=100)),
        "delete": lambda: table.delete(where="k = 1"),  # a deletion vector in a Puffin file
        "update": lambda: table.update({"s": "x"}, where="k = 2"),
        "schema": lambda: _add_column(table),
    }
    for name, change in changes.items():
        refused = 0
        while True:
            before, rows = _files(tmp_path), table.refresh().scan().to_arrow()
            sync = _FailingSync(refused + 1, code)
            monkeypatch.setattr(os, "fsync", sync)
            try:
                change()
                failure: Exception | None = None
            except StorageError as error:
                failure = error
            monkeypatch.undo()
            if failure is None:
                break
            assert isinstance(failure, WriteRefused), (name, failure)
            assert _files(tmp_path) == before, (name, refused)
            assert table.refresh().scan().to_arrow() == rows
            refused += 1
        assert refused >= (1 if name == "schema" else 4), name  # data or deletes, manifest, manifest list, metadata


def _add_column(table: Table) -> None:
    with table.update_schema() as update:
        update.add_column("added", "int")


def test_a_name_that_is_too_long_for_the_file_system_is_refused_with_the_reason(tmp_path: Path) -> None:
    lake = _lake("filesystem", tmp_path)
    lake.create_namespace("db")
    table = lake.create_table("db.t", _DDL, partition_by=["s"])
    rows = _rows(1)
    with pytest.raises(WriteRefused, match="partition value"):
        table.append(rows.set_column(2, "s", pa.array(["x" * 300])))
    assert table.append(rows) is not None


def test_a_folder_that_cannot_be_synced_after_a_file_has_its_name_is_no_proof_of_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _table(tmp_path)
    real_link, real_sync = os.link, os.fsync
    linked: list[str] = []

    def link(source: str, target: str) -> None:
        real_link(source, target)
        linked.append(target)

    def sync(descriptor: int) -> None:
        if linked and stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EACCES, "Permission denied")
        real_sync(descriptor)

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setattr(os, "fsync", sync)
    table.append(_rows(3))  # the file is read back, and is there
    monkeypatch.undo()
    assert table.refresh().scan().count() == 3


def test_a_link_over_a_network_that_times_out_leaves_the_outcome_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _table(tmp_path, properties={"commit.status-check.num-retries": "0"})
    before = _files(tmp_path)

    def link(source: str, target: str) -> None:
        raise OSError(errno.ETIMEDOUT, "Connection timed out")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(CommitUnknown):
        table.append(_rows(3))
    assert _files(tmp_path) > before, "nothing is cleaned up while the commit may still arrive"


def test_a_database_that_is_read_only_refuses_at_once_and_leaves_no_file(tmp_path: Path) -> None:
    table = _table(tmp_path, kind="sql")
    table.append(_rows(3))
    before = _files(tmp_path)
    lake = catalog(
        "lake", type="sql", uri=f"sqlite:///file:{tmp_path}/lake.db?mode=ro&uri=true", warehouse=str(tmp_path / "lake")
    )
    with pytest.raises(WriteRefused, match="readonly"):
        lake.load_table("db.t").append(_rows(3, first=10))
    assert _files(tmp_path) == before
    with sqlite3.connect(tmp_path / "lake.db") as database:
        assert database.execute("SELECT count(*) FROM iceberg_tables").fetchone() == (1,)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EIO])
def test_hdfs_refuses_before_a_file_has_its_name(code: int, tmp_path: Path) -> None:
    class Refusing(fs.LocalFileSystem):  # type: ignore[misc]
        def open_output_stream(self, path: str, *args: object, **options: object) -> object:
            Path(path).write_bytes(b"half")
            raise OSError(code, os.strerror(code))

    store = HdfsStore(Refusing(), SystemIds(), rename_if_absent=lambda source, target: True)
    for call in (store.create, store.replace):
        with pytest.raises(WriteRefused):
            call(f"hdfs://host{tmp_path}/f", b"whole")
    with pytest.raises(StorageError) as caught:
        store.write(f"hdfs://host{tmp_path}/f", b"whole")
    assert isinstance(caught.value, WriteRefused) is (code != errno.EIO)
    assert os.listdir(tmp_path) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip(f"mounting is not allowed here: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("file_format", FORMATS)
def test_on_a_real_disk_that_fills_up_and_turns_read_only(file_format: str, small_disk: Path) -> None:
    table = _table(small_disk, properties={"write.format.default": file_format})
    table.append(_rows(10))
    before = _files(small_disk)
    with pytest.raises(WriteRefused, match="No space left on device; free space"):
        table.append(_rows(10_000, first=100))
    assert _files(small_disk) == before
    table.append(_rows(10, first=10))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for change in (lambda: table.append(_rows(1)), lambda: table.delete(where="k = 1"), lambda: _add_column(table)):
        with pytest.raises(WriteRefused, match="read-only"):
            change()
    assert table.scan().count() == 20
