"""Commit conditions as data (seed 001): https://iceberg.apache.org/spec/#commit-conflict-resolution-and-retry"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floeberg.errors import CommitConflict, InvalidInput, MetadataCorrupt
from floeberg.spec.changes import requirements as r
from floeberg.spec.changes import updates as u
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.refs import RefType, SnapshotRef
from floeberg.spec.types import LONG, NestedField
from strategies.metadata import (
    NOW_MS,
    ORDER,
    SCHEMA,
    SPEC,
    UUID,
    committed,
    new_table,
    next_snapshot,
    set_branch_snapshot,
)

OTHER = "00000000-0000-0000-0000-000000000000"
PAYLOADS = Path(__file__).parent.parent / "golden/metadata/payloads/java_json_payloads.json"
EVOLVED = Schema(*SCHEMA.fields, NestedField(3, "more", LONG))
BASE = committed(new_table(), 11)


def apply(base: TableMetadata, *updates: u.MetadataUpdate) -> TableMetadata:
    return apply_updates(base, updates, now_ms=NOW_MS)


ADD = set_branch_snapshot(next_snapshot(BASE, 12))
SCHEMA_CHANGE = (u.AddSchema(EVOLVED), u.SetCurrentSchema())
SPEC_CHANGE = (u.AddPartitionSpec(SPEC), u.SetDefaultSpec())
ORDER_CHANGE = (u.AddSortOrder(ORDER), u.SetDefaultSortOrder())
PROPERTIES = (u.SetProperties({"a": "b"}),)
BRANCH = (u.SetSnapshotRef("audit", SnapshotRef(snapshot_id=11)),)
CHANGES = {
    "append": ADD, "schema": SCHEMA_CHANGE, "spec": SPEC_CHANGE, "order": ORDER_CHANGE, "properties": PROPERTIES,
    "branch": BRANCH,
}  # fmt: skip
CONFLICTS = {(name, name) for name in CHANGES} - {("properties", "properties")}


@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.parametrize("second", CHANGES)
def test_seed_001_conflict_table(first: str, second: str) -> None:
    """Two changes planned on one base: the second needs a retry exactly where the first changed what it stands on.

    A schema or spec change must find schema or spec as they were; appends stand on their branch alone (the retry applies
    them again); what does not touch the same thing always goes through."""
    planned = r.requirements_for(BASE, CHANGES[second])
    meanwhile = apply(BASE, *CHANGES[first])
    if (first, second) in CONFLICTS:
        with pytest.raises(CommitConflict) as raised:
            r.check_requirements(planned, meanwhile)
        assert raised.value.retryable
        assert raised.value.cleanup_safe
    else:
        r.check_requirements(planned, meanwhile)
        if "append" not in (first, second):
            apply(meanwhile, *CHANGES[second])


def test_seed_001_a_table_uuid_that_differs_after_a_refresh_raises() -> None:
    replaced = apply_updates(
        None, u.create_table_updates(table_uuid=OTHER, location="s3://b/t", schema=SCHEMA), now_ms=NOW_MS
    )
    for change in CHANGES.values():
        with pytest.raises(CommitConflict, match=OTHER):
            r.check_requirements(r.requirements_for(BASE, change), replaced)
    r.AssertTableUuid(UUID.upper()).check(BASE)


def test_each_update_requires_what_it_stands_on() -> None:
    uuid = r.AssertTableUuid(UUID)
    main = r.AssertRefSnapshotId("main", 11)
    expected: list[tuple[u.MetadataUpdate, tuple[r.Requirement, ...]]] = [
        (ADD[0], (main,)),  # it goes to no branch: what it was validated on is the one at its parent
        (ADD[1], (main,)),
        (u.RemoveSnapshotRef("main"), (main,)),
        (BRANCH[0], (r.AssertRefSnapshotId("audit", None),)),
        (u.AddSchema(EVOLVED), (r.AssertLastAssignedFieldId(2),)),
        (u.SetCurrentSchema(), (r.AssertCurrentSchemaId(0),)),
        (u.AddPartitionSpec(SPEC), (r.AssertLastAssignedPartitionId(999), r.AssertDefaultSpecId(0))),
        (u.SetDefaultSpec(), (r.AssertDefaultSpecId(0),)),
        (u.SetDefaultSortOrder(), (r.AssertDefaultSortOrderId(0),)),
        (u.RemoveSchemas((1,)), (r.AssertCurrentSchemaId(0), main)),
        (u.RemovePartitionSpecs((1,)), (r.AssertDefaultSpecId(0), main)),
        (u.SetLocation("x"), ()),
        (u.UpgradeFormatVersion(3), ()),
        (u.RemoveSnapshots((1,)), (main,)),
    ]
    for update, required in expected:
        assert r.requirements_for(BASE, [update]) == (uuid, *required)
    assert r.requirements_for(None, ADD) == (r.AssertCreate(),)
    assert r.requirements_for(BASE, [*SCHEMA_CHANGE, *SCHEMA_CHANGE]) == (
        uuid, r.AssertLastAssignedFieldId(2), r.AssertCurrentSchemaId(0),
    )  # fmt: skip


TAGGED = apply(BASE, u.SetSnapshotRef("v1", SnapshotRef(snapshot_id=11, type=RefType.TAG)))


@pytest.mark.parametrize(
    ("requirement", "holds"),
    [
        (r.AssertCreate(), False),
        (r.AssertTableUuid(UUID), True),
        (r.AssertTableUuid(OTHER), False),
        (r.AssertRefSnapshotId("main", 11), True),
        (r.AssertRefSnapshotId("main", 12), False),
        (r.AssertRefSnapshotId("main", None), False),
        (r.AssertRefSnapshotId("v1", None), False),
        (r.AssertRefSnapshotId("none", None), True),
        (r.AssertRefSnapshotId("none", 11), False),
        (r.AssertLastAssignedFieldId(2), True),
        (r.AssertLastAssignedFieldId(3), False),
        (r.AssertCurrentSchemaId(0), True),
        (r.AssertCurrentSchemaId(1), False),
        (r.AssertLastAssignedPartitionId(999), True),
        (r.AssertLastAssignedPartitionId(1000), False),
        (r.AssertDefaultSpecId(0), True),
        (r.AssertDefaultSpecId(1), False),
        (r.AssertDefaultSortOrderId(0), True),
        (r.AssertDefaultSortOrderId(1), False),
    ],
    ids=str,
)
def test_a_requirement_holds_or_is_a_conflict(requirement: r.Requirement, holds: bool) -> None:
    if holds:
        requirement.check(TAGGED)
    else:
        with pytest.raises(CommitConflict, match="s3://b/t: ") as raised:
            requirement.check(TAGGED)
        assert raised.value.context["requirement"] == requirement.type
    if isinstance(requirement, r.AssertCreate):
        requirement.check(None)
    else:
        with pytest.raises(CommitConflict, match="not there any more"):
            requirement.check(None)


def test_a_requirement_of_views_is_not_asked_of_a_table() -> None:
    with pytest.raises(InvalidInput, match="of views"):
        r.AssertViewUuid(UUID).check(BASE)


int_ids = st.integers(0, 2**31 - 1)


@given(
    st.one_of(
        st.just(r.AssertCreate()),
        st.builds(r.AssertTableUuid, st.text()),
        st.builds(r.AssertViewUuid, st.text()),
        st.builds(r.AssertRefSnapshotId, st.text(), st.none() | st.integers(0, 2**63 - 1)),
        st.builds(r.AssertLastAssignedFieldId, int_ids),
        st.builds(r.AssertCurrentSchemaId, int_ids),
        st.builds(r.AssertLastAssignedPartitionId, int_ids),
        st.builds(r.AssertDefaultSpecId, int_ids),
        st.builds(r.AssertDefaultSortOrderId, int_ids),
    )
)
def test_every_requirement_survives_json(requirement: r.Requirement) -> None:
    assert r.requirement_from_json(json.loads(json.dumps(requirement.to_json()))) == requirement


def test_requirements_of_the_reference_are_read_or_refused() -> None:
    files = json.loads(PAYLOADS.read_text())["files"]
    entries = files["core/src/test/java/org/apache/iceberg/TestUpdateRequirementParser.java"]
    for entry in entries:
        value = json.loads(entry["json"].replace("%s", UUID))
        if "CannotParse" in entry["method"]:
            with pytest.raises(MetadataCorrupt, match="type"):
                r.requirement_from_json(value)
        else:
            assert r.requirement_from_json(value).to_json() == value


@pytest.mark.parametrize(
    "value", [{"type": "nonsense"}, {"type": "assert-table-uuid"}, {"type": "assert-ref-snapshot-id"}, [], None]
)
def test_a_malformed_requirement_is_corrupt(value: object) -> None:
    with pytest.raises(MetadataCorrupt):
        r.requirement_from_json(value)
