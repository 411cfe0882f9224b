"""What of a request's head is written down: everything but keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ctxtui.wire.key_mask import KeyMask

MASKED: Final = "<masked>"
_SECRET: Final = re.compile(r"auth|key|secret|token|cookie|credential|password|signature|session-token", re.IGNORECASE)
_OPEN: Final = re.compile(
    r"ratelimit|sec-websocket-(key|accept)$|idempotency-key$|max-tokens|authority$", re.IGNORECASE
)
"""Headers whose names sound like secrets and whose values are none."""
_QUERY: Final = re.compile(
    r"([?&;](?:[\w.-]*(?:key|token|secret|sig|signature|auth|password)[\w.-]*)=)[^&;#]+", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"^(?:bearer|basic|token)\s+", re.IGNORECASE)

Fields = Iterable[tuple[str, str]]


def is_secret(name: str) -> bool:
    """Whether the values of a header called `name` are kept out of every record."""
    return bool(_SECRET.search(name)) and not _OPEN.search(name)


def shown(fields: Fields) -> list[tuple[str, str]]:
    """Headers as they are written down."""
    return [(name, MASKED if is_secret(name) else value) for name, value in fields]


def shown_url(url: str) -> str:
    """A URL as it is written down: without user and password, and without keys in its query."""
    scheme, found, rest = url.partition("://")
    if found and "@" in rest.partition("/")[0]:
        host, slash, path = rest.partition("/")
        url = f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    return _QUERY.sub(rf"\1{MASKED}", url)


def mask_for(fields: Fields) -> KeyMask:
    """What keeps the keys in these headers out of bodies: a provider may say one back."""
    keys = [_SCHEME.sub("", value) for name, value in fields if is_secret(name)]
    first, *further = keys or [""]
    return KeyMask(first, *further)
