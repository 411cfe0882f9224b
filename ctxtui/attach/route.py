"""Where the requests of a relay lead, who hears of them, and at which paths a model is asked: what else a program says
over the network is none of our business."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hmac import compare_digest
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from ctxtui.attach.http1 import Head
from ctxtui.attach.news import ExchangeEvent
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import Malformed

ONLY_HERE: Final = "only programs of this machine are served, under its own name"
_NO_NAME: Final = frozenset("@/\\?# \t,")
"""Characters that stand in no host's name: whoever writes them wants to be read two ways."""
_HERE: Final = re.compile(r"(?:127\.0\.0\.1|localhost)(?::\d{1,5})?")
"""What nearly everybody writes, known without looking closer."""
_OWN: Final = ("", "none", "same-origin")
"""``Sec-Fetch-Site`` of an address that a person typed, and of what its page asks for; programs say nothing. A browser
sends a request for another site's image, or its link, without an Origin."""


def stranger(head: Head) -> str:
    """The header by which a request comes from elsewhere, with its value; "" for none."""
    for value in head.all("host"):
        if not _HERE.fullmatch(value) and (_NO_NAME.intersection(value) or not _at_home(f"//{value}")):
            return f"Host: {value}"
    origins = head.all("origin")
    for value in origins:
        if not _at_home(value):
            return f"Origin: {value}"
    site = head.get("sec-fetch-site")
    return "" if origins or site in _OWN else f"Sec-Fetch-Site: {site}"


def _at_home(address: str) -> bool:
    try:
        name = urlsplit(address).hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


_ASKS: Final = re.compile(
    r"/(?:messages|messages/count_tokens|chat/completions|completions|responses|responses/input_tokens|responses/compact"
    r"|invoke|invoke-with-response-stream|converse|converse-stream)$|:(?:rawPredict|streamRawPredict|generateContent"
    r"|streamGenerateContent)$|/api/(?:chat|generate)$"
)

Wants = Callable[[Head, str], bool]
"""Whether a gate is to be asked about a request with this head and URL, at once."""


class Route(Struct):
    """Where requests lead: with `named` the first step of a path names the provider, else there is one, and the first
    step is the `word` where there is one. `tell` hears of everything that goes by, each exchange under a `name` of its
    own; `wants` says whether a gate is to be asked.
    `strangers` are let in where what comes has been let in already; `all_of_it` says whether more than what asks a
    model is told and asked about (a client that is given a base URL says nothing else there)."""

    upstreams: Sequence[Upstream]
    tell: Callable[[ExchangeEvent], None]
    name: Callable[[], str]
    named: bool = False
    word: str = ""
    wants: Wants | None = None
    strangers: bool = False
    all_of_it: bool = True

    def concerns(self, head: Head, target: str) -> bool:
        """Whether a request is our business: it asks a model, or opens a WebSocket where one is asked."""
        if self.all_of_it:
            return True
        asks = asks_at(target.partition("?")[0])
        return asks and (head.raw.startswith(b"POST ") or "websocket" in head.get("upgrade").lower())

    def upstream(self, target: str) -> tuple[Upstream, str]:
        """The provider that a target leads to, and the target as it is told. Raises `Malformed` where none is meant."""
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
                raise Malformed("this relay serves programs that were given its whole address")
            found = next((one for one in self.upstreams if one.name == name), None)
            if found is not None:
                return found, f"/{rest}"
        names = ", ".join(f"/{one.name}/" for one in self.upstreams)
        raise Malformed(f"{target[:80]!r} leads to no provider; paths begin with {names if self.named else '/'}")


def asks_at(path: str) -> bool:
    """Whether a model is asked to read something at a path (without its query)."""
    return bool(_ASKS.search(path))
