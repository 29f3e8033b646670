"""`floeberg ui`: a page to look into tables."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated

import typer

from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.serve import served_names, server_modules
from floeberg.cli.target import Target

PortOption = Annotated[int, typer.Option("--port", min=1, max=65535, metavar="PORT", help="The port on this machine.")]
BrowserOption = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open it in the browser, or only print its address.")
]


@with_shared_options
def ui(target: Target, printer: Printer, port: PortOption = 8182, browser: BrowserOption = True) -> None:
    """Open a page to look into tables, in the browser. Nothing can be changed by it.

    It is for this machine alone, and lasts until it is stopped with Ctrl+C.

    floeberg ui --warehouse ./lake
    """
    settings_module, served_module, _, run_module = server_modules()
    settings = settings_module.ServerSettings(port=port)
    names = [target.catalog] if target.catalog else served_names(target)
    served = [
        served_module.ServedCatalog.of(
            target.config.open(name), warehouse=target.config.warehouse(name), read_only=True
        )
        for name in names
    ]

    def announce(url: str) -> None:
        sys.stderr.write(f"look at {url}/ui/ (stop with Ctrl+C)\n")
        sys.stderr.flush()
        if browser:
            webbrowser.open(f"{url}/ui/")

    run_module.run_server(served, settings, started=announce)
