"""Table properties that the metadata rules themselves read, and the names that are not properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from floeberg.errors import InvalidInput

FORMAT_VERSION: Final = "format-version"
ENCRYPTION_KEY_ID: Final = "encryption.key-id"
"""The key that encrypts a table: where it is set, the table is encrypted."""
PREVIOUS_VERSIONS_MAX: Final = "write.metadata.previous-versions-max"
PREVIOUS_VERSIONS_MAX_DEFAULT: Final = 100

METADATA_COMPRESSION: Final = "write.metadata.compression-codec"
METADATA_CODECS: Final = ("gzip", "none", "uncompressed")
COMMIT_NUMBERS: Final = (
    "commit.retry.num-retries", "commit.retry.min-wait-ms", "commit.retry.max-wait-ms", "commit.retry.total-timeout-ms",
    "commit.status-check.num-retries", "commit.status-check.min-wait-ms", "commit.status-check.max-wait-ms",
)  # fmt: skip
"""Properties that every commit reads, also one that would set them right."""

RESERVED: Final = frozenset(
    (FORMAT_VERSION, "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
     "current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order")
)  # fmt: skip
"""Names under which catalogs show facts of the metadata; they are never stored as properties."""


def check_not_reserved(names: Iterable[str]) -> None:
    """Raises InvalidInput when one of the names is reserved."""
    for name in names:
        if name in RESERVED:
            raise InvalidInput(
                f"property {name!r} is reserved: it shows a fact of the table and cannot be set", name=name
            )


def check_commit_properties(properties: Mapping[str, str]) -> None:
    """Raises InvalidInput for a value that no commit can go by."""
    for name in COMMIT_NUMBERS:
        if integer_property(properties, name, 0) < 0:
            raise InvalidInput(f"property {name} must not be negative, as {properties[name][:60]!r} is", name=name)
    codec = properties.get(METADATA_COMPRESSION, "none")
    if codec.lower() not in METADATA_CODECS:
        raise InvalidInput(
            f"property {METADATA_COMPRESSION} is {', '.join(METADATA_CODECS)}, not {codec[:60]!r}",
            name=METADATA_COMPRESSION,
        )


def integer_property(properties: Mapping[str, str], name: str, default: int) -> int:
    """A property as a number. Raises InvalidInput when it is none."""
    text = properties.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise InvalidInput(f"property {name} must be a number, not {text[:60]!r}", name=name) from error
