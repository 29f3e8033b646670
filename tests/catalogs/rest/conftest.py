from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import floeberg as fb
from catalogs.rest.scripted import ScriptedServer
from floeberg.api.catalog import Catalog
from floeberg.api.table import Table


@pytest.fixture
def server(tmp_path: Path) -> ScriptedServer:
    """A server with the tables db.t and db.u, of two snapshots each."""
    made = ScriptedServer(namespaces={("db",): {}})
    local = fb.catalog("made", warehouse=str(tmp_path / "lake"), properties={"local.fsync": "false"})
    local.create_namespace("db")
    for name in ("t", "u"):
        table = local.create_table(
            f"db.{name}", "id bigint, s string", properties={"commit.status-check.num-retries": "1"}
        )
        for number in (1, 2):
            table.append(rows(number))
        made.put(("db", name), table.metadata)
    return made


@pytest.fixture
def open_table(server: ScriptedServer) -> Callable[..., Table]:
    def opened(name: str = "db.t", **options: str) -> Table:
        return Catalog(server.open(**options)).load_table(name)

    return opened


def rows(*ids: int):
    import pyarrow as pa

    return pa.table({"id": pa.array(ids, pa.int64()), "s": [str(one) for one in ids]})
