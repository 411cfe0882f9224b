"""Finds the provider of a relay's request, and whether it is recorded and may be held."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hmac import compare_digest
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from ctxtui.attach.exchange_events import ExchangeEvent
from ctxtui.attach.http1 import Head
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import Malformed

ONLY_HERE: Final = "only programs of this machine are served, under its own name"
_NO_NAME: Final = frozenset("@/\\?# \t,")
"""Characters that are invalid in a host name: they make it ambiguous."""
_LOOPBACK_HOST: Final = re.compile(r"(?:127\.0\.0\.1|localhost)(?::\d{1,5})?")
"""The usual hosts, matched first for speed."""
_OWN_SITES: Final = ("", "none", "same-origin")
"""``Sec-Fetch-Site`` that a browser sends for a typed address and its page's own requests; programs send none."""


def foreign_header(head: Head) -> str:
    """The header that shows that a request was made for a web page of another host; "" for none."""
    for value in head.all("host"):
        if not _LOOPBACK_HOST.fullmatch(value) and (
            _NO_NAME.intersection(value) or not is_loopback_address(f"//{value}")
        ):
            return f"Host: {value}"
    origins = head.all("origin")
    for value in origins:
        if not is_loopback_address(value):
            return f"Origin: {value}"
    site = head.get("sec-fetch-site")
    return "" if origins or site in _OWN_SITES else f"Sec-Fetch-Site: {site}"


def is_loopback_address(address: str) -> bool:
    """Whether the host in the URL `address` is this machine."""
    try:
        name = urlsplit(address).hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


_MODEL_PATHS: Final = re.compile(
    r"/(?:messages|messages/count_tokens|chat/completions|completions|responses|responses/input_tokens|responses/compact"
    r"|invoke|invoke-with-response-stream|converse|converse-stream)$|:(?:rawPredict|streamRawPredict|generateContent"
    r"|streamGenerateContent|countTokens)$|/cachedContents$|/api/(?:chat|generate)$"
)

Wants = Callable[[Head], bool]
"""Whether to ask a gate about a request with this head; must be fast."""


class Route(Struct):
    """Routing of requests.

    - `tell` receives the events of the exchanges, `name` makes a unique name for each exchange.
    - `named`: a path begins with the provider's name; otherwise there is one provider, and paths begin with the secret
      `word` if that is set.
    - `allows_foreign`: requests under other host names are accepted, as the connection was authorized already.
    - `records_everything`: requests to other than model paths are reported and gated too.
    """

    upstreams: Sequence[Upstream]
    tell: Callable[[ExchangeEvent], None]
    name: Callable[[], str]
    named: bool = False
    word: str = ""
    wants: Wants | None = None
    allows_foreign: bool = False
    records_everything: bool = True

    def should_record(self, head: Head, target: str) -> bool:
        """Whether a request is recorded: every one, or only a POST or WebSocket to a model path."""
        if self.records_everything:
            return True
        is_call = is_model_path(target.partition("?")[0])
        return is_call and (head.raw.startswith(b"POST ") or "websocket" in head.get("upgrade").lower())

    def find_upstream(self, target: str) -> tuple[Upstream, str]:
        """The provider for a request's target, and the target to send. Raises `Malformed` without one."""
        upstream, rest = self._split_target(target)
        return upstream, upstream.correct_target(rest)

    def _split_target(self, target: str) -> tuple[Upstream, str]:
        if target.startswith("/"):
            if not (self.named or self.word):
                return self.upstreams[0], target
            name, slash, rest = target[1:].partition("/")
            if not slash:
                name, question, query = name.partition("?")
                rest = question + query
            if self.word:
                if compare_digest(name, self.word):
                    return self.upstreams[0], f"/{rest}"
                raise Malformed("this relay serves only programs that send the secret word in its base URL")
            upstream = next((candidate for candidate in self.upstreams if candidate.name == name), None)
            if upstream is not None:
                return upstream, f"/{rest}"
        names = ", ".join(f"/{candidate.name}/" for candidate in self.upstreams)
        raise Malformed(f"{target[:80]!r} leads to no provider; paths begin with {names if self.named else '/'}")


def is_model_path(path: str) -> bool:
    """Whether `path`, without query, is of model calls, counts, compaction or cached contents."""
    return bool(_MODEL_PATHS.search(path))
