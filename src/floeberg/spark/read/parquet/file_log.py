"""The files of a plan, given to Spark as the log of a streaming sink: Spark takes their paths and sizes from the log, and lists
and looks at none of them. https://spark.apache.org/docs/latest/structured-streaming-programming-guide.html#output-sinks

A file of such a log may lie anywhere. Spark reads the log once, when the frame is made. It takes the sizes of all entries for
the size of the relation, but reads none whose name is hidden: such an entry stands for what the rows have beyond the bytes of
their files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from floeberg.spark.host.gateway import is_classic
from floeberg.spark.read.parquet.paths import PlacedFile

MIN_LOCAL_FILES: Final = 64
"""From so many local files on, the log takes less time than the listing."""
MIN_REMOTE_FILES: Final = 16
"""From so many files of an object store on, the log saves several requests for each."""
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


def can_use_log(spark: Any, files: Sequence[PlacedFile], uncounted_bytes: int) -> bool:
    """Whether Spark's driver sees this process's folders, the files are enough to be worth it or have uncounted bytes, their
    sizes can be right (Spark reads no file of zero bytes, and no row group beyond the size), and their URLs are written in one
    way only."""
    schemes = {file.scheme for file in files}
    least = MIN_LOCAL_FILES if schemes <= {"file"} else MIN_REMOTE_FILES
    is_worth_it = len(files) >= least or uncounted_bytes > 0
    if not is_worth_it or _LISTED_BY_SPARK in schemes or not is_classic(spark):
        return False
    return all(_can_be_right(file) and _PLAIN.fullmatch(file.location.path) for file in files)


def _can_be_right(file: PlacedFile) -> bool:
    """Whether nothing speaks against a file's recorded size. A local file is looked at, which costs next to nothing; a missing
    one is found when it is read."""
    if file.size_in_bytes <= file.last_split_offset:
        return False
    path = Path(file.location.path)
    try:
        return file.scheme != "file" or path.stat().st_size == file.size_in_bytes
    except FileNotFoundError:
        return True


@contextmanager
def file_log(files: Sequence[PlacedFile], uncounted_bytes: int) -> Iterator[str]:
    """A folder that Spark takes for the output of a streaming query, which wrote these files. It is there within."""
    encode = msgspec.json.Encoder().encode
    with TemporaryDirectory(prefix="floeberg-files-") as folder:
        log = Path(folder) / _FOLDER
        log.mkdir()
        entries = [_entry(_url(file), file.size_in_bytes) for file in files]
        if uncounted_bytes:
            entries.append(_entry((Path(folder) / _UNCOUNTED).as_uri(), uncounted_bytes))
        (log / "0").write_bytes(b"\n".join((_VERSION, *map(encode, entries))))
        yield f"file://{folder}"


def is_file(listed: str) -> bool:
    """Whether what Spark lists is a file, not the entry for uncounted bytes."""
    return not listed.endswith(f"/{_UNCOUNTED}")


def _entry(url: str, size_in_bytes: int) -> dict[str, object]:
    return {
        "path": url,
        "size": size_in_bytes,
        "isDir": False,
        "modificationTime": 0,
        "blockReplication": 1,
        "blockSize": _BLOCK_BYTES,
        "action": "add",
    }


def _url(file: PlacedFile) -> str:
    path = file.location.path.replace("%", "%25").replace(" ", "%20")
    if file.scheme == "file":
        return f"file://{path}"
    return f"{file.scheme}://{file.authority}{path}"
