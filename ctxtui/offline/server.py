"""The offline provider over HTTP on loopback."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.offline.claude import OFFLINE
from ctxtui.offline.desks import DESKS, Desk, serve
from ctxtui.offline.exchange import Reply, compact
from ctxtui.offline.faults import DISCONNECT, GARBAGE, SLOW, STATUSES, STREAM_ERROR, Fault, Faults, parse
from ctxtui.offline.listing import anthropic_model, anthropic_models, openai_model, openai_models
from ctxtui.offline.provider import Provider
from ctxtui.offline.refusal import Refusal
from ctxtui.offline.shape import members
from ctxtui.offline.strict_responses import items_of

FAULT_HEADER: Final = "x-ctxtui-fault"
MARK_HEADER: Final = "x-ctxtui-offline"
"""In every answer: ``offline``, or whose rules were simulated."""

_GARBAGE: Final = b"\xff\xfe{]<html>\x00 garbage\r\n"
_ROOM: Final = 64 * 1024 * 1024
_SEEN: Final = 1000

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that was served: its path, body as bytes, the status, the rule that refused it ("": none) and the
    fault that it met ("": none)."""

    path: str
    body: bytes
    status: int
    rule: str = ""
    fault: str = ""


@dataclass(slots=True)
class Server:
    """What serves: the provider's state, the faults, the pace of answers in tokens a second (0: as fast as can be), and
    what was asked of it, newest last."""

    provider: Provider = field(default_factory=Provider)
    faults: Faults = field(default_factory=Faults)
    pace: float = 0.0
    seen: list[Seen] = field(default_factory=list)

    def app(self) -> web.Application:
        """The web application."""
        app = web.Application(client_max_size=_ROOM)
        for path, desk in DESKS.items():
            app.router.add_post(path, self._posted(path, desk))
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/v1/models/{id:.+}", self._model)
        app.router.add_get("/v1/responses/{id}", self._kept)
        app.router.add_delete("/v1/responses/{id}", self._forget)
        app.router.add_get("/v1/responses/{id}/input_items", self._input_items)
        app.router.add_get("/_ctxtui/faults", self._told_faults)
        app.router.add_post("/_ctxtui/faults", self._armed)
        app.router.add_delete("/_ctxtui/faults", self._disarmed)
        app.router.add_get("/", self._greeting)
        return app

    def _posted(self, path: str, desk: Desk) -> Handler:
        async def handler(request: web.Request) -> web.StreamResponse:
            raw = await request.read()
            headers = {name.lower(): value for name, value in request.headers.items()}
            fault = self._fate(headers)
            if fault is not None and fault.kind == SLOW:
                await asyncio.sleep(fault.seconds)
            refused = _injected(fault)
            begun = time.monotonic()
            got = refused or serve(desk, self.provider, raw, headers)
            self._note(path, raw, got, fault)
            id_ = self.provider.names.new("req_011C", 20)
            told = {desk.id_header: id_, MARK_HEADER: OFFLINE, **_openai_headers(desk, begun)}
            if isinstance(got, Refusal):
                return self._error(desk, got, id_, told, fault)
            return await self._answer(request, got, told, fault)

        return handler

    def _fate(self, headers: Mapping[str, str]) -> Fault | None:
        named = headers.get(FAULT_HEADER)
        if named is None:
            return self.faults.meet()
        try:
            return parse(named)
        except BadConfig as error:
            raise web.HTTPBadRequest(text=str(error)) from None

    def _note(self, path: str, raw: bytes, got: Reply | Refusal, fault: Fault | None) -> None:
        rule = got.rule if isinstance(got, Refusal) else ""
        self.seen.append(Seen(path, raw, got.status, rule, fault.kind if fault else ""))
        del self.seen[:-_SEEN]

    def _error(
        self, desk: Desk, refusal: Refusal, id_: str, headers: dict[str, str], fault: Fault | None
    ) -> web.StreamResponse:
        if refusal.status == 429:
            wait = fault.seconds if fault is not None else float(refusal.rule.rpartition(" ")[2])
            headers = {**headers, "retry-after": str(math.ceil(wait))}
        return _json(desk.error(refusal, id_), refusal.status, headers)

    async def _answer(
        self, request: web.Request, reply: Reply, headers: dict[str, str], fault: Fault | None
    ) -> web.StreamResponse:
        headers = {**headers, **reply.headers, MARK_HEADER: _simulated(reply.body)}
        seconds = reply.output / self.pace if self.pace else 0.0
        if reply.events is None:
            await asyncio.sleep(seconds)
            return self._whole(request, reply, headers, fault)
        response = web.StreamResponse(headers={**headers, "content-type": reply.kind, "cache-control": "no-cache"})
        await response.prepare(request)
        reply.begin()
        breaks = fault is not None and fault.kind in (STREAM_ERROR, DISCONNECT, GARBAGE)
        chunks = reply.events[: fault.after] if breaks and fault is not None else reply.events
        await _write(response, chunks, seconds)
        if breaks and fault is not None:
            return await _break(request, response, reply, fault)
        await response.write_eof()
        return response

    def _whole(
        self, request: web.Request, reply: Reply, headers: dict[str, str], fault: Fault | None
    ) -> web.StreamResponse:
        if fault is not None and fault.kind == DISCONNECT:
            _drop(request)
        if fault is not None and fault.kind == GARBAGE:
            return web.Response(body=_GARBAGE, headers={**headers, "content-type": "application/json"})
        reply.begin()
        return _json(reply.body, reply.status, headers)

    async def _models(self, request: web.Request) -> web.StreamResponse:
        anthropic = "anthropic-version" in request.headers
        return _json(anthropic_models() if anthropic else openai_models())

    async def _model(self, request: web.Request) -> web.StreamResponse:
        id_ = request.match_info["id"]
        anthropic = "anthropic-version" in request.headers
        found = anthropic_model(id_) if anthropic else openai_model(id_)
        if found is not None:
            return _json(found)
        desk = DESKS["/v1/messages" if anthropic else "/v1/chat/completions"]
        told = f"model: {id_}" if anthropic else f"The model '{id_}' does not exist"
        refusal = Refusal(told, 404, param="model", code=None if anthropic else "model_not_found")
        return _json(desk.error(refusal, self.provider.names.new("req_")), 404)

    async def _kept(self, request: web.Request) -> web.StreamResponse:
        kept = self.provider.kept.get(request.match_info["id"])
        return _json(kept.response) if kept else self._unknown(request)

    async def _forget(self, request: web.Request) -> web.StreamResponse:
        id_ = request.match_info["id"]
        if self.provider.kept.pop(id_, None) is None:
            return self._unknown(request)
        return _json({"id": id_, "object": "response", "deleted": True})

    async def _input_items(self, request: web.Request) -> web.StreamResponse:
        kept = self.provider.kept.get(request.match_info["id"])
        if kept is None:
            return self._unknown(request)
        items = items_of({"input": kept.items[: len(kept.items) - len(kept.response["output"])]})
        return _json({"object": "list", "data": items[::-1], "has_more": False, "first_id": "", "last_id": ""})

    def _unknown(self, request: web.Request) -> web.StreamResponse:
        refusal = Refusal(f"Response with id '{request.match_info['id']}' not found.", 404)
        return _json(DESKS["/v1/responses"].error(refusal, ""), 404)

    async def _told_faults(self, _: web.Request) -> web.StreamResponse:
        return _json({"faults": [_fault_json(fault) for fault in self.faults.armed]})

    async def _armed(self, request: web.Request) -> web.StreamResponse:
        try:
            given = await request.json()
            self.faults.arm([parse(one) for one in given["faults"]], given.get("seed"))
        except (BadConfig, ValueError, KeyError, TypeError, AttributeError) as error:
            return _json({"error": {"message": f'expected {{"faults": [...], "seed": N}}: {error}'}}, 400)
        return await self._told_faults(request)

    async def _disarmed(self, request: web.Request) -> web.StreamResponse:
        self.faults.arm([])
        return await self._told_faults(request)

    async def _greeting(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text="ctxtui offline provider: no model, strict rules. Paths: " + " ".join(DESKS) + "\n")


