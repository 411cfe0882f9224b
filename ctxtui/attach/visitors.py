"""Who is let in: programs of this machine. A web page, which any site may have sent, is not.

A browser says in ``Host`` what name it looked up and in ``Origin`` whose page asks (see `offline/http/server`, which
asks the same of another server).
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from ctxtui.attach.http1 import Head

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
