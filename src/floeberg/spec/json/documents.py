"""Sequences of JSON objects that are parsed when asked for and written back as they were read.

A table's history is long and a commit touches its end: what is not asked for is never parsed, and what is not changed
keeps every field, known or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from floeberg.errors import InvalidInput, MetadataCorrupt

T = TypeVar("T")
Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class DocumentKind(Generic[T]):
    """How one kind of JSON object is read and written."""

    name: str
    from_json: Callable[[Document, str], T]
    to_json: Callable[[T], Document]
    shapes: object = None
    """The type, for msgspec, of a list of such objects: checks a long list without building it."""

    def parse(self, document: Document, where: str) -> T:
        """The object. Raises MetadataCorrupt when the document does not describe one."""
        try:
            return self.from_json(document, where)
        except InvalidInput as error:
            raise MetadataCorrupt(f"{where}: {error}", where=where) from error


class Documents(Sequence[T]):
    """An immutable sequence of objects of one kind, backed by their JSON."""

    __slots__ = ("_documents", "_parsed", "kind")

    def __init__(
        self, kind: DocumentKind[T], documents: Iterable[Document] = (), *, parsed: dict[int, T] | None = None
    ) -> None:
        self.kind = kind
        self._documents = tuple(documents)
        self._parsed: dict[int, T] = {} if parsed is None else parsed

    @classmethod
    def of(cls, kind: DocumentKind[T], items: Iterable[T]) -> Documents[T]:
        parsed = dict(enumerate(items))
        return cls(kind, [kind.to_json(item) for item in parsed.values()], parsed=parsed)

    @property
    def documents(self) -> tuple[Document, ...]:
        """The JSON objects. They are shared: never change one."""
        return self._documents

    def item(self, position: int) -> T:
        found = self._parsed.get(position)
        if found is None:
            where = f"{self.kind.name}[{position}]"
            found = self._parsed[position] = self.kind.parse(self._documents[position], where)
        return found

    def appended(self, item: T) -> Documents[T]:
        documents = (*self._documents, self.kind.to_json(item))
        return Documents(self.kind, documents, parsed={**self._parsed, len(self._documents): item})

    def kept(self, keep: Callable[[Document], bool]) -> Documents[T]:
        """Those whose JSON passes; itself when all do."""
        documents = [document for document in self._documents if keep(document)]
        return self if len(documents) == len(self._documents) else Documents(self.kind, documents)

    def from_position(self, start: int) -> Documents[T]:
        return self if start <= 0 else Documents(self.kind, self._documents[start:])

    def __len__(self) -> int:
        return len(self._documents)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self.item(position) for position in range(*index.indices(len(self))))
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        return self.item(position)

    def __iter__(self) -> Iterator[T]:
        return (self.item(position) for position in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Documents):
            return NotImplemented
        return self.kind.name == other.kind.name and self._documents == other._documents

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} {self.kind.name}>"
