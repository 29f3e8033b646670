"""`floeberg tables`: the tables of a catalog."""

from __future__ import annotations

from floeberg.cli.namespaces import NamespaceArgument, namespaces_below
from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target


@with_shared_options
def tables(target: Target, printer: Printer, namespace: NamespaceArgument = None) -> None:
    """List the tables of a catalog.

    floeberg tables --warehouse s3://bucket/lake

    floeberg tables db --catalog lake
    """
    with target.open_catalog() as catalog:
        found = [one for here in namespaces_below(catalog, namespace) for one in catalog.list_tables(here)]
    if printer.as_json:
        printer.json([{"namespace": list(identifier.namespace), "name": identifier.name} for identifier in found])
        return
    for identifier in found:
        printer.line(str(identifier))
