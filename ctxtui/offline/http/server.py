"""The offline provider as an HTTP server on loopback: access, routes, and control by tests."""

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
from ctxtui.core.json_values import as_dict
from ctxtui.offline.anthropic.models import OFFLINE, anthropic_model, anthropic_models
from ctxtui.offline.exchange import Refusal, Reply, StoredResponse
from ctxtui.offline.faults import MAX_ARMED, SLOW, STATUSES, Fault, Faults, parse
from ctxtui.offline.google.models import list_models
from ctxtui.offline.http.exchange_log import ExchangeLog, logging_to
from ctxtui.offline.http.google_paths import ID_HEADER as GOOGLE_ID
from ctxtui.offline.http.google_paths import add_google, google_model, is_google
from ctxtui.offline.http.routes import ROUTES, ServedRoute, serve
from ctxtui.offline.http.sending import MAX_FRAME_BYTES, Connection, in_thread, json_response, send
from ctxtui.offline.local import OLLAMA_COUNTS, LocalServer, add_listings, local_routes
from ctxtui.offline.openai.models import openai_model, openai_models
from ctxtui.offline.openai.validate_responses import items_of
from ctxtui.offline.provider import Provider
from ctxtui.offline.simulated_models import is_simulated

_INVALID_HOST_CHARS: Final = frozenset("@/\\?# \t,")
"""They make a host name ambiguous."""


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
        if _INVALID_HOST_CHARS.intersection(value) or not _is_loopback_address(f"//{value}"):
            return f"Host: {value}"
    for value in request.headers.getall("Origin", []):
        if not _is_loopback_address(value):
            return f"Origin: {value}"
    return ""


def _is_loopback_address(address: str) -> bool:
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False


def loopback_only(on_refused: Callable[[str, Refusal], object]) -> Middleware:
    """Middleware that answers strangers with 403; `on_refused` gets the path and the reason."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        why = foreign_header(request)
        if not why:
            return await handler(request)
        message = (
            f"only this machine is served, under its own name (127.0.0.1, localhost, [::1]); this came with {why!r}"
        )
        refusal = Refusal(message, 403, "permission_error", rule="stranger")
        on_refused(request.path, refusal)
        return json_response({"type": "error", "error": {"type": refusal.type, "message": message}}, 403)

    return guard


@web.middleware
async def end_for_gone_client(request: web.Request, handler: Handler) -> web.StreamResponse:
    """End a request whose client disconnected. aiohttp would print a traceback."""
    try:
        return await handler(request)
    except ConnectionResetError:
        return web.Response(status=_CLIENT_GONE)


_CLIENT_GONE: Final = 499
_MAX_CLOCK_SHIFT_S: Final = 10 * 365 * 86_400
"""In all."""


def add_control(app: web.Application, provider: Provider, faults: Faults) -> None:
    """Add the paths that control faults and the clock.

    ``/_ctxtui/faults`` lists the armed faults (GET), arms others instead (POST ``{"faults": [...], "seed": N}``) or
    none (DELETE). ``/_ctxtui/clock`` moves the clock (POST ``{"advance": SECONDS}``).
    """

    async def list_faults(_: web.Request) -> web.Response:
        return json_response({"faults": [to_builtins(fault) for fault in faults.armed]})

    async def arm_faults(request: web.Request) -> web.Response:
        try:
            request_body = await request.json()
            if len(request_body["faults"]) > MAX_ARMED:
                raise ValueError(f"at most {MAX_ARMED:,} faults")
            faults.arm([parse(fault) for fault in request_body["faults"]], request_body.get("seed"))
        except (BadConfig, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return _control_error('{"faults": [...], "seed": N}', error)
        return await list_faults(request)

    async def disarm_faults(request: web.Request) -> web.Response:
        faults.arm([])
        return await list_faults(request)

    async def move_clock(request: web.Request) -> web.Response:
        try:
            shift = provider.clock_shift + float((await request.json())["advance"])
            if not abs(shift) <= _MAX_CLOCK_SHIFT_S:
                raise ValueError(f"the clock goes at most {_MAX_CLOCK_SHIFT_S:,} seconds ahead or back")
            provider.clock_shift = shift
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            return _control_error('{"advance": SECONDS}', error)
        return json_response({"now": provider.now()})

    app.router.add_get("/_ctxtui/faults", list_faults)
    app.router.add_post("/_ctxtui/faults", arm_faults)
    app.router.add_delete("/_ctxtui/faults", disarm_faults)
    app.router.add_post("/_ctxtui/clock", move_clock)


def _control_error(expected: str, error: Exception) -> web.Response:
    return json_response({"error": {"message": f"expected {expected}: {error}"}}, 400)


FAULT_HEADER: Final = "x-ctxtui-fault"
"""In a request: its simulated fault (see `parse`), instead of an armed one."""
MARK_HEADER: Final = "x-ctxtui-offline"
"""In answers to model calls: ``offline``, or ``simulating MODEL`` for a model with rules of its own."""

_MAX_BODY_BYTES: Final = 64 * 1024 * 1024
_MAX_SEEN_REQUESTS: Final = 1000
_MAX_SEEN_BYTES: Final = 64 * 1024 * 1024


class SeenRequest(Struct, frozen=True):
    """One request that the server got, and its answer.

    - `rule`: the rule that refused it; "" for none.
    - `fault`: its simulated fault; "" for none.
    - `answer`: the complete answer, sent or not; None if the request was refused.
    """

    path: str
    body: bytes
    status: int
    rule: str = ""
    fault: str = ""
    answer: Json = None

    @property
    def usage(self) -> dict[str, Json]:
        """The reported usage, in the dialect's own form."""
        answer = as_dict(self.answer)
        ollama = {name: answer[name] for name in OLLAMA_COUNTS if name in answer}
        return as_dict(answer.get("usage") or answer.get("usageMetadata") or ollama)


