"""Commits: requirements that must still hold, and updates to apply.

409 says that nothing took effect. A commit that is sent again although it took effect, because its answer was lost, is
recognised by its snapshots and answered as it was the first time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from floeberg.catalogs.identifiers import Identifier
from floeberg.commit.pointer import TableState
from floeberg.errors import BadRequest, CommitConflict, TableNotFound
from floeberg.server.rest.calls import Answer, Call, identifier_of, in_request
from floeberg.server.rest.table_documents import commit_answer
from floeberg.server.served_catalog import ServedCatalog
from floeberg.spec.changes.requirements import AssertCreate, Requirement, check_requirements, requirement_from_json
from floeberg.spec.changes.table_builder import apply_updates
from floeberg.spec.changes.updates import (
    AddSchema,
    AddSnapshot,
    AssignUuid,
    MetadataUpdate,
    SetCurrentSchema,
    SetLocation,
)
from floeberg.spec.changes.updates_json import update_from_json
from floeberg.spec.json.fields import JsonFields
from floeberg.spec.metadata.table_metadata import TableMetadata

MAX_TRIES: Final = 6
_FIRST_WAIT_MS: Final = 20.0


@dataclass(frozen=True, slots=True)
class TableCommit:
    """The change of one table."""

    identifier: Identifier
    requirements: tuple[Requirement, ...]
    updates: tuple[MetadataUpdate, ...]

    @classmethod
    def parse(cls, fields: JsonFields, identifier: Identifier) -> TableCommit:
        """Raises a FormatError for an unknown requirement or update."""
        requirements = tuple(requirement_from_json(one) for one in fields.list("requirements"))
        updates = tuple(update_from_json(one) for one in fields.list("updates"))
        commit = cls(identifier, requirements, updates)
        if commit.creates and len(requirements) > 1:
            raise BadRequest(f"table {identifier}: a commit that creates it can require nothing else")
        return commit

    @property
    def creates(self) -> bool:
        return any(isinstance(requirement, AssertCreate) for requirement in self.requirements)

    def took_effect_in(self, metadata: TableMetadata) -> bool:
        """Whether a table holds this very commit already. A manifest list's name carries a uuid, which tells a snapshot
        from another that drew the same id."""
        added = [update.snapshot for update in self.updates if isinstance(update, AddSnapshot)]
        if self.creates and not added:  # the uuid was drawn when the table was staged
            uuids = [update.uuid.lower() for update in self.updates if isinstance(update, AssignUuid)]
            return uuids == [(metadata.table_uuid or "").lower()]
        found = [metadata.find_snapshot(snapshot.snapshot_id) for snapshot in added]
        return bool(added) and all(
            there is not None and there.manifest_list is not None and there.manifest_list == snapshot.manifest_list
            for there, snapshot in zip(found, added, strict=True)
        )

    def applied(self, served: ServedCatalog, base: TableState | None) -> TableMetadata:
        """The table after the change. Raises CommitConflict when a requirement does not hold, or when sequence numbers or
        row ids were given to others meanwhile."""
        check_requirements(self.requirements, None if base is None else base.metadata)
        updates = self.updates if base is not None else self._creation(served)
        new = apply_updates(
            None if base is None else base.metadata,
            updates,
            now_ms=served.backend.effects.clock.now_ms(),
            base_metadata_location=None if base is None else base.metadata_location,
        )
        served.check_table(new, updates)
        return new

    def _creation(self, served: ServedCatalog) -> tuple[MetadataUpdate, ...]:
        """The updates of a new table. Specs and orders are checked against the current schema, which some clients set
        last."""
        current = tuple(update for update in self.updates if isinstance(update, SetCurrentSchema))
        added = [at for at, update in enumerate(self.updates) if isinstance(update, AddSchema)]
        updates = self.updates
        if len(current) == 1 and added:
            others = [(at, update) for at, update in enumerate(updates) if update is not current[0]]
            before = tuple(update for at, update in others if at <= added[-1])
            updates = (*before, *current, *(update for at, update in others if at > added[-1]))
        if any(isinstance(update, SetLocation) for update in updates):
            return updates
        return (*updates, SetLocation(served.backend.default_location(self.identifier)))


def commit_table(call: Call) -> Answer:
    """Commits a change of one table; creates it where the commit says so."""
    with in_request():
        if call.fields.has("identifier") and identifier_of(call.fields.value("identifier"), "identifier") != call.table:
            raise BadRequest(f"the body names another table than the path does, which is {call.table}")
        commit = TableCommit.parse(call.fields, call.table)
    return commit_answer(commit_one(call.served, commit))


def commit_one(served: ServedCatalog, commit: TableCommit) -> TableState:
    """The table after the commit. A swap that lost to another process is tried again as long as the requirements hold.
    Raises CommitConflict, CommitUnknown."""
    backend = served.backend
    if commit.creates:
        found = loaded_state(served, commit.identifier)
        if found is not None and commit.took_effect_in(found.metadata):
            return found
        return backend.create_table(commit.identifier, commit.applied(served, found)).state
    tries = 0
    while True:
        tries += 1
        loaded = backend.load_table(commit.identifier)
        if commit.took_effect_in(loaded.state.metadata):
            return loaded.state
        new = commit.applied(served, loaded.state)
        if new is loaded.state.metadata:
            return loaded.state
        try:
            return loaded.pointer.swap(loaded.state, new)
        except CommitConflict:
            if tries == MAX_TRIES:
                raise
            wait(served, tries)


def loaded_state(served: ServedCatalog, identifier: Identifier) -> TableState | None:
    """A table as it is; None when it does not exist."""
    try:
        return served.backend.load_table(identifier).state
    except TableNotFound:
        return None


def wait(served: ServedCatalog, tries: int) -> None:
    """Waits before the next of several tries, longer each time."""
    effects = served.backend.effects
    longest = _FIRST_WAIT_MS * 2 ** (tries - 1)
    effects.sleeper.sleep_ms(effects.rng.uniform(longest / 2, longest))
