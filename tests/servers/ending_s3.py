"""A proxy in front of an S3 server whose session tokens end when a test says so, as AWS answers it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from servers.handling import Handler, serving

EXPIRED = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>ExpiredToken</Code>'
    b"<Message>The provided token has expired.</Message></Error>"
)


@contextmanager
def ending_s3(upstream: str) -> Iterator[tuple[str, set[str]]]:
    """The proxy's address, and the tokens that have ended."""
    ended: set[str] = set()

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