class Server(Struct):
    """The server's state.

    - `pace`: tokens a second of answers; 0: as fast as possible.
    - `seen`: the last requests but look-ups, newest last: at most 1,000, and more than one only up to 64 MB of bodies.
    - `on_request`: called with each of these once its answer is made.
    - `local`: the local server that is simulated instead of the providers.
    - `websocket`: whether upgrade requests are accepted; otherwise they get a 426.
    - `request_lock`: replies are made one after the other.
    """

    provider: Provider = field(default_factory=Provider)
    faults: Faults = field(default_factory=Faults)
    pace: float = 0.0
    seen: list[SeenRequest] = field(default_factory=list)
    on_request: Callable[[SeenRequest], None] | None = None
    local: LocalServer | None = None
    log: ExchangeLog | None = None
    websocket: bool = True
    request_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    in_progress: int = 0
    _seen_bytes: int = 0

    def app(self, *, anyone: bool = False) -> web.Application:
        """The web application; it serves this machine only, unless `anyone` is set."""
        logging = [logging_to(self.log, self.provider.now)] if self.log else []
        guard = [] if anyone else [loopback_only(lambda path, why: self._add_seen(path, b"", why, None))]
        app = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[end_for_gone_client, *logging, *guard])
        for path, route in (local_routes(self.local) if self.local else ROUTES).items():
            app.router.add_post(path, partial(self._serve_post, path, route))
        add_control(app, self.provider, self.faults)
        if self.local:
            add_listings(app, self.local)
        else:
            add_google(app, self.provider, self._serve_post)
            app.router.add_get("/v1/models", self._list_models)
            app.router.add_get("/v1/models/{id:.+}", self._describe_model)
            app.router.add_get("/v1/responses", self._serve_websocket, allow_head=False)
            for method, suffix in (("GET", ""), ("DELETE", ""), ("GET", "/input_items")):
                app.router.add_route(method, f"/v1/responses/{{id}}{suffix}", self._serve_stored_response)
        app.router.add_get("/", self._answer_greeting)
        app.router.add_route("*", "/{path:.*}", self._answer_not_found)
        return app

    async def _serve_post(self, path: str, route: ServedRoute, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        fault = self._next_fault(headers)
        begun = time.monotonic()
        reply = await self._make_reply(path, route, raw, headers, fault)
        id_ = self.provider.names.new("req_011C", 20)
        response_headers = {route.id_header: id_, MARK_HEADER: OFFLINE, **_api_headers(route, begun)}
        if not isinstance(reply, Refusal):
            model = str(as_dict(reply.body).get("model") or as_dict(reply.body).get("modelVersion") or OFFLINE)
            mark = f"simulating {model}" if is_simulated(model) else OFFLINE
            response_headers |= {**reply.headers, MARK_HEADER: mark}
            return await send(request, reply, response_headers, fault, self.pace)
        if reply.status == 429:
            # Of a simulated fault, or of the limit, which is in the rule.
            wait = fault.seconds if fault is not None and reply.rule == "injected" else float(reply.rule.split()[-1])
            response_headers["retry-after"] = str(math.ceil(wait))
        return json_response(route.format_error(reply, id_), reply.status, response_headers)

    async def _serve_websocket(self, request: web.Request) -> web.StreamResponse:
        """Serve a WebSocket; a request for anything else is not found."""
        route = ROUTES["/v1/responses"]
        headers = {name.lower(): value for name, value in request.headers.items()}
        if headers.get("upgrade", "").lower() != "websocket":
            return await self._answer_not_found(request)
        refusal = route.check_key(headers)
        if refusal is None and not self.websocket:
            refusal = Refusal("WebSockets are not served here.", 426, rule="websocket")
        if refusal is not None:
            self._add_seen("/v1/responses", b"", refusal, None)
            return json_response(route.format_error(refusal, ""), refusal.status, {MARK_HEADER: OFFLINE})
        requested_fault = self._next_fault(headers) if FAULT_HEADER in headers else None

        async def answer(raw: bytes, responses: dict[str, StoredResponse]) -> tuple[Reply | Refusal, Fault | None]:
            fault = requested_fault or self.faults.take_fault()
            return await self._make_reply("/v1/responses", route, raw, headers, fault, responses), fault

        socket = web.WebSocketResponse(max_msg_size=MAX_FRAME_BYTES)
        socket.headers.update({route.id_header: self.provider.names.new("req_011C", 20), MARK_HEADER: OFFLINE})
        return await Connection(request, socket, answer, route.format_error, self.pace).serve()

    async def _make_reply(
        self,
        path: str,
        route: ServedRoute,
        raw: bytes,
        headers: Mapping[str, str],
        fault: Fault | None,
        responses: dict[str, StoredResponse] | None = None,
    ) -> Reply | Refusal:
        def work() -> Reply | Refusal:
            self.in_progress += 1
            try:
                return serve(route, self.provider, raw, headers, responses)
            finally:
                self.in_progress -= 1

        reply: Reply | Refusal
        if fault is not None and fault.kind in STATUSES:
            reply = Refusal(STATUSES[fault.kind], int(fault.kind), rule="injected")
        else:
            try:
                # In a thread, one after the other, so that the event loop (of a screen) is not blocked.
                async with self.request_lock:
                    reply = await in_thread(work)
            except Exception as error:  # noqa: BLE001 - the boundary of a request: a fault of ours is told as what it is
                message = f"fault in ctxtui's offline provider: {type(error).__name__}: {error}"
                reply = Refusal(message, 500, rule="fault")
        if fault is not None and fault.kind == SLOW:
            # After the cache lookup: what this request writes can be read when its answer begins.
            await asyncio.sleep(fault.seconds)
        self._add_seen(path, raw, reply, fault)
        return reply

    def _next_fault(self, headers: Mapping[str, str]) -> Fault | None:
        spelled = headers.get(FAULT_HEADER)
        if spelled is None:
            return self.faults.take_fault()
        try:
            return parse(spelled)
        except BadConfig as error:
            raise web.HTTPBadRequest(text=str(error)) from None

    def _add_seen(self, path: str, raw: bytes, reply: Reply | Refusal, fault: Fault | None) -> None:
        rule, answer = (reply.rule, None) if isinstance(reply, Refusal) else ("", reply.body)
        request = SeenRequest(path, raw, reply.status, rule, fault.kind if fault else "", answer)
        self.seen.append(request)
        self._seen_bytes += len(raw)
        while len(self.seen) > _MAX_SEEN_REQUESTS or (self._seen_bytes > _MAX_SEEN_BYTES and len(self.seen) > 1):
            self._seen_bytes -= len(self.seen.pop(0).body)
        if self.on_request is not None:
            self.on_request(request)

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        if is_google(request):
            return json_response(list_models())
        return json_response(anthropic_models() if _is_anthropic(request) else openai_models())

    async def _describe_model(self, request: web.Request) -> web.StreamResponse:
        if is_google(request):
            return google_model(request, self.provider.strict_models)
        id_, anthropic = request.match_info["id"], _is_anthropic(request)
        description = (anthropic_model if anthropic else openai_model)(id_, self.provider.strict_models)
        if description is not None:
            return json_response(description)
        message = f"model: {id_}" if anthropic else f"The model '{id_}' does not exist"
        return self._refuse_missing(request, message, param="model", code=None if anthropic else "model_not_found")

    async def _serve_stored_response(self, request: web.Request) -> web.StreamResponse:
        id_ = request.match_info["id"]
        response = self.provider.responses.get(id_)
        if response is None:
            return self._refuse_missing(request, f"Response with id '{id_}' not found.")
        if request.method == "DELETE":
            self.provider.delete_response(id_)
            return json_response({"id": id_, "object": "response", "deleted": True})
        if not request.path.endswith("/input_items"):
            return json_response(response.response)
        items = items_of({"input": response.items[: len(response.items) - len(response.response["output"])]})
        return json_response({"object": "list", "data": items[::-1], "has_more": False, "first_id": "", "last_id": ""})

    async def _answer_not_found(self, request: web.Request) -> web.StreamResponse:
        return self._refuse_missing(request, f"{request.method} {request.path} is not served offline")

    def _refuse_missing(
        self, request: web.Request, message: str, param: str | None = None, code: str | None = None
    ) -> web.Response:
        route = ROUTES["/v1/messages" if _is_anthropic(request) else "/v1/chat/completions"]
        refusal = Refusal(message, 404, param=param, code=code, rule="path")
        return json_response(route.format_error(refusal, self.provider.names.new("req_")), 404)

    async def _answer_greeting(self, _: web.Request) -> web.StreamResponse:
        paths = local_routes(self.local) if self.local else ROUTES
        return web.Response(text=f"ctxtui offline provider: no model. Paths: {' '.join(paths)}\n")


def _is_anthropic(request: web.Request) -> bool:
    return "anthropic-version" in request.headers


def _api_headers(route: ServedRoute, started: float) -> dict[str, str]:
    milliseconds = f"{(time.monotonic() - started) * 1000:.0f}"
    if route.id_header == GOOGLE_ID:
        return {"server-timing": f"gfet4t7; dur={milliseconds}"}
    if route.id_header != "x-request-id":
        return {"anthropic-organization-id": "00000000-0000-0000-0000-000000000000"}
    return {
        "openai-processing-ms": milliseconds,
        "openai-version": "2020-10-01",
        "openai-organization": "ctxtui-offline",
    }
