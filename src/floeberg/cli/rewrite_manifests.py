"""`floeberg rewrite-manifests`: the same files in manifests clustered by partition."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target

SpecOption = Annotated[
    int | None, typer.Option("--spec-id", metavar="ID", help="The spec whose manifests go; the current one by default.")
]
SortOption = Annotated[
    str | None, typer.Option("--sort-by", metavar="FIELDS", help="Partition fields to cluster by: day,region.")
]


@with_shared_options
def rewrite_manifests(
    target: Target, printer: Printer, table: TableArgument, spec_id: SpecOption = None, sort_by: SortOption = None
) -> None:
    """Rewrite the manifests of a table, clustered by partition. No file changes.

    floeberg rewrite-manifests db.orders --sort-by day
    """
    names = None if sort_by is None else [name.strip() for name in sort_by.split(",")]
    done = target.table(table).maintenance.rewrite_manifests(spec_id=spec_id, sort_by=names)
    printer.result({"rewritten_manifests": done.rewritten_manifests, "added_manifests": done.added_manifests})
