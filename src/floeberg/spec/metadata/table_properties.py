"""Table properties that the metadata rules themselves read, and the names that are not properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from floeberg.errors import InvalidInput
from floeberg.spec.schemas.schema import Schema

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

METRICS_OF_COLUMN: Final = "write.metadata.metrics.column."
OF_COLUMNS: Final = (
    METRICS_OF_COLUMN, "write.parquet.bloom-filter-enabled.column.", "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.bloom-filter-ndv.column.", "write.parquet.stats-enabled.column.",
)  # fmt: skip
"""What the names of properties of single columns begin with; the rest is the column's name."""

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


def check_texts(given: Mapping[Any, Any], *, what: str = "property") -> None:
    """Raises InvalidInput for a name or value that is no text: metadata that hold another could not be read."""
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            shown = f"{what} {name!r:.60} must be a text, not {value!r:.60}"
            raise InvalidInput(
                shown if isinstance(name, str) else f"the name of a {what} must be a text, not {name!r:.60}"
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


def renamed_properties(
    properties: Mapping[str, str], before: Schema, after: Schema
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The properties to set and to remove when a schema changes: those of a column go by its new name, and go with it. The
    reference implementation refuses every later change of properties where one names a column that is not there."""
    owned: dict[str, str] = {}
    moved: dict[str, str] = {}
    for name, value in properties.items():
        prefix = next((one for one in OF_COLUMNS if name.startswith(one)), None)
        field = None if prefix is None else before.find(name.removeprefix(prefix))
        if prefix is None or field is None:
            continue
        column = after.names.get(field.field_id)
        if column == before.names[field.field_id]:
            continue
        owned[name] = value
        if column is not None:
            moved[prefix + column] = value
    changed = {name: value for name, value in moved.items() if properties.get(name) != value}
    return changed, tuple(name for name in owned if name not in moved)
