"""The offline provider over HTTP on loopback."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from aiohttp import web
from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.offline.anthropic.models import OFFLINE
from ctxtui.offline.exchange import KeptResponse, Refusal, Reply
from ctxtui.offline.faults import SLOW, STATUSES, Fault, Faults, parse
from ctxtui.offline.http.control import add_control
from ctxtui.offline.http.exchange_log import ExchangeLog
from ctxtui.offline.http.local_routes import add_listings, local_desks
from ctxtui.offline.http.own_thread import in_thread
from ctxtui.offline.http.routes import DESKS, ServedRoute, serve
from ctxtui.offline.http.sending import json_response, send
from ctxtui.offline.http.sockets import asks_for_socket, talk
from ctxtui.offline.http.visitors import locals_only
from ctxtui.offline.http.watching import watching
from ctxtui.offline.json_shape import members
from ctxtui.offline.local.model_list import anthropic_model, anthropic_models, openai_model, openai_models
from ctxtui.offline.local.servers import Local
from ctxtui.offline.openai.validate_responses import items_of
from ctxtui.offline.provider import Provider

FAULT_HEADER: Final = "x-ctxtui-fault"
MARK_HEADER: Final = "x-ctxtui-offline"
"""In every answer: ``offline``, or whose rules were simulated."""

_ROOM: Final = 64 * 1024 * 1024
_SEEN: Final = 1000
_HELD: Final = 64 * 1024 * 1024

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Seen(Struct, frozen=True):
    """One request: its path and body as bytes, the status, the rule that refused it and the fault that it met (""
    where there was none), the answer as it was or would have been, whole."""

    path: str
    body: bytes
    status: int
    rule: str = ""
    fault: str = ""
    answer: Json = None

    @property
    def usage(self) -> dict[str, Json]:
        """The usage that was reported, in the dialect's own words."""
        return members(members(self.answer).get("usage"))


