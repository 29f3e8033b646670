"""Work on many manifests at a time: many threads wait for the store, as many as there are processors decode, and the bytes
that are read ahead are bounded, however large manifests are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from floeberg.spec.snapshots.manifest_entry import ManifestFile

T = TypeVar("T")

PROCESSORS: Final = os.cpu_count() or 1
AHEAD_BYTES: Final = 1024 * 1024 * PROCESSORS
"""How many bytes of manifests are worked on at a time; but one for each processor and one more may always be."""


class ManifestThreads:
    """The threads that work for one reader. More decoders than processors would only take memory."""

    def __init__(self, threads: int) -> None:
        self._threads = max(1, threads)
        self._decoders: ThreadPoolExecutor | None = None

    def in_order(self, action: Callable[[ManifestFile], T], manifests: Sequence[ManifestFile]) -> Iterator[T]:
        """The action's results, in the manifests' order, as they are needed. The first error is raised and ends the
        rest."""
        if len(manifests) < 2 or self._threads == 1:
            yield from map(action, manifests)
            return
        readers = ThreadPoolExecutor(min(self._threads, len(manifests)), thread_name_prefix="floeberg-read")
        decoders = ThreadPoolExecutor(PROCESSORS, thread_name_prefix="floeberg-decode")
        self._decoders = decoders
        try:
            ahead: deque[tuple[ManifestFile, Future[T]]] = deque()
            for manifest in manifests:
                while self._is_enough(ahead, manifest):
                    yield ahead.popleft()[1].result()
                ahead.append((manifest, readers.submit(action, manifest)))
            while ahead:
                yield ahead.popleft()[1].result()
        finally:
            self._decoders = None
            readers.shutdown(cancel_futures=True)
            decoders.shutdown()

    def decoded(self, read: Callable[[], bytes], decode: Callable[[bytes], T]) -> T:
        """What `decode` makes of what `read` gives, each in a thread of its kind where there are any."""
        decoders = self._decoders
        return decode(read()) if decoders is None else decoders.submit(decode, read()).result()

    def _is_enough(self, ahead: Sequence[tuple[ManifestFile, object]], manifest: ManifestFile) -> bool:
        if len(ahead) <= PROCESSORS:
            return len(ahead) > self._threads
        held = sum(known.manifest_length for known, _ in ahead)
        return len(ahead) >= self._threads or held + manifest.manifest_length > AHEAD_BYTES
