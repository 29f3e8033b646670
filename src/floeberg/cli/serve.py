"""`floeberg serve`: the Iceberg REST protocol over catalogs of ours."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from floeberg.cli.options import with_shared_options
from floeberg.cli.output import Printer
from floeberg.cli.target import Target
from floeberg.errors import UnsupportedFeature

TOKEN_VARIABLE = "FLOEBERG_SERVER_TOKEN"
_PANEL = "Who may ask"
HostOption = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.", rich_help_panel=_PANEL)]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, metavar="PORT", help="The port.")]
TokenOption = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="Accepted tokens, one a line; read again when it changes. Or one token "
                 f"in the variable {TOKEN_VARIABLE}.", rich_help_panel=_PANEL),
]  # fmt: skip
CertificateOption = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="The certificate for TLS.", rich_help_panel=_PANEL)
]
KeyOption = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key.", rich_help_panel=_PANEL)
]
InsecureOption = Annotated[
    bool,
    typer.Option("--insecure-http", help="Plain HTTP on an address that other machines reach, behind a proxy that speaks "
                 "TLS.", rich_help_panel=_PANEL),
]  # fmt: skip
HostsOption = Annotated[
    list[str] | None,
    typer.Option("--allowed-host", metavar="NAME", help="A host name by which clients reach this server. May be repeated.",
                 rich_help_panel=_PANEL),
]  # fmt: skip
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Answer questions, refuse every change.", rich_help_panel=_PANEL)
]
RootOption = Annotated[
    list[str] | None,
    typer.Option("--root", metavar="FOLDER", help="Where tables may lie beside the warehouse. May be repeated."),
]
BodyOption = Annotated[
    int, typer.Option("--max-body-mb", min=1, metavar="MB", help="The largest request that is read.")
]
LogOption = Annotated[str, typer.Option("--log-level", metavar="LEVEL", help="error, warning, info or debug.")]


@with_shared_options
def serve(
    target: Target,
    printer: Printer,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8181,
    token_file: TokenOption = None,
    tls_cert: CertificateOption = None,
    tls_key: KeyOption = None,
    insecure_http: InsecureOption = False,
    allowed_host: HostsOption = None,
    read_only: ReadOnlyOption = False,
    root: RootOption = None,
    max_body_mb: BodyOption = 16,
    log_level: LogOption = "warning",
) -> None:
    """Serve a catalog to other engines by the Iceberg REST protocol, with a page to look into its tables.

    Listens on this machine alone unless --host says otherwise, which needs tokens and TLS. Tables lie in the warehouse and
    in --root folders, nowhere else.

    floeberg serve --warehouse ./lake

    floeberg serve --type sql --uri sqlite:///lake.db --warehouse ./lake --token-file tokens
    """
    settings_module, served_module, tokens_module, run_module = server_modules()
    token = os.environ.get(TOKEN_VARIABLE)
    tokens = None
    if token or token_file is not None:
        tokens = tokens_module.Tokens([token] if token else [], file=token_file)
    settings = settings_module.ServerSettings(
        host=host,
        port=port,
        tokens=tokens,
        tls_certificate=tls_cert,
        tls_key=tls_key,
        insecure_http=insecure_http,
        allowed_hosts=tuple(allowed_host or ()),
        max_body_bytes=max_body_mb * 1024 * 1024,
    )
    settings.check()
    names = [target.catalog] if target.catalog else served_names(target)
    served = [
        served_module.ServedCatalog.of(
            target.config.open(name),
            warehouse=target.config.warehouse(name),
            roots=root or (),
            read_only=read_only,
        )
        for name in names
    ]

    def announce(url: str) -> None:
        shown = ", ".join(names)
        sys.stderr.write(f"serving {shown} at {url} (stop with Ctrl+C)\n")
        sys.stderr.flush()

    run_module.run_server(served, settings, log_level=log_level, started=announce)


def served_names(target: Target) -> list[str]:
    """The default catalog first, then the others that are configured."""
    first = target.config.default_name()
    return [first, *(name for name in target.config.catalogs if name != first)]


def server_modules() -> tuple[Any, Any, Any, Any]:
    """The server's settings, served catalogs, tokens and runner. Raises UnsupportedFeature where it is not installed."""
    try:
        return (
            importlib.import_module("floeberg.server.settings"),
            importlib.import_module("floeberg.server.served_catalog"),
            importlib.import_module("floeberg.server.tokens"),
            importlib.import_module("floeberg.server.http.run"),
        )
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("starlette", "uvicorn", "jinja2"):
            raise
        raise UnsupportedFeature(
            "the server needs Starlette, uvicorn and Jinja: pip install 'floeberg[server]'"
        ) from error
