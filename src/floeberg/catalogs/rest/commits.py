"""Sending a commit once, and telling its outcomes apart: committed, refused, in conflict, or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.rest.errors import ServerError, server_error
from floeberg.catalogs.rest.http import Answer, NotSent, ReplyLost, Request
from floeberg.catalogs.rest.session import RestSession
from floeberg.commit.pointer import TableState
from floeberg.errors import CatalogError, CommitConflict, CommitUnknown, FloebergError, Unavailable, WriteRefused
from floeberg.spec.changes.differences import updates_between
from floeberg.spec.changes.requirements import AssertRefSnapshotId, Requirement, requirements_for
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import AddSnapshot, MetadataUpdate
from floeberg.spec.changes.updates_json import updates_to_json
from floeberg.spec.json.documents import Document
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.snapshots.refs import MAIN_BRANCH
from floeberg.spec.snapshots.snapshot import Snapshot

CONFLICTS: Final = (404, 409, 412)
"""The table is not as the commit requires it, or not there: what it is now decides."""
_NOT_ALLOWED: Final = (401, 403, 419)
_STALE: Final = ("sequence number", "first-row-id", "first row id")
"""What a server says of a snapshot that was made for an older state, where it says it by 400."""


class Conflicts(CommitConflict):
    """The server reports a conflict. It may be one with ourselves: the table tells."""


class Refuses(WriteRefused):
    """The server refuses the commit. Something in between may have sent it before: the table tells."""


@dataclass(frozen=True, slots=True)
class TableCommit:
    """A commit of one table: what it was planned on, what it makes, and both as the protocol has them."""

    identifier: Identifier
    base: TableMetadata | None
    new: TableMetadata
    updates: tuple[MetadataUpdate, ...]
    requirements: tuple[Requirement, ...]

    @classmethod
    def of(cls, identifier: Identifier, base: TableMetadata | None, new: TableMetadata) -> TableCommit:
        updates = updates_between(base, new)
        return cls(identifier, base, new, updates, requirements_for(base, updates))

    @classmethod
    def holding(cls, identifier: Identifier, base: TableMetadata) -> TableCommit:
        """Changes nothing, and requires that no branch or tag of the table has moved."""
        heads = {MAIN_BRANCH: base.current_snapshot_id} | {name: ref.snapshot_id for name, ref in base.refs.items()}
        unmoved = (AssertRefSnapshotId(name, snapshot_id) for name, snapshot_id in heads.items())
        return cls(identifier, base, base, (), (*requirements_for(base, ()), *unmoved))

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The snapshots that it adds."""
        return tuple(update.snapshot for update in self.updates if isinstance(update, AddSnapshot))

    def to_json(self) -> Document:
        return {
            "identifier": {"namespace": list(self.identifier.namespace), "name": self.identifier.name},
            "requirements": [requirement.to_json() for requirement in self.requirements],
            "updates": updates_to_json(self.updates),
        }

    def shows_in(self, metadata: TableMetadata) -> bool:
        """Whether a table's metadata show this very commit: the snapshots it added, by id and by the manifest list that
        carries a uuid; a new table without any, its uuid, which a server may choose itself."""
        if self.base is None and not self.snapshots:
            return (metadata.table_uuid or "").lower() == (self.new.table_uuid or "").lower()
        found = [metadata.find_snapshot(snapshot.snapshot_id) for snapshot in self.snapshots]
        return bool(found) and all(
            one is not None and one.manifest_list == made.manifest_list
            for one, made in zip(found, self.snapshots, strict=True)
        )

    def is_done_in(self, state: TableState, base_location: str | None) -> bool:
        """Whether, after an unknown outcome, a table is as the commit wanted it. Without a snapshot: its updates change
        nothing any more. Servers write metadata in their own way, so that nothing else can be compared."""
        if self.base is None or self.snapshots:
            return self.shows_in(state.metadata)
        if state.metadata_location == base_location:
            return False
        try:
            return apply_updates(state.metadata, self.updates, now_ms=state.metadata.last_updated_ms) is state.metadata
        except FloebergError:
            return False


def send_commit(session: RestSession, path: str, body: Mapping[str, object], *, subject: str) -> Answer:
    """Sends a commit, once. The answer is a success.

    Raises WriteRefused when it is proved that nothing took effect, Conflicts and Refuses when the server says so and the
    table should be looked at first, CommitConflict when it only came too early, CommitUnknown otherwise.
    """
    request = Request("POST", path, body=body, headers=session.mutation_headers())
    try:
        answer = session.client.send_once(request)
    except NotSent as error:
        raise WriteRefused(f"{subject}: nothing was committed: {error}") from error
    except ReplyLost as error:
        raise CommitUnknown(f"{subject}: {error}") from error
    except (
        CatalogError,
        Unavailable,
    ) as error:  # no token to be had: nothing was sent, or it was refused for want of one
        raise WriteRefused(f"{subject}: nothing was committed: {error}") from error
    if answer.is_ok:
        return answer
    raise _outcome(server_error(answer, session.client.masked), subject)


def _outcome(error: ServerError, subject: str) -> FloebergError:
    status = error.status
    if status in CONFLICTS:
        return Conflicts(f"{subject}: the server reports a conflict: {error}", status=status)
    if status == 429:
        return CommitConflict(f"{subject}: the server asks for fewer requests: {error}", status=status)
    if status in _NOT_ALLOWED:
        return WriteRefused(f"{subject}: the server does not allow this commit: {error}", status=status)
    if 400 <= status < 500 and status != 408:
        if status == 400 and any(word in error.message.lower() for word in _STALE):
            return Conflicts(f"{subject}: the server reports a conflict: {error}", status=status)
        return Refuses(f"{subject}: the server refuses this commit: {error}", status=status)
    return CommitUnknown(f"{subject}: the server does not say whether it committed: {error}", status=status)
