"""Tables whose data comes first, and tables that are replaced: one commit, history kept, nothing left of a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import floeberg as fb
from floeberg.arrow.columns.types import arrow_schema
from floeberg.errors import (
    CommitUnknown,
    InvalidInput,
    NamespaceNotFound,
    PathEscape,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
    Unavailable,
    ValidationConflict,
    ViewAlreadyExists,
)
from lakes.table_data import append_rows


@pytest.fixture(params=["filesystem", "sql"])
def cat(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[fb.Catalog]:
    more = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db"} if request.param == "sql" else {}
    with fb.catalog("lake", warehouse=str(tmp_path / "w"), **more) as catalog:
        catalog.create_namespace("db")
        yield catalog


def files(tmp_path: Path) -> list[str]:
    return sorted(
        str(path.relative_to(tmp_path / "w"))
        for path in (tmp_path / "w").rglob("*")
        if path.is_file() and path.name != ".namespace"
    )


def rows(table: fb.Table) -> list[dict[str, object]]:
    return table.scan().to_arrow().to_pylist()


def stage(staged: fb.StagedTable, *given: dict[str, object]) -> None:
    staged.append(pa.Table.from_pylist(list(given), schema=arrow_schema(staged.schema)))


def test_a_table_and_its_first_rows_are_published_by_one_commit(cat: fb.Catalog) -> None:
    with cat.stage_table("db.t", "id int, p string", partition_by=["p"], properties={"a": "b"}) as staged:
        stage(staged, {"id": 1, "p": "x"}, {"id": 2, "p": "y"})
        assert cat.list_tables("db") == []
        assert cat.list_namespaces("db") == []
        table = staged.commit()
    assert rows(table) == rows(cat.load_table("db.t"))
    assert len(rows(table)) == 2
    assert table.metadata.metadata_log == cat.load_table("db.t").metadata.metadata_log
    assert len(table.metadata.metadata_log) == 0
    append_rows(table, [{"id": 3, "p": "z"}])
    assert len(rows(table)) == 3


def test_a_staged_table_without_rows_is_published_empty(cat: fb.Catalog) -> None:
    table = cat.stage_table("db.t", "id int").commit()
    assert cat.load_table("db.t").metadata == table.metadata
    with table.update_properties() as update:
        update.set({"a": "b"})


def test_a_staged_table_that_fails_leaves_nothing(cat: fb.Catalog, tmp_path: Path) -> None:
    def fail() -> None:
        with cat.stage_table("db.t", "id int, p int", partition_by=["p"]) as staged:
            stage(staged, {"id": 1, "p": 2})
            assert files(tmp_path) != []
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert files(tmp_path) == []
    assert cat.list_tables("db") == cat.list_namespaces("db") == []
    with cat.stage_table("db.t", "id int") as unused:
        stage(unused, {"id": 1})
    assert files(tmp_path) == []
    with pytest.raises(InvalidInput, match="committed or abandoned"):
        unused.commit()


def test_a_name_that_was_taken_meanwhile_is_not_overwritten(cat: fb.Catalog, tmp_path: Path) -> None:
    staged = cat.stage_table("db.t", "id int")
    stage(staged, {"id": 1})
    cat.create_table("db.t", "other string")
    with pytest.raises(TableAlreadyExists, match=r"lake\.db\.t"):
        staged.commit()
    assert [field.name for field in cat.load_table("db.t").schema.fields] == ["other"]
    assert [name for name in files(tmp_path) if not name.endswith((".metadata.json", "version-hint.text"))] == []


def test_a_namespace_that_is_gone_at_the_commit_stops_it(cat: fb.Catalog, tmp_path: Path) -> None:
    cat.create_namespace("gone")
    staged = cat.stage_table("gone.t", "id int")
    stage(staged, {"id": 1})
    cat.drop_namespace("gone")
    with pytest.raises(NamespaceNotFound):
        staged.commit()
    assert files(tmp_path) == []


def test_what_is_known_already_is_refused_before_data_is_written(cat: fb.Catalog) -> None:
    cat.create_table("db.t", "id int")
    with pytest.raises(TableAlreadyExists):
        cat.stage_table("db.t", "id int")
    with pytest.raises(NamespaceNotFound):
        cat.stage_table("nope.t", "id int")
    with pytest.raises(TableNotFound):
        cat.stage_table("db.nope", "id int", mode="replace")
    with pytest.raises(InvalidInput, match="mode"):
        cat.stage_table("db.t", "id int", mode="upsert")  # type: ignore[arg-type]
    if cat._backend.capabilities.views:
        cat.create_view("db.v", "SELECT 1 AS a", "a int")
        with pytest.raises(ViewAlreadyExists):
            cat.stage_table("db.v", "id int")


def test_only_files_of_the_table_are_tracked(cat: fb.Catalog, tmp_path: Path) -> None:
    precious = tmp_path / "precious.parquet"
    precious.write_text("x")
    with cat.stage_table("db.t", "id int") as staged, pytest.raises(PathEscape):
        staged._track([str(precious)])
    assert precious.exists()


@pytest.mark.parametrize("failure", ["unknown", "interrupt", "storage"])
def test_nothing_is_deleted_unless_the_rejection_is_proved(
    cat: fb.Catalog, tmp_path: Path, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error: type[BaseException] = {"unknown": CommitUnknown, "interrupt": KeyboardInterrupt, "storage": Unavailable}[
        failure
    ]
    staged = cat.stage_table("db.t", "id int", properties={"commit.status-check.num-retries": "0"})

    def create_and_fail(*args: object, **more: object) -> object:
        raise error("no answer")

    monkeypatch.setattr(cat._backend, "create_table", create_and_fail)
    stage(staged, {"id": 1})
    with pytest.raises((error, StorageError)), staged:
        staged.commit()
    assert [name for name in files(tmp_path) if name.endswith(".parquet")] != []


def test_a_replaced_table_keeps_its_history_its_uuid_and_its_properties(cat: fb.Catalog) -> None:
    old = cat.create_table(
        "db.t",
        "id int NOT NULL, s string, gone double",
        partition_by=["s"],
        sort_by=["id"],
        properties={"a": "1", "b": "1"},
    )
    append_rows(old, [{"id": 1, "s": "x", "gone": 1.0}])
    with old.manage_refs() as refs:
        refs.create_tag("before")
    before = old.current_snapshot
    assert before is not None
    new = cat.replace_table(
        "db.t", "s string, id bigint, new date", partition_by=["bucket(4, id)"], properties={"b": "2", "c": "3"}
    )
    assert rows(new) == []
    assert new.metadata.table_uuid == old.metadata.table_uuid
    assert new.current_snapshot is None
    assert dict(new.properties) == {"a": "1", "b": "2", "c": "3"}
    assert [(field.name, field.field_id) for field in new.schema.fields] == [("s", 2), ("id", 1), ("new", 4)]
    assert new.spec.spec_id == 1
    assert [field.field_id for field in new.spec.fields] == [1001]
    assert not new.sort_order.is_sorted
    assert new.scan(ref="before").to_arrow().to_pylist() == [{"id": 1, "s": "x", "gone": 1.0}]
    assert new.scan(snapshot_id=before.snapshot_id).to_arrow().num_rows == 1
    append_rows(new, [{"s": "y", "id": 2, "new": None}])
    assert rows(cat.load_table("db.t")) == [{"s": "y", "id": 2, "new": None}]
    assert new.current_snapshot is not None
    assert new.current_snapshot.parent_snapshot_id is None
    assert len(new.snapshots) == 2


def test_a_column_whose_type_cannot_become_the_new_one_gets_a_new_id(cat: fb.Catalog) -> None:
    cat.create_table("db.t", "a string, n struct<x: int, y: string>, l array<int>, m int")
    new = cat.replace_table("db.t", "a int, n struct<x: bigint, y: int>, l array<string>, m struct<z: int>")
    by_name = {new.schema.names[field_id]: field_id for field_id in new.schema.by_id}
    assert (by_name["n"], by_name["n.x"], by_name["l"]) == (2, 5, 3)
    assert all(by_name[name] > 7 for name in ("a", "n.y", "l.element", "m", "m.z"))


def test_a_replacement_may_upgrade_the_table_and_never_downgrade_it(cat: fb.Catalog) -> None:
    cat.create_table("db.t", "id int", format_version=2)
    assert cat.replace_table("db.t", "id int, v variant", format_version=3).format_version == 3
    assert cat.replace_table("db.t", "id int").format_version == 3
    with pytest.raises(InvalidInput, match="downgrade"):
        cat.replace_table("db.t", "id int", format_version=2)


def test_partition_fields_of_v1_stay_where_they_are(cat: fb.Catalog) -> None:
    cat.create_table("db.t", "a int, b int", partition_by=["a", "b"], format_version=1)
    new = cat.replace_table("db.t", "b int, c int", partition_by=["b", "c"])
    assert [(f.field_id, f.name, str(f.transform)) for f in new.spec.fields] == [
        (1000, "a_1000", "void"),
        (1001, "b", "identity"),
        (1002, "c", "identity"),
    ]
    append_rows(new, [{"b": 1, "c": 2}])
    assert rows(cat.load_table("db.t")) == [{"b": 1, "c": 2}]
    back = cat.replace_table("db.t", "b int, c int")
    assert [str(f.transform) for f in back.spec.fields] == ["void"] * 3
    first = cat.create_table("db.u", "a int", format_version=1)
    assert first.spec.fields == ()
    assert [f.field_id for f in cat.replace_table("db.u", "a int", partition_by=["a"]).spec.fields] == [1000]


def test_rows_and_replacement_are_one_commit(cat: fb.Catalog) -> None:
    table = cat.create_table("db.t", "id int")
    append_rows(table, [{"id": 1}])
    with cat.stage_table("db.t", "id bigint, s string", mode="create-or-replace") as staged:
        stage(staged, {"id": 2, "s": "x"})
        assert rows(cat.load_table("db.t")) == [{"id": 1}]
        new = staged.commit()
    assert rows(new) == rows(cat.load_table("db.t")) == [{"id": 2, "s": "x"}]
    assert len(new.metadata.metadata_log) == len(table.metadata.metadata_log) + 1
    assert len(new.snapshots) == 2


def test_a_replacement_keeps_what_others_committed_meanwhile_in_the_history(cat: fb.Catalog) -> None:
    table = cat.create_table("db.t", "id int")
    with cat.stage_table("db.t", "id int, s string", mode="replace") as staged:
        stage(staged, {"id": 2, "s": "x"})
        append_rows(table, [{"id": 1}])
        new = staged.commit()
    assert rows(new) == [{"id": 2, "s": "x"}]
    assert len(new.snapshots) == 2
    assert table.refresh().metadata == new.metadata


def test_a_replacement_whose_ids_were_taken_meanwhile_is_refused_and_leaves_nothing(
    cat: fb.Catalog, tmp_path: Path
) -> None:
    table = cat.create_table("db.t", "id int")
    staged = cat.stage_table("db.t", "id int, s string", mode="replace")
    stage(staged, {"id": 2, "s": "x"})
    with table.update_schema() as update:
        update.add_column("other", "double")
    with pytest.raises(ValidationConflict, match="run the whole statement again") as caught:
        staged.commit()
    assert caught.value.context["retry_can_help"]
    assert [name for name in files(tmp_path) if name.endswith((".parquet", ".avro"))] == []
    assert [field.name for field in table.refresh().schema.fields] == ["id", "other"]


def test_a_replacement_whose_spec_id_was_taken_meanwhile_is_refused(cat: fb.Catalog) -> None:
    table = cat.create_table("db.t", "id int, s string")
    staged = cat.stage_table("db.t", "id int, s string", mode="replace", partition_by=["s"])
    stage(staged, {"id": 2, "s": "x"})
    with table.update_spec() as update:
        update.add_field("id")
    with pytest.raises(ValidationConflict):
        staged.commit()


def test_create_or_replace_does_either(cat: fb.Catalog) -> None:
    made = cat.create_or_replace_table("db.t", "id int", properties={"a": "1"}, format_version=1)
    assert made.format_version == 1
    again = cat.create_or_replace_table("db.t", "s string", properties={"b": "2"})
    assert again.metadata.table_uuid == made.metadata.table_uuid
    assert dict(again.properties) == {"a": "1", "b": "2"}
    with pytest.raises(TableNotFound):
        cat.replace_table("db.nope", "id int")
