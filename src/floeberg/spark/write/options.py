"""Write options: those of a DataFrame writer over the table's properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from floeberg.commit.isolation import IsolationLevel
from floeberg.errors import InvalidInput, UnsupportedFeature
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH

SNAPSHOT_PROPERTY: Final = "snapshot-property."
_TO_PROPERTY: Final = {
    "write-format": "write.format.default",
    "target-file-size-bytes": "write.target-file-size-bytes",
    "delete-format": "write.delete.format.default",
    "delete-granularity": "write.delete.granularity",
    "target-delete-file-size-bytes": "write.delete.target-file-size-bytes",
    "shred-variants": "write.parquet.shred-variants",
    "variant-inference-buffer-size": "write.parquet.variant-inference-buffer-size",
}
_TUNING: Final = frozenset(
    {"check-nullability", "check-ordering", "advisory-partition-size", "compression-strategy",
     "use-table-distribution-and-ordering"}
)  # fmt: skip
"""Options of the Java runtime that change no row here: values are always checked against the table's columns, whatever
order and nullability the data has, and the rest is about how files are laid out."""
_MERGE_SCHEMA: Final = ("mergeschema", "merge-schema")
_OVERWRITE_MODE: Final = ("overwrite-mode", "partitionoverwritemode")
TXN_APP_ID: Final = "txnAppId"
TXN_VERSION: Final = "txnVersion"
TXN_APP_ID_SETTING: Final = "spark.floeberg.txn-app-id"
TXN_VERSION_SETTING: Final = "spark.floeberg.txn-version"
"""The session's settings that make its next change of rows happen once. It consumes them when it committed or was skipped."""
_KNOWN: Final = frozenset(
    {*_TO_PROPERTY, *_TUNING, *_MERGE_SCHEMA, *_OVERWRITE_MODE, "branch", "distribution-mode", "fanout-enabled",
     "output-spec-id", "isolation-level", "validate-from-snapshot-id", "compression-codec", "compression-level",
     TXN_APP_ID.lower(), TXN_VERSION.lower()}
)  # fmt: skip
SETTINGS: Final = "spark.sql.iceberg."
_BY_SETTING: Final = {
    "distribution-mode": "distribution-mode",
    "compression-codec": "compression-codec",
    "compression-level": "compression-level",
    "merge-schema": "mergeschema",
    "shred-variants": "shred-variants",
    "variant-inference-buffer-size": "variant-inference-buffer-size",
}
"""The settings of the Java runtime that say how every write of a session is done, and the option that each is."""


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
    dynamic: bool | None = None
    """Whether an overwrite of everything replaces only the partitions that it has rows for; None leaves it to the session."""
    accepts_any_schema: bool = False
    """Whether structs may lack fields, as the reference allows for tables with `write.spark.accept-any-schema`."""
    isolation: IsolationLevel | None = None
    validate_from_snapshot_id: int | None = None
    summary: Mapping[str, str] = field(default_factory=dict)
    txn: tuple[str, int] | None = None
    """The app id and version that make the write happen once."""


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
    _refuse_unclear(given)
    unknown = sorted(key for key in given if key not in _KNOWN and not key.startswith(SNAPSHOT_PROPERTY))
    if unknown:
        raise UnsupportedFeature(f"unknown write option {unknown[0]!r}; known are {', '.join(sorted(_KNOWN))}")
    properties = dict(metadata.properties)
    for option, name in _TO_PROPERTY.items():
        if option in given:
            properties[name] = given[option]
    written_as = properties.get(_TO_PROPERTY["write-format"], "parquet").lower()
    for option in ("compression-codec", "compression-level"):
        if option in given:  # of the files that are written: another format may not have the codec
            properties[f"write.{written_as}.{option}"] = given[option]
    spec_id = _number(given, "output-spec-id")
    metadata.spec(spec_id)
    return WriteOptions(
        properties=properties,
        distribution=_distribution(metadata, properties, given),
        branch=branch or given.get("branch", MAIN_BRANCH),
        fanout=_flag(given, "fanout-enabled", properties.get("write.spark.fanout.enabled", "false")),
        spec_id=metadata.default_spec_id if spec_id is None else spec_id,
        merge_schema=any(_flag(given, name) for name in _MERGE_SCHEMA),
        accepts_any_schema=_flag(properties, "write.spark.accept-any-schema"),
        dynamic=_dynamic(given),
        isolation=None if "isolation-level" not in given else _isolation(given["isolation-level"]),
        validate_from_snapshot_id=_number(given, "validate-from-snapshot-id"),
        summary=summary,
        txn=_txn(given.get(TXN_APP_ID.lower()), given.get(TXN_VERSION.lower())),
    )


