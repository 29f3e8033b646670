"""Idempotent commits: a commit that names its application and version takes effect once, however often it is sent.

    once = AppTransaction(app_id="orders-job", version=17, branch="main")
    committed = commit_operations(pointer, state, operations, once=once)
    committed.skipped  # the record of the commit that did it before; None when this one took effect

`commit_operations` looks for the version on every attempt, on the state that the attempt builds on, and skips the whole
commit when the branch holds it. What was committed is recorded twice by the commit itself: in the summary of its snapshot,
and, because snapshots expire and some catalogs show one snapshot only, as a table property for each branch and app. A
commit that moves a branch otherwise than by adding to it (rollback, fast-forward, replaced or dropped branch, replaced
table) carries over the records that still hold. `find_committed` asks without committing, before files are written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import quote, unquote

import msgspec

from floeberg.commit.cherry_pick import SOURCE_SNAPSHOT_ID, WAP_ID
from floeberg.errors import InvalidInput
from floeberg.spec.changes.updates import MetadataUpdate, RemoveProperties, SetProperties
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot
from floeberg.spec.values.whole_numbers import whole_number

PROPERTY_PREFIX: Final = "floeberg.txn."
"""The table property of a record: the prefix, the quoted branch, a dot, the app id."""
APP_ID: Final = "floeberg.txn.app-id"
VERSION: Final = "floeberg.txn.version"
CONTENT: Final = "floeberg.txn.content"
PREVIOUS: Final = "floeberg.txn.previous"
"""The summary's copy of the record that the commit replaced, so that a rollback finds it again."""
_STREAM_KEYS: Final = ("spark.sql.streaming.queryId", "spark.sql.streaming.epochId")
"""What the Java runtime's streaming sink writes into summaries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppTransaction:
    """The version of an application that a commit stands for, and the branch that it goes to.

    Versions of an app grow; one at or below the last committed one is done. `content` identifies what the version holds,
    where that is known: the same version with other content is an error. `wap_id` stages the commit.
    """

    app_id: str
    version: int
    content: str | None = None
    branch: str = MAIN_BRANCH
    wap_id: str | None = None

    def __post_init__(self) -> None:
        app_id, version = cast("object", self.app_id), whole_number(self.version)
        if not isinstance(app_id, str) or version is None:
            raise InvalidInput(
                f"a transaction is the text of an app id and a whole number, ('orders-job', 17), not "
                f"({app_id!r:.40}, {self.version!r:.40})"
            )
        if not self.app_id:
            raise InvalidInput("a transaction's app id is empty; name the application")
        object.__setattr__(self, "version", version)
        if self.version < 0:
            raise InvalidInput(f"version {self.version} of app {self.app_id!r} is negative; versions begin at 0")

    def summary(self, base: TableMetadata) -> dict[str, str]:
        """What the snapshot's summary says of it."""
        summary = {APP_ID: self.app_id, VERSION: str(self.version)}
        if self.content is not None:
            summary[CONTENT] = self.content
        if (previous := last_committed(base, self.app_id, branch=self.branch)) is not None:
            summary[PREVIOUS] = previous.to_json()
        return summary


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRecord:
    """The last version of an app that a branch holds, and the snapshot that committed it."""

    version: int
    snapshot_id: int
    sequence_number: int
    content: str | None = None
    table_uuid: str | None = None

    def to_json(self) -> str:
        document: dict[str, Any] = {
            "version": self.version,
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            "content": self.content,
            "table-uuid": self.table_uuid,
        }
        return msgspec.json.encode({key: value for key, value in document.items() if value is not None}).decode()

    @classmethod
    def from_json(cls, text: str) -> TransactionRecord | None:
        """None for a text that is no record: someone else's property is not ours to judge."""
        try:
            found = msgspec.json.decode(text, type=_RecordDocument)
        except msgspec.DecodeError:
            return None
        return cls(
            version=found.version,
            snapshot_id=found.snapshot_id,
            sequence_number=found.sequence_number,
            content=found.content,
            table_uuid=found.table_uuid,
        )


class _RecordDocument(msgspec.Struct, rename="kebab"):
    version: int
    snapshot_id: int
    sequence_number: int
    content: str | None = None
    table_uuid: str | None = None


def find_committed(metadata: TableMetadata, once: AppTransaction, *, identifier: str) -> TransactionRecord | None:
    """The record that shows that the branch holds the version already; None when it does not.

    Raises InvalidInput when the branch holds the same version with other content.
    """
    branch = _Branch.of(metadata, once.branch)
    same = [record for record in branch.summaries(once.app_id) if record.version == once.version]
    last = last_committed(metadata, once.app_id, branch=once.branch)
    if last is not None and last.version >= once.version:
        same.append(last)
    if not same:
        return None
    for record in same:
        if record.version == once.version and None not in (record.content, once.content):
            if record.content == once.content:
                continue
            raise InvalidInput(
                f"table {identifier}: version {once.version} of {once.app_id!r} is committed already (snapshot "
                f"{record.snapshot_id}) with other content; a checkpoint that was copied or changed is used again. Start "
                "the query with a checkpoint location of its own",
                table=identifier,
                snapshot_id=record.snapshot_id,
            )
    return same[0]


