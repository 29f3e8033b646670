"""Rows of (name → metadata file), wherever a catalog stores them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from floeberg.catalogs.identifiers import Identifier, Namespace

TABLE: Final = "TABLE"
VIEW: Final = "VIEW"


@dataclass(frozen=True, slots=True)
class PointerSwap:
    """A table's pointer in a change of several: what it is (None: it is not there yet) and what it becomes."""

    identifier: Identifier
    expected: str | None
    location: str

    @property
    def only_holds(self) -> bool:
        """Whether the pointer stays as it is, and the change is refused when another one moved it."""
        return self.location == self.expected


class PointerRows(Protocol):
    """Where the pointers are. Every method is one atomic step. A change raises Throttled or WriteRefused when it is proved
    that it did not take effect, Unavailable when that is not known."""

    @property
    def keeps_views(self) -> bool: ...

    @property
    def namespaces_by_use(self) -> bool: ...

    def check_names(self, namespace: Namespace, name: str | None = None) -> None:
        """Raises UnsupportedFeature for names that the rows cannot hold."""
        ...

    def get(self, identifier: Identifier, kind: str) -> str | None: ...

    def kind_of(self, identifier: Identifier) -> str | None:
        """TABLE or VIEW, when something of that name is there."""
        ...

    def insert(self, identifier: Identifier, kind: str, location: str) -> bool:
        """False when something of that name is there."""
        ...

    def swap(self, identifier: Identifier, kind: str, *, expected: str, location: str) -> bool:
        """False when the pointer is not the expected one (any more)."""
        ...

    def swap_all(self, swaps: Sequence[PointerSwap]) -> bool:
        """All of them at once; False, and nothing is changed, when one pointer is not the expected one (any more)."""
        ...

    def delete(self, identifier: Identifier, kind: str, *, expected: str | None = None) -> bool:
        """False when nothing of that name and kind is there, or its pointer is not the expected one."""
        ...

    def rename(self, source: Identifier, target: Identifier, kind: str) -> None:
        """Raises TableNotFound/ViewNotFound and TableAlreadyExists/ViewAlreadyExists."""
        ...

    def list(self, namespace: Namespace, kind: str) -> list[Identifier]: ...

    def any_below(self, location: str) -> bool:
        """Whether something's metadata file lies below a location."""
        ...

    def namespaces(self) -> set[Namespace]:
        """Every namespace that was created or holds something."""
        ...

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]: ...

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> bool: ...

    def update_namespace(self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]) -> None: ...

    def drop_namespace(self, namespace: Namespace) -> None: ...

    def close(self) -> None: ...
