"""`floeberg views`: the views of a catalog."""

from __future__ import annotations

from floeberg.cli.namespaces import NamespaceArgument, namespaces_below
from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target


@with_shared_options
def views(target: Target, printer: Printer, namespace: NamespaceArgument = None) -> None:
    """List the views of a catalog.

    floeberg views --catalog lake

    floeberg views db --catalog lake
    """
    with target.open_catalog() as catalog:
        found = [one for here in namespaces_below(catalog, namespace) for one in catalog.list_views(here)]
    if printer.as_json:
        printer.json([{"namespace": list(identifier.namespace), "name": identifier.name} for identifier in found])
        return
    for identifier in found:
        printer.line(str(identifier))
