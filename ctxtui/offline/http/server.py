"""The offline provider over HTTP on loopback: access, routes, and control by tests."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from msgspec import Struct, field, to_builtins

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig
from ctxtui.offline.anthropic.models import OFFLINE, anthropic_model, anthropic_models
from ctxtui.offline.exchange import KeptResponse, Refusal, Reply
from ctxtui.offline.faults import MAX_ARMED, SLOW, STATUSES, Fault, Faults, parse
from ctxtui.offline.google.models import list_models
from ctxtui.offline.http.exchange_log import ExchangeLog, logging_to
from ctxtui.offline.http.google_paths import ID_HEADER as GOOGLE_ID
from ctxtui.offline.http.google_paths import add_google, google_model, is_google
from ctxtui.offline.http.routes import ROUTES, ServedRoute, serve
from ctxtui.offline.http.sending import LARGEST_FRAME, Connection, in_thread, json_response, send
from ctxtui.offline.json_shape import members
from ctxtui.offline.local import Local, add_listings, local_routes
from ctxtui.offline.openai.models import openai_model, openai_models
from ctxtui.offline.openai.validate_responses import items_of
from ctxtui.offline.provider import Provider

_NO_NAME: Final = frozenset("@/\\?# \t,")
"""Characters that are invalid in a host name: they make it ambiguous."""


def is_loopback(name: str) -> bool:
    """Whether a host name can only mean this machine."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def foreign_header(request: web.Request) -> str:
    """The header that shows that a request comes from elsewhere, with its value; "" for none.

    Programs send no ``Origin``, and a request without ``Host`` comes from no browser.
    """
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
    """Middleware that answers strangers with 403; `refused` gets the path and the reason."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        why = foreign_header(request)
        if not why:
            return await handler(request)
        message = (
            f"only this machine is served, under its own name (127.0.0.1, localhost, [::1]); this came with {why!r}"
        )
        refusal = Refusal(message, 403, "permission_error", rule="stranger")
        refused(request.path, refusal)
        return json_response({"type": "error", "error": {"type": refusal.type, "message": message}}, 403)

    return guard


_MAX_CLOCK_SHIFT_S: Final = 10 * 365 * 86_400
"""Maximum seconds by which the clock may be moved in all."""


def add_control(app: web.Application, provider: Provider, faults: Faults) -> None:
    """Add ``/_ctxtui/faults`` (GET, POST ``{"faults": [...], "seed": N}``, DELETE) and ``/_ctxtui/clock`` (POST
    ``{"advance": SECONDS}``)."""

    async def told(_: web.Request) -> web.Response:
        return json_response({"faults": [to_builtins(fault) for fault in faults.armed]})

    async def armed(request: web.Request) -> web.Response:
        try:
            given = await request.json()
            if len(given["faults"]) > MAX_ARMED:
                raise ValueError(f"at most {MAX_ARMED:,} faults")
            faults.arm([parse(one) for one in given["faults"]], given.get("seed"))
        except (BadConfig, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return _wrong('{"faults": [...], "seed": N}', error)
        return await told(request)

    async def disarmed(request: web.Request) -> web.Response:
        faults.arm([])
        return await told(request)

    async def moved(request: web.Request) -> web.Response:
        try:
            ahead = provider.clock_shift + float((await request.json())["advance"])
            if not abs(ahead) <= _MAX_CLOCK_SHIFT_S:
                raise ValueError(f"the clock goes at most {_MAX_CLOCK_SHIFT_S:,} seconds ahead or back")
            provider.clock_shift = ahead
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            return _wrong('{"advance": SECONDS}', error)
        return json_response({"now": provider.now()})

    app.router.add_get("/_ctxtui/faults", told)
    app.router.add_post("/_ctxtui/faults", armed)
    app.router.add_delete("/_ctxtui/faults", disarmed)
    app.router.add_post("/_ctxtui/clock", moved)


def _wrong(expected: str, error: Exception) -> web.Response:
    return json_response({"error": {"message": f"expected {expected}: {error}"}}, 400)


FAULT_HEADER: Final = "x-ctxtui-fault"
MARK_HEADER: Final = "x-ctxtui-offline"
"""In every answer: ``offline``, or the provider whose rules were simulated."""

_ROOM: Final = 64 * 1024 * 1024
_SEEN: Final = 1000
_HELD: Final = 64 * 1024 * 1024


class Seen(Struct, frozen=True):
    """One request: its path and body as bytes, the status, the rule that refused it and its fault ("" for none), and
    the complete answer, sent or not."""

    path: str
    body: bytes
    status: int
    rule: str = ""
    fault: str = ""
    answer: Json = None

    @property
    def usage(self) -> dict[str, Json]:
        """The reported usage, in the dialect's own form."""
        answer = members(self.answer)
        return members(answer.get("usage") or answer.get("usageMetadata"))


