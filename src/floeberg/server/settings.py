"""How a server is exposed. The defaults are safe: what is reachable from elsewhere needs tokens and TLS."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from floeberg.errors import InvalidInput
from floeberg.server.tokens import Tokens

DEFAULT_PORT: Final = 8181
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
_ANY_ADDRESS: Final = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where the server listens, whom it lets in, and how much one request may ask of it."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tokens: Tokens | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    insecure_http: bool = False
    """Plain HTTP on an address that others reach, for a proxy that speaks TLS."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names beside the address that is bound to, as clients write them, without a port."""
    page: bool = True
    max_body_bytes: int = 16 * 1024 * 1024
    body_timeout_s: float = 30.0
    max_concurrency: int = 200

    def check(self) -> None:
        """Raises InvalidInput for a server that would be open to others."""
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidInput("TLS needs both a certificate (--tls-cert) and its key (--tls-key)")
        if is_loopback(self.host):
            return
        if self.tokens is None:
            raise InvalidInput(
                f"{self.host} can be reached from other machines, so the server needs tokens: --token-file FILE, or the "
                "variable FLOEBERG_SERVER_TOKEN; or listen on 127.0.0.1 alone"
            )
        if self.tls_certificate is None and not self.insecure_http:
            raise InvalidInput(
                f"{self.host} can be reached from other machines, so tokens must travel encrypted: give --tls-cert and "
                "--tls-key, or --insecure-http when a proxy in front of it speaks TLS"
            )

    @property
    def host_names(self) -> frozenset[str]:
        """What a request's Host header may say, in lower case and without a port."""
        bound = () if self.host in _ANY_ADDRESS else (f"[{self.host}]" if ":" in self.host else self.host,)
        return frozenset(name.lower() for name in (*LOOPBACK_NAMES, *bound, *self.allowed_hosts))

    @property
    def url(self) -> str:
        """The address for this machine's own clients."""
        scheme = "http" if self.tls_certificate is None else "https"
        host = {"::": "::1", "": "127.0.0.1", "0.0.0.0": "127.0.0.1"}.get(self.host, self.host)
        host = f"[{host}]" if ":" in host else host
        return f"{scheme}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
