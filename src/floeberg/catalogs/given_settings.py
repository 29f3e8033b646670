"""What a catalog was opened with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from floeberg.storage.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSettings:
    """The settings of a catalog as its user gave them. Credentials are Secrets."""

    type: str
    warehouse: str | None = None
    uri: str | Secret | None = None
    options: Mapping[str, str | Secret] = field(default_factory=dict)
