"""Hazard 29 for metadata: whatever is done to it, only errors of the format are raised."""

from __future__ import annotations

import contextlib
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from floeberg.errors import FormatError
from floeberg.spec.changes.requirements import requirement_from_json
from floeberg.spec.changes.updates_json import update_from_json
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import parse_table_metadata, write_table_metadata
from floeberg.spec.metadata.view_metadata import parse_view_metadata
from strategies.metadata import document

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "main", "struct", "list", "long", "decimal(9,2)", "bucket[0]", "branch", "\x00", "a" * 100]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "type", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        found += _places(child, (*path, key))
    return found


_DOCUMENTS = {version: document(version) for version in (1, 2, 3)}
_MUTATIONS = [(version, place) for version, value in _DOCUMENTS.items() for place in _places(value) if place]


def read_all(metadata: TableMetadata) -> None:
    for part in (metadata.schemas, metadata.partition_specs, metadata.sort_orders, metadata.snapshots,
                 metadata.snapshot_log, metadata.metadata_log, metadata.statistics, metadata.partition_statistics,
                 metadata.encryption_keys):  # fmt: skip
        list(part)
    _ = metadata.current_schema, metadata.default_spec, metadata.default_sort_order, metadata.current_snapshot
    list(metadata.ancestors(metadata.current_snapshot_id))


@settings(max_examples=1000)
@given(st.sampled_from(_MUTATIONS), _json, st.sampled_from(["replace", "delete"]))
def test_a_mutated_field_raises_format_errors_only(
    mutation: tuple[int, tuple[object, ...]], value: object, kind: str
) -> None:
    version, (*path, last) = mutation
    hostile = json.loads(json.dumps(_DOCUMENTS[version]))
    parent = hostile
    for key in path:
        parent = parent[key]
    if kind == "delete":
        del parent[last]
    else:
        parent[last] = value
    try:
        metadata = parse_table_metadata(json.dumps(hostile).encode())
        read_all(metadata)
    except FormatError:
        return
    assert parse_table_metadata(write_table_metadata(metadata)) == metadata


@settings(max_examples=300)
@given(st.sampled_from([1, 2, 3]), st.data())
def test_truncated_or_flipped_bytes_raise_format_errors_only(version: int, data: st.DataObject) -> None:
    text = bytearray(msgspec.json.encode(_DOCUMENTS[version]))
    at = data.draw(st.integers(0, len(text) - 1))
    if data.draw(st.booleans()):
        del text[at:]
    else:
        text[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FormatError):
        read_all(parse_table_metadata(bytes(text)))


@given(st.dictionaries(st.sampled_from(["action", "type", "schema", "spec", "snapshot", "uuid", "ref"]), _json))
def test_random_updates_requirements_and_views_raise_format_errors_only(value: dict[str, object]) -> None:
    for action in ("add-schema", "add-spec", "add-snapshot", "set-statistics", "add-view-version", "nonsense"):
        for read in (update_from_json, requirement_from_json):
            with pytest.raises(FormatError):
                read({**value, "action": action, "type": action})
    with pytest.raises(FormatError):
        parse_view_metadata(msgspec.json.encode(value))


def test_a_hundred_thousand_duplicate_keys_take_linear_time() -> None:
    keys = ",".join(f'"k{n}":1' for n in range(100_000))
    with pytest.raises(FormatError, match="'k99999' twice"):
        parse_table_metadata(f'{{{keys},"k99999":2}}'.encode())
