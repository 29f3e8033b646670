"""The commands put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol, runtime_checkable

import typer

from floeberg.cli.check import check
from floeberg.cli.describe import describe
from floeberg.cli.diff import diff
from floeberg.cli.explain import explain
from floeberg.cli.files import files
from floeberg.cli.manifests import manifests
from floeberg.cli.metadata import metadata
from floeberg.cli.partitions import partitions
from floeberg.cli.refs import refs
from floeberg.cli.scan import scan
from floeberg.cli.schema import schema
from floeberg.cli.snapshots import snapshots
from floeberg.cli.tables import tables
from floeberg.version import VERSION

COMMANDS: Sequence[Callable[..., None]] = (
    tables, describe, schema, snapshots, files, partitions, manifests, refs, scan, diff, explain, metadata, check,
)  # fmt: skip

HELP = """Look into Apache Iceberg tables. Nothing is ever changed.

A table is db.table in a configured catalog, or the path of a metadata file or table folder:

floeberg tables --warehouse ./lake

floeberg describe db.orders --warehouse ./lake

floeberg scan ./lake/db/orders --where "price > 3" --limit 5

Catalogs are configured in ./floeberg.toml or ~/.floeberg.toml (\\[catalog.lake] warehouse = "s3://bucket/lake"), by
variables (FLOEBERG_CATALOG__LAKE__WAREHOUSE) or by options.

Exit codes: 0 done, 1 check found errors, 2 bad input, 3 not found, 4 corrupt or unsupported, 5 a store or catalog failed,
70 a fault of the program.
"""


@runtime_checkable
class _Usage(Protocol):
    exit_code: int

    def show(self) -> None: ...


app = typer.Typer(
    name="floeberg", help=HELP, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"floeberg {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole of an error. May stand anywhere.")] = False,
) -> None:
    """The options of every command; `--debug` is taken out before, wherever it stands."""


for command in COMMANDS:
    app.command()(command)


def invoke(arguments: Sequence[str]) -> int:
    """Runs a command; its exit code. Errors of Floeberg are raised, wrong usage is shown."""
    command: Any = typer.main.get_command(app)
    try:
        result = command.main(args=list(arguments), prog_name="floeberg", standalone_mode=False)
    except typer.Abort:
        return 130
    except Exception as error:
        # What typer raises for wrong usage shows itself; its class moved between versions.
        if not isinstance(error, _Usage):
            raise
        error.show()
        return error.exit_code
    return result if isinstance(result, int) else 0
