"""A proxy in front of an S3 server whose session tokens end when a test says so, as AWS answers it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from servers.handling import Handler, serving

EXPIRED = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>ExpiredToken</Code>'
    b"<Message>The provided token has expired.</Message></Error>"
)


class EndedTokens(set[str]):
    """The tokens that have ended: those that are added, and `until-MS` by the clock."""

    def __contains__(self, token: object) -> bool:
        text = str(token)
        ends = text.removeprefix("until-")
        return super().__contains__(token) or (ends != text and int(ends) <= time.time() * 1000)


@contextmanager
def ending_s3(upstream: str) -> Iterator[tuple[str, EndedTokens]]:
    """The proxy's address, and the tokens that have ended."""
    ended = EndedTokens()

    class EndingS3(Handler):
        def handle_any(self) -> None:
            body = self.body()
            if self.headers.get("x-amz-security-token") in ended:
                self.reply(400, EXPIRED, {"Content-Type": "application/xml"})
                return
            answer = self.forwarded(upstream, body)
            self.reply(answer.status_code, answer.content, answer.headers)

    with serving(EndingS3) as address:
        yield address, ended
