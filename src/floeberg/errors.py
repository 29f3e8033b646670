"""The whole error tree.

    FloebergError
    ├── InvalidInput (ValueError)          what the caller gave is wrong; nothing was changed
    │   └── ColumnNotFound, ColumnAlreadyExists, NamespaceNotEmpty
    ├── FormatError                        bytes or metadata that are not what the specification says
    │   ├── MetadataCorrupt
    │   ├── ManifestCorrupt
    │   ├── PuffinCorrupt
    │   ├── DataFileCorrupt
    │   ├── LimitExceeded                  within the format, beyond what we agree to decode
    │   └── UnsupportedFeature             understood, and not supported here
    ├── NotFound
    │   └── NamespaceNotFound, TableNotFound, ViewNotFound, SnapshotNotFound, RefNotFound, FileNotFound
    ├── AlreadyExists
    │   └── NamespaceAlreadyExists, TableAlreadyExists, ViewAlreadyExists, SnapshotAlreadyExists, RefAlreadyExists,
    │       FileAlreadyExists
    ├── CommitError
    │   ├── CommitConflict                 another commit came first; a retry can help           retryable, cleanup_safe
    │   ├── ValidationConflict             what came first contradicts this change                cleanup_safe
    │   └── CommitUnknown                  the change may or may not be there; nothing is cleaned up
    ├── StorageError
    │   ├── Throttled                                                                             retryable
    │   ├── PreconditionFailed             create-if-absent found the object there
    │   ├── Unavailable                                                                           retryable
    │   └── WriteRefused                   no space, read-only, not allowed: nothing was written  cleanup_safe
    ├── CatalogError
    │   └── Unauthorized, Forbidden, BadRequest
    ├── ExecutorLost                       rows that a Spark statement had evaluated are lost          retryable, cleanup_safe
    └── SecurityError
        ├── PathEscape                     a path outside the roots that may be written or deleted
        └── UntrustedImplementation        metadata names code to run

Two class flags say what a caller may do: `retryable` (the same call may succeed later) and `cleanup_safe` (it is proved
that nothing of the attempt became visible, so the files it wrote may be removed). Every message names the table, the
thing, and what to do; `context` carries the same as data.
"""

from __future__ import annotations

from typing import ClassVar


class FloebergError(Exception):
    """Base of every error that Floeberg raises on purpose."""

    retryable: ClassVar[bool] = False
    cleanup_safe: ClassVar[bool] = False

    def __init__(self, message: str, **context: object) -> None:
        super().__init__(message)
        self.message = message
        self.context = context

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.context))


def _rebuild(kind: type[FloebergError], message: str, context: dict[str, object]) -> FloebergError:
    """Unpickles an error with its context (workers send errors to the driver)."""
    return kind(message, **context)


class InvalidInput(FloebergError, ValueError):
    """What the caller gave is wrong; nothing was changed."""


class ColumnNotFound(InvalidInput):
    """No such column in the schema."""


class ColumnAlreadyExists(InvalidInput):
    """A column of that name is there already, or is given twice."""


class NamespaceNotEmpty(InvalidInput):
    """A namespace that holds tables, views or namespaces cannot be dropped."""


class FormatError(FloebergError):
    """Bytes or metadata that are not what the specification says."""


class MetadataCorrupt(FormatError):
    """Table or view metadata is malformed or contradicts itself."""


class ManifestCorrupt(FormatError):
    """A manifest or manifest list is malformed or contradicts itself."""


class PuffinCorrupt(FormatError):
    """A Puffin file or a blob in it is malformed."""


class DataFileCorrupt(FormatError):
    """A data or delete file is malformed, truncated, or not what its manifest entry says."""


class LimitExceeded(FormatError):
    """Within the format, but beyond the size, depth or count that we agree to decode."""


class UnsupportedFeature(FormatError):
    """Understood, and not supported here."""


class NotFound(FloebergError):
    """Something named does not exist."""


class NamespaceNotFound(NotFound):
    """No such namespace."""


class TableNotFound(NotFound):
    """No such table."""


class ViewNotFound(NotFound):
    """No such view."""


class SnapshotNotFound(NotFound):
    """No such snapshot in the table's metadata."""


class RefNotFound(NotFound):
    """No such branch or tag."""


class FileNotFound(NotFound):
    """No such file or object."""


class AlreadyExists(FloebergError):
    """Something of that name is there already."""


class NamespaceAlreadyExists(AlreadyExists):
    """A namespace of that name is there already."""


class TableAlreadyExists(AlreadyExists):
    """A table of that name is there already."""


class ViewAlreadyExists(AlreadyExists):
    """A view of that name is there already."""


class SnapshotAlreadyExists(AlreadyExists):
    """A snapshot of that id is there already."""


class RefAlreadyExists(AlreadyExists):
    """A branch or tag of that name is there already."""


class FileAlreadyExists(AlreadyExists):
    """A file is there already."""


class CommitError(FloebergError):
    """A commit did not go through, or it is not known whether it did."""


class CommitConflict(CommitError):
    """Another commit came first; the same change may be tried again on the new state."""

    retryable = True
    cleanup_safe = True


class ValidationConflict(CommitError):
    """A concurrent change contradicts this one; `context` says what conflicted and whether a retry can help."""

    cleanup_safe = True


class CommitUnknown(CommitError):
    """The commit may or may not have taken effect; nothing was cleaned up."""


class StorageError(FloebergError):
    """A store failed."""


class Throttled(StorageError):
    """The store asks for fewer requests."""

    retryable = True


class PreconditionFailed(StorageError):
    """A conditional write found another state than it required."""


class Unavailable(StorageError):
    """The store did not answer, or answered that it cannot now."""

    retryable = True


class WriteRefused(StorageError):
    """A store cannot or must not write (no space, read-only, not allowed); it is proved that nothing became visible."""

    cleanup_safe = True


class CatalogError(FloebergError):
    """A catalog failed or refused."""


class Unauthorized(CatalogError):
    """The catalog does not know who asks."""


class Forbidden(CatalogError):
    """The catalog does not allow this."""


class BadRequest(CatalogError):
    """The catalog did not understand the request."""


class ExecutorLost(FloebergError):
    """An executor of Spark was lost, and with it rows that a statement had evaluated; nothing was committed."""

    retryable = True
    cleanup_safe = True


class SecurityError(FloebergError):
    """Refused because it would be unsafe."""


class PathEscape(SecurityError):
    """A path outside the roots that may be written or deleted."""


class UntrustedImplementation(SecurityError):
    """Metadata names code to run; code is chosen by the operator alone."""
