"""Where the command finds its catalogs: files, variables, options, later ones winning."""

from __future__ import annotations

from pathlib import Path

import pytest

from floeberg.cli.config import Config, load_config
from floeberg.cli.target import Target, is_path, pairs
from floeberg.errors import InvalidInput
from floeberg.storage.secret import Secret

LAKE = """
default = "lake"
[catalog.lake]
warehouse = "/w/lake"
default-namespace = "db"
s3.endpoint = "http://localhost:9000"
[catalog.lake.s3]
secret-access-key = "hunter2"
path-style-access = true
[catalog.other]
type = "memory"
"""


def load(folder: Path, environment: dict[str, str] | None = None, file: str | None = None, **options: str) -> Config:
    (folder / "home").mkdir(exist_ok=True)
    return load_config(environment or {}, folder=folder, home=folder / "home", file=file, options=options)


def test_a_file_names_catalogs_and_their_options(tmp_path: Path) -> None:
    text = LAKE.replace('s3.endpoint = "http://localhost:9000"\n', "")
    (tmp_path / "floeberg.toml").write_text(text)
    config = load(tmp_path)
    assert config.default_name() == "lake"
    assert config.catalogs["lake"] == {
        "warehouse": "/w/lake",
        "default-namespace": "db",
        "s3.secret-access-key": Secret("hunter2"),
        "s3.path-style-access": "true",
    }
    assert "hunter2" not in repr(config)


def test_dotted_keys_are_options(tmp_path: Path) -> None:
    (tmp_path / "floeberg.toml").write_text('[catalog.lake]\ns3.endpoint = "http://localhost:9000"\ns3.region = "x"\n')
    assert load(tmp_path).catalogs["lake"] == {"s3.endpoint": "http://localhost:9000", "s3.region": "x"}


def test_the_folders_file_goes_before_the_homes_and_both_hold(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".floeberg.toml").write_text('[catalog.a]\nwarehouse = "/a"\ntype = "memory"\n[catalog.b]\n')
    (tmp_path / "floeberg.toml").write_text('default = "a"\n[catalog.a]\nwarehouse = "/here"\n')
    config = load(tmp_path)
    assert config.catalogs == {"a": {"warehouse": "/here", "type": "memory"}, "b": {}}
    assert config.default_name() == "a"


def test_a_named_file_is_the_only_one(tmp_path: Path) -> None:
    (tmp_path / "floeberg.toml").write_text("[catalog.a]\n")
    (tmp_path / "mine.toml").write_text("[catalog.b]\n")
    assert list(load(tmp_path, file=str(tmp_path / "mine.toml")).catalogs) == ["b"]
    assert list(load(tmp_path, {"FLOEBERG_CONFIG": str(tmp_path / "mine.toml")}).catalogs) == ["b"]
    with pytest.raises(InvalidInput, match=r"nope\.toml is not there"):
        load(tmp_path, file="nope.toml")


def test_variables_win_over_files(tmp_path: Path) -> None:
    (tmp_path / "floeberg.toml").write_text('[catalog.Lake]\nwarehouse = "/old"\n')
    config = load(
        tmp_path,
        {
            "FLOEBERG_CATALOG__LAKE__WAREHOUSE": "/new",
            "FLOEBERG_CATALOG__LAKE__S3__ACCESS_KEY_ID": "me",
            "FLOEBERG_CATALOG__OTHER__TYPE": "memory",
            "FLOEBERG_DEFAULT_CATALOG": "other",
        },
    )
    assert config.catalogs["Lake"] == {"warehouse": "/new", "s3.access-key-id": "me"}
    assert config.default_name() == "other"
    with pytest.raises(InvalidInput, match="names no option"):
        load(tmp_path, {"FLOEBERG_CATALOG__LAKE": "/new"})


def test_options_win_over_all(tmp_path: Path) -> None:
    (tmp_path / "floeberg.toml").write_text('default = "a"\n[catalog.a]\nwarehouse = "/a"\ns3.region = "x"\n')
    assert load(tmp_path, catalog="a", warehouse="/b").catalogs["a"] == {"warehouse": "/b", "s3.region": "x"}
    assert load(tmp_path, **{"s3.region": "y"}).catalogs["a"] == {"warehouse": "/a", "s3.region": "y"}
    # Another warehouse without a name is another catalog, whatever the configured one has.
    alone = load(tmp_path, warehouse="/c")
    assert alone.catalogs[alone.default_name()] == {"warehouse": "/c"}


def test_what_is_wrong_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="give --warehouse PATH"):
        load(tmp_path).default_name()
    (tmp_path / "floeberg.toml").write_text("[catalog.a]\n[catalog.b]\n")
    with pytest.raises(InvalidInput, match=r"which catalog\? Name one with --catalog \(a, b\)"):
        load(tmp_path).default_name()
    with pytest.raises(InvalidInput, match=r"no catalog 'c' is configured \(there are: a, b\)"):
        load(tmp_path).open("c")
    for text, message in (("=", "cannot be read"), ("catalog = 1", "catalogs are tables"), ("[catalog]\na = 1", r"\[catalog.a\]"),
                          ("[catalog.a]\nx = [1]", "neither text nor number")):  # fmt: skip
        (tmp_path / "floeberg.toml").write_text(text)
        with pytest.raises(InvalidInput, match=message):
            load(tmp_path)


def test_a_name_may_begin_with_its_catalog(tmp_path: Path) -> None:
    (tmp_path / "floeberg.toml").write_text(
        'default = "a"\n[catalog.a]\ntype = "memory"\ndefault-namespace = "n"\n[catalog.b]\n'
    )
    target = Target(config=load(tmp_path))
    assert [(name, str(identifier)) for name, identifier in map(target._named, ("b.db.t", "db.t", "a.db.t", "t"))] == [
        ("b", "db.t"), ("a", "db.t"), ("a", "db.t"), ("a", "n.t"),
    ]  # fmt: skip


def test_paths_are_told_from_names() -> None:
    assert [is_path(text) for text in ("db.t", "./t", "v1.metadata.json", "s3://b/t", ".")] == [
        False,
        True,
        True,
        True,
        True,
    ]


def test_pairs_need_a_sign_between_them() -> None:
    assert pairs(["a=b", "c=d=e"], "--relocate") == {"a": "b", "c": "d=e"}
    for text in ("a", "=b", "a="):
        with pytest.raises(InvalidInput, match="--relocate takes two things"):
            pairs([text], "--relocate")
