"""Tables and views as the protocol tells them, and the tags by which clients ask whether they changed."""

from __future__ import annotations

import hashlib
from typing import Final

from floeberg.catalogs.base import LoadedView
from floeberg.commit.pointer import TableState
from floeberg.errors import InvalidInput
from floeberg.server.rest.calls import Answer
from floeberg.spec.json.documents import Document
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_metadata_json import table_metadata_to_json
from floeberg.spec.metadata.view_metadata import view_metadata_to_json

ALL: Final = "all"
REFS: Final = "refs"


def table_answer(state: TableState, *, snapshots: str = ALL) -> Answer:
    """A loaded table. The configuration is empty: a client brings its own credentials for the files."""
    if snapshots not in (ALL, REFS):
        raise InvalidInput(f"snapshots must be {ALL} or {REFS}, not {snapshots[:60]!r}")
    document = {
        "metadata-location": state.metadata_location,
        "metadata": _metadata(state.metadata, snapshots),
        "config": {},
    }
    headers = {} if state.metadata_location is None else {"etag": table_tag(state, snapshots)}
    return Answer(document=document, headers=headers)


def commit_answer(state: TableState) -> Answer:
    """A table after a commit."""
    document = {"metadata-location": state.metadata_location, "metadata": table_metadata_to_json(state.metadata)}
    return Answer(document=document, headers={"etag": table_tag(state, ALL)})


def table_tag(state: TableState, snapshots: str) -> str:
    """Names one version of a table as one query shows it. A filesystem catalog uses a file name again for a table that was
    dropped and made anew, so the table's uuid counts too."""
    facts = (state.metadata_location, state.metadata.table_uuid, state.metadata.last_updated_ms, snapshots)
    return f'"{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"'


def matches(tag: str, if_none_match: str | None) -> bool:
    """Whether a client has the version that a tag names."""
    given = [one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")]
    return tag in given or given == ["*"]


def view_answer(loaded: LoadedView) -> Answer:
    """A loaded view."""
    metadata = view_metadata_to_json(loaded.metadata)
    return Answer(document={"metadata-location": loaded.metadata_location, "metadata": metadata, "config": {}})


def _metadata(metadata: TableMetadata, snapshots: str) -> Document:
    document = table_metadata_to_json(metadata)
    if snapshots == ALL:
        return document
    heads = {ref.snapshot_id for ref in metadata.refs.values()}
    kept = [one for one in metadata.snapshots.documents if one["snapshot-id"] in heads]
    return {**document, "snapshots": kept}
