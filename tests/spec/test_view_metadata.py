"""View metadata: https://iceberg.apache.org/view-spec/"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from floeberg.errors import (
    CommitConflict,
    FormatError,
    InvalidInput,
    LimitExceeded,
    MetadataCorrupt,
    UnsupportedFeature,
)
from floeberg.spec.changes import updates as u
from floeberg.spec.changes.requirements import AssertTableUuid, AssertViewUuid
from floeberg.spec.changes.view_builder import apply_view_updates, create_view_updates
from floeberg.spec.json.limits import Limits
from floeberg.spec.metadata.view_metadata import ViewMetadata, parse_view_metadata, write_view_metadata
from floeberg.spec.metadata.view_versions import (
    ViewRepresentation,
    ViewVersion,
    representation_from_json,
    representation_to_json,
    view_log_entry_from_json,
    view_log_entry_to_json,
    view_version_from_json,
)
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.types import LONG, NestedField
from strategies.metadata import NOW_MS, SCHEMA, UUID

GOLDEN = Path(__file__).parent.parent / "golden/metadata"
SPARK = ViewRepresentation(sql="select 1", dialect="spark")
TRINO = ViewRepresentation(sql="select 1", dialect="trino")


@pytest.mark.parametrize(
    "name", ["ValidViewMetadata.json", "ValidViewMetadataV1.metadata.json", "ViewMetadataMultipleSQLsForDialect.json"]
)
def test_valid_views_survive_a_rewrite(name: str) -> None:
    data = (GOLDEN / "view" / name).read_bytes()
    metadata = parse_view_metadata(data)
    assert json.loads(write_view_metadata(metadata)) == json.loads(data)
    assert metadata.current_schema.find("x") is not None


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("ViewMetadataInvalidCurrentSchema.json", MetadataCorrupt, "schema-id 1234"),
        ("ViewMetadataInvalidCurrentVersion.json", MetadataCorrupt, "current-version-id 1234"),
        ("ViewMetadataMissingCurrentVersion.json", MetadataCorrupt, "current-version-id"),
        ("ViewMetadataMissingLocation.json", MetadataCorrupt, "location"),
        ("ViewMetadataMissingUuidV1.metadata.json", UnsupportedFeature, "format-version 2"),
        ("ViewMetadataMissingVersionV1.metadata.json", MetadataCorrupt, "format-version"),
        ("ViewMetadataUnsupportedVersionV1.metadata.json", UnsupportedFeature, "format-version 2"),
        ("ValidViewVersionMetadataV0.metadata.json", MetadataCorrupt, "view-uuid"),
        ("ViewVersionMetadataMissingVersionV0.metadata.json", MetadataCorrupt, "format-version"),
        ("ViewVersionMetadataMissingViewDefinitionV0.json", MetadataCorrupt, "view-uuid"),
        ("ViewVersionMetadataUnsupportedVersionV0.json", UnsupportedFeature, "format-version 3"),
    ],
)
def test_invalid_views_are_refused(name: str, error: type[FormatError], message: str) -> None:
    """Those of V0 come from before the specification, which knows no version 0."""
    with pytest.raises(error, match=message):
        parse_view_metadata((GOLDEN / "view" / name).read_bytes(), location=name)


REQUIRED = ["view-uuid", "format-version", "location", "schemas", "current-version-id", "versions", "version-log"]
REQUIRED_OF_A_VERSION = ["version-id", "schema-id", "timestamp-ms", "summary", "representations", "default-namespace"]


def _document() -> dict[str, object]:
    value: dict[str, object] = json.loads((GOLDEN / "view" / "ValidViewMetadata.json").read_bytes())
    return value


@pytest.mark.parametrize("field", REQUIRED)
def test_required_fields_of_a_view(field: str) -> None:
    value = _document()
    del value[field]
    with pytest.raises(MetadataCorrupt, match=field):
        parse_view_metadata(json.dumps(value).encode())


@pytest.mark.parametrize("field", REQUIRED_OF_A_VERSION)
def test_required_fields_of_a_version(field: str) -> None:
    value = _document()
    del value["versions"][0][field]  # type: ignore[index]
    with pytest.raises(MetadataCorrupt, match=field):
        parse_view_metadata(json.dumps(value).encode())


@pytest.mark.parametrize("field", ["type", "sql", "dialect"])
def test_required_fields_of_a_sql_representation(field: str) -> None:
    value = {"type": "sql", "sql": "select 1", "dialect": "spark"}
    del value[field]
    with pytest.raises(MetadataCorrupt, match=field):
        representation_from_json(value)


def test_unknown_fields_and_representations_survive() -> None:
    value = _document()
    value["future"] = 1
    value["versions"][0] |= {"future": 2}  # type: ignore[index]
    value["versions"][0]["representations"].append({"type": "plan", "bytes": [1, 2]})  # type: ignore[index]
    assert json.loads(write_view_metadata(parse_view_metadata(json.dumps(value).encode()))) == value


def test_ids_are_unique_and_counts_bounded() -> None:
    value = _document()
    with pytest.raises(MetadataCorrupt, match="same id"):
        parse_view_metadata(json.dumps({**value, "schemas": [*value["schemas"]] * 2}).encode())  # type: ignore[misc]
    with pytest.raises(LimitExceeded, match="view versions"):
        parse_view_metadata(json.dumps(value).encode(), limits=Limits(view_versions=1))


def _payloads(parser: str) -> list[tuple[str, object]]:
    files = json.loads((GOLDEN / "payloads/java_json_payloads.json").read_text())["files"]
    (entries,) = [found for name, found in files.items() if name.endswith(f"/view/{parser}.java")]
    return [(entry["method"], json.loads(entry["json"])) for entry in entries if "%s" not in entry["json"]]


READERS: list[tuple[str, Callable[[object], object]]] = [
    ("TestViewVersionParser", view_version_from_json),
    ("TestViewHistoryEntryParser", view_log_entry_from_json),
    ("TestSQLViewRepresentationParser", representation_from_json),
    ("TestViewRepresentationParser", representation_from_json),
]


@pytest.mark.parametrize(("parser", "read"), READERS)
def test_payloads_of_the_reference_are_read_or_refused(parser: str, read: Callable[[object], object]) -> None:
    for method, value in _payloads(parser):
        if isinstance(value, list):
            assert [representation_to_json(representation_from_json(one)) for one in value] == value
        elif "issing" in method or "invalid" in method:
            with pytest.raises(MetadataCorrupt):
                read(value)
        else:
            read(value)
    entry = {"timestamp-ms": 123, "version-id": 1}
    assert view_log_entry_to_json(view_log_entry_from_json(entry)) == entry


def version(*representations: ViewRepresentation, **fields: object) -> ViewVersion:
    made = ViewVersion(
        version_id=1,
        schema_id=0,
        timestamp_ms=NOW_MS,
        representations=representations or (SPARK,),
        default_namespace=("db",),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def new_view(**properties: str) -> ViewMetadata:
    updates = create_view_updates(
        view_uuid=UUID, location="s3://b/v", schema=SCHEMA, version=version(), properties=properties
    )
    return apply_view_updates(None, updates, now_ms=NOW_MS)


def replaced(base: ViewMetadata, new: ViewVersion, *, now_ms: int = NOW_MS) -> ViewMetadata:
    return apply_view_updates(base, [u.AddViewVersion(new), u.SetCurrentViewVersion()], now_ms=now_ms)


def test_a_view_is_made_and_replaced_by_updates() -> None:
    view = new_view(comment="x")
    assert (view.view_uuid, view.location, view.current_version_id) == (UUID, "s3://b/v", 1)
    assert view.current_schema.same_columns(SCHEMA)
    assert parse_view_metadata(write_view_metadata(view)) == view
    other = ViewRepresentation(sql="select 2", dialect="Spark")
    second = replaced(view, version(other, timestamp_ms=NOW_MS + 5))
    assert second.current_version_id == 2
    assert [(entry.version_id, entry.timestamp_ms - NOW_MS) for entry in second.version_log] == [(1, 0), (2, 5)]
    back = apply_view_updates(second, [u.SetCurrentViewVersion(1)], now_ms=NOW_MS + 9)
    assert [entry.version_id for entry in back.version_log] == [1, 2, 1]
    assert back.version_log[-1].timestamp_ms == NOW_MS + 9
    assert replaced(back, version(other)).current_version_id == 2


def test_view_updates_that_change_nothing_give_the_base_itself() -> None:
    view = new_view(a="b")
    same = [u.AssignUuid(UUID), u.UpgradeFormatVersion(1), u.SetLocation("s3://b/v"), u.AddSchema(SCHEMA.with_id(4)),
            u.AddViewVersion(version(timestamp_ms=5)), u.SetCurrentViewVersion(), u.RemoveProperties(("x",))]  # fmt: skip
    assert apply_view_updates(view, same, now_ms=NOW_MS) is view


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ([u.AssignUuid("x")], UUID),
        ([u.SetCurrentViewVersion()], "last added"),
        ([u.SetCurrentViewVersion(9)], "no such version"),
        ([u.AddViewVersion(version(schema_id=-1))], "last added schema"),
        ([u.AddViewVersion(version(schema_id=7))], "which the view lacks"),
        ([u.AddViewVersion(version(SPARK, replace(SPARK, dialect="SPARK")))], "one query per dialect"),
        ([u.AddViewVersion(version(TRINO)), u.SetCurrentViewVersion()], "no query for spark"),
        ([u.SetProperties({"version.history.num-entries": "0"})], "must be positive"),
        ([u.SetDefaultSpec(1)], "not an update of a view"),
    ],
)
def test_what_a_view_cannot_become_is_refused(updates: list[u.MetadataUpdate], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        apply_view_updates(new_view(), updates, now_ms=NOW_MS)


def test_a_dialect_may_be_dropped_when_the_view_says_so() -> None:
    view = new_view(**{"replace.drop-dialect.allowed": "true"})
    assert replaced(view, version(TRINO)).current_version.dialects == ("trino",)
    with pytest.raises(UnsupportedFeature):
        apply_view_updates(view, [u.UpgradeFormatVersion(2)], now_ms=NOW_MS)


def test_a_new_view_needs_its_parts() -> None:
    with pytest.raises(InvalidInput, match="needs a uuid"):
        apply_view_updates(None, [u.SetLocation("x")], now_ms=NOW_MS)


def test_old_versions_go_and_the_log_with_them() -> None:
    view = new_view(**{"version.history.num-entries": "2"})
    for number in range(2, 6):
        view = replaced(view, version(ViewRepresentation(sql=f"select {number}", dialect="spark")))
    assert [one.version_id for one in view.versions] == [4, 5]
    assert [entry.version_id for entry in view.version_log] == [4, 5]
    evolved = Schema(*SCHEMA.fields, NestedField(3, "more", LONG))
    added = apply_view_updates(view, [u.AddSchema(evolved), u.AddViewVersion(version(schema_id=-1)),
                                      u.SetCurrentViewVersion()], now_ms=NOW_MS)  # fmt: skip
    assert added.current_schema.same_columns(evolved)


def test_requirements_of_views() -> None:
    view = new_view()
    AssertViewUuid(UUID.upper()).check(view)
    for metadata in (view, None):
        with pytest.raises(CommitConflict):
            AssertViewUuid("x").check(metadata)
    with pytest.raises(InvalidInput, match="of tables"):
        AssertTableUuid(UUID).check(view)
