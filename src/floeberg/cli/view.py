"""`floeberg view`: a view at a glance."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.schema import column_rows, field_json
from floeberg.cli.target import Target
from floeberg.storage.secret import redact_options

ViewArgument = Annotated[str, typer.Argument(metavar="VIEW", help="db.view or catalog.db.view.")]


@with_shared_options
def view(target: Target, printer: Printer, view: ViewArgument) -> None:
    """Show a view: its query, columns and properties.

    floeberg view db.daily --catalog lake
    """
    opened = target.view(view)
    version = opened.current_version
    queries = {one.dialect or "-": one.sql for one in version.representations if one.is_sql}
    place = ".".join([*([version.default_catalog] if version.default_catalog else []), *version.default_namespace])
    if printer.as_json:
        printer.json(
            {
                "name": opened.name,
                "queries": queries,
                "names_are_in": place,
                "columns": [field_json(field) for field in opened.schema.fields],
                "version": version.version_id,
                "properties": redact_options(opened.properties),
            }
        )
        return
    printer.pairs({"view": opened.name, "version": version.version_id, "names are in": place or None})
    for dialect, sql in queries.items():
        printer.line()
        printer.line(f"query ({dialect})", style="bold")
        printer.line(sql or "")
    printer.line()
    printer.table(("id", "column", "type", "required", "comment"), column_rows(opened.schema), numbers=("id",))
    if opened.properties:
        printer.line()
        printer.table(("property", "value"), sorted(redact_options(opened.properties).items()))
