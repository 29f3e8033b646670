"""The tables of a REST catalog."""

from __future__ import annotations

from floeberg.catalogs.base import LoadedTable, is_chosen_by_catalog
from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.credential_source import RENEWAL_ENABLED, CredentialSource, packed
from floeberg.catalogs.rest.credentials import VendedStores
from floeberg.catalogs.rest.errors import NAMESPACES, NEW_TABLES, TABLES
from floeberg.catalogs.rest.http import Answer, NotSent, ReplyLost, Request, json_object
from floeberg.catalogs.rest.metrics import MetricsReporter
from floeberg.catalogs.rest.pointer import RestPointer
from floeberg.catalogs.rest.results import table_result
from floeberg.catalogs.rest.session import RestSession
from floeberg.catalogs.rest.vended import SNAPSHOTS_OF_REFS, Vended, storage_credentials, vended_by
from floeberg.commit.pointer import TableState
from floeberg.errors import (
    CatalogError,
    CommitConflict,
    CommitUnknown,
    InvalidInput,
    TableNotFound,
    Unavailable,
    WriteRefused,
)
from floeberg.spec.json.documents import Document
from floeberg.spec.metadata.table_metadata import TableMetadata
from floeberg.spec.metadata.table_properties import FORMAT_VERSION
from floeberg.spec.partitions.sort_orders import sort_order_to_json
from floeberg.spec.partitions.specs import partition_spec_to_json
from floeberg.spec.schemas.schema_json import schema_to_json
from floeberg.storage.registry import StoreRegistry