def _simulated(body: Json) -> str:
    model = members(body).get("model", OFFLINE)
    return OFFLINE if model == OFFLINE else f"simulating {model}"


def _injected(fault: Fault | None) -> Refusal | None:
    if fault is None or fault.kind not in STATUSES:
        return None
    return Refusal(STATUSES[fault.kind], int(fault.kind), rule="injected")


def _openai_headers(desk: Desk, begun: float) -> dict[str, str]:
    if desk.id_header != "x-request-id":
        return {"anthropic-organization-id": "00000000-0000-0000-0000-000000000000"}
    spent = f"{(time.monotonic() - begun) * 1000:.0f}"
    return {"openai-processing-ms": spent, "openai-version": "2020-10-01", "openai-organization": "ctxtui-offline"}


def _json(value: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    told = {**(headers or {}), "content-type": "application/json"}
    return web.Response(body=compact(value), status=status, headers=told)


async def _write(response: web.StreamResponse, chunks: tuple[bytes, ...], seconds: float) -> None:
    """Chunks evenly over `seconds`; without a pace, a good many at once."""
    if not seconds:
        for n in range(0, len(chunks), 64):
            await response.write(b"".join(chunks[n : n + 64]))
        return
    loop = asyncio.get_running_loop()
    start = loop.time()
    for n, chunk in enumerate(chunks):
        await response.write(chunk)
        ahead = start + seconds * (n + 1) / len(chunks) - loop.time()
        if ahead > 0:
            await asyncio.sleep(ahead)


async def _break(request: web.Request, response: web.StreamResponse, reply: Reply, fault: Fault) -> web.StreamResponse:
    if fault.kind == STREAM_ERROR:
        await response.write(reply.broken)
        await response.write_eof()
    elif fault.kind == GARBAGE:
        await response.write(_GARBAGE)
        await response.write_eof()
    else:
        _drop(request)
    return response


def _drop(request: web.Request) -> None:
    """Cut the connection, with nothing said."""
    if request.transport is not None:
        request.transport.abort()


def _fault_json(fault: Fault) -> dict[str, Json]:
    return {name: getattr(fault, name) for name in ("kind", "share", "times", "after", "seconds")}
