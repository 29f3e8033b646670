"""Maintenance after every so many commits of a stream. Its failure does not fail the stream: the rows are committed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException

from floeberg.errors import FloebergError, InvalidInput
from floeberg.spark.host.session import AttachedSession
from floeberg.spark.procedures.maintaining import maintain_on_spark
from floeberg.sql.text.names import TableIdentifier

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAINTAIN_EVERY: Final = "maintain-every"
logger = logging.getLogger("floeberg.maintenance")


def commits_between(given: str | int | None) -> int | None:
    """After how many commits a table is maintained; None for never. Raises InvalidInput."""
    if given is None:
        return None
    try:
        commits = int(given)
    except ValueError:
        commits = 0
    if commits < 1:
        raise InvalidInput(f"{MAINTAIN_EVERY} is a number of commits, 1 or more, not {given!r:.60}")
    return commits


def maintain_after(
    session: AttachedSession, spark: SparkSession, identifier: TableIdentifier, *, epoch_id: int, every: int | None
) -> None:
    """Does what the table needs, after each `every`th epoch. What fails is logged, and tried again at the next turn."""
    if every is None or (epoch_id + 1) % every != 0:
        return
    try:
        done = maintain_on_spark(spark, session.load(identifier))
    except (FloebergError, PySparkException) as error:
        logger.warning("table %s: maintenance after epoch %d failed: %s", identifier, epoch_id, error)
        return
    for action in done.actions:
        logger.info("table %s: %s: %s", identifier, action.name, action.reason)
