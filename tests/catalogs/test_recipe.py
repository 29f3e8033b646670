"""A catalog is opened again elsewhere from settings that hold no credential."""

from __future__ import annotations

import json

import pytest

import floeberg as fb
from floeberg.catalogs.recipe import CatalogRecipe, recipe_of
from floeberg.catalogs.rest.settings import merged, rest_settings
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from servers.floeberg_server import server_in_thread

TOKEN = "sentinel-token-0123456789"


@pytest.mark.parametrize("kind", ["filesystem", "sql"])
def test_a_catalog_is_opened_again_from_its_recipe(kind, tmp_path):
    uri = f"sqlite:///{tmp_path}/lake.db" if kind == "sql" else None
    with fb.catalog("lake", type=kind, warehouse=str(tmp_path / "w"), uri=uri) as lake:
        lake.create_namespace("db")
        lake.create_table("db.t", "id bigint")
        text = json.dumps(recipe_of(lake._backend, what="a test").to_json())
    again = CatalogRecipe.from_json(json.loads(text)).open()
    assert [str(one) for one in again.list_tables(("db",))] == ["db.t"]
    again.close()


@pytest.mark.parametrize(
    "settings",
    [{"type": "memory"}, {"type": "sql", "uri": "sqlite:///:memory:", "warehouse": "w"}, {"warehouse": "memory://w"}],
)
def test_a_catalog_of_one_process_has_no_recipe(settings):
    with fb.catalog("lake", **settings) as lake, pytest.raises(UnsupportedFeature, match="cannot open"):
        recipe_of(lake._backend, what="a test")


def test_credentials_do_not_travel(tmp_path):
    given = {"s3.access-key-id": "a", "s3.secret-access-key": "hidden"}
    with fb.catalog("lake", warehouse=str(tmp_path), properties=given) as lake:
        with pytest.raises(UnsupportedFeature, match=r"s3\.secret-access-key does not travel") as caught:
            recipe_of(lake._backend, what="a test")
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("kind", ["env", "file"])
def test_a_credential_travels_by_the_name_of_its_variable_or_file(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("LAKE_KEY", "hidden")
    (tmp_path / "key").write_text("hidden\n")
    secret = fb.Secret.from_env("LAKE_KEY") if kind == "env" else fb.Secret.from_file(str(tmp_path / "key"))
    named = "secret:env:LAKE_KEY" if kind == "env" else f"secret:file:{tmp_path}/key"
    for given in (secret, named):
        with fb.catalog("lake", warehouse=str(tmp_path), properties={"s3.secret-access-key": given}) as lake:
            text = json.dumps(recipe_of(lake._backend, what="a test").to_json())
        assert named in text
        assert "hidden" not in text
        again = CatalogRecipe.from_json(json.loads(text)).open()
        assert again.stores.options["s3.secret-access-key"].reveal() == "hidden"
    monkeypatch.delenv("LAKE_KEY")
    (tmp_path / "key").unlink()
    with pytest.raises(InvalidInput, match="which holds a credential"):
        CatalogRecipe.from_json(json.loads(text)).open()


def test_the_password_of_a_database_travels_by_name_only(monkeypatch, tmp_path):
    monkeypatch.setenv("LAKE_URI", f"sqlite:///{tmp_path}/lake.db")
    with fb.catalog("lake", type="sql", uri="secret:env:LAKE_URI", warehouse=str(tmp_path)) as lake:
        recipe = recipe_of(lake._backend, what="a test")
    assert recipe.uri == "secret:env:LAKE_URI"
    recipe.open().close()


def test_a_server_cannot_ask_for_a_variable_of_its_client(monkeypatch):
    """What a REST server sends as an option of stores is taken as it is."""
    monkeypatch.setenv("LAKE_KEY", "hidden")
    settings = rest_settings("lake", uri="http://host", warehouse=None, options={})
    told = merged(settings, defaults={}, overrides={"s3.session-token": "secret:env:LAKE_KEY"})
    assert told.stores["s3.session-token"].reveal() == "secret:env:LAKE_KEY"


def test_a_rest_catalog_is_opened_again_with_what_its_user_gave(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKE_TOKEN", TOKEN)
    lake = fb.catalog("lake", warehouse=str(tmp_path))
    lake.create_namespace("db")
    lake.create_table("db.t", "id bigint")
    settings = ServerSettings(tokens=Tokens([TOKEN]))
    with server_in_thread([ServedCatalog.of(lake, warehouse=str(tmp_path))], settings) as url:
        literal = fb.catalog("lake", type="rest", uri=url, properties={"token": TOKEN})
        with literal, pytest.raises(UnsupportedFeature, match="credential token does not travel"):
            recipe_of(literal._backend, what="a test")
        with fb.catalog("lake", type="rest", uri=url, properties={"token": "secret:env:LAKE_TOKEN"}) as lake:
            text = json.dumps(recipe_of(lake._backend, what="a test").to_json())
        assert TOKEN not in text
        again = CatalogRecipe.from_json(json.loads(text)).open()
        assert [str(one) for one in again.list_tables(("db",))] == ["db.t"]
        again.close()
