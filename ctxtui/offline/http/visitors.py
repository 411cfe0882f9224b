"""Who is let in: programs of this machine. A web page, which any site may have sent, is not.

A browser says in ``Host`` what name it looked up and in ``Origin`` whose page asks. A site that points its own name at
this machine (DNS rebinding) shows in the one, any other site in the other.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from ctxtui.offline.exchange import Refusal
from ctxtui.offline.http.sending import json_response

_NO_NAME: Final = frozenset("@/\\?# \t,")
"""Characters that stand in no host's name: whoever writes them wants to be read two ways."""


def is_loopback(name: str) -> bool:
    """Whether a host's name can only mean this machine."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def stranger(request: web.Request) -> str:
    """The header by which a request comes from elsewhere, with its value; "" for none. Programs send no ``Origin``, and
    where one sends no ``Host`` it is no browser."""
    for value in request.headers.getall("Host", []):
        if _NO_NAME.intersection(value) or not _at_home(f"//{value}"):
            return f"Host: {value}"
    for value in request.headers.getall("Origin", []):
        if not _at_home(value):
            return f"Origin: {value}"
    return ""


def _at_home(address: str) -> bool:
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False


def locals_only(refused: Callable[[str, Refusal], object]) -> Middleware:
    """A middleware that answers strangers with 403; `refused` hears of the path, and why."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        why = stranger(request)
        if not why:
            return await handler(request)
        told = f"only this machine is served, under its own name (127.0.0.1, localhost, [::1]); this came with {why!r}"
        refusal = Refusal(told, 403, "permission_error", rule="stranger")
        refused(request.path, refusal)
        return json_response({"type": "error", "error": {"type": refusal.type, "message": told}}, 403)

    return guard
