"""One table of a REST catalog: loading it, and committing to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from floeberg.catalogs.identifiers import Identifier
from floeberg.catalogs.metadata_files import check_same_table
from floeberg.catalogs.rest.commits import Conflicts, Refuses, TableCommit, send_commit
from floeberg.catalogs.rest.credentials import VendedStores
from floeberg.catalogs.rest.errors import TABLES
from floeberg.catalogs.rest.http import Request
from floeberg.catalogs.rest.metrics import MetricsReporter
from floeberg.catalogs.rest.planning import ServerPlanner
from floeberg.catalogs.rest.results import TableResult, table_result
from floeberg.catalogs.rest.session import RestSession
from floeberg.catalogs.rest.snapshots import PartialSnapshotList
from floeberg.commit.pointer import TableState
from floeberg.effects.protocols import Effects, Store
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    FloebergError,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
    ValidationConflict,
    WriteRefused,
)
from floeberg.expr.nodes import Expression
from floeberg.scan.catalog_planning import PlannedScan
from floeberg.scan.snapshot_choice import SnapshotChoice
from floeberg.scan.tasks import FileScanTask
from floeberg.spec.json.documents import Document
from floeberg.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The last answer to a load, and the tag under which the server says that nothing changed."""

    tag: str
    state: TableState


class RestPointer:
    """A table that a server keeps, or one to be that its first swap creates."""

    def __init__(
        self, identifier: Identifier, *, session: RestSession, stores: VendedStores, reporter: MetricsReporter
    ) -> None:
        self.key = identifier
        self._reporter = reporter
        self._planner = ServerPlanner(session, identifier)
        self.identifier = session.shown(identifier)
        self._session = session
        self._stores = stores
        self._known: TableMetadata | None = None
        self._loaded: _Loaded | None = None

    @property
    def effects(self) -> Effects:
        return self._session.effects

    @property
    def stores(self) -> VendedStores:
        return self._stores

    def store_for(self, location: str) -> Store:
        return self._stores.for_location(location)

    def refresh(self) -> TableState:
        mode = self._session.settings.snapshot_mode
        headers = {} if self._loaded is None else {"If-None-Match": self._loaded.tag}
        params = {} if mode == "all" else {"snapshots": mode}
        subject = f"table {self.identifier}"
        request = Request("GET", self._session.paths.table(self.key), params, headers=headers)
        answer = self._session.read(request, TABLES, what="load it", subject=subject)
        if answer.status == 304 and self._loaded is not None:
            return self._loaded.state
        state = self.taken(table_result(answer, subject), is_partial=mode != "all")
        tag = answer.headers.get("etag")
        self._loaded = None if not tag else _Loaded(tag, state)
        return state

    def taken(self, result: TableResult, *, is_partial: bool = False) -> TableState:
        """The state that a load, a creation or a commit answered with. Raises TableNotFound when it is another table."""
        metadata = result.metadata
        if self._known is not None:
            check_same_table(self.identifier, self._known, metadata)
        self._known = metadata
        self._stores.take(result)
        if is_partial:
            metadata = self._completing(metadata, result.metadata_location)
        return TableState(self.identifier, metadata, result.metadata_location)

    def swap(self, base: TableState, new: TableMetadata) -> TableState:
        commit = TableCommit.of(self.key, None if base.metadata_location is None else base.metadata, new)
        body = {key: value for key, value in commit.to_json().items() if key != "identifier"}
        subject = f"table {self.identifier}"
        try:
            answer = send_commit(self._session, self._session.paths.table(self.key), body, subject=subject)
        except (Conflicts, Refuses) as told:
            return self._look_first(commit, told)
        except CommitUnknown as unknown:
            return self.settled(commit, base, unknown)
        try:
            result = table_result(answer, subject)
        except FloebergError as error:  # it is committed, but the answer cannot be read
            return self.settled(
                commit, base, CommitUnknown(f"{subject}: the answer to a commit cannot be read: {error}")
            )
        for snapshot in commit.snapshots:
            self._reporter.commit(self.key, snapshot)
        return self.taken(result)

    @property
    def wants_server_planning(self) -> bool:
        """Whether scans are planned by the server: the user asks for it, or the server does for this table."""
        return self._session.settings.wants_server_planning or self._stores.wants_server_planning

    def planned_tasks(
        self, metadata: TableMetadata, chosen: SnapshotChoice, where: Expression, *, case_sensitive: bool
    ) -> Sequence[FileScanTask]:
        return self._planner.tasks(metadata, chosen, where, case_sensitive=case_sensitive)

    def report_scan(self, scan: PlannedScan) -> None:
        self._reporter.scan(self.key, scan)

    def settled(self, commit: TableCommit, base: TableState, unknown: CommitUnknown) -> TableState:
        """After an unknown outcome: the table's state when it shows the commit. Raises CommitUnknown."""
        try:
            state = self.refresh()
        except FloebergError as error:
            unknown.add_note(f"loading the table failed too: {error}")
            raise unknown from None
        if commit.is_done_in(state, base.metadata_location):
            return state
        raise unknown

    def _look_first(self, commit: TableCommit, told: Conflicts | Refuses) -> TableState:
        """Something between us and the server may have sent the commit twice, or an earlier attempt may have come through:
        the table decides before the server's word counts."""
        try:
            state = self.refresh()
        except (TableNotFound, NamespaceNotFound) as missing:
            if commit.base is None:
                raise self._not_created(told) from missing
            raise CommitConflict(str(told), table=self.identifier) from told
        except FloebergError as error:
            raise CommitUnknown(
                f"{told}; whether that is our own commit is not known, because the table cannot be loaded: {error}"
            ) from error
        if commit.shows_in(state.metadata):
            return state
        if isinstance(told, Refuses):
            raise WriteRefused(str(told), table=self.identifier) from told
        if commit.base is None:
            taken = TableAlreadyExists(f"table {self.identifier} is there already", table=self.identifier)
            raise self._not_created(told) from taken
        raise CommitConflict(str(told), table=self.identifier) from told

    def _not_created(self, told: FloebergError) -> FloebergError:
        if isinstance(told, Refuses):
            return WriteRefused(str(told), table=self.identifier)
        return ValidationConflict(str(told), table=self.identifier, retry_can_help=False)

    def _completing(self, metadata: TableMetadata, location: str | None) -> TableMetadata:
        """The metadata with snapshots that complete themselves when all of them are asked for."""

        def load() -> tuple[Document, ...]:
            subject = f"table {self.identifier}"
            request = Request("GET", self._session.paths.table(self.key), {"snapshots": "all"})
            result = table_result(self._session.read(request, TABLES, what="load it", subject=subject), subject)
            check_same_table(self.identifier, metadata, result.metadata)
            documents = result.metadata.snapshots.documents
            if result.metadata_location == location:
                return documents
            return tuple(
                one for one in documents if _was_there(one, metadata)
            )  # committed meanwhile: not of this state

        partial = metadata.snapshots
        return replace(metadata, snapshots=PartialSnapshotList(partial.kind, partial.documents, load=load))


def _was_there(snapshot: Document, metadata: TableMetadata) -> bool:
    """Whether a snapshot belongs to a state or came after it: sequence numbers only grow; v1 has times alone."""
    if metadata.format_version > 1:
        number = snapshot.get("sequence-number")
        return not isinstance(number, int) or number <= metadata.last_sequence_number
    time_ms = snapshot.get("timestamp-ms")
    return not isinstance(time_ms, int) or time_ms <= metadata.last_updated_ms
