"""Pointer rows in memory, for tests and scratch work."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence

from floeberg.catalogs.identifiers import Identifier, Namespace
from floeberg.catalogs.pointer_rows import TABLE, PointerSwap
from floeberg.errors import TableAlreadyExists, TableNotFound, ViewAlreadyExists, ViewNotFound


class MemoryRows:
    """Rows in a dict; atomic by a lock."""

    keeps_views = True
    namespaces_by_use = False

    def __init__(self) -> None:
        self._pointers: dict[Identifier, tuple[str, str]] = {}
        self._namespaces: dict[Namespace, dict[str, str]] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"MemoryRows({len(self._pointers)} pointers)"

    def check_names(self, namespace: Namespace, name: str | None = None) -> None:
        """Every name can be held."""

    def get(self, identifier: Identifier, kind: str) -> str | None:
        with self._lock:
            found = self._pointers.get(identifier)
        return found[1] if found is not None and found[0] == kind else None

    def kind_of(self, identifier: Identifier) -> str | None:
        with self._lock:
            found = self._pointers.get(identifier)
        return None if found is None else found[0]

    def insert(self, identifier: Identifier, kind: str, location: str) -> bool:
        with self._lock:
            if identifier in self._pointers:
                return False
            self._pointers[identifier] = (kind, location)
            return True

    def swap(self, identifier: Identifier, kind: str, *, expected: str, location: str) -> bool:
        with self._lock:
            if self._pointers.get(identifier) != (kind, expected):
                return False
            self._pointers[identifier] = (kind, location)
            return True

    def swap_all(self, swaps: Sequence[PointerSwap]) -> bool:
        with self._lock:
            for one in swaps:
                expected = None if one.expected is None else (TABLE, one.expected)
                if self._pointers.get(one.identifier) != expected:
                    return False
            self._pointers |= {one.identifier: (TABLE, one.location) for one in swaps}
            return True

    def delete(self, identifier: Identifier, kind: str, *, expected: str | None = None) -> bool:
        with self._lock:
            found = self._pointers.get(identifier)
            if found is None or found[0] != kind or (expected is not None and found[1] != expected):
                return False
            del self._pointers[identifier]
            return True

    def rename(self, source: Identifier, target: Identifier, kind: str) -> None:
        with self._lock:
            found = self._pointers.get(source)
            if found is None or found[0] != kind:
                missing = TableNotFound if kind == TABLE else ViewNotFound
                raise missing(f"{kind.lower()} {source} does not exist")
            if target in self._pointers:
                taken = TableAlreadyExists if self._pointers[target][0] == TABLE else ViewAlreadyExists
                raise taken(f"{target} is there already")
            self._pointers[target] = self._pointers.pop(source)

    def list(self, namespace: Namespace, kind: str) -> list[Identifier]:
        with self._lock:
            return [i for i, (found, _) in self._pointers.items() if found == kind and i.namespace == namespace]

    def any_below(self, location: str) -> bool:
        with self._lock:
            return any(found.startswith(f"{location}/") for _, found in self._pointers.values())

    def namespaces(self) -> set[Namespace]:
        with self._lock:
            return {*self._namespaces, *(identifier.namespace for identifier in self._pointers)}

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        with self._lock:
            return dict(self._namespaces.get(namespace, {}))

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> bool:
        with self._lock:
            if namespace in self._namespaces:
                return False
            self._namespaces[namespace] = dict(properties)
            return True

    def update_namespace(self, namespace: Namespace, *, set: Mapping[str, str], remove: Collection[str]) -> None:
        with self._lock:
            kept = {k: v for k, v in self._namespaces.get(namespace, {}).items() if k not in remove}
            self._namespaces[namespace] = {**kept, **set}

    def drop_namespace(self, namespace: Namespace) -> None:
        with self._lock:
            self._namespaces.pop(namespace, None)

    def close(self) -> None:
        """Nothing is held open."""