class Server(Struct):
    """The server: the provider's state, the faults, the pace of answers in tokens a second (0: as fast as possible).

    `seen` are the requests so far, newest last, up to 1,000 requests and 64 MB; `told` is called with each of them,
    `log` writes them to a file. With `local` it simulates that local server only. Without `websocket` upgrade requests
    get a 426. `turn` keeps requests in order.
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
    """Number of requests in progress."""
    _held: int = 0

    def app(self, *, anyone: bool = False) -> web.Application:
        """The web application; it serves this machine only, unless `anyone` is set."""
        kept = [logging_to(self.log, self.provider.now)] if self.log else []
        guard = [] if anyone else [locals_only(lambda path, why: self._note(path, b"", why, None))]
        app = web.Application(client_max_size=_ROOM, middlewares=[*guard, *kept])
        for path, desk in (local_routes(self.local) if self.local else ROUTES).items():
            app.router.add_post(path, partial(self._posted, path, desk))
        add_control(app, self.provider, self.faults)
        if self.local:
            add_listings(app, self.local)
        else:
            add_google(app, self.provider, self._posted)
            app.router.add_get("/v1/models", self._models)
            app.router.add_get("/v1/models/{id:.+}", self._model)
            app.router.add_get("/v1/responses", self._connected, allow_head=False)
            for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/input_items")):
                app.router.add_route(method, f"/v1/responses/{{id}}{rest}", self._kept)
        app.router.add_get("/", self._greeting)
        app.router.add_route("*", "/{path:.*}", self._nowhere)
        return app

    async def _posted(self, path: str, desk: ServedRoute, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        fault = self._fate(headers)
        begun = time.monotonic()
        got = await self._answered(path, desk, raw, headers, fault)
        id_ = self.provider.names.new("req_011C", 20)
        response_headers = {desk.id_header: id_, MARK_HEADER: OFFLINE, **_own_headers(desk, begun)}
        if not isinstance(got, Refusal):
            model = members(got.body).get("model") or members(got.body).get("modelVersion") or OFFLINE
            response_headers |= {**got.headers, MARK_HEADER: OFFLINE if model == OFFLINE else f"simulating {model}"}
            return await send(request, got, response_headers, fault, self.pace)
        if got.status == 429:
            wait = fault.seconds if fault is not None else float(got.rule.rpartition(" ")[2])
            response_headers["retry-after"] = str(math.ceil(wait))
        return json_response(desk.error(got, id_), got.status, response_headers)

    async def _connected(self, request: web.Request) -> web.StreamResponse:
        """Serve a WebSocket, if requested."""
        desk = ROUTES["/v1/responses"]
        headers = {name.lower(): value for name, value in request.headers.items()}
        if headers.get("upgrade", "").lower() != "websocket":
            return await self._nowhere(request)
        wrong = desk.has_key(headers)
        if wrong is None and not self.websocket:
            wrong = Refusal("WebSockets are not served here.", 426, rule="websocket")
        if wrong is not None:
            self._note("/v1/responses", b"", wrong, None)
            return json_response(desk.error(wrong, ""), wrong.status, {MARK_HEADER: OFFLINE})
        named = self._fate(headers) if FAULT_HEADER in headers else None

        async def answer(raw: bytes, held: dict[str, KeptResponse]) -> tuple[Reply | Refusal, Fault | None]:
            fault = named or self.faults.next_fault()
            return await self._answered("/v1/responses", desk, raw, headers, fault, held), fault

        socket = web.WebSocketResponse(max_msg_size=LARGEST_FRAME)
        socket.headers.update({desk.id_header: self.provider.names.new("req_011C", 20), MARK_HEADER: OFFLINE})
        return await Connection(request, socket, answer, desk.error, self.pace).serve()

    async def _answered(
        self,
        path: str,
        desk: ServedRoute,
        raw: bytes,
        headers: Mapping[str, str],
        fault: Fault | None,
        held: dict[str, KeptResponse] | None = None,
    ) -> Reply | Refusal:
        def work() -> Reply | Refusal:
            self.working += 1
            try:
                return serve(desk, self.provider, raw, headers, held)
            finally:
                self.working -= 1

        got: Reply | Refusal
        if fault is not None and fault.kind in STATUSES:
            got = Refusal(STATUSES[fault.kind], int(fault.kind), rule="injected")
        else:
            try:
                # In a thread, one after the other, so that the event loop (of a screen) is not blocked.
                async with self.turn:
                    got = await in_thread(work)
            except Exception as error:  # noqa: BLE001 - the boundary of a request: a fault of ours is told as what it is
                message = f"fault in ctxtui's offline provider: {type(error).__name__}: {error}"
                got = Refusal(message, 500, rule="fault")
        if fault is not None and fault.kind == SLOW:
            # After the cache lookup: what this request writes can be read when its answer begins.
            await asyncio.sleep(fault.seconds)
        self._note(path, raw, got, fault)
        return got

    def _fate(self, headers: Mapping[str, str]) -> Fault | None:
        named = headers.get(FAULT_HEADER)
        if named is None:
            return self.faults.next_fault()
        try:
            return parse(named)
        except BadConfig as error:
            raise web.HTTPBadRequest(text=str(error)) from None

    def _note(self, path: str, raw: bytes, got: Reply | Refusal, fault: Fault | None) -> None:
        rule, answer = (got.rule, None) if isinstance(got, Refusal) else ("", got.body)
        seen = Seen(path, raw, got.status, rule, fault.kind if fault else "", answer)
        self.seen.append(seen)
        self._held += len(raw)
        while len(self.seen) > _SEEN or (self._held > _HELD and len(self.seen) > 1):
            self._held -= len(self.seen.pop(0).body)
        if self.told is not None:
            self.told(seen)

    async def _models(self, request: web.Request) -> web.StreamResponse:
        if is_google(request):
            return json_response(list_models())
        return json_response(anthropic_models() if _is_anthropic(request) else openai_models())

    async def _model(self, request: web.Request) -> web.StreamResponse:
        if is_google(request):
            return google_model(request)
        id_, anthropic = request.match_info["id"], _is_anthropic(request)
        found = anthropic_model(id_) if anthropic else openai_model(id_)
        if found is not None:
            return json_response(found)
        message = f"model: {id_}" if anthropic else f"The model '{id_}' does not exist"
        return self._missing(request, message, param="model", code=None if anthropic else "model_not_found")

    async def _kept(self, request: web.Request) -> web.StreamResponse:
        """Get or delete a stored response, or get its input."""
        id_ = request.match_info["id"]
        kept = self.provider.responses.get(id_)
        if kept is None:
            return self._missing(request, f"Response with id '{id_}' not found.")
        if request.method == "DELETE":
            del self.provider.responses[id_]
            return json_response({"id": id_, "object": "response", "deleted": True})
        if not request.path.endswith("/input_items"):
            return json_response(kept.response)
        items = items_of({"input": kept.items[: len(kept.items) - len(kept.response["output"])]})
        return json_response({"object": "list", "data": items[::-1], "has_more": False, "first_id": "", "last_id": ""})

    async def _nowhere(self, request: web.Request) -> web.StreamResponse:
        """Any other path or method."""
        return self._missing(request, f"{request.method} {request.path} is not served offline")

    def _missing(
        self, request: web.Request, message: str, param: str | None = None, code: str | None = None
    ) -> web.Response:
        desk = ROUTES["/v1/messages" if _is_anthropic(request) else "/v1/chat/completions"]
        refusal = Refusal(message, 404, param=param, code=code, rule="path")
        return json_response(desk.error(refusal, self.provider.names.new("req_")), 404)

    async def _greeting(self, _: web.Request) -> web.StreamResponse:
        paths = local_routes(self.local) if self.local else ROUTES
        return web.Response(text=f"ctxtui offline provider: no model. Paths: {' '.join(paths)}\n")


def _is_anthropic(request: web.Request) -> bool:
    return "anthropic-version" in request.headers


def _own_headers(desk: ServedRoute, begun: float) -> dict[str, str]:
    if desk.id_header == GOOGLE_ID:
        return {"server-timing": f"gfet4t7; dur={(time.monotonic() - begun) * 1000:.0f}"}
    if desk.id_header != "x-request-id":
        return {"anthropic-organization-id": "00000000-0000-0000-0000-000000000000"}
    spent = f"{(time.monotonic() - begun) * 1000:.0f}"
    return {"openai-processing-ms": spent, "openai-version": "2020-10-01", "openai-organization": "ctxtui-offline"}
