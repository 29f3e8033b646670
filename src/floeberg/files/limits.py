"""How much of a metadata file we agree to decode. Beyond these it is refused before memory or time is spent on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeLimits:
    """Bounds on what one file may make us hold. `max_ratio` counts only beyond `ratio_free_bytes` of output, because
    small files of repeated bytes honestly compress very well."""

    max_file_bytes: int = 256 * MIB
    max_decoded_bytes: int = 256 * MIB
    max_ratio: int = 250
    ratio_free_bytes: int = 16 * MIB
    max_records: int = 10_000_000
    max_header_bytes: int = 64 * MIB
    max_header_keys: int = 1_000
    max_schema_nodes: int = 50_000
    max_schema_depth: int = 32
    max_blobs: int = 1_000_000
    max_footer_bytes: int = 256 * MIB
    max_bitmap_keys: int = 65_536
    max_positions: int = 256_000_000

    def output_bytes(self, compressed_bytes: int) -> int:
        """The most that this many compressed bytes may decompress to."""
        return min(self.max_decoded_bytes, max(self.ratio_free_bytes, compressed_bytes * self.max_ratio))


DEFAULT_LIMITS: Final = DecodeLimits()
