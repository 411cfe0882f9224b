"""The providers of a relay, fixed at its start."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

from ctxtui.core.errors import BadConfig
from ctxtui.wire.key_mask import mask_url


@dataclass(frozen=True, slots=True, eq=False)
class Upstream:
    """A provider of a relay.

    `url` is its base URL as a client would use it, `path` that URL's path without a trailing slash. `paths`: the
    provider's own path for each path that some SDKs send instead; unused if the `url` has a path.
    """

    name: str
    url: str
    paths: Mapping[str, str] = field(default_factory=dict)
    host: str = field(init=False)
    port: int = field(init=False)
    tls: bool = field(init=False)
    path: str = field(init=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError:
            # An invalid IPv6 address or port.
            parts, port = urlsplit(""), 0
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or parts.query or parts.fragment:
            raise BadConfig(
                f"{mask_url(self.url)!r} is no address of a provider",
                place=self.name,
                way_out="give http(s)://HOST[:PORT][/PATH]",
            )
        if parts.username is not None:
            raise BadConfig(
                "the URL of a provider must not contain a name or password",
                place=self.name,
                way_out="the client sends its own",
            )
        set_ = object.__setattr__
        set_(self, "host", parts.hostname)
        set_(self, "tls", parts.scheme == "https")
        set_(self, "port", port or (443 if self.tls else 80))
        set_(self, "path", parts.path.rstrip("/"))

    def at(self, host: str, port: int) -> Upstream | None:
        """This upstream, with `host` in place of a pattern (``*``: any part of a host).

        None if `host` and `port` are not its own.
        """
        if self.port != port or not re.fullmatch(re.escape(self.host).replace(r"\*", "[a-z0-9.-]*"), host.lower()):
            return None
        return self if "*" not in self.host else Upstream(self.name, f"https://{host.lower()}:{port}", self.paths)

    def correct_target(self, target: str) -> str:
        path, question, query = target.partition("?")
        return f"{self.paths[path]}{question}{query}" if path in self.paths and not self.path else target

    @property
    def host_header(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"

    @property
    def origin(self) -> str:
        """Its URL without a path."""
        return f"{'https' if self.tls else 'http'}://{self.host_header}"

    @property
    def context(self) -> ssl.SSLContext | None:
        """None without TLS."""
        return _context() if self.tls else None


@cache
def _context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
