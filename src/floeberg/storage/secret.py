"""Credentials that cannot be printed, and the masking of text that may hold one."""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, Self

from floeberg.errors import InvalidInput, SecurityError

MASK = "***"
_REFERENCE = re.compile(r"secret:(env|file):(.+)")

_SECRET_WORDS = ("secret", "token", "password", "passwd", "credential", "signature", "key", "sas", "auth")
_PUBLIC_NAMES = frozenset(
    {"s3.access-key-id", "s3.sse.key", "adls.account-name", "allowed-schemes", "catalog-key", "rest.auth.type",
     "client.refresh-credentials-enabled"}
)  # fmt: skip


class Secret:
    """A credential. Every way of printing it gives `***`; `reveal` is the one way to the value. One that is found by the name
    of a variable or a file can be found by other processes as well."""

    __slots__ = ("_reference", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._reference: str | None = None

    @classmethod
    def from_env(cls, variable: str) -> Self:
        """What an environment variable holds. Raises InvalidInput when this process has no such variable."""
        value = os.environ.get(variable)
        if not value:
            raise InvalidInput(
                f"the environment variable {variable}, which holds a credential, is not set in this process; every process "
                "that opens the catalog needs it"
            )
        return cls._found(value, f"secret:env:{variable}")

    @classmethod
    def from_file(cls, path: str) -> Self:
        """What a file holds, without the line's end. Raises InvalidInput when this process cannot read it."""
        try:
            value = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"the file {path}, which holds a credential, cannot be read: {error}") from None
        if not value:
            raise InvalidInput(f"the file {path}, which shall hold a credential, is empty")
        return cls._found(value, f"secret:file:{path}")

    @classmethod
    def _found(cls, value: str, reference: str) -> Self:
        secret = cls(value)
        secret._reference = reference
        return secret

    @property
    def reference(self) -> str | None:
        """The text by which another process finds it, `secret:env:NAME` or `secret:file:PATH`; None for a literal one."""
        return self._reference

    def reveal(self) -> str:
        """The value, for the client that needs it and nothing else."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, format_spec: str) -> str:
        return format(MASK, format_spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SecurityError(
            "a Secret is never serialised; pass the credential to the other process on purpose, by reveal()"
        )


class TravellingSecret:
    """A credential on its way to another process of the same user: by the name under which it is found there, by its value
    where it has none. Serialising it sends it on purpose; no way of printing shows it."""

    __slots__ = ("_is_reference", "_secret")

    def __init__(self, secret: Secret, *, is_reference: bool = False) -> None:
        """`is_reference` is for what arrives: the secret is then the text by which the credential is found."""
        self._is_reference = is_reference or secret.reference is not None
        self._secret = Secret(secret.reference) if secret.reference is not None else secret

    def arrived(self) -> Secret:
        """The credential in the other process. Raises InvalidInput where that has no such variable or file."""
        found = found_secret(self._secret.reveal()) if self._is_reference else self._secret
        assert isinstance(found, Secret)
        return found

    def __repr__(self) -> str:
        return f"TravellingSecret({MASK})"

    def __format__(self, format_spec: str) -> str:
        return format(MASK, format_spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TravellingSecret) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def __reduce__(self) -> tuple[Any, ...]:
        return _arriving, (self._secret.reveal(), self._is_reference)

    def _facts(self) -> tuple[Secret, bool]:
        return self._secret, self._is_reference


def _arriving(text: str, is_reference: bool) -> TravellingSecret:
    return TravellingSecret(Secret(text), is_reference=is_reference)


def found_secret(value: str | Secret) -> str | Secret:
    """A text `secret:env:NAME` or `secret:file:PATH` as the Secret that it names, any other value as it is. For what a user
    gives, never for what a server sends. Raises InvalidInput when there is no such variable or file."""
    text = value if isinstance(value, str) else "" if value.reference else value.reveal()
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return value
    return Secret.from_env(match[2]) if match[1] == "env" else Secret.from_file(match[2])


def is_secret_name(name: str) -> bool:
    """Whether an option of this name holds a credential; when in doubt it does."""
    lowered = name.lower()
    return lowered not in _PUBLIC_NAMES and any(word in lowered for word in _SECRET_WORDS)


def seal_options(options: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """The options with every value that is a credential, or a URI that holds one, turned into a Secret."""
    return {
        name: Secret(value) if isinstance(value, str) and (is_secret_name(name) or redact(value) != value) else value
        for name, value in options.items()
    }


def redact_options(options: Mapping[str, object]) -> dict[str, str]:
    """The options as they may be shown: secrets masked, URIs without their passwords."""
    return {
        name: MASK if isinstance(value, Secret) or is_secret_name(name) else redact(str(value))
        for name, value in options.items()
    }


# Texts come from others and may be long, so no pattern may look at a character more than a few times: names are taken whole, by
# possessive quantifiers, and judged afterwards.
_USERINFO = re.compile(r"://(?P<user>[^/\s:@]*+):[^/\s@]*+@")
_NAME_AND_SIGN = re.compile(r"""(?<![\w.\-])(?P<name>[\w.\-]++)(?P<sign>["']?\s*+[=:]\s*+["']?)(?!//)""")
_VALUE = re.compile(r"""[^\s&;,"'<>})\]]+""")
_BEARER = re.compile(r"(?P<head>\b(?:Bearer|Basic)\s+)[A-Za-z0-9+/=._~\-]+")
_XML = re.compile(r"<(?P<name>[\w.\-]++)>[^<]*+(?=<)")
_SECRET_PARTS = ("secret", "token", "password", "passwd", "credential", "signature", "sas")
_KEYS = re.compile(r"access|account|api|private|shared|secret")
_XML_PARTS = ("secret", "token", "password", "credential", "signature", "accesskey", "stringtosign")


def redact(text: str, secrets: Iterable[Secret] = ()) -> str:
    """The text with known secrets, passwords in URIs, signatures and `name=value` credentials masked."""
    for secret in secrets:
        if secret:
            text = text.replace(secret.reveal(), MASK)
    text = _BEARER.sub(rf"\g<head>{MASK}", text)
    text = _USERINFO.sub(rf"://\g<user>:{MASK}@", text)
    text = _XML.sub(_redacted_element, text)
    return _redacted_values(text)


def _redacted_element(found: re.Match[str]) -> str:
    name = found["name"].lower()
    return f"<{found['name']}>{MASK}" if any(part in name for part in _XML_PARTS) else found[0]


def _redacted_values(text: str) -> str:
    """Masks the value of each `name=value` whose name is a credential's. A value that is none may hold the next name."""
    parts: list[str] = []
    at = 0
    while (found := _NAME_AND_SIGN.search(text, at)) is not None:
        value = _VALUE.match(text, found.end()) if _names_credential(found["name"]) else None
        parts.append(text[at : found.end()])
        at = found.end()
        if value is not None:
            parts.append(MASK)
            at = value.end()
    return "".join((*parts, text[at:]))


def _names_credential(name: str) -> bool:
    lowered = name.lower()
    if lowered in ("sig", "pwd") or any(part in lowered for part in _SECRET_PARTS):
        return True
    of_key = _KEYS.search(lowered)
    return of_key is not None and "key" in lowered[of_key.end() :]
