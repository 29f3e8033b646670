"""Branches and tags: https://iceberg.apache.org/spec/#snapshot-references"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from floeberg.errors import InvalidInput, MetadataCorrupt
from floeberg.spec.json.documents import Document
from floeberg.spec.json.fields import INT_MAX, LONG_MAX, JsonFields
from floeberg.spec.values.whole_numbers import whole_number

MAIN_BRANCH: Final = "main"


class RefType(StrEnum):
    """A branch moves with commits, a tag stays."""

    BRANCH = "branch"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """A branch or tag, without its name, and how long what it keeps is kept."""

    snapshot_id: int
    type: RefType = RefType.BRANCH
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for attribute in ("snapshot_id", "min_snapshots_to_keep", "max_snapshot_age_ms", "max_ref_age_ms"):
            given: object = getattr(self, attribute)
            if type(given) is not int and given is not None:
                number = whole_number(given)
                if number is None:
                    raise InvalidInput(f"{attribute} is a whole number, not {given!r:.60}")
                object.__setattr__(self, attribute, number)
        for name, value, highest in (
            ("min-snapshots-to-keep", self.min_snapshots_to_keep, INT_MAX),
            ("max-snapshot-age-ms", self.max_snapshot_age_ms, LONG_MAX),
            ("max-ref-age-ms", self.max_ref_age_ms, LONG_MAX),
        ):
            if value is not None and not 0 < value <= highest:
                raise InvalidInput(f"{name} must be greater than 0 and at most {highest}, not {value}")
        if self.type is RefType.TAG and (
            self.min_snapshots_to_keep is not None or self.max_snapshot_age_ms is not None
        ):
            raise InvalidInput("a tag has neither min-snapshots-to-keep nor max-snapshot-age-ms; only a branch has")

    @property
    def is_branch(self) -> bool:
        return self.type is RefType.BRANCH

    @property
    def is_tag(self) -> bool:
        return self.type is RefType.TAG

    def at(self, snapshot_id: int) -> SnapshotRef:
        """The same reference, retention and all, at another snapshot."""
        return replace(self, snapshot_id=snapshot_id)


_REF_FIELDS: Final = frozenset(
    ("snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms")
)


def ref_from_json(value: object, where: str = "snapshot reference", *, highest_id: int = LONG_MAX) -> SnapshotRef:
    """A reference from its JSON. Raises MetadataCorrupt."""
    fields = JsonFields(value, where)
    fields.required("snapshot-id")
    snapshot_id = fields.optional_integer("snapshot-id", highest=highest_id)
    assert snapshot_id is not None
    kind = fields.text("type").lower()
    if kind not in (RefType.BRANCH, RefType.TAG):
        raise MetadataCorrupt(f"{where}: type must be branch or tag, not {kind[:60]!r}", where=where)
    try:
        return SnapshotRef(
            snapshot_id=snapshot_id,
            type=RefType(kind),
            min_snapshots_to_keep=fields.optional_int32("min-snapshots-to-keep"),
            max_snapshot_age_ms=fields.optional_integer("max-snapshot-age-ms"),
            max_ref_age_ms=fields.optional_integer("max-ref-age-ms"),
            extra=fields.unknown(_REF_FIELDS),
        )
    except InvalidInput as error:
        raise MetadataCorrupt(f"{where}: {error}", where=where) from error


def ref_to_json(ref: SnapshotRef) -> Document:
    """The reference's JSON, in the reference implementation's order."""
    document: Document = {"snapshot-id": ref.snapshot_id, "type": ref.type.value}
    for key, value in (
        ("min-snapshots-to-keep", ref.min_snapshots_to_keep),
        ("max-snapshot-age-ms", ref.max_snapshot_age_ms),
        ("max-ref-age-ms", ref.max_ref_age_ms),
    ):
        if value is not None:
            document[key] = value
    return {**document, **ref.extra}
