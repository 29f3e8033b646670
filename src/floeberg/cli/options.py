"""The options that commands share, and how a command gets the table and printer that they mean."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from floeberg.api.moments import parse_moment
from floeberg.cli.config import load_config
from floeberg.cli.output import Printer
from floeberg.cli.target import Target, pairs

TableArgument = Annotated[
    str,
    typer.Argument(metavar="TABLE", help="db.table, catalog.db.table, or the path of a metadata file or table folder."),
]
SnapshotOption = Annotated[int | None, typer.Option("--snapshot", metavar="ID", help="The snapshot of this id.")]
RefOption = Annotated[str | None, typer.Option("--ref", metavar="NAME", help="The snapshot of this branch or tag.")]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="The snapshot that was current then: 2024-05-01 or 2024-05-01T12:00Z (UTC)."),
]  # fmt: skip
WhereOption = Annotated[
    str | None,
    typer.Option("--where", metavar="CONDITION", help="A condition in SQL, such as \"price > 3 AND name IS NOT NULL\"."),
]  # fmt: skip
LimitOption = Annotated[int | None, typer.Option("--limit", min=0, metavar="N", help="At most so many.")]

_PANEL = "Where tables are"
CatalogOption = Annotated[
    str | None, typer.Option("--catalog", "-c", metavar="NAME", help="The configured catalog.", rich_help_panel=_PANEL)
]
WarehouseOption = Annotated[
    str | None,
    typer.Option("--warehouse", "-w", metavar="PATH", help="The catalog's folder or URI.", rich_help_panel=_PANEL),
]
TypeOption = Annotated[
    str | None,
    typer.Option(
        "--type", metavar="TYPE", help="filesystem (the default), sql, rest or memory.", rich_help_panel=_PANEL
    ),
]
UriOption = Annotated[
    str | None,
    typer.Option("--uri", metavar="URI", help="A SQL catalog's database: sqlite:///lake.db", rich_help_panel=_PANEL),
]
PropertyOption = Annotated[
    list[str] | None,
    typer.Option("--property", "-p", metavar="KEY=VALUE", help="An option of the catalog or its store, such as "
                 "s3.endpoint=…. May be repeated.", rich_help_panel=_PANEL),
]  # fmt: skip
ConfigOption = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="Instead of ~/.floeberg.toml and ./floeberg.toml.", rich_help_panel=_PANEL),
]  # fmt: skip
RelocateOption = Annotated[
    list[str] | None,
    typer.Option("--relocate", metavar="OLD=NEW", help="Files that the metadata say are below OLD are below NEW. May be "
                 "repeated.", rich_help_panel=_PANEL),
]  # fmt: skip
LenientOption = Annotated[
    bool, typer.Option("--lenient", help="Read what known writers got wrong.", rich_help_panel=_PANEL)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def shared_options(
    catalog: CatalogOption = None,
    warehouse: WarehouseOption = None,
    type: TypeOption = None,
    uri: UriOption = None,
    property: PropertyOption = None,
    config: ConfigOption = None,
    relocate: RelocateOption = None,
    lenient: LenientOption = False,
    json: JsonOption = False,
) -> tuple[Target, Printer]:
    """What the shared options mean."""
    stated = {"catalog": catalog, "type": type, "warehouse": warehouse, "uri": uri}
    properties = pairs(property or [], "--property")
    loaded = load_config(
        os.environ,
        folder=Path.cwd(),
        home=Path.home(),
        file=config,
        options={**properties, **{key: value for key, value in stated.items() if value is not None}},
    )
    target = Target(
        config=loaded,
        catalog=catalog,
        relocate=pairs(relocate or [], "--relocate"),
        properties=properties,
        lenient=lenient,
    )
    return target, Printer(as_json=json)


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes its own options and the shared ones; the first two parameters come from the latter."""
    own = list(inspect.signature(command).parameters.values())[2:]
    shared = list(inspect.signature(shared_options).parameters.values())
    own_hints = get_type_hints(command, include_extras=True)
    shared_hints = get_type_hints(shared_options, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        *(p.replace(annotation=own_hints[p.name], kind=keyword) for p in own),
        *(p.replace(annotation=shared_hints[p.name], kind=keyword) for p in shared),
    ]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        target, printer = shared_options(**{p.name: given.pop(p.name) for p in shared})
        command(target, printer, **given)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def parse_time(text: str | None) -> datetime | None:
    """A moment; without a time zone it is in UTC. Raises InvalidInput."""
    return None if text is None else parse_moment(text)
