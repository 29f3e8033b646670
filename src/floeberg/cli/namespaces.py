"""`floeberg namespaces`: the namespaces of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from floeberg.api.catalog import Catalog
from floeberg.catalogs.identifiers import Namespace
from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target

NamespaceArgument = Annotated[
    str | None, typer.Argument(metavar="[NAMESPACE]", help="Only this namespace and those below it.")
]


@with_shared_options
def namespaces(target: Target, printer: Printer, namespace: NamespaceArgument = None) -> None:
    """List the namespaces of a catalog.

    floeberg namespaces --warehouse ./lake

    floeberg namespaces db --catalog lake
    """
    with target.open_catalog() as catalog:
        found = list(namespaces_below(catalog, namespace))
    if printer.as_json:
        printer.json([list(one) for one in found])
        return
    for one in found:
        printer.line(".".join(one))


def namespaces_below(catalog: Catalog, namespace: str | None) -> Iterator[Namespace]:
    """A namespace, or each at the top, with those below it."""
    pending = list(catalog.list_namespaces()) if namespace is None else [tuple(namespace.split("."))]
    while pending:
        here = pending.pop(0)
        below = catalog.list_namespaces(here)
        yield here
        pending = [*below, *pending]
