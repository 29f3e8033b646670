"""A temporary view is resolved under the settings that it was made with; statements of other threads are not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep
from typing import Any

import pytest

from floeberg.spark.host import view_settings
from floeberg.spark.host.session import session_of
from floeberg.spark.host.settings import changed_settings, session_settings
from floeberg.spark.host.settings.held_settings import held_setting
from spark_runs.spark_session import CONNECT

pytestmark = pytest.mark.skipif(CONNECT, reason="there such a view is refused")
ZONE = "spark.sql.session.timeZone"
TOKYO = ((ZONE, "Asia/Tokyo"),)
MIDNIGHT = "SELECT unix_seconds(TIMESTAMP '2024-01-01 00:00:00') AS s FROM lake.db.zoned"
UTC_SECONDS, TOKYO_SECONDS = 1704067200, 1704034800


@pytest.fixture
def zoned(session: Any) -> Iterator[Any]:
    """A view that was made in another time zone than the session's."""
    session.sql("CREATE TABLE lake.db.zoned AS SELECT 1 AS id")
    session.conf.set(ZONE, "Asia/Tokyo")
    session.sql(f"CREATE TEMPORARY VIEW zoned_view AS {MIDNIGHT}")
    session.conf.set(ZONE, "UTC")
    yield session
    session.conf.set(ZONE, "UTC")
    session.sql("DROP VIEW zoned_view")
    session.sql("DROP TABLE lake.db.zoned")


def test_two_threads_under_a_views_settings_restore_the_sessions_own(zoned: Any) -> None:
    first_is_in, second_is_in, first_has_left = Event(), Event(), Event()
    attached = session_of(zoned)
    assert attached is not None

    def first() -> None:
        with view_settings.under(attached, TOKYO):
            first_is_in.set()
            second_is_in.wait(0.5)  # passes where the second one gets in beside
        first_has_left.set()

    def second() -> None:
        first_is_in.wait()
        with view_settings.under(attached, TOKYO):
            second_is_in.set()
            first_has_left.wait(5)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result()
    assert zoned.conf.get(ZONE) == "UTC"


def test_a_statement_beside_one_over_such_a_view_has_the_sessions_settings(zoned: Any) -> None:
    attached = session_of(zoned)
    assert attached is not None
    with ThreadPoolExecutor(1) as pool:
        with view_settings.under(attached, TOKYO):
            beside = pool.submit(lambda: zoned.sql(MIDNIGHT))
            with pytest.raises(TimeoutError):
                beside.result(timeout=1)
        assert beside.result().collect()[0].s == UTC_SECONDS


def test_a_setting_is_set_and_read_beside_such_a_view_as_the_sessions_own(zoned: Any) -> None:
    attached = session_of(zoned)
    assert attached is not None
    with ThreadPoolExecutor(2) as pool:
        with view_settings.under(attached, TOKYO):
            read = pool.submit(lambda: session_settings.setting_of(zoned, ZONE, ""))
            given = pool.submit(lambda: zoned.conf.set(ZONE, "Europe/Paris"))
            with pytest.raises(TimeoutError):
                given.result(timeout=0.5)
        given.result()
        assert read.result() in ("UTC", "Europe/Paris")
    assert zoned.conf.get(ZONE) == "Europe/Paris"


def test_a_setting_that_waits_to_be_held_keeps_no_statement_from_its_own(
    zoned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_settings, "_MAX_RESOLVING_S", 30)
    resolves, others_wait = Event(), Event()
    attached = session_of(zoned)
    assert attached is not None

    def statement() -> None:
        with changed_settings.SETTINGS.resolving():
            resolves.set()
            others_wait.wait()
            hold("spark.sql.sources.parallelPartitionDiscovery.threshold")

    def over_the_view() -> None:
        with view_settings.under(attached, TOKYO):
            pass

    def hold(name: str) -> None:
        with held_setting(zoned, name, "7"):
            pass

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(statement)]
        resolves.wait()
        running += [pool.submit(over_the_view)]
        sleep(0.2)  # it waits for the statement
        running += [pool.submit(hold, "spark.sql.debug.maxToStringFields")]
        sleep(0.2)  # it waits for the view
        others_wait.set()
        for done in running:
            done.result(timeout=10)


def test_a_long_command_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = changed_settings.SettingsInUse()
    runs, may_end = Event(), Event()

    def command() -> None:
        with settings.resolving():
            runs.set()
            may_end.wait(30)

    monkeypatch.setattr(changed_settings, "_MAX_RESOLVING_S", 0.1)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(command)
        runs.wait()
        with settings.changing():
            assert not done.done()
        monkeypatch.setattr(changed_settings, "_MAX_RESOLVING_S", 30)
        with settings.changing():  # the second one does not wait at all
            assert not done.done()
        may_end.set()


def test_an_interrupted_wait_leaves_no_one_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = changed_settings.SettingsInUse()

    def interrupted() -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(settings, "_all_resolved", interrupted)
        with pytest.raises(KeyboardInterrupt), settings.changing():
            raise AssertionError("the interrupt comes before")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: settings.resolving().__enter__()).result(timeout=5) is None


def test_many_threads_over_such_a_view_see_its_rows(zoned: Any) -> None:
    texts = ["SELECT s FROM zoned_view", MIDNIGHT] * 12
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: zoned.sql(text).collect()[0].s, texts))
    assert found == [TOKYO_SECONDS, UTC_SECONDS] * 12
    assert zoned.conf.get(ZONE) == "UTC"
