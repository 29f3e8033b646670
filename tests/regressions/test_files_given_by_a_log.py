"""Which files are given to Spark as a log, and what the log says of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from floeberg.spark.read.parquet import file_log
from floeberg.spark.read.parquet.paths import authority_of, given_location
from floeberg.storage.location import Location, parse


@dataclass(frozen=True)
class Placed:
    location: Location
    scheme: str
    size_in_bytes: int = 7
    last_split_offset: int = 0

    @property
    def authority(self) -> str:
        return authority_of(self.location)


class ConnectSession:
    __module__ = "pyspark.sql.connect.session"


def placed(text: str, number: int, *, scheme: str | None = None, size_in_bytes: int = 7) -> list[Placed]:
    location = parse(text)
    return [Placed(location, scheme or location.scheme, size_in_bytes) for _ in range(number)]


@pytest.mark.parametrize(
    ("files", "uses"),
    [
        (placed("/lake/a.parquet", file_log.MIN_LOCAL_FILES), True),
        (placed("/lake/a.parquet", file_log.MIN_LOCAL_FILES - 1), False),
        (placed("s3://bucket/a.parquet", file_log.MIN_REMOTE_FILES, scheme="s3a"), True),
        (placed("s3://bucket/a.parquet", file_log.MIN_REMOTE_FILES - 1, scheme="s3a"), False),
        (placed("hdfs://host:1/a.parquet", file_log.MIN_LOCAL_FILES), False),
        ([*placed("s3://b/a", 20, scheme="s3a"), *placed("hdfs://host:1/a", 1)], False),
        ([*placed("s3://b/a", 20, scheme="s3a"), *placed("s3://b/a", 1, scheme="s3a", size_in_bytes=0)], False),
        ([*placed("s3://b/a", 20, scheme="s3a"), Placed(parse("s3://b/a"), "s3a", 7, last_split_offset=7)], False),
    ],
)
def test_a_log_is_for_many_files_whose_sizes_can_be_right_and_that_have_no_hosts(
    files: list[Placed], uses: bool
) -> None:
    assert file_log.can_use_log(object(), files, is_worth_it=False) is uses
    assert not file_log.can_use_log(ConnectSession(), files, is_worth_it=True)


@pytest.mark.parametrize("name", ["ü", "a#b", "a?b", "a[1]", "{a}", 'a"b', "a|b", "a^b", "a`b", "a<b", "a\\b", "a\nb"])
def test_names_that_spark_may_write_in_two_ways_are_not_in_a_log(name: str) -> None:
    files = placed("s3://bucket/plain", file_log.MIN_REMOTE_FILES, scheme="s3a")
    named = [*files, *placed(f"s3://bucket/{name}", 1, scheme="s3a")]
    assert not file_log.can_use_log(object(), named, is_worth_it=True)


@pytest.mark.parametrize(
    ("text", "scheme", "url"),
    [
        ("/lake/50% a/b=c+d.parquet", "file", "file:///lake/50%25%20a/b=c+d.parquet"),
        ("file:/lake/%20.parquet", "file", "file:///lake/%2520.parquet"),
        ("s3://Bucket/a b", "s3a", "s3a://Bucket/a%20b"),
        ("abfss://c@Account.dfs.core.windows.net/k", "abfss", "abfss://c@Account.dfs.core.windows.net/k"),
    ],
)
def test_the_log_has_urls_sizes_and_numbers(text: str, scheme: str, url: str) -> None:
    file: Any = Placed(parse(text), scheme, 12)
    with file_log.file_log([file], [3], uncounted_bytes=5) as folder:
        version, entry, uncounted = Path(folder.removeprefix("file://"), "_spark_metadata", "0").read_text().split("\n")
    assert version == "v1"
    assert not Path(folder.removeprefix("file://")).exists()
    found = json.loads(entry)
    assert (found["path"], found["size"], found["action"]) == (url, 12, "add")
    assert found["modificationTime"] == 3
    assert json.loads(uncounted)["size"] == 5
    assert (file_log.is_file(found["path"]), file_log.is_file(json.loads(uncounted)["path"])) == (True, False)
    assert given_location(url).path == parse(text).path


def test_a_local_file_of_another_size_is_not_in_a_log(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1234567")
    assert file_log.can_use_log(object(), placed(str(path), 1), is_worth_it=True)
    assert not file_log.can_use_log(object(), placed(str(path), 1, size_in_bytes=6), is_worth_it=True)
