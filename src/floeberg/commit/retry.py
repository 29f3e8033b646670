"""The retry loop of every commit.

Replay the change on the current metadata → swap → on a proven conflict refresh and replay. Only a proven conflict is retried;
an unknown outcome is checked, and raised if it stays unknown. https://iceberg.apache.org/spec/#optimistic-concurrency
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from floeberg.commit.pointer import TablePointer, TableState
from floeberg.errors import CommitConflict, CommitUnknown, FileNotFound, FloebergError, InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import integer_property

logger = logging.getLogger("floeberg.commit")
BACKOFF_FACTOR: Final = 2.0
_PROPERTIES: Final = {
    "num_retries": "commit.retry.num-retries",
    "min_wait_ms": "commit.retry.min-wait-ms",
    "max_wait_ms": "commit.retry.max-wait-ms",
    "total_timeout_ms": "commit.retry.total-timeout-ms",
    "status_check_num_retries": "commit.status-check.num-retries",
    "status_check_min_wait_ms": "commit.status-check.min-wait-ms",
    "status_check_max_wait_ms": "commit.status-check.max-wait-ms",
}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a commit is tried, from the table's `commit.retry.*` and `commit.status-check.*`."""

    num_retries: int = 4
    min_wait_ms: int = 100
    max_wait_ms: int = 60_000
    total_timeout_ms: int = 1_800_000
    status_check_num_retries: int = 3
    status_check_min_wait_ms: int = 1_000
    status_check_max_wait_ms: int = 60_000

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> RetryPolicy:
        """A value that is no number counts as the default, with a warning: the commit may be the one that sets it right."""
        if not any(key in properties for key in _PROPERTIES.values()):
            return _DEFAULT_POLICY
        return cls(
            **{name: _number(properties, key, getattr(_DEFAULT_POLICY, name)) for name, key in _PROPERTIES.items()}
        )


_DEFAULT_POLICY: Final = RetryPolicy()


def _number(properties: Mapping[str, str], key: str, default: int) -> int:
    try:
        return integer_property(properties, key, default)
    except InvalidInput as error:
        logger.warning("%s; the commit goes by %d", error, default)
        return default


@dataclass(frozen=True, slots=True)
class Attempt:
    """One replay of a change: the resulting metadata, and how to find it in a table later."""

    metadata: TableMetadata
    snapshot_ids: tuple[int, ...]
    landed_in: Callable[[TableState], bool]
    """Whether a table's state shows that this attempt took effect."""


Replay = Callable[[TableState, int], Attempt]
"""(base state, attempt number from 1) → what to swap in. Raises ValidationConflict when the change no longer applies."""


def commit_with_retries(pointer: TablePointer, base: TableState, replay: Replay) -> tuple[TableState, Attempt]:
    """Commits a change by replaying it until a swap succeeds: the table after it, and the attempt that took effect, which an
    attempt before the last one may be. Raises CommitConflict, ValidationConflict or CommitUnknown."""
    policy = RetryPolicy.from_properties(base.metadata.properties)
    started_ms = pointer.effects.clock.monotonic_ms()
    attempt_number = 0
    refused: list[Attempt] = []
    state = base
    while True:
        attempt_number += 1
        try:
            attempt = replay(state, attempt_number)
        except FileNotFound:
            # Expiry may have deleted manifests of a base that is no longer current.
            newest = pointer.refresh()
            if newest.metadata_location == state.metadata_location or attempt_number > policy.num_retries:
                raise
            if (landed := first_landed(refused, newest)) is not None:
                return newest, landed
            state = newest
            continue
        if attempt.metadata is state.metadata:
            if attempt_number > 1 or state.metadata_location is None:
                return state, attempt  # nothing to change
            newest = pointer.refresh()
            if newest.metadata_location == state.metadata_location:
                return state, attempt
            state = newest  # the base was stale: "nothing to change" may not hold for the newest state
            continue
        try:
            return pointer.swap(state, attempt.metadata), attempt
        except CommitUnknown as unknown:
            return _settle_unknown(pointer, [*refused, attempt], policy, unknown)
        except CommitConflict as conflict:
            refused.append(attempt)
            elapsed_ms = pointer.effects.clock.monotonic_ms() - started_ms
            gives_up = attempt_number > policy.num_retries or elapsed_ms > policy.total_timeout_ms
            if attempt_number > 1 and not gives_up:  # the first attempt may only have had stale metadata
                back_off(pointer, attempt_number - 1, low_ms=policy.min_wait_ms, high_ms=policy.max_wait_ms)
            state = pointer.refresh()
            if (landed := first_landed(refused, state)) is not None:
                return state, landed
            if gives_up:
                raise _gave_up(pointer, attempt_number, conflict) from conflict


def first_landed(refused: Sequence[Attempt], state: TableState) -> Attempt | None:
    """The attempt that a table shows although it was answered by a conflict: a store or proxy that repeated our own write
    reports a conflict with ourselves, for this attempt or, when the first of the two arrives late, for an earlier one. A
    change without a snapshot is left out: another commit may have made the same, and to replay it does no harm."""
    return next((attempt for attempt in refused if attempt.snapshot_ids and attempt.landed_in(state)), None)


def _gave_up(pointer: TablePointer, attempt_number: int, conflict: CommitConflict) -> CommitConflict:
    return CommitConflict(
        f"table {pointer.identifier}: gave up after {attempt_number} attempts, other commits came first each time "
        f"({conflict}); run the operation again, or raise the table's commit.retry.num-retries",
        table=pointer.identifier,
        attempts=attempt_number,
    )


def back_off(pointer: TablePointer, number: int, *, low_ms: int, high_ms: int) -> None:
    """Waits before the next attempt: longer each time, with jitter, so that concurrent writers do not wait equally long."""
    exact = min(high_ms, low_ms * BACKOFF_FACTOR ** min(number - 1, 30))
    pointer.effects.sleeper.sleep_ms(exact + pointer.effects.rng.uniform(0, max(1.0, exact * 0.1)))


def _settle_unknown(
    pointer: TablePointer, attempts: Sequence[Attempt], policy: RetryPolicy, unknown: CommitUnknown
) -> tuple[TableState, Attempt]:
    """Reads the table until it shows the last attempt, or one before it. Its absence proves nothing (the write may still
    arrive), so nothing is cleaned up and the error says what to check."""
    attempt = attempts[-1]
    for check in range(1, policy.status_check_num_retries + 1):
        if check > 1:
            low_ms, high_ms = policy.status_check_min_wait_ms, policy.status_check_max_wait_ms
            back_off(pointer, check - 1, low_ms=low_ms, high_ms=high_ms)
        try:
            state = pointer.refresh()
        except FloebergError as error:
            unknown.add_note(f"status check {check} failed: {error}")
            continue
        if attempt.landed_in(state):
            return state, attempt
        if (landed := first_landed(attempts, state)) is not None:
            return state, landed
    made = ", ".join(str(snapshot_id) for snapshot_id in attempt.snapshot_ids)
    look_for = f"look for snapshot {made} in the table" if made else "look at the table's metadata"
    raise CommitUnknown(
        f"table {pointer.identifier}: it is not known whether the commit took effect ({unknown}). Nothing was cleaned up. "
        f"Before you run the operation again, {look_for}.",
        table=pointer.identifier,
        snapshot_ids=list(attempt.snapshot_ids),
    ) from unknown