def names_txn(options: Mapping[str, str]) -> bool:
    """Whether a write's own options name an app id or a version."""
    return not {key.lower() for key in options}.isdisjoint({TXN_APP_ID.lower(), TXN_VERSION.lower()})


def _txn(app_id: str | None, version: str | None) -> tuple[str, int] | None:
    if app_id is None and version is None:
        return None
    if not app_id or not version:
        raise InvalidInput(
            f"{TXN_APP_ID} and {TXN_VERSION} (in a session {TXN_APP_ID_SETTING} and {TXN_VERSION_SETTING}) are given "
            "together, or neither"
        )
    if not version.isdecimal():
        raise InvalidInput(f"{TXN_VERSION} is a number from 0 on, not {version!r:.60}")
    return app_id, int(version)


def session_write_options(settings: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """The options of a write with what the session's settings say where no option does."""
    given = {key.lower() for key in options}
    found: dict[str, str] = {}
    if not names_txn(options):
        settings_of = {TXN_APP_ID: TXN_APP_ID_SETTING, TXN_VERSION: TXN_VERSION_SETTING}
        found |= {option: settings[key] for option, key in settings_of.items() if key in settings}
    for key, value in settings.items():
        name = key.removeprefix(SETTINGS)
        if name == key:
            continue
        if name.startswith(SNAPSHOT_PROPERTY):
            found |= {} if name.lower() in given else {name: value}
        elif name in _BY_SETTING and not given & {name, _BY_SETTING[name]}:
            found[_BY_SETTING[name]] = value
    return {**found, **options}


def is_dynamic(options: Mapping[str, str]) -> bool | None:
    """Whether the options ask for an overwrite of partitions; None when they do not say. Raises InvalidInput."""
    return _dynamic({key.lower(): str(value) for key, value in options.items()})


def _dynamic(given: Mapping[str, str]) -> bool | None:
    asked = {given[name].lower() for name in _OVERWRITE_MODE if name in given}
    if not asked:
        return None
    if asked not in ({"static"}, {"dynamic"}):
        raise InvalidInput(f"overwrite-mode is static or dynamic, not {', '.join(sorted(asked))!r:.60}")
    return asked == {"dynamic"}


def _refuse_unclear(given: Mapping[str, str]) -> None:
    if "validate-from-snapshot-id" in given and "isolation-level" not in given:
        raise InvalidInput(
            "validate-from-snapshot-id needs an isolation-level (serializable or snapshot) to validate by"
        )
    if "path" in given:
        raise InvalidInput("the option path is the location of a table that is created; this write names its table")
    streams = sorted(
        key for key in given if key.startswith(("streaming-", "stream-")) or key.endswith("-for-streaming")
    )
    if streams:
        raise InvalidInput(f"the option {streams[0]!r:.60} is for writeStream")


def _flag(given: Mapping[str, str], key: str, default: str = "false") -> bool:
    text = given.get(key, default).lower()
    if text not in ("true", "false"):
        raise InvalidInput(f"write option {key} is true or false, not {text!r:.60}")
    return text == "true"


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
