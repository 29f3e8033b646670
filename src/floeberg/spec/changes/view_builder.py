"""The one way to change view metadata: apply a list of updates. https://iceberg.apache.org/view-spec/"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.changes import updates as u
from floeberg.spec.json.documents import Documents
from floeberg.spec.metadata.table_metadata import SCHEMAS
from floeberg.spec.metadata.table_properties import integer_property
from floeberg.spec.metadata.view_metadata import SUPPORTED_VIEW_FORMAT_VERSION, ViewMetadata
from floeberg.spec.metadata.view_versions import VERSION_LOG, VERSIONS, ViewLogEntry, ViewVersion
from floeberg.spec.schemas.rules import check_column_names
from floeberg.spec.schemas.schema import Schema
from floeberg.spec.snapshots.history import commit_time_ms

VERSION_HISTORY_SIZE: Final = "version.history.num-entries"
VERSION_HISTORY_SIZE_DEFAULT: Final = 10
REPLACE_DROP_DIALECT_ALLOWED: Final = "replace.drop-dialect.allowed"


@dataclass(slots=True, kw_only=True)
class _Draft:
    now_ms: int
    view_uuid: str | None = None
    location: str | None = None
    schemas: Documents[Schema] = field(default_factory=lambda: Documents(SCHEMAS))
    current_version_id: int | None = None
    versions: Documents[ViewVersion] = field(default_factory=lambda: Documents(VERSIONS))
    version_log: Documents[ViewLogEntry] = field(default_factory=lambda: Documents(VERSION_LOG))
    properties: dict[str, str] = field(default_factory=dict)
    changed: bool = False
    last_added_schema_id: int | None = None
    last_added_version_id: int | None = None
    added_version_ids: set[int] = field(default_factory=set)


def apply_view_updates(base: ViewMetadata | None, updates: Iterable[u.MetadataUpdate], *, now_ms: int) -> ViewMetadata:
    """The view's metadata after the updates; without a base, a new view's. `base` itself when they change nothing.
    Raises InvalidInput or UnsupportedFeature."""
    draft = _Draft(now_ms=now_ms)
    if base is not None:
        draft = _Draft(
            now_ms=now_ms,
            view_uuid=base.view_uuid,
            location=base.location,
            schemas=base.schemas,
            current_version_id=base.current_version_id,
            versions=base.versions,
            version_log=base.version_log,
            properties=dict(base.properties),
        )
    for update in updates:
        _apply(draft, update)
    if base is not None and not draft.changed:
        return base
    return _finish(draft, base)


def create_view_updates(
    *, view_uuid: str, location: str, schema: Schema, version: ViewVersion, properties: Mapping[str, str] | None = None
) -> tuple[u.MetadataUpdate, ...]:
    """The updates that make a new view."""
    return (
        u.AssignUuid(view_uuid),
        u.SetLocation(location),
        u.AddSchema(schema),
        u.AddViewVersion(replace(version, schema_id=u.LAST_ADDED)),
        u.SetCurrentViewVersion(),
        *((u.SetProperties(dict(properties)),) if properties else ()),
    )


def _apply(draft: _Draft, update: u.MetadataUpdate) -> None:
    match update:
        case u.AssignUuid(uuid=uuid):
            if draft.view_uuid is not None and draft.view_uuid.lower() != uuid.lower():
                raise InvalidInput(f"the view has the uuid {draft.view_uuid}; it cannot become {uuid}")
            draft.changed = draft.changed or draft.view_uuid is None
            draft.view_uuid = draft.view_uuid or uuid
        case u.UpgradeFormatVersion(format_version=version):
            if version != SUPPORTED_VIEW_FORMAT_VERSION:
                raise UnsupportedFeature(f"view format version {version} is not supported; there is only version 1")
        case u.SetLocation(location=location):
            draft.changed = draft.changed or location != draft.location
            draft.location = location
        case u.SetProperties(updates=properties):
            draft.changed = draft.changed or bool(properties)
            draft.properties |= properties
        case u.RemoveProperties(removals=names):
            for name in names:
                draft.changed = draft.properties.pop(name, None) is not None or draft.changed
        case u.AddSchema(schema=schema):
            _add_schema(draft, schema)
        case u.AddViewVersion(view_version=version):
            _add_version(draft, version)
        case u.SetCurrentViewVersion(view_version_id=version_id):
            _set_current_version(draft, version_id)
        case _:
            raise InvalidInput(f"{type(update).__name__} is not an update of a view")


def _add_schema(draft: _Draft, schema: Schema) -> None:
    for known in draft.schemas:
        if known.same_columns(schema):
            draft.last_added_schema_id = known.schema_id
            return
    check_column_names(schema)
    schema_id = max((known.schema_id + 1 for known in draft.schemas), default=0)
    draft.schemas = draft.schemas.appended(schema.with_id(schema_id))
    draft.last_added_schema_id = schema_id
    draft.changed = True


def _add_version(draft: _Draft, version: ViewVersion) -> None:
    """A version that behaves as one that is there is that one; a new one gets an id above all others."""
    if version.schema_id == u.LAST_ADDED:
        if draft.last_added_schema_id is None:
            raise InvalidInput("-1 stands for the last added schema, but these updates add none")
        version = replace(version, schema_id=draft.last_added_schema_id)
    if all(known.schema_id != version.schema_id for known in draft.schemas):
        raise InvalidInput(f"view version {version.version_id} has schema {version.schema_id}, which the view lacks")
    if len(set(version.dialects)) != len(version.dialects):
        raise InvalidInput(f"a view version has one query per dialect, not several: {', '.join(version.dialects)}")
    for known in draft.versions:
        if known.same_definition(version):
            draft.last_added_version_id = known.version_id
            return
    version_id = max((version.version_id, *(known.version_id + 1 for known in draft.versions)))
    draft.versions = draft.versions.appended(replace(version, version_id=version_id))
    draft.last_added_version_id = version_id
    draft.added_version_ids.add(version_id)
    draft.changed = True


def _set_current_version(draft: _Draft, version_id: int) -> None:
    if version_id == u.LAST_ADDED:
        if draft.last_added_version_id is None:
            raise InvalidInput("-1 stands for the last added view version, but these updates add none")
        version_id = draft.last_added_version_id
    if version_id == draft.current_version_id:
        return
    version = next((known for known in draft.versions if known.version_id == version_id), None)
    if version is None:
        raise InvalidInput(f"cannot make version {version_id} the current one: the view has no such version")
    time_ms = version.timestamp_ms if version_id in draft.added_version_ids else draft.now_ms
    if draft.version_log:
        time_ms = commit_time_ms(time_ms, draft.version_log[-1].timestamp_ms)
    draft.version_log = draft.version_log.appended(ViewLogEntry(time_ms, version_id))
    draft.current_version_id = version_id
    draft.changed = True


def _finish(draft: _Draft, base: ViewMetadata | None) -> ViewMetadata:
    current = next((known for known in draft.versions if known.version_id == draft.current_version_id), None)
    if draft.view_uuid is None or draft.location is None or current is None:
        raise InvalidInput("a new view needs a uuid, a location and a current version")
    if base is not None and draft.properties.get(REPLACE_DROP_DIALECT_ALLOWED, "false").lower() != "true":
        lost = set(base.current_version.dialects) - set(current.dialects)
        if lost:
            raise InvalidInput(
                f"the new version has no query for {', '.join(sorted(lost))}; add one, or set the view property "
                f"{REPLACE_DROP_DIALECT_ALLOWED}=true"
            )
    _expire_versions(draft, current)
    return ViewMetadata(
        view_uuid=draft.view_uuid,
        location=draft.location,
        schemas=draft.schemas,
        current_version_id=current.version_id,
        versions=draft.versions,
        version_log=draft.version_log,
        properties=draft.properties,
        extra={} if base is None else base.extra,
    )


def _expire_versions(draft: _Draft, current: ViewVersion) -> None:
    """Keeps the newest versions as the property says, the current one and those added now always; and of the log what
    comes after the last entry of a version that is gone."""
    size = integer_property(draft.properties, VERSION_HISTORY_SIZE, VERSION_HISTORY_SIZE_DEFAULT)
    if size < 1:
        raise InvalidInput(f"property {VERSION_HISTORY_SIZE} must be positive, not {size}")
    always = {current.version_id, *draft.added_version_ids}
    others = sorted((one.version_id for one in draft.versions if one.version_id not in always), reverse=True)
    kept = always | set(others[: max(size - len(always), 0)])
    draft.versions = draft.versions.kept(lambda document: document["version-id"] in kept)
    gone = [at for at, entry in enumerate(draft.version_log) if entry.version_id not in kept]
    draft.version_log = draft.version_log.from_position(gone[-1] + 1 if gone else 0)