class RestTables:
    """What a server keeps as tables."""

    def __init__(self, session: RestSession, *, stores: StoreRegistry, reporter: MetricsReporter) -> None:
        self._session = session
        self._reporter = reporter
        self._stores = stores

    def list(self, namespace: Namespace) -> list[Identifier]:
        """Raises NamespaceNotFound."""
        subject = f"namespace {self._session.shown(namespace)}"
        pages = self._session.pages(
            self._session.paths.tables(namespace), {}, NAMESPACES, what="list tables", subject=subject
        )
        return sorted({one for page in pages for one in listed_identifiers(page)})

    def exists(self, identifier: Identifier) -> bool:
        method = "HEAD" if self._session.offers(e.TABLE_EXISTS) else "GET"
        request = Request(method, self._session.paths.table(identifier))
        return self._session.exists(request, TABLES, what="look for it", subject=self._subject(identifier))

    def load(self, identifier: Identifier) -> LoadedTable:
        """Raises TableNotFound."""
        pointer = self.pointer(identifier)
        return LoadedTable(pointer, pointer.refresh())

    def create(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        """Creates an empty table at once; one with snapshots, or whose metadata were staged, by a commit. Raises
        TableAlreadyExists, ViewAlreadyExists, NamespaceNotFound, CommitUnknown."""
        subject = self._subject(identifier)
        if len(metadata.snapshots):
            raise InvalidInput(f"{subject}: a table with snapshots is created by staging it first, then committing")
        answer = self._ask_to_create(identifier, self._request(identifier, metadata), subject)
        pointer = self.pointer(identifier)
        state = pointer.taken(table_result(answer, subject))
        self._check_version(subject, metadata, state.metadata)
        return LoadedTable(pointer, state)

    def stage(self, identifier: Identifier, metadata: TableMetadata) -> LoadedTable:
        """A table to be, as the server will have it, and with access to where its files go. Raises as `create`."""
        subject = self._subject(identifier)
        request = self._request(identifier, metadata)
        request["stage-create"] = True
        answer = self._ask_to_create(identifier, request, subject)
        pointer = self.pointer(identifier)
        result = table_result(answer, subject)
        self._check_version(subject, metadata, result.metadata)
        state = pointer.taken(result)
        return LoadedTable(pointer, TableState(state.identifier, state.metadata, None))

    def register(self, identifier: Identifier, metadata_location: str) -> LoadedTable:
        """Raises TableAlreadyExists, UnsupportedFeature."""
        self._session.require(e.REGISTER_TABLE, "register tables")
        subject = self._subject(identifier)
        body = {"name": identifier.name, "metadata-location": metadata_location}
        request = Request("POST", f"{self._session.paths.namespace(identifier.namespace)}/register", body=body)
        answer = self._session.write(request, NEW_TABLES, what="register it", subject=subject)
        pointer = self.pointer(identifier)
        return LoadedTable(pointer, pointer.taken(table_result(answer, subject)))

    def drop(self, identifier: Identifier, *, only_if: TableState | None, purge: bool) -> None:
        """Raises TableNotFound, CommitConflict, and CatalogError when it is not known whether it was dropped."""
        subject = self._subject(identifier)
        if only_if is not None and self.load(identifier).state.metadata_location != only_if.metadata_location:
            raise CommitConflict(f"{subject} was changed meanwhile")
        params = {"purgeRequested": "true" if purge else "false"}
        request = Request("DELETE", self._session.paths.table(identifier), params)
        try:
            self._session.write(request, TABLES, what="drop it", subject=subject)
        except NotSent:
            raise
        except Unavailable as failed:
            raise CatalogError(
                f"{subject}: it is not known whether it was dropped ({failed}); look before you try again",
                table=subject,
            ) from failed

    def rename(self, source: Identifier, target: Identifier) -> None:
        """Raises TableNotFound, TableAlreadyExists, ViewAlreadyExists, NamespaceNotFound."""
        self._session.require(e.RENAME_TABLE, "rename tables")
        if source == target:
            if not self.exists(source):
                raise TableNotFound(f"{self._subject(source)} does not exist")
            return
        body = {"source": named(source), "destination": named(target)}
        request = Request("POST", f"{self._session.paths.root}/tables/rename", body=body)
        subject = f"{self._subject(source)} (to {self._session.shown(target)})"
        self._session.write(request, TABLES, what="rename it", subject=subject)

    def pointer(self, identifier: Identifier) -> RestPointer:
        shown = self._session.shown(identifier)
        stores = VendedStores(
            shown,
            own=self._session.settings.stores,
            everywhere=self._stores,
            effects=self._session.effects,
            renew=lambda vended: self._renewed(identifier, vended),
            source=lambda vended: self._credential_source(identifier, vended),
        )
        return RestPointer(identifier, session=self._session, stores=stores, reporter=self._reporter)

    def _renewed(self, identifier: Identifier, vended: Vended) -> Vended:
        """What the server vends now in the place of what ends."""
        subject = self._subject(identifier)
        path = self._session.paths.table(identifier)
        if self._renews_by_endpoint(vended):
            request = Request("GET", f"{path}/credentials")
            answer = self._session.read(request, TABLES, what="give credentials for it", subject=subject)
            return Vended(vended.config, storage_credentials(json_object(answer, subject)))
        request = Request("GET", path, SNAPSHOTS_OF_REFS)
        answer = self._session.read(request, TABLES, what="load it", subject=subject)
        return vended_by(json_object(answer, subject))

    def _credential_source(self, identifier: Identifier, vended: Vended) -> CredentialSource | None:
        settings = self._session.settings
        if str(settings.stores.get(RENEWAL_ENABLED, "true")).lower() == "false":
            return None
        by_endpoint = self._renews_by_endpoint(vended)
        path = self._session.paths.table(identifier)
        return CredentialSource(
            catalog=self._session.name,
            subject=self._subject(identifier),
            uri=settings.uri,
            path=f"{path}/credentials" if by_endpoint else path,
            by_endpoint=by_endpoint,
            options=packed({**settings.options, **self._session.client.authentication.handed_on()}),
            headers=packed(settings.headers),
            stores=packed(settings.stores),
            config=packed(vended.config if by_endpoint else {}),
        )

    def _renews_by_endpoint(self, vended: Vended) -> bool:
        """Not where the table's configuration holds credentials too, which that endpoint does not renew."""
        return self._session.offers(e.LOAD_CREDENTIALS) and not vended.has_ending_config

    def _ask_to_create(self, identifier: Identifier, body: Document, subject: str) -> Answer:
        request = Request("POST", self._session.paths.tables(identifier.namespace), body=body)
        try:
            return self._session.write(request, NEW_TABLES, what="create it", subject=subject)
        except NotSent as failed:
            raise WriteRefused(f"{subject}: it was not created: {failed}") from failed
        except (ReplyLost, Unavailable) as failed:
            if body.get("stage-create"):
                raise  # nothing becomes visible by staging
            raise CommitUnknown(
                f"{subject}: it is not known whether it was created ({failed}); look whether it is there before you try again",
                table=subject,
            ) from failed

    def _request(self, identifier: Identifier, metadata: TableMetadata) -> Document:
        body: Document = {"name": identifier.name}
        if not is_chosen_by_catalog(metadata.location):
            body["location"] = metadata.location
        return {
            **body,
            "schema": schema_to_json(metadata.current_schema),
            "partition-spec": partition_spec_to_json(metadata.default_spec),
            "write-order": sort_order_to_json(metadata.default_sort_order),
            "stage-create": False,
            "properties": {**metadata.properties, FORMAT_VERSION: str(metadata.format_version)},
        }

    def _check_version(self, subject: str, wanted: TableMetadata, made: TableMetadata) -> None:
        """Some servers take another format version than they are asked for and say nothing."""
        if wanted.format_version != made.format_version:
            raise CatalogError(
                f"{subject}: the server took format version {made.format_version} where {wanted.format_version} was asked for; "
                f"ask for format_version={made.format_version}. A table of that version may be there now",
                asked=wanted.format_version,
                given=made.format_version,
            )

    def _subject(self, identifier: Identifier) -> str:
        return f"table {self._session.shown(identifier)}"


def named(identifier: Identifier) -> Document:
    """A name as the protocol has it."""
    return {"namespace": list(identifier.namespace), "name": identifier.name}


def listed_identifiers(page: Document) -> list[Identifier]:
    """The names on a page of a listing."""
    listed = page.get("identifiers")
    return [
        Identifier(tuple(str(level) for level in one["namespace"]), str(one["name"]))
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and isinstance(one.get("namespace"), list) and "name" in one
    ]
