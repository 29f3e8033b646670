"""Masking credentials takes time in proportion to the text: names and values come from clients and may be as long as a request."""

from __future__ import annotations

import random
import re

import pytest

from floeberg.storage.secret import MASK, redact

SIZE = 300_000
_OLD_USERINFO = re.compile(r"(?P<head>[a-zA-Z][a-zA-Z0-9+.\-]*://[^/\s:@]*):[^/\s@]*@")
_OLD_NAMED_VALUE = re.compile(
    r"""(?P<name>[\w.\-]*(?:secret|token|password|passwd|credential|signature|sas|
         (?:access|account|api|private|shared|secret)[\w.\-]*key)[\w.\-]*|(?<![\w.\-])(?:sig|pwd))
        (?P<sign>["']?\s*[=:]\s*["']?)(?!//)(?P<value>[^\s&;,"'<>})\]]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_OLD_XML = re.compile(
    r"<(?P<name>[\w.\-]*(?:Secret|Token|Password|Credential|Signature|AccessKey|StringToSign)[\w.\-]*)>[^<]*<",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "unit",
    ["x", "access", "secret", "<Secret", "<a>", "a:", "a=", "http:", "a ", "Bearer ", "://u", "://u:", "sig ", "'"],
)
def test_a_long_text_is_masked_in_one_pass(unit: str) -> None:
    """Patterns that look at each character again from every other one would need hours for it."""
    text = unit * (SIZE // len(unit))
    assert redact(text + " password=sentinel").endswith(f"password={MASK}") or "sentinel" not in redact(text)


def slow_redact(text: str) -> str:
    """The masking as plain patterns, which say directly what is meant, and are slow."""
    text = _OLD_USERINFO.sub(rf"\g<head>:{MASK}@", text)
    text = _OLD_XML.sub(rf"<\g<name>>{MASK}<", text)
    return _OLD_NAMED_VALUE.sub(rf"\g<name>\g<sign>{MASK}", text)


def test_it_masks_all_that_plain_patterns_mask() -> None:
    rng = random.Random(17)
    pieces = [
        "secret", "token", "access", "key", "api", "sig", "pwd", "sas", "x", "=", ":", "://", "/", "@", " ", '"', "'", "<", ">",
        "&", ";", ",", "sentinel", "-", ".", "Password", "AccessKey", "s3", "{", "}", "\n",
    ]  # fmt: skip
    for _ in range(5_000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randint(2, 14)))
        masked = redact(text)
        if slow_redact(text).count("sentinel") < text.count("sentinel"):
            assert masked.count("sentinel") <= slow_redact(text).count("sentinel"), (text, masked, slow_redact(text))
        if MASK not in slow_redact(text):
            assert masked == text or "://" in text, (text, masked)
