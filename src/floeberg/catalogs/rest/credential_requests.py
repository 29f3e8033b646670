"""Asking a server for fresh credentials of a table's files, from a process that holds no catalog."""

from __future__ import annotations

from floeberg.catalogs.rest.connection import connect
from floeberg.catalogs.rest.credential_source import CredentialSource, unpacked
from floeberg.catalogs.rest.errors import TABLES, refused, server_error
from floeberg.catalogs.rest.http import Request, json_object
from floeberg.catalogs.rest.settings import RestSettings
from floeberg.catalogs.rest.vended import (
    SNAPSHOTS_OF_REFS,
    Vended,
    renewed_vended_options,
    storage_credentials,
    vended_by,
)
from floeberg.effects.protocols import Effects
from floeberg.storage.prefixed import StoreOptions


def renewed_options(source: CredentialSource, effects: Effects) -> StoreOptions:
    """The options of a table's stores with fresh credentials. Raises what the server refuses by, and Unavailable."""
    settings = RestSettings(
        uri=source.uri,
        options=unpacked(source.options),
        headers=unpacked(source.headers),
        stores=unpacked(source.stores),
    )
    client = connect(source.catalog, settings, effects=effects)
    try:
        request = Request("GET", source.path, None if source.by_endpoint else SNAPSHOTS_OF_REFS)
        answer = client.read(request)
        if not answer.is_ok:
            error = server_error(answer, client.masked)
            raise refused(error, TABLES, what="give credentials for it", subject=source.subject)
        document = json_object(answer, source.subject)
    finally:
        client.close()
    told = Vended(unpacked(source.config), storage_credentials(document)) if source.by_endpoint else vended_by(document)
    return renewed_vended_options(settings.stores, told, source.subject)
