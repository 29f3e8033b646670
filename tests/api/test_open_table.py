"""Tables without a catalog: by metadata file or folder, moved or not, read and not written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import floeberg as fb
from floeberg.commit.workspace import Workspace
from floeberg.errors import FileNotFound, InvalidInput, MetadataCorrupt, TableNotFound, UnsupportedFeature
from golden_collection.golden_files import SHARED, shared_files
from lakes.table_data import append_rows


@pytest.fixture(params=["filesystem", "sql"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> fb.Table:
    more = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db"} if request.param == "sql" else {}
    with fb.catalog("lake", warehouse=str(tmp_path / "w"), **more) as cat:
        cat.create_namespace("db")
        made = cat.create_table("db.t", "id int")
        append_rows(made, [{"id": 1}])
        append_rows(made, [{"id": 2}])
        return made


def rows(table: fb.Table) -> list[int]:
    return sorted(row["id"] for row in table.scan().to_arrow().to_pylist())


def test_places_may_be_paths_of_pathlib(table: fb.Table, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(table.location, moved)
    assert rows(fb.open_table(Path(table.location))) == [1, 2]
    assert rows(fb.open_table(moved, relocate={Path(table.location): moved})) == [1, 2]  # type: ignore[dict-item]
    with fb.catalog("paths", warehouse=tmp_path / "other") as lake:
        lake.create_namespace("db")
        made = lake.create_table("db.t", "id int")
    assert made.location == str(tmp_path / "other" / "db" / "t")


def test_what_is_no_place_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"a place is text or a pathlib.Path, not 5"):
        fb.open_table(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"a place is text or a pathlib.Path, not b'/x'"):
        fb.catalog("lake", warehouse=b"/x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"uri is text such as 'sqlite:///lake.db', not PosixPath"):
        fb.catalog("lake", type="sql", uri=Path("/x/lake.db"), warehouse="/x")  # type: ignore[arg-type]


def test_a_metadata_file_or_its_folder_is_a_table(
    table: fb.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(table.metadata_location)
    for where in (file, table.location, f"{table.location}/", f"file://{table.location}", f"file:{file}"):
        opened = fb.open_table(where)
        assert rows(opened) == [1, 2]
        assert opened.metadata == table.metadata
    monkeypatch.chdir(tmp_path)
    assert rows(fb.open_table("w/db/t")) == [1, 2]
    assert fb.open_table(table.location).identifier is None


def test_an_older_metadata_file_is_the_table_as_it_was(table: fb.Table) -> None:
    assert rows(fb.open_table(table.metadata.metadata_log[-1].metadata_file)) == [1]


def test_a_table_that_was_moved_is_read_where_it_is(table: fb.Table, tmp_path: Path) -> None:
    moved = tmp_path / "moved here"
    shutil.move(table.location, moved)
    name = str(table.metadata_location).rpartition("/")[2]
    with pytest.raises(FileNotFound):
        rows(fb.open_table(str(moved / "metadata" / name)))
    for where in (moved, moved / "metadata" / name):
        opened = fb.open_table(str(where), relocate={table.location: str(moved)})
        assert rows(opened) == [1, 2]
    assert rows(
        fb.open_table(
            str(moved),
            relocate={
                "file:" + table.location.rpartition("/")[0]: str(tmp_path),
                f"file://{table.location}": str(moved),
            },
        )
    ) == [1, 2]


def test_a_table_without_a_catalog_is_not_written(table: fb.Table) -> None:
    opened = fb.open_table(table.location)
    before = sorted(Path(table.location).rglob("*"))
    with pytest.raises(UnsupportedFeature, match="without a catalog"), opened.update_properties() as update:
        update.set({"a": "b"})
    with pytest.raises(UnsupportedFeature, match="without a catalog"), opened.manage_refs() as refs:
        refs.create_tag("x")
    store = opened._pointer.store_for(table.location)
    for call in (store.write, store.create, store.replace):
        with pytest.raises(UnsupportedFeature):
            call(f"{table.location}/x", b"")
    for remove in (store.delete, store.delete_folder):
        with pytest.raises(UnsupportedFeature):
            remove(table.location)
    assert sorted(Path(table.location).rglob("*")) == before


def test_a_folder_of_a_table_follows_its_newest_version(table: fb.Table) -> None:
    opened = fb.open_table(table.location)
    append_rows(table, [{"id": 3}])
    assert rows(opened) == [1, 2]
    assert rows(opened.refresh()) == [1, 2, 3]


def test_what_is_no_table_is_said_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match="holds no metadata file"):
        fb.open_table(str(tmp_path))
    with pytest.raises(FileNotFound):
        fb.open_table(str(tmp_path / "v1.metadata.json"))
    (tmp_path / "v1.metadata.json").write_text("{}")
    with pytest.raises(MetadataCorrupt):
        fb.open_table(str(tmp_path / "v1.metadata.json"))


def test_two_files_of_one_version_are_not_chosen_between(tmp_path: Path) -> None:
    with fb.catalog("lake", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "w")) as cat:
        cat.create_namespace("db")
        table = cat.create_table("db.t", "id int")
    file = Path(str(table.metadata_location))
    shutil.copy(file, file.with_name("00000-11111111-2222-3333-4444-555555555555.metadata.json"))
    with pytest.raises(InvalidInput, match="name one of them"):
        fb.open_table(table.location)
    assert fb.open_table(str(file)).metadata == table.metadata


@pytest.mark.golden_shared
def test_every_golden_table_opens_and_its_manifests_are_there() -> None:
    shared_files("golden.json")
    tables = json.loads((SHARED / "golden.json").read_text())["tables"]
    assert len(tables) == 114
    failures = []
    for described in tables:
        relocate = {old: str(SHARED / new) for old, new in described["relocate"].items()}
        file = str(SHARED / described["path"] / described["metadata"])
        try:
            opened = fb.open_table(file, relocate=relocate, lenient=True)
            manifests = _manifests(opened, history=described["checked"].get("history_complete", False))
            assert manifests > 0 or opened.current_snapshot is None
        except Exception as error:
            failures.append(f"{described['id']}: {type(error).__name__}: {error}")
    assert failures == []


def _manifests(table: fb.Table, *, history: bool) -> int:
    """How many manifests were found, of the current snapshot or of all."""
    workspace = Workspace(table._pointer)
    snapshots = list(table.snapshots) if history else [one for one in [table.current_snapshot] if one is not None]
    count = 0
    for snapshot in snapshots:
        for manifest in workspace.manifests(snapshot, table.metadata):
            workspace.entries(manifest, table.metadata)
            count += 1
    return count


@pytest.mark.golden_shared
def test_ids_above_a_long_are_read_only_when_asked_for() -> None:
    shared_files("golden.json")
    tables = json.loads((SHARED / "golden.json").read_text())["tables"]
    refused = []
    for described in tables:
        file = str(SHARED / described["path"] / described["metadata"])
        try:
            fb.open_table(file)
        except MetadataCorrupt as error:
            refused.append(str(error))
            fb.open_table(file, lenient=True)
    assert 1 <= len(refused) <= 4
    assert all("lenient" in message for message in refused)
