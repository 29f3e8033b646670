"""Object stores: S3, Google Cloud Storage and Azure, through obstore.

The client never retries by itself: a conditional put repeated after a lost reply would find its own object and report
it as somebody else's. Each `create` carries a token of its own in the object's metadata, and whenever the answer is not
a plain success the object is read back and the token decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

import obstore
import obstore.exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from floeberg.effects.protocols import Capabilities, FileInfo, Ids
from floeberg.errors import (
    FileNotFound,
    FloebergError,
    InvalidInput,
    PreconditionFailed,
    SecurityError,
    StorageError,
    Throttled,
    Unavailable,
    UnsupportedFeature,
    WriteRefused,
)
from floeberg.storage.location import Location, parse
from floeberg.storage.ranges import read_coalesced
from floeberg.storage.registry import ENDS_AT_MS, end_ms
from floeberg.storage.secret import Secret, redact

T = TypeVar("T")

TOKEN_ATTRIBUTE = "floebergtoken"  # letters only: the three stores disagree about every other character
SINGLE_PUT_BYTES = 64 << 20
_STATUS = re.compile(r"status code: (\d{3})")
_HOST_PART = re.compile(r"[A-Za-z0-9-]+")
_NO_SPACE = 507
_NEVER_RETRY = {"max_retries": 0, "retry_timeout": timedelta(seconds=60)}
_TAKEN = (
    obstore.exceptions.AlreadyExistsError,
    obstore.exceptions.PreconditionError,
    obstore.exceptions.NotModifiedError,
)


class ObjectStore:
    """One bucket or container. After `create` anything but PreconditionFailed leaves the outcome unknown."""

    capabilities = Capabilities(create_if_absent=True, atomic_rename=False, list_consistent=True)

    def __init__(
        self,
        client: Any,
        ids: Ids,
        *,
        root: Location,
        secrets: Iterable[Secret] = (),
        client_below: Callable[[str], Any] | None = None,
        credentials_end_ms: int | None = None,
    ) -> None:
        """`client_below` makes a client bound to a prefix of the bucket, to read keys with empty segments."""
        self._client = client
        self._ids = ids
        self._root = root
        self._secrets = tuple(secrets)
        self._client_below = client_below
        self._clients_below: dict[str, Any] = {}
        self._credentials_end_ms = credentials_end_ms

    def __repr__(self) -> str:
        return f"ObjectStore({self._root.scheme}://{self._root.authority})"

    def __reduce__(self) -> NoReturn:
        raise SecurityError(f"{self!r} holds credentials and is never serialised; open a store in the other process")

    def read(self, location: str, *, offset: int = 0, length: int | None = None) -> bytes:
        client, key = self._readable(location)
        if length == 0:
            self.size(location)
            return b""
        options: dict[str, Any] = {}
        if length is not None:
            options["range"] = (offset, offset + length)
        elif offset:
            options["range"] = {"offset": offset}
        try:
            return self._call(location, lambda: bytes(obstore.get(client, key, options=options).bytes()))
        except _RangeBeyondEnd:
            return b""

    def read_ranges(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return read_coalesced(lambda offset, length: self.read(location, offset=offset, length=length), ranges)

    def size(self, location: str) -> int:
        client, key = self._readable(location)
        return int(self._call(location, lambda: obstore.head(client, key))["size"])

    def exists(self, location: str) -> bool:
        try:
            self.size(location)
        except FileNotFound:
            return False
        return True

    def write(self, location: str, content: bytes) -> None:
        self._put(location, content, use_multipart=len(content) > SINGLE_PUT_BYTES)

    def replace(self, location: str, content: bytes) -> None:
        self._put(location, content, use_multipart=False)

    def create(self, location: str, content: bytes) -> None:
        token = str(self._ids.uuid())
        try:
            self._put(location, content, mode="create", attributes={TOKEN_ATTRIBUTE: token}, use_multipart=False)
        except PreconditionFailed:
            if self._is_ours(location, content, token=token):
                return
            raise
        except StorageError as error:
            if error.retryable and self._landed(location, content, token=token):
                return
            raise

    def delete(self, location: str) -> None:
        key = self._key(location)
        try:
            self._call(location, lambda: obstore.delete(self._client, key))
        except FileNotFound:
            return

    def delete_folder(self, location: str) -> None:
        """A folder is only a part of names here: it goes with its last file."""

    def list(self, prefix: str) -> Iterator[FileInfo]:
        folder = self._location(prefix)
        start = f"{folder.key}/" if folder.key else ""
        base = folder.text.rstrip("/")
        stream = self._call(prefix, lambda: obstore.list(self._client, prefix=folder.key or None, chunk_size=1000))
        chunks = iter(stream)
        while True:
            chunk: Sequence[Mapping[str, Any]] | None = self._call(prefix, lambda: next(chunks, None))
            if chunk is None:
                return
            for meta in chunk:
                if meta["path"].startswith(start):
                    modified_ms = int(meta["last_modified"].timestamp() * 1000)
                    yield FileInfo(f"{base}/{meta['path'][len(start) :]}", int(meta["size"]), modified_ms)

    def list_folders(self, prefix: str) -> Iterator[str]:
        folder = self._location(prefix)
        found = self._call(prefix, lambda: obstore.list_with_delimiter(self._client, prefix=folder.key or None))
        yield from sorted(path.rstrip("/").rpartition("/")[2] for path in found["common_prefixes"])

    def _put(self, location: str, content: bytes, **options: Any) -> None:
        """Raises WriteRefused where the store's answer says that nothing was written."""
        key = self._key(location)
        try:
            self._call(location, lambda: obstore.put(self._client, key, content, **options))
        except FileNotFound:
            raise WriteRefused(
                f"{redact(location)} could not be written: {self._root.authority} is not there; make the bucket or "
                "container first",
                location=location,
            ) from None
        except StorageError as error:
            if type(error) is StorageError:  # the store read the request and refused it
                raise WriteRefused(f"{error}; nothing was written", location=location) from None
            raise

    def _is_ours(self, location: str, content: bytes, *, token: str) -> bool:
        """Whether the object that is there came from this call: the request, or a proxy's repetition of it.

        Raises:
            Unavailable: nothing is there after all (S3 answers so to two conditional puts at one moment).
        """
        key = self._key(location)
        try:
            found = self._call(location, lambda: obstore.get(self._client, key))
            there = found.attributes.get(TOKEN_ATTRIBUTE)
            if there is not None:
                return bool(there == token)
            return self._call(location, lambda: bytes(found.bytes())) == content
        except FileNotFound as error:
            raise Unavailable(
                f"{redact(location)} was refused as taken, and is not there", location=location
            ) from error

    def _landed(self, location: str, content: bytes, *, token: str) -> bool:
        """Whether a put without an answer took effect, as far as can be seen now; when in doubt, no: the caller then
        learns that the outcome is unknown."""
        try:
            return self._is_ours(location, content, token=token)
        except StorageError:
            return False

    def _location(self, location: str) -> Location:
        parsed = parse(location)
        if (parsed.scheme, parsed.authority) != (self._root.scheme, self._root.authority):
            raise InvalidInput(f"{redact(location)} is not in {self._root.uri}")
        return parsed

    def _key(self, location: str) -> str:
        parsed = self._location(location)
        if "//" in parsed.path or not parsed.key:
            raise UnsupportedFeature(
                f"{redact(location)} is no key, or has an empty segment (`//`), which the object-store client cannot "
                "write, list or delete; copy the table to a location without one",
                location=redact(location),
            )
        return parsed.key

    def _readable(self, location: str) -> tuple[Any, str]:
        """The client and the key to read with: for a key with `//`, a client bound to what comes before it."""
        parsed = self._location(location)
        if "//" not in parsed.path or self._client_below is None:
            return self._client, self._key(location)
        at = parsed.path.rindex("//")
        prefix = parsed.path[1 : at + 1]
        if prefix not in self._clients_below:
            self._clients_below[prefix] = self._client_below(prefix)
        return self._clients_below[prefix], parsed.path[at + 2 :]

    def _call(self, location: str, call: Callable[[], T]) -> T:
        """Calls the client and turns its errors into ours, without what may be secret in them."""
        try:
            return call()
        except FloebergError:
            raise
        except FileNotFoundError:
            raise FileNotFound(f"{redact(location)} is not there", location=location) from None
        except (obstore.exceptions.BaseError, ValueError, OSError) as error:
            said = redact(str(error).partition("\n")[0], self._secrets)
            raise self._translated(error, said, redact(location)) from None

    def _translated(self, error: Exception, said: str, location: str) -> FloebergError:
        """Our error for the client's; a refusal of credentials that end says when, because nothing else shows it."""
        if self._credentials_end_ms is not None and _is_refusal(error, said):
            end = datetime.fromtimestamp(self._credentials_end_ms / 1000, UTC).isoformat(timespec="seconds")
            return StorageError(
                f"{location}: {said}; the credentials that the catalog vended for it end at {end}; run it again with new "
                "ones, or let the catalog vend credentials that last longer",
                location=location,
            )
        return _translate(error, said, location)


