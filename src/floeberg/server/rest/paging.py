"""Lists in pages. A page ends with a name and the next begins behind it, so that names that come and go meanwhile neither
repeat nor hide others."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from floeberg.errors import BadRequest
from floeberg.server.rest.calls import integer

T = TypeVar("T")
DEFAULT_PAGE_SIZE: Final = 1000
_Key = tuple[str, ...]


def page_of(
    items: Sequence[T], query: Mapping[str, str], *, key: Callable[[T], _Key]
) -> tuple[list[T], dict[str, str | None]]:
    """The asked-for page of a list that is sorted by `key`, and the field that names the next page. All of the list when
    no page is asked for. Raises BadRequest, InvalidInput."""
    if "pageToken" not in query:
        return list(items), {}
    size = integer(query["pageSize"], "pageSize") if "pageSize" in query else DEFAULT_PAGE_SIZE
    token = query["pageToken"]
    after = _decode(token) if token else None
    rest = [item for item in items if after is None or key(item) > after]
    page = rest[:size]
    following = _encode(key(page[-1])) if len(rest) > size else None
    return page, {"next-page-token": following}


def _encode(key: _Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode()


def _decode(token: str) -> _Key:
    try:
        return msgspec.json.decode(base64.b64decode(token, altchars=b"-_", validate=True), type=tuple[str, ...])
    except (binascii.Error, ValueError) as error:
        raise BadRequest("this pageToken is none that the server gave; begin with an empty one") from error
