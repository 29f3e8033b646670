"""One process of the race in test_04_create_if_absent: for each name on a line of stdin, tries to create that file.

Run as: python create_racer.py <safe|overwriting> <number>
"""

from __future__ import annotations

import os
import sys
import time

from floeberg.effects.system import SystemIds
from floeberg.errors import PreconditionFailed
from floeberg.storage.local import LocalStore


class OverwritingStore(LocalStore):
    """The protection switched off: check, then rename over."""

    def create(self, location: str, content: bytes) -> None:
        if os.path.exists(location):
            raise PreconditionFailed(location)
        time.sleep(0.002)
        self.replace(location, content)


def main(kind: str, number: str) -> None:
    store = LocalStore(SystemIds()) if kind == "safe" else OverwritingStore(SystemIds(), fsync=False)
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            store.create(line.rstrip("\n"), number.encode() * 1000)
        except PreconditionFailed:
            print("taken", flush=True)
        else:
            print("created", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
