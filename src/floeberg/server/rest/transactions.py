"""Commits over several tables: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence

from floeberg.catalogs.base import TableSwap
from floeberg.commit.pointer import TableState
from floeberg.errors import BadRequest, CommitConflict, CommitUnknown, TableNotFound, UnsupportedFeature
from floeberg.server.rest.calls import NO_CONTENT, Answer, Call, identifier_of, in_request
from floeberg.server.rest.commits import MAX_TRIES, TableCommit, commit_one, loaded_state, wait
from floeberg.server.served_catalog import ServedCatalog
from floeberg.spec.changes.updates import AddSnapshot
from floeberg.spec.json.fields import JsonFields


def commit_transaction(call: Call) -> Answer:
    """Commits the changes of several tables together."""
    with in_request():
        changes = [JsonFields(one, "a table change") for one in call.fields.list("table-changes")]
        commits = [
            TableCommit.parse(one, identifier_of(one.required("identifier"), "the identifier")) for one in changes
        ]
    names = [commit.identifier for commit in commits]
    if not commits or len(set(names)) != len(names):
        raise BadRequest("a transaction changes one or more tables, each of them once")
    if len(commits) == 1:
        commit_one(call.served, commits[0])
    else:
        _commit_all(call.served, commits)
    return NO_CONTENT


def _commit_all(served: ServedCatalog, commits: Sequence[TableCommit]) -> None:
    if not served.backend.capabilities.several_tables:
        raise UnsupportedFeature(
            f"catalog {served.name} cannot commit several tables at once: it has one pointer a table and no transaction over "
            "them; commit each table by itself, or serve a SQL catalog"
        )
    tries = 0
    while True:
        tries += 1
        states = [_state(served, commit) for commit in commits]
        if _took_effect(commits, states):
            return
        swaps = [
            TableSwap(commit.identifier, state, commit.applied(served, state))
            for commit, state in zip(commits, states, strict=True)
        ]
        if all(swap.only_holds for swap in swaps):
            return
        try:
            served.backend.swap_tables(swaps)
            return
        except CommitConflict:
            if tries == MAX_TRIES:
                raise
            wait(served, tries)


def _state(served: ServedCatalog, commit: TableCommit) -> TableState | None:
    state = loaded_state(served, commit.identifier)
    if state is None and not commit.creates:
        raise TableNotFound(f"table {served.name}.{commit.identifier} does not exist")
    return state


def _took_effect(commits: Sequence[TableCommit], states: Sequence[TableState | None]) -> bool:
    """Whether this very transaction was committed before. Raises CommitUnknown when some tables hold their part of it and
    others do not: a snapshot may have been expired since."""
    found = [
        state is not None and commit.took_effect_in(state.metadata)
        for commit, state in zip(commits, states, strict=True)
        if any(isinstance(update, AddSnapshot) for update in commit.updates)
    ]
    if any(found) and not all(found):
        raise CommitUnknown(
            "some tables hold the snapshots of this transaction and others do not: look at each of them"
        )
    return any(found)