def last_committed(metadata: TableMetadata, app_id: str, *, branch: str = MAIN_BRANCH) -> TransactionRecord | None:
    """The newest version of an app that a branch holds: by its property, as far as that still holds, and by summaries."""
    place = _Branch.of(metadata, branch)
    known = [*place.recorded(app_id), *place.summaries(app_id)]
    return max(known, key=lambda record: record.version, default=None)


def record_updates(
    before: TableMetadata, after: TableMetadata, *, made: Sequence[Snapshot], once: AppTransaction | None
) -> list[MetadataUpdate]:
    """The changes of properties that keep the records right after a commit: those of branches that it moved otherwise than
    by adding snapshots are evaluated anew, and the commit's own transaction is recorded."""
    wanted: dict[str, str | None] = {}
    for name in _moved(before, after, made={snapshot.snapshot_id for snapshot in made}):
        wanted |= _carried_over(before, after, name)
    if once is not None and made:
        last = made[-1]
        record = TransactionRecord(
            version=once.version,
            snapshot_id=last.snapshot_id,
            sequence_number=last.sequence_number,
            content=once.content,
            table_uuid=after.table_uuid,
        )
        wanted[_property(once.branch, once.app_id)] = record.to_json()
    properties = {key: value for key, value in wanted.items() if value is not None}
    changed = {key: value for key, value in properties.items() if after.properties.get(key) != value}
    removed = tuple(key for key, value in wanted.items() if value is None and key in after.properties)
    updates: list[MetadataUpdate] = []
    if changed:
        updates.append(SetProperties(changed))
    if removed:
        updates.append(RemoveProperties(removed))
    return updates


@dataclass(frozen=True, slots=True)
class _Branch:
    """A branch, and which of the table's snapshots are in its history."""

    metadata: TableMetadata
    name: str
    ancestors: frozenset[int]
    cut_at: int | None
    """The sequence number of the oldest retained ancestor, where the history goes on before it but is not there: expired,
    or not shown by the catalog. None when the history is whole."""

    @classmethod
    def of(cls, metadata: TableMetadata, name: str) -> _Branch:
        # A branch that is not there yet begins where `main` is.
        name = name if name in metadata.refs else MAIN_BRANCH
        ids = list(metadata.ancestor_ids(_head(metadata, name)))
        oldest = metadata.snapshot(ids[-1]) if ids else None
        is_cut = oldest is not None and oldest.parent_snapshot_id is not None
        return cls(metadata, name, frozenset(ids), oldest.sequence_number if oldest is not None and is_cut else None)

    def recorded(self, app_id: str) -> Iterator[TransactionRecord]:
        """The record of the branch's property, or the newest one before it that still holds."""
        key = _property(self.name, app_id)
        for record in _chain(self.metadata, self.metadata.properties.get(key), app_id):
            if self.holds(record):
                yield record
                return

    def holds(self, record: TransactionRecord) -> bool:
        """Whether a record of this branch is true: its snapshot is in the branch's history, is staged, or is older than all
        that is left of the history."""
        if record.snapshot_id in self.ancestors or self.is_staged(record):
            return True
        is_older = self.cut_at is not None and record.sequence_number <= self.cut_at
        return (is_older and not self._is_after(record.snapshot_id)) or self._is_picked(record.snapshot_id)

    def _is_after(self, snapshot_id: int) -> bool:
        """Whether a snapshot was built on one of the branch's history and so cannot be before it. In v1 all sequence numbers
        are 0, so that these do not tell."""
        ancestors = self.metadata.ancestor_ids(snapshot_id) if self.metadata.snapshots.has_id(snapshot_id) else ()
        return any(one in self.ancestors for one in ancestors)

    def is_staged(self, record: TransactionRecord) -> bool:
        """Whether the record's snapshot waits to be published to `main`."""
        snapshot = self.metadata.find_snapshot(record.snapshot_id)
        return snapshot is not None and self._stages(snapshot.summary)

    def summaries(self, app_id: str) -> Iterator[TransactionRecord]:
        """What the summaries of the branch's snapshots, and of those staged for `main`, say of an app."""
        for position, document in enumerate(self.metadata.snapshots.documents):
            summary = document.get("summary")
            if not isinstance(summary, dict) or (version := _version(summary, app_id)) is None:
                continue
            if document["snapshot-id"] in self.ancestors or self._stages(summary):
                snapshot = self.metadata.snapshots.item(position)
                yield TransactionRecord(
                    version=version,
                    snapshot_id=snapshot.snapshot_id,
                    sequence_number=snapshot.sequence_number,
                    content=summary.get(CONTENT),
                    table_uuid=self.metadata.table_uuid,
                )

    def _stages(self, summary: Mapping[str, str]) -> bool:
        return self.name == MAIN_BRANCH and WAP_ID in summary

    def _is_picked(self, snapshot_id: int) -> bool:
        """Whether the branch holds the snapshot's files by a cherry-pick of it."""
        return any(
            isinstance(summary := document.get("summary"), dict)
            and summary.get(SOURCE_SNAPSHOT_ID) == str(snapshot_id)
            and document["snapshot-id"] in self.ancestors
            for document in self.metadata.snapshots.documents
        )


