"""Keeps the prompt caches of a run's sessions from expiring in pauses, while that pays.

A refresh sends a session's last request again, with the shortest answer, so that the provider keeps its cache.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from ctxtui.analysis.cache.keep_warm import REFRESH_MARGIN_S, SHORTEST_LIFETIME_S, RefreshTotals, decide
from ctxtui.attach.exchange_events import AnswerBegun, ExchangeEnded, ExchangeEvent, RequestBegun, RequestBytes
from ctxtui.attach.own_request import send_like
from ctxtui.attach.route import is_model_path
from ctxtui.attach.run import find_session
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN
from ctxtui.services.attach.edits_gate import SIGNED, EditsGate
from ctxtui.services.attach.preparation.preparer_client import PreparerClient, Warmth
from ctxtui.transcripts.kit.http_exchange.pair import Sender, identify_sender, read_betas

POLL_S: Final = 0.5
FIRST_LOOK_S: Final = SHORTEST_LIFETIME_S - REFRESH_MARGIN_S
"""Seconds after a request's start at which its session is looked at: no cache expires before."""
MAX_REFRESH_S: Final = 120.0
"""Seconds after which a refresh without an answer is ended: the other sessions wait for it."""
STAGED: Final = "edits are staged"
OTHER_API: Final = "only caches of Anthropic's Messages API are kept warm"
FAILED: Final = "the provider answered {}"
NO_ANSWER: Final = "there was no answer"
CLIENT_SIGNS: Final = "the client signs its requests"


class _OpenRequest(Struct):
    """A client's request under way. `body` is kept only until its session is known."""

    begun: RequestBegun
    session: str
    is_main: bool
    body: bytearray = field(default_factory=bytearray)
    status: int = 0


class _WarmSession(Struct):
    """A session whose main thread may be kept warm.

    - `heads`: the head of the main thread's last answered request, for each set of beta features.
    - `under_way`: number of the session's requests under way, held ones included.
    - `look_at`: the next look (Unix seconds; inf: after the client's next request).
    - `why`: why it is not kept warm now; "": it is, or that is not known yet.
    - `totals`: its refreshes in this run, as recorded.
    """

    heads: dict[tuple[str, ...], RequestBegun] = field(default_factory=dict)
    under_way: int = 0
    look_at: float = math.inf
    why: str = ""
    totals: RefreshTotals = RefreshTotals()


