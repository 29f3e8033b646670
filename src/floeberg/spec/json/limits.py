"""How much of an input we agree to decode. Metadata comes from others: what is beyond these raises LimitExceeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from floeberg.errors import LimitExceeded


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on metadata JSON. The defaults are far above any table met in practice."""

    metadata_bytes: int = 256 * 1024 * 1024
    json_depth: int = 400
    """How deep JSON may nest. A schema's type takes three levels of JSON for one of nesting."""
    snapshots: int = 1_000_000
    log_entries: int = 1_000_000
    schemas: int = 100_000
    partition_specs: int = 100_000
    sort_orders: int = 100_000
    refs: int = 100_000
    statistics: int = 1_000_000
    encryption_keys: int = 100_000
    view_versions: int = 100_000
    lenient: bool = False
    """Reads what known writers got wrong and the specification does not allow: snapshot ids above a signed 64-bit long,
    and v3 metadata without `next-row-id`. Such a table is for reading: nothing guarantees that others can read it."""

    def check(self, name: str, count: int, where: str) -> None:
        """Raises LimitExceeded when `count` is above the limit of that name."""
        allowed: int = getattr(self, name)
        if count > allowed:
            raise LimitExceeded(
                f"{where} has {count} {name.replace('_', ' ')}, more than the {allowed} that are read; "
                f"raise Limits.{name} if the file is trusted",
                where=where,
                count=count,
                limit=allowed,
            )


DEFAULT_LIMITS: Final = Limits()
LENIENT_LIMITS: Final = Limits(lenient=True)
