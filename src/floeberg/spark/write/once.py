"""Writes that happen once: the transaction that options or the session give a write, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floeberg.commit.commit import Committed, skip_committed
from floeberg.commit.idempotence import AppTransaction
from floeberg.commit.pointer import TablePointer
from floeberg.spark.host.destination import Destination
from floeberg.spark.write.options import TXN_APP_ID_SETTING, TXN_VERSION_SETTING
from floeberg.spec.snapshots.manifest_entry import DataFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """The transaction of a write. `spark` is there when the session's settings gave it."""

    transaction: AppTransaction
    spark: SparkSession | None = None

    def skip(self, pointer: TablePointer) -> Committed | None:
        """What the write comes to when the table holds it already; None when it is to be done. Raises InvalidInput when the
        table holds the version with other content."""
        skipped = skip_committed(pointer, self.transaction)
        return None if skipped is None else self.ended(skipped)

    def ended(
        self, committed: Committed, *, written: Iterable[DataFile] = (), pointer: TablePointer | None = None
    ) -> Committed:
        """Consumes the session's settings. A commit that was skipped leaves the files that were written for it to nobody:
        they are deleted."""
        if self.spark is not None:
            self.spark.conf.unset(TXN_APP_ID_SETTING)
            self.spark.conf.unset(TXN_VERSION_SETTING)
        if committed.skipped is not None and pointer is not None:
            for file in written:
                pointer.store_for(file.file_path).delete(file.file_path)
        return committed


def once_of(
    place: Destination, txn: tuple[str, int] | None, *, session: SparkSession | None = None, content: str | None = None
) -> Once | None:
    """The transaction of a write to a destination, by the app id and version of its options. `session` is the one whose
    settings gave them, where no option did."""
    if txn is None:
        return None
    transaction = AppTransaction(
        app_id=txn[0], version=txn[1], content=content, branch=place.branch, wap_id=place.wap_id
    )
    return Once(transaction=transaction, spark=session)