class _RangeBeyondEnd(StorageError):
    """The range asked for begins at or after the end of the object."""


def _is_refusal(error: Exception, said: str) -> bool:
    """Whether the store may not have accepted the credentials; a session token that has ended S3 answers with status 400."""
    refused = obstore.exceptions.PermissionDeniedError | obstore.exceptions.UnauthenticatedError
    found = _STATUS.search(said)
    return isinstance(error, refused) or (found is not None and found.group(1) == "400")


def _translate(error: Exception, said: str, location: str) -> FloebergError:
    """Our error for the client's. What is no clear refusal counts as no answer."""
    message = f"{location}: {said}"
    if isinstance(error, _TAKEN):
        return PreconditionFailed(f"{location} is there already", location=location)
    if isinstance(error, obstore.exceptions.PermissionDeniedError | obstore.exceptions.UnauthenticatedError):
        return StorageError(f"{message}; check the credentials given to the catalog", location=location)
    if isinstance(error, obstore.exceptions.NotSupportedError | obstore.exceptions.InvalidPathError):
        return UnsupportedFeature(message, location=location)
    if isinstance(error, ValueError):
        return InvalidInput(message, location=location)
    found = _STATUS.search(said)
    status = int(found.group(1)) if found else None
    if status == 416:
        return _RangeBeyondEnd(message, location=location)
    if status in (429, 503):
        return Throttled(message, location=location)
    if status is None or (status >= 500 and status != _NO_SPACE) or status in (408, 409):
        return Unavailable(message, location=location)
    return StorageError(message, location=location)


