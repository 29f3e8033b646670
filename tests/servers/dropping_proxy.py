"""A proxy in front of a server that loses answers: before the server acts, or after it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch

import httpx

from servers.handling import Handler, serving


@dataclass
class Faults:
    """What happens to the next requests whose `METHOD path` is as given (`*` for anything): `drop before`, `drop after`, `<status>`, `<status>
    after`, or `twice` (sent on twice; the second answer counts). `seen` counts what was sent on."""

    planned: dict[str, list[str]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def take(self, step: str) -> str | None:
        for pattern, faults in self.planned.items():
            if fnmatch(step, pattern) and faults:
                return faults.pop(0)
        return None


@contextmanager
def dropping_proxy(upstream: str) -> Iterator[tuple[str, Faults]]:
    """The proxy's address, and its faults."""
    faults = Faults()

    class DroppingProxy(Handler):
        def handle_any(self) -> None:
            body = self.body()
            step = f"{self.command} {self.path.partition('?')[0]}"
            fault = faults.take(step)
            if fault == "drop before":
                self.drop()
                return
            if fault is not None and fault.isdecimal():
                self.reply(int(fault))
                return
            answer = self._sent_on(step, body)
            if fault == "twice":
                answer = self._sent_on(step, body)
            if fault == "drop after":
                self.drop()
                return
            status = int(fault.split()[0]) if fault and fault.endswith("after") else answer.status_code
            kept = {key: value for key, value in answer.headers.items() if key in ("content-type", "etag")}
            self.reply(status, answer.content, kept)

        def _sent_on(self, step: str, body: bytes) -> httpx.Response:
            faults.seen.append(step)
            return self.forwarded(upstream, body, without=("host",))

    with serving(DroppingProxy) as address:
        yield address, faults
