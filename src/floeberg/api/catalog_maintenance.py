"""Maintenance of all tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from floeberg.api.table import Table
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.effects.progress import Progress
from floeberg.errors import TableNotFound
from floeberg.maintenance.maintain import Maintained

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TablesOfCatalog(Protocol):
    """What a catalog's tables are found by."""

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]: ...

    def list_tables(self, namespace: Namespace) -> list[Identifier]: ...

    def load_table(self, name: Identifier) -> Table: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMaintenance:
    """What was done for one table of a catalog, or the error that kept it from being done."""

    table: str
    done: Maintained | None = None
    error: Exception | None = None


def maintain_tables(
    catalog: TablesOfCatalog,
    namespace: Namespace,
    *,
    dry_run: bool,
    measure_reads: bool,
    spark: SparkSession | None,
    progress: Progress | None = None,
) -> Iterator[TableMaintenance]:
    """Maintains the tables of a namespace and of those below it, one after the other. A table that fails does not keep the
    others from their turn; one that was dropped meanwhile is left out."""
    for identifier in _tables_below(catalog, namespace):
        try:
            maintenance = catalog.load_table(identifier).maintenance
            done = maintenance._maintained(dry_run=dry_run, measure_reads=measure_reads, spark=spark, progress=progress)
        except TableNotFound:
            continue
        except (
            Exception
        ) as error:  # of Spark or of the store's library too: it is told with the table, and the others follow
            yield TableMaintenance(table=str(identifier), error=error)
        else:
            yield TableMaintenance(table=str(identifier), done=done)


def _tables_below(catalog: TablesOfCatalog, namespace: Namespace) -> Iterator[Identifier]:
    if namespace:
        yield from catalog.list_tables(namespace)
    for below in catalog.list_namespaces(namespace):
        yield from _tables_below(catalog, below)