def open_object_store(location: Location, options: Mapping[str, str | Secret], ids: Ids) -> ObjectStore:
    """A client of its own for the location's bucket or container, with the operator's options."""
    secrets = [value for value in options.values() if isinstance(value, Secret)]
    plain = {name: value.reveal() if isinstance(value, Secret) else value for name, value in options.items()}
    build = {"s3": _open_s3, "gs": _open_gcs, "abfs": _open_azure}[location.scheme]
    try:
        client = build(location, plain)
    except (obstore.exceptions.BaseError, ValueError) as error:
        said = redact(str(error).partition("\n")[0], secrets)
        raise InvalidInput(f"the options for {location.scheme}://{location.authority} do not fit: {said}") from None
    below = _s3_client_below(location, plain) if location.scheme == "s3" else None
    ends_ms = end_ms(plain.get(ENDS_AT_MS[location.scheme], ""))
    return ObjectStore(client, ids, root=location, secrets=secrets, client_below=below, credentials_end_ms=ends_ms)


def _client_options(options: Mapping[str, str], prefix: str, endpoint: str | None) -> dict[str, Any]:
    """Timeouts in seconds; plain HTTP only when the operator's own endpoint says so."""
    return {
        "allow_http": endpoint is not None and endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=float(options.get(f"{prefix}.connect-timeout", 5))),
        "timeout": timedelta(seconds=float(options.get(f"{prefix}.request-timeout", 60))),
    }