class Server(Struct):
    """What serves: the provider's state, the faults, the pace of answers in tokens a second (0: as fast as can be).

    `seen` is what was asked of it, newest last, as far as 1,000 requests and 64 MB go; `told` is called with each of
    them, `log` writes them to a file. With `local` it plays that local server, and only it. Without
    `websocket` who asks for one is told 426. `turn` keeps requests in order.
    """

    provider: Provider = field(default_factory=Provider)
    faults: Faults = field(default_factory=Faults)
    pace: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    told: Callable[[Seen], None] | None = None
    local: Local | None = None
    log: ExchangeLog | None = None
    websocket: bool = True
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    working: int = 0
    """Requests that are being worked on."""
    _held: int = 0

    def app(self, *, anyone: bool = False) -> web.Application:
        """The web application; it serves this machine alone, unless `anyone` may ask."""
        kept = [watching(self.log, self.provider.now)] if self.log else []
        guard = [] if anyone else [locals_only(lambda path, why: self._note(path, b"", why, None))]
        app = web.Application(client_max_size=_ROOM, middlewares=[*guard, *kept])
        for path, desk in (local_desks(self.local) if self.local else DESKS).items():
            app.router.add_post(path, self._posted(path, desk))
        add_control(app, self.provider, self.faults)
        if self.local:
            add_listings(app, self.local)
        else:
            self._add_hosted(app)
        app.router.add_get("/", self._greeting)
        app.router.add_route("*", "/{path:.*}", self._nowhere)
        return app

    def _add_hosted(self, app: web.Application) -> None:
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/v1/models/{id:.+}", self._model)
        app.router.add_get("/v1/responses", self._connected, allow_head=False)
        app.router.add_get("/v1/responses/{id}", self._kept)
        app.router.add_delete("/v1/responses/{id}", self._forget)
        app.router.add_get("/v1/responses/{id}/input_items", self._input_items)

    def _posted(self, path: str, desk: ServedRoute) -> Handler:
        async def handler(request: web.Request) -> web.StreamResponse:
            raw = await request.read()
            headers = {name.lower(): value for name, value in request.headers.items()}
            fault = self._fate(headers)
            begun = time.monotonic()
            got = _injected(fault) or await self._served(desk, raw, headers)
            if fault is not None and fault.kind == SLOW:
                # Behind the look at the cache: what this request writes can be read when its answer begins.
                await asyncio.sleep(fault.seconds)
            self._note(path, raw, got, fault)
            id_ = self.provider.names.new("req_011C", 20)
            told = {desk.id_header: id_, MARK_HEADER: OFFLINE, **_openai_headers(desk, begun)}
            if isinstance(got, Refusal):
                return self._error(desk, got, id_, told, fault)
            told |= {**got.headers, MARK_HEADER: _simulated(got.body)}
            return await send(request, got, told, fault, self.pace)

        return handler

    async def _connected(self, request: web.Request) -> web.StreamResponse:
        """A WebSocket, where one is wanted."""
        desk = DESKS["/v1/responses"]
        headers = {name.lower(): value for name, value in request.headers.items()}
        if not asks_for_socket(request):
            return await self._nowhere(request)
        wrong = desk.has_key(headers)
        if wrong is None and not self.websocket:
            wrong = Refusal("WebSockets are not served here.", 426, rule="websocket")
        if wrong is not None:
            self._note("/v1/responses", b"", wrong, None)
            return json_response(desk.error(wrong, ""), wrong.status, {MARK_HEADER: OFFLINE})

        named = self._fate(headers) if FAULT_HEADER in headers else None

        async def answer(raw: bytes, held: dict[str, KeptResponse]) -> tuple[Reply | Refusal, Fault | None]:
            fault = named or self.faults.meet()
            got = _injected(fault) or await self._served(desk, raw, headers, held)
            if fault is not None and fault.kind == SLOW:
                await asyncio.sleep(fault.seconds)
            self._note("/v1/responses", raw, got, fault)
            return got, fault

        id_ = self.provider.names.new("req_011C", 20)
        return await talk(request, answer, desk.error, {desk.id_header: id_, MARK_HEADER: OFFLINE}, self.pace)

    async def _served(
        self,
        desk: ServedRoute,
        raw: bytes,
        headers: Mapping[str, str],
        held: dict[str, KeptResponse] | None = None,
    ) -> Reply | Refusal:
        try:
            # In a thread, one after the other: whoever shares the event loop (a screen) is not held up.
            async with self.turn:
                return await in_thread(partial(self._work, desk, raw, headers, held))
        except Exception as error:  # noqa: BLE001 - the boundary of a request: a fault of ours is told as what it is
            told = f"fault in ctxtui's offline provider: {type(error).__name__}: {error}"
            return Refusal(told, 500, rule="fault")

    def _work(
        self, desk: ServedRoute, raw: bytes, headers: Mapping[str, str], held: dict[str, KeptResponse] | None
    ) -> Reply | Refusal:
        self.working += 1
        try:
            return serve(desk, self.provider, raw, headers, held)
        finally:
            self.working -= 1

    def _fate(self, headers: Mapping[str, str]) -> Fault | None:
        named = headers.get(FAULT_HEADER)
        if named is None:
            return self.faults.meet()
        try:
            return parse(named)
        except BadConfig as error:
            raise web.HTTPBadRequest(text=str(error)) from None

    def _note(self, path: str, raw: bytes, got: Reply | Refusal, fault: Fault | None) -> None:
        met = fault.kind if fault else ""
        if isinstance(got, Refusal):
            seen = Seen(path, raw, got.status, got.rule, met)
        else:
            seen = Seen(path, raw, got.status, "", met, got.body)
        self.seen.append(seen)
        self._held += len(raw)
        while len(self.seen) > _SEEN or (self._held > _HELD and len(self.seen) > 1):
            self._held -= len(self.seen.pop(0).body)
        if self.told is not None:
            self.told(seen)

    def _error(
        self, desk: ServedRoute, refusal: Refusal, id_: str, headers: dict[str, str], fault: Fault | None
    ) -> web.StreamResponse:
        if refusal.status == 429:
            wait = fault.seconds if fault is not None else float(refusal.rule.rpartition(" ")[2])
            headers = {**headers, "retry-after": str(math.ceil(wait))}
        return json_response(desk.error(refusal, id_), refusal.status, headers)

    async def _models(self, request: web.Request) -> web.StreamResponse:
        anthropic = "anthropic-version" in request.headers
        return json_response(anthropic_models() if anthropic else openai_models())

    async def _model(self, request: web.Request) -> web.StreamResponse:
        id_ = request.match_info["id"]
        anthropic = "anthropic-version" in request.headers
        found = anthropic_model(id_) if anthropic else openai_model(id_)
        if found is not None:
            return json_response(found)
        desk = DESKS["/v1/messages" if anthropic else "/v1/chat/completions"]
        told = f"model: {id_}" if anthropic else f"The model '{id_}' does not exist"
        refusal = Refusal(told, 404, param="model", code=None if anthropic else "model_not_found")
        return json_response(desk.error(refusal, self.provider.names.new("req_")), 404)

    async def _kept(self, request: web.Request) -> web.StreamResponse:
        kept = self.provider.kept.get(request.match_info["id"])
        return json_response(kept.response) if kept else self._unknown(request)

    async def _forget(self, request: web.Request) -> web.StreamResponse:
        id_ = request.match_info["id"]
        if self.provider.kept.pop(id_, None) is None:
            return self._unknown(request)
        return json_response({"id": id_, "object": "response", "deleted": True})

    async def _input_items(self, request: web.Request) -> web.StreamResponse:
        kept = self.provider.kept.get(request.match_info["id"])
        if kept is None:
            return self._unknown(request)
        items = items_of({"input": kept.items[: len(kept.items) - len(kept.response["output"])]})
        return json_response({"object": "list", "data": items[::-1], "has_more": False, "first_id": "", "last_id": ""})

    def _unknown(self, request: web.Request) -> web.StreamResponse:
        refusal = Refusal(f"Response with id '{request.match_info['id']}' not found.", 404)
        return json_response(DESKS["/v1/responses"].error(refusal, ""), 404)

    async def _nowhere(self, request: web.Request) -> web.StreamResponse:
        """Any other path, or a method that a path does not know."""
        told = Refusal(f"{request.method} {request.path} is not served offline", 404, rule="path")
        desk = DESKS["/v1/messages" if "anthropic-version" in request.headers else "/v1/chat/completions"]
        return json_response(desk.error(told, self.provider.names.new("req_")), 404)

    async def _greeting(self, _: web.Request) -> web.StreamResponse:
        paths = local_desks(self.local) if self.local else DESKS
        return web.Response(text=f"ctxtui offline provider: no model. Paths: {' '.join(paths)}\n")


def _simulated(body: Json) -> str:
    model = members(body).get("model", OFFLINE)
    return OFFLINE if model == OFFLINE else f"simulating {model}"


def _injected(fault: Fault | None) -> Refusal | None:
    if fault is None or fault.kind not in STATUSES:
        return None
    return Refusal(STATUSES[fault.kind], int(fault.kind), rule="injected")


def _openai_headers(desk: ServedRoute, begun: float) -> dict[str, str]:
    if desk.id_header != "x-request-id":
        return {"anthropic-organization-id": "00000000-0000-0000-0000-000000000000"}
    spent = f"{(time.monotonic() - begun) * 1000:.0f}"
    return {"openai-processing-ms": spent, "openai-version": "2020-10-01", "openai-organization": "ctxtui-offline"}
