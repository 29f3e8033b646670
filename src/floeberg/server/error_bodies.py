"""Errors as the protocol tells them: a status, the reference implementation's name of the error, and our message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from starlette.responses import Response

from floeberg.errors import (
    AlreadyExists,
    BadRequest,
    ColumnNotFound,
    CommitConflict,
    CommitUnknown,
    FileNotFound,
    FloebergError,
    Forbidden,
    InvalidInput,
    NamespaceNotEmpty,
    NamespaceNotFound,
    NotFound,
    SecurityError,
    SnapshotAlreadyExists,
    TableNotFound,
    Throttled,
    Unauthorized,
    Unavailable,
    UnsupportedFeature,
    ValidationConflict,
    ViewNotFound,
)
from floeberg.storage.secret import redact

NOT_AUTHORIZED: Final = "NotAuthorizedException"
INTERNAL: Final = "InternalServerError"
STATE_UNKNOWN: Final = "CommitStateUnknownException"

_KINDS: Final[tuple[tuple[type[FloebergError], int, str], ...]] = (
    (NamespaceNotFound, 404, "NoSuchNamespaceException"),
    (TableNotFound, 404, "NoSuchTableException"),
    (ViewNotFound, 404, "NoSuchViewException"),
    (FileNotFound, 404, "NotFoundException"),
    (NotFound, 400, "ValidationException"),  # a snapshot or ref that an update names
    (SnapshotAlreadyExists, 400, "ValidationException"),
    (AlreadyExists, 409, "AlreadyExistsException"),
    (NamespaceNotEmpty, 409, "NamespaceNotEmptyException"),
    (ColumnNotFound, 400, "ValidationException"),
    (InvalidInput, 400, "BadRequestException"),
    (BadRequest, 400, "BadRequestException"),
    (UnsupportedFeature, 406, "UnsupportedOperationException"),
    (CommitConflict, 409, "CommitFailedException"),
    (ValidationConflict, 409, "CommitFailedException"),
    (CommitUnknown, 500, STATE_UNKNOWN),
    (SecurityError, 403, "ForbiddenException"),
    (Forbidden, 403, "ForbiddenException"),
    (Unauthorized, 401, NOT_AUTHORIZED),
    (Throttled, 503, "ServiceUnavailableException"),
    (Unavailable, 503, "ServiceUnavailableException"),
)
"""409 promises that nothing took effect. What is not here is a 500, after which a client must look for itself."""


def status_of(error: FloebergError) -> tuple[int, str]:
    """The status and the reference implementation's name of an error."""
    for kind, status, name in _KINDS:
        if isinstance(error, kind):
            return status, name
    return 500, INTERNAL


def error_body(status: int, kind: str, message: str) -> dict[str, object]:
    """The protocol's error document. The message shows no credential."""
    return {"error": {"message": redact(message), "type": kind, "code": status}}


def error_response(error: FloebergError) -> Response:
    """The answer to a request that ended with an error."""
    status, kind = status_of(error)
    headers = {"retry-after": "1"} if status == 503 else None
    return json_response(status, error_body(status, kind, str(error)), headers=headers)


def json_response(status: int, document: object, *, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    content = msgspec.json.encode(document)
    return Response(content, status_code=status, media_type="application/json", headers=dict(headers or {}))
