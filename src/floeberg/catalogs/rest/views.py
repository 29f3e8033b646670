"""The views of a REST catalog: https://iceberg.apache.org/view-spec/"""

from __future__ import annotations

from dataclasses import replace

from floeberg.catalogs.base import LoadedView, is_chosen_by_catalog
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.commits import Conflicts, Refuses, send_commit
from floeberg.catalogs.rest.errors import NAMESPACES, NEW_VIEWS, VIEWS
from floeberg.catalogs.rest.http import NotSent, Request
from floeberg.catalogs.rest.results import view_result
from floeberg.catalogs.rest.session import RestSession
from floeberg.catalogs.rest.tables import listed_identifiers, named
from floeberg.errors import (
    CommitConflict,
    CommitUnknown,
    FloebergError,
    TableNotFound,
    Unavailable,
    ViewNotFound,
    WriteRefused,
)
from floeberg.spec.changes.differences import view_updates_between
from floeberg.spec.changes.requirements import AssertViewUuid
from floeberg.spec.changes.updates import LAST_ADDED, MetadataUpdate
from floeberg.spec.changes.updates_json import updates_to_json
from floeberg.spec.changes.view_builder import apply_view_updates
from floeberg.spec.json.documents import Document
from floeberg.spec.metadata.view_metadata import ViewMetadata
from floeberg.spec.metadata.view_versions import view_version_to_json
from floeberg.spec.schemas.schema_json import schema_to_json

KEEP: str = "keep views"


class RestViews:
    """What a server keeps as views."""

    def __init__(self, session: RestSession) -> None:
        self._session = session

    @property
    def are_offered(self) -> bool:
        return self._session.offers(e.LIST_VIEWS) and self._session.offers(e.LOAD_VIEW)

    def list(self, namespace: Namespace) -> list[Identifier]:
        """Raises NamespaceNotFound."""
        subject = f"namespace {self._session.shown(namespace)}"
        pages = self._session.pages(
            self._session.paths.views(namespace), {}, NAMESPACES, what="list views", subject=subject
        )
        return sorted({one for page in pages for one in listed_identifiers(page)})

    def exists(self, identifier: Identifier) -> bool:
        if not self.are_offered:
            return False
        method = "HEAD" if self._session.offers(e.VIEW_EXISTS) else "GET"
        request = Request(method, self._session.paths.view(identifier))
        return self._session.exists(request, VIEWS, what="look for it", subject=self._subject(identifier))

    def load(self, identifier: Identifier) -> LoadedView:
        """Raises ViewNotFound."""
        subject = self._subject(identifier)
        if not self.are_offered:
            raise ViewNotFound(f"{subject} does not exist: the server keeps no views", view=str(identifier))
        request = Request("GET", self._session.paths.view(identifier))
        try:
            answer = self._session.read(request, VIEWS, what="load it", subject=subject)
        except TableNotFound as missing:  # what some servers say of a view
            raise ViewNotFound(str(missing)) from missing
        metadata, location = view_result(answer, subject)
        return LoadedView(identifier, metadata, location)

    def create(self, identifier: Identifier, metadata: ViewMetadata) -> LoadedView:
        """Raises ViewAlreadyExists, TableAlreadyExists, NamespaceNotFound, CommitUnknown."""
        self._session.require(e.CREATE_VIEW, KEEP)
        subject = self._subject(identifier)
        version = replace(metadata.current_version, schema_id=LAST_ADDED)
        body: Document = {
            "name": identifier.name,
            "schema": schema_to_json(metadata.current_schema),
            "view-version": view_version_to_json(version),
            "properties": dict(metadata.properties),
        }
        if not is_chosen_by_catalog(metadata.location):
            body["location"] = metadata.location
        request = Request("POST", self._session.paths.views(identifier.namespace), body=body)
        try:
            answer = self._session.write(request, NEW_VIEWS, what="create it", subject=subject)
        except NotSent as failed:
            raise WriteRefused(f"{subject}: it was not created: {failed}") from failed
        except Unavailable as failed:
            raise CommitUnknown(
                f"{subject}: it is not known whether it was created ({failed}); look before you try again"
            ) from failed
        made, location = view_result(answer, subject)
        return LoadedView(identifier, made, location)

    def swap(self, base: LoadedView, new: ViewMetadata) -> LoadedView:
        """Raises CommitConflict, CommitUnknown, WriteRefused."""
        self._session.require(e.REPLACE_VIEW, KEEP)
        subject = self._subject(base.identifier)
        updates = view_updates_between(base.metadata, new)
        body = {
            "identifier": named(base.identifier),
            "requirements": [AssertViewUuid(base.metadata.view_uuid).to_json()],
            "updates": updates_to_json(updates),
        }
        self._check_unchanged(base)
        try:
            answer = send_commit(self._session, self._session.paths.view(base.identifier), body, subject=subject)
        except Conflicts as told:
            raise CommitConflict(str(told)) from told
        except Refuses as told:
            raise WriteRefused(str(told)) from told
        except CommitUnknown as unknown:
            return self._settled(base, updates, unknown)
        made, location = view_result(answer, subject)
        return LoadedView(base.identifier, made, location)

    def drop(self, identifier: Identifier) -> None:
        """Raises ViewNotFound."""
        subject = self._subject(identifier)
        if not self.are_offered:
            raise ViewNotFound(f"{subject} does not exist: the server keeps no views", view=str(identifier))
        self._session.require(e.DROP_VIEW, "drop views")
        request = Request("DELETE", self._session.paths.view(identifier))
        self._session.write(request, VIEWS, what="drop it", subject=subject)

    def rename(self, source: Identifier, target: Identifier) -> None:
        """Raises ViewNotFound, ViewAlreadyExists, TableAlreadyExists, NamespaceNotFound."""
        self._session.require(e.RENAME_VIEW, KEEP if not self.are_offered else "rename views")
        body = {"source": named(source), "destination": named(target)}
        request = Request("POST", f"{self._session.paths.root}/views/rename", body=body)
        subject = f"{self._subject(source)} (to {self._session.shown(target)})"
        self._session.write(request, VIEWS, what="rename it", subject=subject)

    def _check_unchanged(self, base: LoadedView) -> None:
        """The protocol has no requirement on a view's version. A change that came since the view was loaded is found by
        loading it again; what comes in the moment between is not."""
        found = self.load(base.identifier)
        if found.metadata.view_uuid.lower() != base.metadata.view_uuid.lower():
            raise CommitConflict(f"{self._subject(base.identifier)}: the view of this name is another one now")
        if found.metadata.current_version_id != base.metadata.current_version_id:
            raise CommitConflict(f"{self._subject(base.identifier)}: another change came first")

    def _settled(self, base: LoadedView, updates: tuple[MetadataUpdate, ...], unknown: CommitUnknown) -> LoadedView:
        """After an unknown outcome: the view when the updates change nothing in it any more. Raises CommitUnknown."""
        try:
            found = self.load(base.identifier)
            done = apply_view_updates(found.metadata, updates, now_ms=0) is found.metadata
        except FloebergError as error:
            unknown.add_note(f"loading the view failed too: {error}")
            raise unknown from None
        if done and found.metadata_location != base.metadata_location:
            return found
        raise unknown

    def _subject(self, identifier: Identifier) -> str:
        return f"view {self._session.shown(identifier)}"
