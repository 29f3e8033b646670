"""The commands put together. Each loads when it is called, so that the command starts quickly."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Protocol, runtime_checkable

import typer
from typer.core import TyperCommand, TyperGroup

from floeberg.errors import UnsupportedFeature
from floeberg.version import VERSION

COMMANDS: Final[Mapping[str, str]] = {
    "namespaces": "List the namespaces of a catalog.",
    "tables": "List the tables of a catalog.",
    "views": "List the views of a catalog.",
    "describe": "Show a table at a glance: columns, partitioning, live rows, current snapshot, branches and properties.",
    "schema": "Show the columns of a table, nested ones too, with their ids.",
    "view": "Show a view: its query, columns and properties.",
    "snapshots": "Show what happened to a table, the newest first.",
    "files": "List the data and delete files of a snapshot.",
    "partitions": "List the partitions of a snapshot with their rows, files and deletes.",
    "manifests": "List the manifests of a snapshot, with how many files each adds, keeps and deletes.",
    "refs": "List the branches and tags of a table, and how long each keeps what it keeps.",
    "scan": "Print the rows of a table.",
    "count": "Count the live rows of a table.",
    "sql": "Run a query over tables, by DuckDB (pip install duckdb).",
    "diff": "Show what changed from one snapshot to another: files, rows and schema.",
    "explain": "Show which manifests and files a condition leaves out, at each level, and which part of it does so.",
    "metadata": "Print the table's metadata as indented JSON.",
    "check": "Check that a table is whole.",
    "repair": "Repair what check finds, by explicit choice, in one commit that can be rolled back.",
    "compact": "Rewrite small data files, and those with many deletes, as files of the target size.",
    "rewrite-deletes": "Merge small delete files, make deletion vectors of them, and drop those that delete nothing.",
    "compute-stats": "Compute how many distinct values columns have, and what partitions hold, and register it.",
    "rewrite-manifests": "Rewrite the manifests of a table, clustered by partition.",
    "expire-snapshots": "Expire old snapshots and delete the files that only they reach.",
    "remove-orphans": "Find files in a table's folder that nothing refers to, and delete them.",
    "add-files": "Add the data files of a folder to a table, where they lie.",
    "snapshot-folder": "Make a table over the data files of a folder, where they lie.",
    "rewrite-table-path": "Prepare a copy of a table under another path.",
    "ui": "Open a page to look into tables, in the browser.",
    "maintain": "Do what a table needs now: compact, rewrite deletes and manifests, expire snapshots.",
    "serve": "Serve a catalog to other engines by the Iceberg REST protocol, with a page to look into its tables.",
}
"""What each command does; the module of its name (with _ for -) holds a function of its name."""

_ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("append", "insert", "load"), "t.append(rows) in Python, or INSERT INTO on Spark"),
    **dict.fromkeys(("delete", "update", "upsert", "merge"), "t.delete, t.update, t.upsert in Python, or SQL on Spark"),
    **dict.fromkeys(("create", "drop", "rename", "register"), "the methods of floeberg.catalog(…), or SQL on Spark"),
    "expire": "floeberg expire-snapshots",
    **dict.fromkeys(("optimize", "rewrite"), "floeberg compact"),
    "vacuum": "floeberg expire-snapshots and floeberg remove-orphans",
}
"""What people look for here and find elsewhere."""

HELP = """Look into Apache Iceberg tables, keep them healthy, and serve them. Rows change only through clients of `serve`.

A table is db.table in a configured catalog, or the path of a metadata file or table folder:

floeberg tables --warehouse ./lake

floeberg describe db.orders --warehouse ./lake

floeberg scan ./lake/db/orders --where "price > 3" --limit 5

Catalogs are configured in ./floeberg.toml or ~/.floeberg.toml (\\[catalog.lake] warehouse = "s3://bucket/lake"), by
variables (FLOEBERG_CATALOG__LAKE__WAREHOUSE) or by options.

The options of every command (--warehouse, --catalog, --json …) may also stand before the command.

Exit codes: 0 done, 1 check found errors, 2 bad input, 3 not found, 4 corrupt or unsupported, 5 a store or catalog failed,
70 a fault of the program.
"""


@runtime_checkable
class _Usage(Protocol):
    exit_code: int

    def show(self) -> None: ...


class _Commands(TyperGroup):
    """Lists commands by what stands above, and loads one when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        text = COMMANDS.get(cmd_name)
        return None if text is None else TyperCommand(name=cmd_name, help=text)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in COMMANDS:
            return name, _load(name), args[1:]
        if name in _ELSEWHERE:
            raise UnsupportedFeature(f"floeberg {name}: there is no such command; use {_ELSEWHERE[name]}")
        return super().resolve_command(ctx, args)


def _load(name: str) -> Any:
    single = typer.Typer(add_completion=False, context_settings=_SETTINGS)
    own = name.replace("-", "_")
    single.command(name)(getattr(importlib.import_module(f"floeberg.cli.{own}"), own))
    return typer.main.get_command(single)


_SETTINGS: Final = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="floeberg", cls=_Commands, help=HELP, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
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


_FLAGS: Final = frozenset({"--json", "--lenient"})
_WITH_VALUE: Final = frozenset(
    {"--catalog", "-c", "--warehouse", "-w", "--type", "--uri", "--property", "-p", "--config", "--relocate"}
)


def after_the_command(arguments: Sequence[str]) -> list[str]:
    """The arguments with shared options that stand before the command moved behind it, where it takes them."""
    at = 0
    while at < len(arguments) and (taken := _taken(arguments[at])):
        at += taken
    if at == 0 or at >= len(arguments) or arguments[at].startswith("-"):
        return list(arguments)
    return [arguments[at], *arguments[:at], *arguments[at + 1 :]]


def _taken(argument: str) -> int:
    """How many arguments a shared option takes, itself included; 0 for anything else."""
    if argument in _FLAGS:
        return 1
    if argument in _WITH_VALUE:
        return 2
    name = argument.partition("=")[0] if argument.startswith("--") else argument[:2]
    return 1 if name in _WITH_VALUE and len(argument) > len(name) else 0


def invoke(arguments: Sequence[str]) -> int:
    """Runs a command; its exit code. Errors of Floeberg are raised, wrong usage is shown."""
    command: Any = typer.main.get_command(app)
    try:
        result = command.main(args=after_the_command(arguments), prog_name="floeberg", standalone_mode=False)
    except typer.Abort:
        return 130
    except Exception as error:
        # What typer raises for wrong usage shows itself; its class moved between versions.
        if not isinstance(error, _Usage):
            raise
        error.show()
        return error.exit_code
    return result if isinstance(result, int) else 0
