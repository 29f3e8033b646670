"""Write options: those of a DataFrame writer over the table's properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from floeberg.commit.isolation import IsolationLevel
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.metadata import TableMetadata
from floeberg.spec.refs import MAIN_BRANCH

SNAPSHOT_PROPERTY: Final = "snapshot-property."
_TO_PROPERTY: Final = {
    "write-format": "write.format.default",
    "target-file-size-bytes": "write.target-file-size-bytes",
    "delete-format": "write.delete.format.default",
    "delete-granularity": "write.delete.granularity",
    "shred-variants": "write.parquet.shred-variants",
    "variant-inference-buffer-size": "write.parquet.variant-inference-buffer-size",
}
_KNOWN: Final = frozenset(
    {*_TO_PROPERTY, "branch", "distribution-mode", "fanout-enabled", "check-nullability", "check-ordering", "output-spec-id",
     "overwrite-mode", "mergeschema", "merge-schema", "isolation-level", "validate-from-snapshot-id", "compression-codec",
     "compression-level", "wap-id", "path"}
)  # fmt: skip


class DistributionMode(StrEnum):
    """How rows are sent to the tasks that write them."""

    NONE = "none"
    HASH = "hash"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """How one write is done."""

    properties: Mapping[str, str]
    """The table's properties with the options laid over them."""
    distribution: DistributionMode
    branch: str = MAIN_BRANCH
    fanout: bool = False
    spec_id: int
    merge_schema: bool = False
    overwrite_mode: str | None = None
    isolation: IsolationLevel | None = None
    validate_from_snapshot_id: int | None = None
    check_nullability: bool = True
    summary: Mapping[str, str] = field(default_factory=dict)


def write_options(metadata: TableMetadata, options: Mapping[str, str], *, branch: str | None = None) -> WriteOptions:
    """The options of a write. Names are taken without regard to case, as Spark does.

    Raises UnsupportedFeature for an option that is not known: it may be there to protect data.
    """
    given = {key.lower(): str(value) for key, value in options.items()}
    summary = {
        key[len(SNAPSHOT_PROPERTY) :]: str(value)
        for key, value in options.items()
        if key.lower().startswith(SNAPSHOT_PROPERTY)
    }
    unknown = sorted(key for key in given if key not in _KNOWN and not key.startswith(SNAPSHOT_PROPERTY))
    if unknown:
        raise UnsupportedFeature(f"unknown write option {unknown[0]!r}; known are {', '.join(sorted(_KNOWN))}")
    properties = dict(metadata.properties)
    for option, name in _TO_PROPERTY.items():
        if option in given:
            properties[name] = given[option]
    for option in ("compression-codec", "compression-level"):
        if option in given:
            for kind in ("parquet", "avro", "orc"):
                properties[f"write.{kind}.{option}"] = given[option]
    spec_id = _number(given, "output-spec-id")
    metadata.spec(spec_id)
    return WriteOptions(
        properties=properties,
        distribution=_distribution(metadata, properties, given),
        branch=branch or given.get("branch", MAIN_BRANCH),
        fanout=given.get("fanout-enabled", properties.get("write.spark.fanout.enabled", "false")).lower() == "true",
        spec_id=metadata.default_spec_id if spec_id is None else spec_id,
        merge_schema="true" in (given.get("mergeschema", "").lower(), given.get("merge-schema", "").lower()),
        overwrite_mode=given.get("overwrite-mode"),
        isolation=None if "isolation-level" not in given else _isolation(given["isolation-level"]),
        validate_from_snapshot_id=_number(given, "validate-from-snapshot-id"),
        check_nullability=given.get("check-nullability", "true").lower() == "true",
        summary=summary,
    )


def _distribution(metadata: TableMetadata, properties: Mapping[str, str], given: Mapping[str, str]) -> DistributionMode:
    """As asked for; otherwise range for a sorted table, hash for a partitioned one, none for others."""
    asked = given.get("distribution-mode") or properties.get("write.distribution-mode")
    if asked is not None:
        try:
            mode = DistributionMode(asked.lower())
        except ValueError:
            raise InvalidInput(f"distribution mode {asked!r} is not one of none, hash, range") from None
        if mode is DistributionMode.HASH and metadata.default_spec.is_unpartitioned:
            return DistributionMode.NONE
        return mode
    if metadata.default_sort_order.is_sorted:
        return DistributionMode.RANGE
    return DistributionMode.NONE if metadata.default_spec.is_unpartitioned else DistributionMode.HASH


def _isolation(text: str) -> IsolationLevel:
    try:
        return IsolationLevel(text.lower())
    except ValueError:
        raise InvalidInput(f"isolation level {text!r} is not one of serializable, snapshot") from None


def _number(given: Mapping[str, str], key: str) -> int | None:
    if key not in given:
        return None
    try:
        return int(given[key])
    except ValueError:
        raise InvalidInput(f"write option {key} must be a number, not {given[key]!r}") from None
