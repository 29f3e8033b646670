"""Paths in metadata files, changed in the JSON itself: what nobody here knows stays in it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from floeberg.errors import FloebergError
from floeberg.files.metadata_file import codec_of_name, decode_metadata_file, encode_metadata_file
from floeberg.maintenance.table_path.prefix import PrefixChange
from floeberg.spec.json.strict import decode_object

_PATH_PROPERTIES: Final = (
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)


def moved_metadata(content: bytes, location: str, change: PrefixChange) -> bytes:
    """A metadata file for the new path. Raises InvalidInput for a path outside the source prefix."""
    document = decode_object(decode_metadata_file(content, name=location), where=location)
    document["location"] = change.new(_text(document["location"]))
    for entry in _list(document, "metadata-log"):
        entry["metadata-file"] = _if_covered(entry["metadata-file"], change)
    for snapshot in _list(document, "snapshots"):
        if "manifest-list" in snapshot:
            snapshot["manifest-list"] = change.new(snapshot["manifest-list"])
        if "manifests" in snapshot:
            snapshot["manifests"] = [change.new(path) for path in snapshot["manifests"]]
    for key in ("statistics", "partition-statistics"):
        for file in _list(document, key):
            file["statistics-path"] = change.new(file["statistics-path"])
    properties = document.get("properties")
    if isinstance(properties, dict):
        properties.update({key: change.new(properties[key]) for key in _PATH_PROPERTIES if key in properties})
    return encode_metadata_file(msgspec.json.encode(document), codec_of_name(location) or "none")


def _if_covered(path: str, change: PrefixChange) -> str:
    """The new path of an old metadata file, which nobody needs; one from elsewhere stays as it is."""
    try:
        return change.new(path) if change.covers(path) else path
    except FloebergError:
        return path


def _list(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return document.get(key) or []


def _text(value: object) -> str:
    assert isinstance(value, str)
    return value
