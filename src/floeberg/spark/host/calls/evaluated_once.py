"""Rows that a statement evaluates once and reads several times: kept by a checkpoint, and what the loss of one means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from floeberg.errors import ExecutorLost
from floeberg.spark.host.calls.gateway import is_classic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHECKPOINT_FOLDER: Final = "spark.checkpoint.dir"
_LOST_BLOCK: Final = ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Checkpoint block rdd_")


def evaluated_once(frame: DataFrame) -> DataFrame:
    """The frame with its rows evaluated now. They are written to the session's checkpoint folder, and outlive executors; in a
    session without one they are kept by the executors themselves."""
    if _checkpoint_folder(frame.sparkSession):
        return frame.checkpoint(eager=True)
    return frame.localCheckpoint(eager=True)


def _checkpoint_folder(spark: Any) -> str | None:
    if is_classic(spark):
        folder: str | None = spark.sparkContext.getCheckpointDir()
        return folder
    return spark.conf.get(CHECKPOINT_FOLDER, None) or None


@contextmanager
def loss_of_executors_explained(table: str) -> Iterator[None]:
    """Raises ExecutorLost where a job fails because the rows of `evaluated_once` were lost. They are not computed again: a
    source with `rand()`, or one that others write to, would have other rows than those that were used already."""
    try:
        yield
    except Exception as error:  # on a classic session it is an error of the gateway, which PySpark knows no class for
        if not any(sign in str(error) for sign in _LOST_BLOCK):
            raise
        raise ExecutorLost(
            f"table {table}: an executor was lost, and with it rows that the statement had evaluated; nothing was committed. "
            f"Run the statement again. In a session with a checkpoint folder ({CHECKPOINT_FOLDER}, or "
            "spark.sparkContext.setCheckpointDir) that executors reach, such rows outlive executors",
            table=table,
        ) from error