class KeepWarm:
    """Watches the exchanges of a run, and refreshes the cache of each session that pauses.

    - `cap_usd`: a refresh is sent only if the run's refreshes so far and its own forecast cost no more.
    - `record`: takes every event; `name`: returns the name of a new exchange.
    - `session`: that of requests whose client sends no id ("": by their conversation).

    Only the main thread is kept warm: a subagent ends without notice.
    """

    def __init__(
        self,
        cap_usd: float,
        record: Callable[[ExchangeEvent], None],
        name: Callable[[], str],
        edits: EditsGate,
        preparer: PreparerClient,
        session: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.cap_usd = cap_usd
        self._record, self._name, self._edits, self._preparer = record, name, edits, preparer
        self._session, self._clock = session, clock
        self._since = clock()
        self._open: dict[str, _OpenRequest] = {}
        self._sessions: dict[str, _WarmSession] = {}
        self._task: asyncio.Task[None] | None = None
        self._reading: asyncio.Future[Warmth] | None = None
        """Reads what the last refresh cost."""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        """Send no further request, end one that is under way, and read what it cost."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._reading is not None:
            await self._reading

    @property
    def usd(self) -> float:
        """USD of the run's refreshes with a usage report, at list prices."""
        return sum(warm.totals.usd for warm in self._sessions.values())

    @property
    def count(self) -> int:
        """Number of answered refreshes of the run."""
        return sum(warm.totals.count for warm in self._sessions.values())

    @property
    def reasons(self) -> dict[str, str]:
        """Why a session is not kept warm now, by session; "" if it is, or that is not known yet."""
        return {session: warm.why for session, warm in self._sessions.items()}

    @property
    def json(self) -> dict[str, Json]:
        return {"cap_usd": self.cap_usd, "usd": self.usd, "count": self.count, "why": {**self.reasons}}

    def put(self, event: ExchangeEvent) -> None:
        """Record an event, and take note of it."""
        self._record(event)
        if isinstance(event, RequestBegun):
            self._begin(event)
            return
        request = self._open.get(event.exchange_id)
        if request is None:
            return
        if isinstance(event, RequestBytes):
            if not request.session:
                request.body += event.data
                if event.last:
                    sender, url = _sender_of(request.begun), request.begun.url
                    self._assign(request, find_session(sender, self._session, url, bytes(request.body)))
        elif isinstance(event, AnswerBegun):
            request.status = event.status
        elif isinstance(event, ExchangeEnded):
            self._end(request)

    def _begin(self, begun: RequestBegun) -> None:
        sender = _sender_of(begun)
        is_main = (sender.thread or MAIN) == MAIN and urlsplit(begun.url).path.endswith("/messages")
        request = self._open[begun.exchange_id] = _OpenRequest(begun, "", is_main)
        if session := sender.session or ("" if sender.names_session_in_body else self._session):
            self._assign(request, session)

    def _assign(self, request: _OpenRequest, session: str) -> None:
        request.session = session
        request.body.clear()
        self._sessions.setdefault(session, _WarmSession()).under_way += 1

    def _end(self, request: _OpenRequest) -> None:
        del self._open[request.begun.exchange_id]
        warm = self._sessions.get(request.session)
        if warm is None:
            return
        warm.under_way -= 1
        path = urlsplit(request.begun.url).path
        if is_model_path(path) and not warm.heads and "/messages" not in path:
            warm.why = OTHER_API
        if request.is_main and request.status == 200:
            betas = read_betas(request.begun.fields).get("betas")
            names = tuple(str(name) for name in betas) if isinstance(betas, list) else ()
            warm.heads[names] = request.begun
            warm.look_at, warm.why = request.begun.at + FIRST_LOOK_S, ""

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            await self.look()

    async def look(self) -> None:
        """Refresh the caches that are due now."""
        for session, warm in list(self._sessions.items()):
            if not warm.under_way and self._clock() >= warm.look_at:
                try:
                    await self._look_at(session, warm)
                except Exception as error:  # noqa: BLE001 - the boundary: other sessions are kept warm
                    warm.look_at, warm.why = math.inf, f"{type(error).__name__}: {error}"

    async def _look_at(self, session: str, warm: _WarmSession) -> None:
        """Refresh the cache of a session that pauses if it is time, or find out when."""
        looked_at = warm.look_at
        if await self._edits.has_staged(session, MAIN):
            # Looked at again: they may be applied or discarded before the cache expires.
            warm.why = STAGED
            return
        warmth = await self._find_warmth(session, warm)
        if warm.under_way or warm.look_at != looked_at:
            return
        begun = warm.heads.get(warmth.betas)
        reason, warm.look_at = self._refusal(warmth, begun), math.inf
        if warmth.prefix is None or begun is None or reason:
            warm.why = reason
            return
        at, reason = decide(warmth.prefix, self.usd, self.cap_usd)
        expires = warmth.prefix.expires
        if at is None and expires is not None:
            # A part with a longer lifetime may be left, whose rewrite costs more.
            warm.look_at, warm.why = expires + 1.0, reason
        if at is None:
            warm.why = warm.why or reason
            return
        warm.look_at, warm.why = at, ""
        if at <= self._clock():
            await self._refresh(session, warm, begun, warmth)

    async def _find_warmth(self, session: str, warm: _WarmSession) -> Warmth:
        warmth = await self._preparer.find_warmth(session, self._since)
        warm.totals = warmth.totals if warmth.totals is not None else warm.totals
        return warmth

    def _refusal(self, warmth: Warmth, begun: RequestBegun | None) -> str:
        """Why the request that refreshes the cache is not sent again; "" if it can be."""
        if warmth.prefix is None:
            return warmth.why
        if begun is None:
            return "the headers of its last request are not known"
        fields = {name.lower(): value for name, value in begun.fields}
        return CLIENT_SIGNS if fields.get("authorization", "").startswith(SIGNED) else ""

    async def _refresh(self, session: str, warm: _WarmSession, begun: RequestBegun, warmth: Warmth) -> None:
        """Send the request that refreshes the cache.

        Look again at once, or, if it failed, after the next request.
        """
        looked_at, status = warm.look_at, 0
        try:
            async with asyncio.timeout(MAX_REFRESH_S):
                status = await send_like(begun, warmth.body, session, self._record, self._name, self._clock)
        except TimeoutError:
            pass
        finally:
            # Before another session spends of the limit; also if the run ends meanwhile.
            self._reading = asyncio.ensure_future(self._find_warmth(session, warm))
            await asyncio.shield(self._reading)
        if warm.look_at != looked_at:
            return  # A request of the client was answered meanwhile.
        if status == 200:
            warm.look_at = self._clock()
        else:
            warm.look_at, warm.why = math.inf, FAILED.format(status) if status else NO_ANSWER


def _sender_of(begun: RequestBegun) -> Sender:
    return identify_sender({name.lower(): value for name, value in begun.fields})
