"""`floeberg metadata`: the metadata file, to be read by people."""

from __future__ import annotations

import json

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.spec.metadata.table_metadata_json import write_table_metadata
from floeberg.storage.secret import redact_options


@with_shared_options
def metadata(target: Target, printer: Printer, table: TableArgument) -> None:
    """Print the table's metadata as indented JSON. Values of properties that look like credentials are masked.

    floeberg metadata db.orders | jq '.schemas'
    """
    document = json.loads(write_table_metadata(target.table(table).metadata))
    if isinstance(document.get("properties"), dict):
        document["properties"] = redact_options(document["properties"])
    printer.json(document)
