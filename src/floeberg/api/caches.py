"""Caches of immutable files that the tables of one catalog share, so that the next scan need not read them again."""

from __future__ import annotations

from dataclasses import dataclass, field

from floeberg.arrow.scan.delete_cache import DeleteCache
from floeberg.scan.frame_cache import FrameCache


@dataclass(frozen=True, slots=True)
class Caches:
    """Decoded manifests and what was read of delete files, each within a bound of bytes."""

    frames: FrameCache = field(default_factory=FrameCache)
    deletes: DeleteCache = field(default_factory=DeleteCache)