def _given(**values: str | bool | None) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _region(options: Mapping[str, str]) -> str | None:
    return _host_part(options, "s3.region") or _host_part(options, "client.region")


def _host_part(options: Mapping[str, str], key: str) -> str | None:
    """An option that becomes a part of the host's name. Raises ValueError for one that would end the name: whoever gives it, a
    server too, could send the credentials to another host."""
    value = options.get(key)
    if value and not _HOST_PART.fullmatch(value):
        raise ValueError(f"{key} is {value[:80]!r}, which cannot be part of a host's name")
    return value or None


def _s3_client_below(location: Location, options: Mapping[str, str]) -> Callable[[str], Any] | None:
    """Makes clients whose endpoint carries the bucket and a prefix, so that the prefix is not parsed as a key."""
    region = _region(options)
    endpoint = options.get("s3.endpoint", f"https://s3.{region}.amazonaws.com" if region else None)
    if endpoint is None:
        return None
    base = f"{endpoint.rstrip('/')}/{location.authority}"

    def open_below(prefix: str) -> Any:
        bound = {"s3.endpoint": f"{base}/{quote(prefix)}", "s3.path-style-access": "false"}
        return _open_s3(location, {**options, **bound})

    return open_below


def _open_s3(location: Location, options: Mapping[str, str]) -> Any:
    endpoint = options.get("s3.endpoint")
    path_style = options.get("s3.path-style-access", "true" if endpoint else "false").lower() == "true"
    return S3Store(
        location.authority,
        client_options=_client_options(options, "s3", endpoint),
        retry_config=_NEVER_RETRY,
        virtual_hosted_style_request=not path_style,
        **_given(
            endpoint=endpoint,
            region=_region(options) or ("us-east-1" if endpoint else None),
            access_key_id=options.get("s3.access-key-id"),
            secret_access_key=options.get("s3.secret-access-key"),
            session_token=options.get("s3.session-token"),
            skip_signature=True if options.get("s3.anonymous", "false").lower() == "true" else None,
        ),
    )


def _open_gcs(location: Location, options: Mapping[str, str]) -> Any:
    endpoint = options.get("gcs.service.host")
    token = options.get("gcs.oauth2.token")
    return GCSStore(
        location.authority,
        client_options=_client_options(options, "gcs", endpoint),
        retry_config=_NEVER_RETRY,
        credential_provider=None if token is None else lambda: {"token": token, "expires_at": None},
        **_given(
            base_url=endpoint,
            application_credentials=options.get("gcs.credentials-file"),
            service_account_key=options.get("gcs.service-account-key"),
            skip_signature=True if options.get("gcs.no-auth", "false").lower() == "true" else None,
        ),
    )


def _open_azure(location: Location, options: Mapping[str, str]) -> Any:
    container, _, account = location.authority.rpartition("@")
    endpoint = options.get("adls.endpoint")
    return AzureStore(
        container or account,
        client_options=_client_options(options, "adls", endpoint),
        retry_config=_NEVER_RETRY,
        **_given(
            account_name=_host_part(options, "adls.account-name") or (account if container else None),
            endpoint=endpoint,
            account_key=options.get("adls.account-key"),
            sas_key=options.get("adls.sas-token"),
            tenant_id=options.get("adls.tenant-id"),
            client_id=options.get("adls.client-id"),
            client_secret=options.get("adls.client-secret"),
        ),
    )
