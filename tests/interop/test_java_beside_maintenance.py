"""Our maintenance beside the Java runtime's writers and maintenance, and its maintenance beside our writers, each held between
its planning and its commit: no row is lost, doubled or revived.

Both commit through our server: it holds a commit of the Java runtime until one of our operations has committed, while
another one of ours has planned already and commits last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import floeberg as fb
from floeberg.server.rest import commits
from floeberg.server.served_catalog import ServedCatalog
from floeberg.server.settings import ServerSettings
from floeberg.server.tokens import Tokens
from models.beside_java import JAVA_MAINTENANCE, JAVA_WRITES, OUR_MAINTENANCE, OUR_WRITES, SharedTable
from peers.java_peer import JavaRuntime
from servers.floeberg_server import server_in_thread

pytestmark = pytest.mark.java
TOKEN = "sentinel-token-0123456789"
CATALOG = "beside"
OURS = (*OUR_MAINTENANCE, *OUR_WRITES)
REFUSED = ("ValidationException", "CommitFailedException")
"""What a statement of the Java runtime fails by that another commit kept from its own."""
OVERTAKEN = "NotFoundException"
"""What the Java runtime's expiry fails by when another expiry has deleted the manifest lists that it reads to find what to delete."""
SHARE = int(os.environ.get("FLOEBERG_JAVA_PAIRS", "4"))
"""Every so many pairs are run: a quarter, and all of them by `make java-pairs`."""


class HeldCommits:
    """Commits of the Java runtime, of which the first waits until others have acted."""

    def __init__(self) -> None:
        self.others: Callable[[], object] | None = None

    def release(self) -> None:
        others, self.others = self.others, None
        if others is not None:
            others()


@pytest.fixture(scope="module")
def held() -> Iterator[HeldCommits]:
    found, real = HeldCommits(), commits.commit_one

    def commit(*given: Any) -> Any:
        found.release()
        return real(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commits, "commit_one", commit)
        yield found


@pytest.fixture(scope="module")
def lake(runtime: JavaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[fb.Catalog]:
    folder = tmp_path_factory.mktemp("beside")
    settings = {"warehouse": f"{folder}/lake", "properties": {"local.fsync": "false"}}
    with fb.catalog(CATALOG, type="sql", uri=f"sqlite:///{folder}/lake.db", **settings) as catalog:
        served = ServedCatalog.of(catalog, warehouse=f"{folder}/lake")
        with server_in_thread([served], ServerSettings(tokens=Tokens([TOKEN]))) as url:
            runtime.open_rest(CATALOG, url, TOKEN)
            yield catalog


def _beside(ours: str) -> list[tuple[str, str]]:
    """The operations of the Java runtime beside which one of ours is held, and the one of ours beside which each of them is held
    itself: over all of ours, each of them meets each of the others."""
    place = OURS.index(ours)
    found = [(java, OURS[(place + 1 + 4 * number) % len(OURS)]) for number, java in enumerate(JAVA_MAINTENANCE)]
    if ours in OUR_MAINTENANCE:
        maintenance = [*OUR_MAINTENANCE]
        found += [
            (java, maintenance[(place + 1 + 2 * number) % len(maintenance)]) for number, java in enumerate(JAVA_WRITES)
        ]
    return found[place % SHARE :: SHARE]


@dataclass(slots=True)
class Pair:
    """One of our operations held for one of the Java runtime, which is held itself for another one of ours."""

    runtime: JavaRuntime
    held: HeldCommits
    shared: SharedTable
    java: str
    between: str
    is_java_held: bool = False
    error: str = ""

    def run(self, ours: str) -> bool:
        """Whether each was held. Raises AssertionError when the rows are not those of the commits in their order."""
        self.shared.add_work()
        is_ours_held = self.shared.ours(ours, self._run_java)
        self.shared.check()
        return is_ours_held and self.is_java_held

    def _run_java(self) -> None:
        statement, change = self.shared.java(CATALOG, self.java)
        self.held.others = lambda: self.shared.ours(self.between)
        (answer,) = self.runtime.ask([statement])
        self.is_java_held = self.held.others is None
        self.held.release()
        self.error = answer.error
        if not self.error:
            self.shared.succeeded(change)


@pytest.mark.parametrize("ours", OURS)
def test_no_row_is_lost_doubled_or_revived_beside_the_java_runtime(
    runtime: JavaRuntime, lake: fb.Catalog, held: HeldCommits, ours: str
) -> None:
    shared = SharedTable(lake, ours, version=2 + OURS.index(ours) % 2)
    for java, between in _beside(ours):
        pair = Pair(runtime, held, shared, java, between)
        is_held = pair.run(ours)
        print(f"{ours} held for {java}, it for {between}: {'held' if is_held else 'not held'} {pair.error[:170]}")
        refused = (*REFUSED, OVERTAKEN) if java == between == "expire_snapshots" else REFUSED
        assert not pair.error or any(text in pair.error for text in refused), pair
    (found,) = runtime.run(f"SELECT id, p, v FROM {CATALOG}.db.{ours}")
    assert sorted(tuple(row.values()) for row in found) == shared.expected()
    shared.check_all()
