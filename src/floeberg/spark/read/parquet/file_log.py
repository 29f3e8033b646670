"""The files of a plan, given to Spark as the log of a streaming sink: Spark takes their paths and sizes from the log, and lists
and looks at none of them. https://spark.apache.org/docs/latest/structured-streaming-programming-guide.html#output-sinks

A file of such a log may lie anywhere. Spark reads the log once, when the frame is made. It takes the sizes of all entries for
the size of the relation, but reads none whose name is hidden: such an entry stands for what the rows have beyond the bytes of
their files. It believes the log's modification times too, and rows see that of their file (`_metadata.file_modification_time`):
a number of ours for each file reaches its rows as that time, without a join.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from floeberg.spark.host.calls.gateway import is_classic
from floeberg.spark.read.parquet.paths import PlacedFile
from floeberg.spec.values.temporal import LONG_MAX

MIN_LOCAL_FILES: Final = 64
"""From so many local files on, the log takes less time than the listing."""
MIN_REMOTE_FILES: Final = 16
"""From so many files of an object store on, the log saves several requests for each."""
MAX_NUMBER: Final = LONG_MAX // 1000
"""The largest number that a file can carry. Spark keeps times in microseconds, the log has milliseconds."""
NUMBER: Final = "unix_millis(_metadata.file_modification_time)"
"""The number of a row's file."""
_LISTED_BY_SPARK: Final = "hdfs"
"""Where the listing also says on which hosts the blocks of a file are."""
_FOLDER: Final = "_spark_metadata"
_UNCOUNTED: Final = "_floeberg_rows"
"""The name of the entry that is no file. Names with a leading underscore are hidden to Spark."""
_VERSION: Final = b"v1"
_BLOCK_BYTES: Final = 32 << 20
_PLAIN: Final = re.compile(r"[A-Za-z0-9_\-.!~'()*,;:$&+=@/% ]*")
"""Paths whose URLs Spark writes as we do. It keeps a URL of the log as it is in one place and writes it anew in another: rows
of a file whose URL differs between them would not find their file."""


def can_use_log(spark: Any, files: Sequence[PlacedFile], *, is_worth_it: bool) -> bool:
    """Whether Spark's driver sees this process's folders, the files are enough or the log is worth it for another reason, their
    sizes can be right (Spark reads no file of zero bytes, and no row group beyond the size), and their URLs are written in one
    way only."""
    schemes = {file.scheme for file in files}
    least = MIN_LOCAL_FILES if schemes <= {"file"} else MIN_REMOTE_FILES
    if not (is_worth_it or len(files) >= least) or _LISTED_BY_SPARK in schemes or not is_classic(spark):
        return False
    return all(_can_be_right(file) and _PLAIN.fullmatch(file.location.path) for file in files)


def _can_be_right(file: PlacedFile) -> bool:
    """Whether nothing speaks against a file's recorded size. A local file is looked at; a missing one is found when it is
    read."""
    if file.size_in_bytes <= file.last_split_offset:
        return False
    return file.scheme != "file" or local_size(file) in (None, file.size_in_bytes)


def local_size(file: PlacedFile) -> int | None:
    """The size of a local file, which costs next to nothing; None where it is not there."""
    try:
        return Path(file.location.path).stat().st_size
    except FileNotFoundError:
        return None


@contextmanager
def file_log(files: Sequence[PlacedFile], numbers: Sequence[int], uncounted_bytes: int) -> Iterator[str]:
    """A folder that Spark takes for the output of a streaming query, which wrote these files. It is there within. `numbers` has
    one for each file, of at most MAX_NUMBER, or none."""
    encode = msgspec.json.Encoder().encode
    with TemporaryDirectory(prefix="floeberg-files-") as folder:
        log = Path(folder) / _FOLDER
        log.mkdir()
        entries = [
            _entry(_url(file), file.size_in_bytes, number)
            for file, number in zip(files, numbers or [0] * len(files), strict=True)
        ]
        if uncounted_bytes:
            entries.append(_entry((Path(folder) / _UNCOUNTED).as_uri(), uncounted_bytes))
        (log / "0").write_bytes(b"\n".join((_VERSION, *map(encode, entries))))
        yield f"file://{folder}"


def is_file(listed: str) -> bool:
    """Whether what Spark lists is a file, not the entry for uncounted bytes."""
    return not listed.endswith(f"/{_UNCOUNTED}")


def _entry(url: str, size_in_bytes: int, number: int = 0) -> dict[str, object]:
    return {
        "path": url,
        "size": size_in_bytes,
        "isDir": False,
        "modificationTime": number,
        "blockReplication": 1,
        "blockSize": _BLOCK_BYTES,
        "action": "add",
    }


def _url(file: PlacedFile) -> str:
    path = file.location.path.replace("%", "%25").replace(" ", "%20")
    if file.scheme == "file":
        return f"file://{path}"
    return f"{file.scheme}://{file.authority}{path}"
