"""What a test may change while the provider serves: the faults, the clock."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.offline.faults import MOST_ARMED, Fault, Faults, parse
from ctxtui.offline.http.sending import json_response
from ctxtui.offline.provider import Provider

_FARTHEST: Final = 10 * 365 * 86_400
"""Seconds that the clock may be moved in all."""


def add_control(app: web.Application, provider: Provider, faults: Faults) -> None:
    """Add ``/_ctxtui/faults`` (GET, POST ``{"faults": [...], "seed": N}``, DELETE) and ``/_ctxtui/clock`` (POST
    ``{"advance": SECONDS}``)."""

    async def told(_: web.Request) -> web.Response:
        return json_response({"faults": [_fault_json(fault) for fault in faults.armed]})

    async def armed(request: web.Request) -> web.Response:
        try:
            given = await request.json()
            listed = given["faults"]
            if len(listed) > MOST_ARMED:
                raise ValueError(f"at most {MOST_ARMED:,} faults")
            faults.arm([parse(one) for one in listed], given.get("seed"))
        except (BadConfig, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return _wrong('{"faults": [...], "seed": N}', error)
        return await told(request)

    async def disarmed(request: web.Request) -> web.Response:
        faults.arm([])
        return await told(request)

    async def moved(request: web.Request) -> web.Response:
        try:
            ahead = provider.ahead + float((await request.json())["advance"])
            if not abs(ahead) <= _FARTHEST:
                raise ValueError(f"the clock goes at most {_FARTHEST:,} seconds ahead or back")
            provider.ahead = ahead
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            return _wrong('{"advance": SECONDS}', error)
        return json_response({"now": provider.now()})

    app.router.add_get("/_ctxtui/faults", told)
    app.router.add_post("/_ctxtui/faults", armed)
    app.router.add_delete("/_ctxtui/faults", disarmed)
    app.router.add_post("/_ctxtui/clock", moved)


def _wrong(expected: str, error: Exception) -> web.Response:
    return json_response({"error": {"message": f"expected {expected}: {error}"}}, 400)


def _fault_json(fault: Fault) -> dict[str, Json]:
    return {name: getattr(fault, name) for name in ("kind", "share", "times", "after", "seconds")}
