"""What a streaming query's checkpoint says: which query it is, and what each of its epochs holds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from pyspark.errors import PySparkException

from floeberg.errors import InvalidInput
from floeberg.spark.host.calls.originals import original

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_LOCATION: Final = "spark.sql.streaming.checkpointLocation"
_OFFSETS: Final = "offsets"
_LOGS: Final = (_OFFSETS, "commits", "state")
"""The folders that Spark wants empty before a query's first epoch."""


class _Metadata(msgspec.Struct):
    id: str


@dataclass(slots=True)
class Checkpoint:
    """The folder in which Spark keeps the progress of one query."""

    location: str
    _query_id: str | None = None

    def query_id(self, spark: SparkSession) -> str:
        """The query's id, which a restart keeps and a new checkpoint does not have; a path or a name would not tell those
        apart. Raises InvalidInput when Spark has written none."""
        if self._query_id is None:
            text = self._read(spark, "metadata")
            if text is None:
                raise InvalidInput(f"checkpoint {self.location}: there is no file metadata, which names the query")
            try:
                self._query_id = msgspec.json.decode(text, type=_Metadata).id
            except msgspec.DecodeError as error:
                raise InvalidInput(f"checkpoint {self.location}: the file metadata names no query ({error})") from None
        return self._query_id

    def content_of(self, spark: SparkSession, epoch_id: int) -> str | None:
        """Identifies the content of an epoch by its entry in the offset log, which a replay finds as it was; None where there
        is no such entry."""
        text = self._read(spark, f"offsets/{epoch_id}")
        return None if text is None else hashlib.sha256(text.encode()).hexdigest()

    def remove_leftovers(self) -> None:
        """Removes what is left of the first entry when a query was killed while Spark wrote it: Spark takes the temporary file
        for the progress of another query, and would refuse to start for ever. On disk only; elsewhere Spark's error says what
        to do."""
        metadata = self._on_disk("metadata")
        known = metadata.is_absolute() and metadata.is_file()
        if not known or any(self._entries(log, hidden=False) for log in _LOGS):
            return
        for leftover in self._entries(_OFFSETS, hidden=True):
            leftover.unlink(missing_ok=True)

    def _entries(self, log: str, *, hidden: bool) -> list[Path]:
        """The entries of a log, or the temporary files and checksums in it, whose names begin with a dot."""
        folder = self._on_disk(log)
        return [one for one in folder.iterdir() if one.name.startswith(".") is hidden] if folder.is_dir() else []

    def _on_disk(self, name: str) -> Path:
        return Path(self.location.removeprefix("file://").removeprefix("file:")) / name

    def _read(self, spark: SparkSession, name: str) -> str | None:
        """A file of the checkpoint: from disk where it is there, else through Spark, which knows the file system and what a
        relative path means."""
        on_disk = self._on_disk(name)
        if on_disk.is_absolute() and on_disk.is_file():
            return on_disk.read_text(encoding="utf-8")
        reader = original(original(spark, "read"), "format")("text")
        try:
            rows = original(original(reader, "option")("wholetext", True), "load")(f"{self.location}/{name}").collect()
        except PySparkException:
            return None
        return str(rows[0][0]) if rows else None