def _chain(metadata: TableMetadata, text: str | None, app_id: str) -> Iterator[TransactionRecord]:
    """A record and those that it replaced, as far as the summaries of their snapshots are there. A record of another table
    (a copied property) is none."""
    seen: set[int] = set()
    while text is not None and (record := TransactionRecord.from_json(text)) is not None:
        if record.table_uuid != metadata.table_uuid or record.snapshot_id in seen:
            return
        yield record
        seen.add(record.snapshot_id)
        snapshot = metadata.find_snapshot(record.snapshot_id)
        if snapshot is None or snapshot.summary.get(APP_ID) != app_id:
            return
        text = snapshot.summary.get(PREVIOUS)


def _moved(before: TableMetadata, after: TableMetadata, *, made: Collection[int]) -> Iterator[str]:
    """The branches that are gone, new, or moved otherwise than by the snapshots that the commit made."""
    for name in {**before.refs, **after.refs}:
        old, new = before.refs.get(name), after.refs.get(name)
        if new is None:
            yield name
        elif new.is_branch and (old is None or old.snapshot_id != new.snapshot_id):
            begun = next((one for one in after.ancestor_ids(new.snapshot_id) if one not in made), None)
            if old is None or begun != old.snapshot_id:
                yield name


def _carried_over(before: TableMetadata, after: TableMetadata, name: str) -> dict[str, str | None]:
    """The records of a branch after it moved: each app's newest that holds, by the branch's own record, those of other
    branches and the summaries. None removes one."""
    records = dict(_records(before.properties))
    if name not in after.refs:
        return {_property(branch, app): None for branch, app in records if branch == name}
    place = _Branch.of(after, name)
    apps = {app for _, app in records} | _apps(after)
    found: dict[str, list[TransactionRecord]] = {app: [*place.summaries(app)] for app in apps}
    for (branch, app), text in records.items():
        source = _Branch.of(before, branch)
        shared = _last_shared(source, after, name)
        for record in _chain(after, text, app):
            # What both histories have in common they also have in common before it, where neither can be looked at.
            is_shared = record.sequence_number <= shared and source.holds(record)
            own = branch == name and place.is_staged(record)
            if record.snapshot_id in place.ancestors or ((is_shared or own) and place.holds(record)):
                found[app].append(record)
                break
    last = {app: max(known, key=lambda record: record.version, default=None) for app, known in found.items()}
    return {_property(name, app): None if one is None else one.to_json() for app, one in last.items()}


def _apps(metadata: TableMetadata) -> set[str]:
    """The apps that summaries name."""
    summaries = [document.get("summary") for document in metadata.snapshots.documents]
    keys = (APP_ID, _STREAM_KEYS[0])
    return {summary[key] for summary in summaries if isinstance(summary, dict) for key in keys if key in summary}


def _last_shared(source: _Branch, after: TableMetadata, name: str) -> int:
    """The sequence number of the newest snapshot that a branch has now and another had before; -1 when there is none."""
    ids = after.ancestor_ids(_head(after, name))
    shared = next((one for one in ids if one in source.ancestors), None)
    return -1 if shared is None else after.snapshot(shared).sequence_number


def _head(metadata: TableMetadata, name: str) -> int | None:
    ref = metadata.refs.get(name)
    return None if ref is None else ref.snapshot_id


def _version(summary: Mapping[str, str], app_id: str) -> int | None:
    for app_key, version_key in ((APP_ID, VERSION), _STREAM_KEYS):
        version = summary.get(version_key, "")
        if summary.get(app_key) == app_id and version.isdecimal():
            return int(version)
    return None


def _property(branch: str, app_id: str) -> str:
    return f"{PROPERTY_PREFIX}{quote(branch, safe='').replace('.', '%2E')}.{app_id}"


def _records(properties: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], str]]:
    for key, text in properties.items():
        branch, dot, app_id = key.removeprefix(PROPERTY_PREFIX).partition(".")
        if key.startswith(PROPERTY_PREFIX) and dot:
            yield (unquote(branch), app_id), text
