"""Maintenance of tables whose server keeps their metadata."""

from __future__ import annotations

import pytest

from catalogs.rest.scripted import ScriptedServer
from floeberg.api.catalog import Catalog
from floeberg.errors import InvalidInput


def test_orphans_are_not_removed_where_the_server_names_no_metadata_file(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nessie answers with an address of its own and keeps files beside the table's, which would be taken for orphans."""
    table = Catalog(server.open()).load_table("db.t")
    assert table.maintenance.remove_orphans(dry_run=True).locations == ()
    monkeypatch.setattr(server, "location_of", lambda name: "http://server/catalog/v1/trees/main/snapshot/db.t")
    with pytest.raises(InvalidInput, match="cannot be told from orphans"):
        table.refresh().maintenance.remove_orphans(dry_run=True)
