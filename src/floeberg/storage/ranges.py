"""Byte ranges of one file read in few requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

MAX_GAP_BYTES = 512 << 10
MAX_REQUEST_BYTES = 32 << 20


def read_coalesced(read: Callable[[int, int], bytes], ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """The bytes of each (offset, length), near ones fetched by one `read(offset, length)` with the gap between them; a
    range that reaches beyond the end of the file is short or empty."""
    results: list[bytes] = [b""] * len(ranges)
    order = sorted(range(len(ranges)), key=lambda index: ranges[index])
    group: list[int] = []
    for index in order:
        if group and not _fits(ranges, group, index):
            _fetch(read, ranges, group, results)
            group = []
        group.append(index)
    if group:
        _fetch(read, ranges, group, results)
    return results


def _end(ranges: Sequence[tuple[int, int]], group: Sequence[int]) -> int:
    return max(ranges[index][0] + ranges[index][1] for index in group)


def _fits(ranges: Sequence[tuple[int, int]], group: Sequence[int], index: int) -> bool:
    start = ranges[group[0]][0]
    offset, length = ranges[index]
    return offset - _end(ranges, group) <= MAX_GAP_BYTES and offset + length - start <= MAX_REQUEST_BYTES


def _fetch(
    read: Callable[[int, int], bytes], ranges: Sequence[tuple[int, int]], group: Sequence[int], results: list[bytes]
) -> None:
    start = ranges[group[0]][0]
    content = read(start, _end(ranges, group) - start)
    for index in group:
        offset, length = ranges[index]
        results[index] = content[offset - start : offset - start + length]
