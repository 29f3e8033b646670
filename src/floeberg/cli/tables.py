"""`floeberg tables`: the tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from floeberg.api.catalog import Catalog
from floeberg.catalogs.identifiers import Identifier
from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target

NamespaceArgument = Annotated[
    str | None, typer.Argument(metavar="[NAMESPACE]", help="Only the tables of this namespace and those below it.")
]


@with_shared_options
def tables(target: Target, printer: Printer, namespace: NamespaceArgument = None) -> None:
    """List the tables of a catalog.

    floeberg tables --warehouse s3://bucket/lake

    floeberg tables db --catalog lake
    """
    with target.open_catalog() as catalog:
        found = list(_tables(catalog, namespace))
    if printer.as_json:
        printer.json([{"namespace": list(identifier.namespace), "name": identifier.name} for identifier in found])
        return
    for identifier in found:
        printer.line(str(identifier))


def _tables(catalog: Catalog, namespace: str | None) -> Iterator[Identifier]:
    pending = list(catalog.list_namespaces()) if namespace is None else [tuple(namespace.split("."))]
    while pending:
        here = pending.pop(0)
        yield from catalog.list_tables(here)
        pending = [*catalog.list_namespaces(here), *pending]
