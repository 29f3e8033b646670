"""Streams of tables in a REST catalog: what runs in another process finds the credential by its name."""

from __future__ import annotations

import pytest

import floeberg as fb
from floeberg.errors import UnsupportedFeature
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from servers.floeberg_server import server_in_thread

TOKEN = "sentinel-token-0123456789"


@pytest.mark.connect
def test_streams_of_a_rest_catalog_find_their_token_by_the_name_of_a_file(session, table, stream, is_connect, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    served = ServedCatalog.of(session.lake, warehouse=session.lake.load_table("db.t").location.rpartition("/db/")[0])
    with (
        server_in_thread([served], ServerSettings(tokens=Tokens([TOKEN]))) as url,
        fb.catalog("literal", type="rest", uri=url, properties={"token": TOKEN}) as literal,
        fb.catalog("rest", type="rest", uri=url, properties={"token": f"secret:file:{tmp_path}/token"}) as named,
    ):
        named.create_table("db.a", "id bigint")
        fb.attach(session, literal, named)
        session.sql("INSERT INTO rest.db.a VALUES (1), (2)")
        with pytest.raises(UnsupportedFeature, match="credential token does not travel"):
            session.readStream.table("literal.db.a")
        if is_connect:
            with pytest.raises(UnsupportedFeature, match="credential token does not travel"):
                stream.writer(session.readStream.table("rest.db.a")).toTable("literal.db.b")
        stream.writer(session.readStream.table("rest.db.a")).toTable("rest.db.b").awaitTermination()
        assert sorted(row[0] for row in session.table("rest.db.b").collect()) == [1, 2]
        for name in ("db.a", "db.b"):
            named.drop_table(name)
