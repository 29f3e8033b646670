"""`floeberg rewrite-table-path`: prepares a copy of a table under another path."""

from __future__ import annotations

from typing import Annotated

import typer

from floeberg.cli.options import TableArgument, with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target

SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="The path that the table's files lie below.")]
TargetArgument = Annotated[str, typer.Argument(metavar="TARGET", help="The path that they are to lie below.")]
StartOption = Annotated[
    str | None, typer.Option("--start-version", metavar="FILE", help="The metadata file that the copy has already.")
]
EndOption = Annotated[
    str | None, typer.Option("--end-version", metavar="FILE", help="The metadata file to copy; the newest by default.")
]
StagingOption = Annotated[
    str | None, typer.Option("--staging-location", metavar="PATH", help="Where changed files are put.")
]


@with_shared_options
def rewrite_table_path(
    target: Target,
    printer: Printer,
    table: TableArgument,
    source_prefix: SourceArgument,
    target_prefix: TargetArgument,
    start_version: StartOption = None,
    end_version: EndOption = None,
    staging_location: StagingOption = None,
) -> None:
    """Prepare a copy of a table under another path. The table stays as it is.

    Files that name the old path are written anew into a staging folder; the file list says what to copy where.

    floeberg rewrite-table-path db.orders s3://old/lake/db/orders s3://new/lake/db/orders
    """
    done = target.table(table).maintenance.rewrite_table_path(
        source_prefix,
        target_prefix,
        start_version=start_version,
        end_version=end_version,
        staging_location=staging_location,
    )
    printer.result(
        {
            "latest_version": done.latest_version,
            "file_list_location": done.file_list_location,
            "rewritten_manifests": done.rewritten_manifests,
            "rewritten_delete_files": done.rewritten_delete_files,
        }
    )
