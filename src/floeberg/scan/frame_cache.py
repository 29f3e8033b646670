"""Decoded manifests and manifest lists, kept for the next plan: neither ever changes. Bounded by bytes. The last plans are kept
beside them, for statements that ask for the same again.

Frames are kept compressed: paths and counts repeat themselves, so that a file takes some tens of bytes and not hundreds,
and to unpack them costs a small part of what decoding the manifest would.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import polars as pl

from floeberg.scan.last_used import LastUsed
from floeberg.spec.snapshots.manifest_entry import ManifestFile

DEFAULT_CACHE_BYTES: Final = 256 * 1024 * 1024
_MANIFEST_FILE_BYTES: Final = 1_000
_MAX_PLANS: Final = 256
_MAX_PLANNED_FILES: Final = 100_000
"""Of all plans that are kept, delete files among them; a file takes some hundreds of bytes."""


@dataclass(frozen=True, slots=True)
class _Packed:
    """A frame as a compressed stream, and the names of its columns."""

    stream: bytes
    columns: frozenset[str]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> _Packed:
        stream = io.BytesIO()
        frame.write_ipc_stream(stream, compression="zstd")
        return cls(stream.getvalue(), frozenset(frame.columns))

    def frame(self, columns: frozenset[str]) -> pl.DataFrame:
        return pl.read_ipc_stream(self.stream, columns=sorted(columns))


@dataclass(frozen=True, slots=True)
class _Kept:
    value: _Packed | tuple[ManifestFile, ...]
    size_bytes: int


class FrameCache:
    """Shared by any number of plans and threads. A frame is found again by any plan that asks for no other columns."""

    def __init__(self, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._size_bytes = 0
        self.plans: Final[LastUsed[object]] = LastUsed(most=_MAX_PLANS, most_size=_MAX_PLANNED_FILES)

    @property
    def size_bytes(self) -> int:
        """What is held now, as estimated."""
        return self._size_bytes

    def frame(self, key: Hashable, columns: frozenset[str]) -> pl.DataFrame | None:
        """These columns of the manifest's frame, when the one held has them all."""
        found = self._get(key)
        return found.frame(columns) if isinstance(found, _Packed) and columns <= found.columns else None

    def held_columns(self, key: Hashable) -> frozenset[str]:
        """The columns of the frame held for a manifest: a decoder that replaces it keeps them."""
        with self._lock:
            kept = self._kept.get(key)
        return kept.value.columns if kept and isinstance(kept.value, _Packed) else frozenset()

    def manifests(self, key: Hashable) -> tuple[ManifestFile, ...] | None:
        """The manifests of a list."""
        found = self._get(key)
        return found if isinstance(found, tuple) else None

    def keep(self, key: Hashable, value: pl.DataFrame | tuple[ManifestFile, ...]) -> None:
        """Keeps a value, unless it alone is larger than the bound."""
        if isinstance(value, pl.DataFrame):
            packed = _Packed.of(value)
            kept = _Kept(packed, len(packed.stream))
        else:
            kept = _Kept(value, _MANIFEST_FILE_BYTES * len(value))
        if kept.size_bytes > self.max_bytes:
            return
        with self._lock:
            self._forget(key)
            self._kept[key] = kept
            self._size_bytes += kept.size_bytes
            while self._size_bytes > self.max_bytes:
                self._forget(next(iter(self._kept)))

    def _get(self, key: Hashable) -> _Packed | tuple[ManifestFile, ...] | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept.value

    def _forget(self, key: Hashable) -> None:
        old = self._kept.pop(key, None)
        self._size_bytes -= 0 if old is None else old.size_bytes
