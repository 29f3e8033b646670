from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from floeberg.effects.system import system_effects
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.storage.local import LocalStore
from floeberg.storage.memory import MemoryStore
from floeberg.storage.registry import FixedStores, StoreRegistry
from floeberg.storage.retrying import RetryingStore

S3 = {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "a", "s3.secret-access-key": "b"}


def test_the_scheme_decides_and_one_bucket_has_one_client():
    registry = StoreRegistry(system_effects(), S3)
    assert isinstance(registry.for_location("/x"), LocalStore)
    assert registry.for_location("/x") is registry.for_location("file:///y")
    assert isinstance(registry.for_location("memory://a/x"), MemoryStore)
    assert isinstance(registry.for_location("s3://b/x"), RetryingStore)
    assert registry.for_location("s3://b/x") is registry.for_location("s3a://b/y")
    assert registry.for_location("s3://b/x") is not registry.for_location("s3://c/x")


def test_every_cloud_has_a_client_without_asking_the_network():
    registry = StoreRegistry(
        system_effects(), {"gcs.no-auth": "true", "adls.account-key": "a2V5", "adls.request-timeout": "5"}
    )
    for location in ("gs://b/x", "abfss://c@account.dfs.core.windows.net/x"):
        assert registry.for_location(location).capabilities.create_if_absent


def test_catalogs_share_nothing():
    first, second = StoreRegistry(system_effects(), S3), StoreRegistry(system_effects(), S3)
    for location in ("/x", "memory://a/x", "s3://b/x"):
        assert first.for_location(location) is not second.for_location(location)
    first.for_location("memory://a/x").write("memory://a/x", b"1")
    assert not second.for_location("memory://a/x").exists("memory://a/x")


def test_a_scheme_that_is_not_allowed_is_refused():
    registry = StoreRegistry(system_effects(), allowed_schemes=["s3"])
    with pytest.raises(InvalidInput, match="file is not allowed"):
        registry.for_location("/etc/passwd")
    with pytest.raises(InvalidInput, match="unknown schemes"):
        StoreRegistry(system_effects(), allowed_schemes=["ftp"])
    with pytest.raises(InvalidInput, match="http"):
        StoreRegistry(system_effects()).for_location("http://169.254.169.254/latest")


def test_an_option_that_is_not_known_is_refused_and_options_of_others_are_left_alone():
    with pytest.raises(UnsupportedFeature, match=r"s3\.sse\.type"):
        StoreRegistry(system_effects(), {"s3.sse.type": "kms"})
    StoreRegistry(system_effects(), {"uri": "sqlite://", "client.region": "eu-central-1", "cache-enabled": "true"})


def test_an_option_of_the_wrong_form_is_named_without_its_value():
    registry = StoreRegistry(system_effects(), {"adls.account-key": "not base64!", "adls.account-name": "acc"})
    with pytest.raises(InvalidInput) as caught:
        registry.for_location("abfs://c@acc/x")
    assert "not base64!" not in str(caught.value)


def test_a_given_store_serves_its_scheme():
    store = MemoryStore(system_effects().clock)
    assert StoreRegistry(system_effects(), stores={"file": store}).for_location("file:/x") is store
    assert FixedStores(store).for_location("s3://b/x") is store


def test_fsync_can_be_switched_off_by_the_operator():
    store = StoreRegistry(system_effects(), {"local.fsync": "false"}).for_location("/x")
    assert store._fsync is False


def test_a_missing_client_library_names_its_extra(monkeypatch):
    def missing(name):
        raise ImportError("No module named 'obstore'", name="obstore")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UnsupportedFeature, match=r"obstore.*pip install 'floeberg\[s3\]'"):
        StoreRegistry(system_effects()).for_location("s3://b/x")


def test_hdfs_without_a_hadoop_client_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("HADOOP_HOME", "/nonexistent")
    with pytest.raises(UnsupportedFeature, match="Hadoop client"):
        StoreRegistry(system_effects()).for_location("hdfs://127.0.0.1:1/x")


def test_local_tables_load_neither_obstore_nor_pyarrow():
    code = (
        "import sys; from floeberg.effects.system import system_effects as e; "
        "from floeberg.storage.registry import StoreRegistry as R; R(e()).for_location('/x'); "
        "sys.exit('obstore' in sys.modules or 'pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
