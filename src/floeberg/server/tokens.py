"""The tokens that a server accepts."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.storage.secret import Secret

MIN_TOKEN_LENGTH: Final = 16


class Tokens:
    """Given tokens, and those of a file, one a line. The file is read again when it changes, so that a token can be
    taken back while the server runs."""

    def __init__(self, given: Iterable[str] = (), *, file: Path | None = None) -> None:
        self._given = tuple(_checked(token, "a token") for token in given)
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self._read: tuple[Secret, ...] = ()
        if not self._current():
            raise InvalidInput(f"the token file {file} holds no token; write one a line")

    def accepts(self, token: str) -> bool:
        """Whether it is one of the tokens; takes as long for a wrong one as for a right one."""
        candidate = token.encode("utf-8", "surrogateescape")
        found = False
        for known in self._current():
            found = hmac.compare_digest(known.reveal().encode(), candidate) or found
        return found

    def _current(self) -> tuple[Secret, ...]:
        return self._given if self._file is None else (*self._given, *self._of_file(self._file))

    def _of_file(self, file: Path) -> tuple[Secret, ...]:
        try:
            facts = file.stat()
            stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if stamp != self._stamp:
                lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
                self._read = tuple(
                    _checked(line, f"a line of {file}") for line in lines if line and not line.startswith("#")
                )
                self._stamp = stamp
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"the token file {file} cannot be read: {error}") from error
        return self._read


def _checked(token: str, what: str) -> Secret:
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or any(sign.isspace() for sign in token):
        raise InvalidInput(f"{what} must have at least {MIN_TOKEN_LENGTH} ASCII characters and no space")
    return Secret(token)
