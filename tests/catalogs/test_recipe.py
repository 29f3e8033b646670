"""A catalog is opened again elsewhere from settings that hold no credential."""

from __future__ import annotations

import json

import pytest

import floeberg as fb
from floeberg.catalogs.recipe import CatalogRecipe, recipe_of
from floeberg.errors import UnsupportedFeature


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


def test_a_catalog_of_one_process_has_no_recipe():
    with fb.catalog("lake", type="memory") as lake, pytest.raises(UnsupportedFeature, match="cannot open"):
        recipe_of(lake._backend, what="a test")


def test_credentials_do_not_travel(tmp_path):
    given = {"s3.access-key-id": "a", "s3.secret-access-key": "hidden"}
    with fb.catalog("lake", warehouse=str(tmp_path), properties=given) as lake:
        with pytest.raises(UnsupportedFeature, match=r"s3\.secret-access-key does not travel") as caught:
            recipe_of(lake._backend, what="a test")
        assert "hidden" not in str(caught.value)
