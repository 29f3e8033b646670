"""The namespaces of a REST catalog."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from floeberg.catalogs.identifiers import Namespace
from floeberg.catalogs.rest import endpoints as e
from floeberg.catalogs.rest.errors import DROPPED_NAMESPACES, NAMESPACES
from floeberg.catalogs.rest.http import Request, json_object
from floeberg.catalogs.rest.session import RestSession
from floeberg.errors import BadRequest, InvalidInput, NamespaceNotEmpty, NamespaceNotFound


class RestNamespaces:
    """What a server keeps as namespaces."""

    def __init__(self, session: RestSession) -> None:
        self._session = session

    def create(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Raises NamespaceAlreadyExists."""
        subject = self._subject(namespace)
        self._check_texts(subject, properties)
        body = {"namespace": list(namespace), "properties": dict(properties)}
        request = Request("POST", self._session.paths.namespaces(), body=body)
        self._session.write(request, NAMESPACES, what="create it", subject=subject)

    def drop(self, namespace: Namespace) -> None:
        """Raises NamespaceNotFound, NamespaceNotEmpty."""
        subject = self._subject(namespace)
        request = Request("DELETE", self._session.paths.namespace(namespace))
        try:
            self._session.write(request, DROPPED_NAMESPACES, what="drop it", subject=subject)
        except BadRequest as refused:
            if "not empty" in str(refused).lower():
                raise NamespaceNotEmpty(str(refused)) from refused
            raise

    def list(self, parent: Namespace) -> list[Namespace]:
        """The namespaces directly below one. Raises NamespaceNotFound."""
        params = {"parent": self._session.paths.joined(parent)} if parent else {}
        subject = self._subject(parent) if parent else f"catalog {self._session.name}"
        depth = len(parent)
        found: set[Namespace] = set()
        for page in self._session.pages(
            self._session.paths.namespaces(), params, NAMESPACES, what="list namespaces", subject=subject
        ):
            listed = page.get("namespaces")
            for levels in listed if isinstance(listed, list) else []:
                one = tuple(str(level) for level in levels)
                if len(one) > depth and one[:depth] == parent:
                    found.add(one[: depth + 1])
        if parent and not found and not self.exists(parent):  # some servers answer an unknown parent with an empty list
            raise self._missing(parent)
        return sorted(found)

    def exists(self, namespace: Namespace) -> bool:
        method = "HEAD" if self._session.offers(e.NAMESPACE_EXISTS) else "GET"
        request = Request(method, self._session.paths.namespace(namespace))
        return self._session.exists(request, NAMESPACES, what="look for it", subject=self._subject(namespace))

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """Raises NamespaceNotFound."""
        subject = self._subject(namespace)
        request = Request("GET", self._session.paths.namespace(namespace))
        document = json_object(self._session.read(request, NAMESPACES, what="load it", subject=subject), subject)
        given = document.get("properties")
        return {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}

    def update(self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]) -> None:
        """Raises NamespaceNotFound, UnsupportedFeature."""
        subject = self._subject(namespace)
        self._session.require(e.UPDATE_NAMESPACE, "change properties of namespaces")
        if both := sorted({*set} & {*remove}):
            raise InvalidInput(f"{subject}: set and removed at once: {', '.join(both)}")
        self._check_texts(subject, {**set, **dict.fromkeys(remove, "")})
        if not set and not remove:
            return
        body = {"updates": dict(set), "removals": sorted(remove)}
        request = Request("POST", f"{self._session.paths.namespace(namespace)}/properties", body=body)
        self._session.write(request, NAMESPACES, what="change its properties", subject=subject)

    def require(self, namespace: Namespace) -> None:
        """Raises NamespaceNotFound."""
        if not self.exists(namespace):
            raise self._missing(namespace)

    def _missing(self, namespace: Namespace) -> NamespaceNotFound:
        return NamespaceNotFound(
            f"namespace {self._session.shown(namespace)} does not exist; create_namespace makes it",
            namespace=self._session.shown(namespace),
        )

    def _subject(self, namespace: Namespace) -> str:
        return f"namespace {self._session.shown(namespace)}"

    def _check_texts(self, subject: str, properties: Mapping[str, object]) -> None:
        for key, value in properties.items():
            if not isinstance(value, str) or not key:
                raise InvalidInput(f"{subject}: property {key!r} must be a text, not {value!r}")
