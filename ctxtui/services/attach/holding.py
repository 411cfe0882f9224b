"""Requests of other programs that wait for the user: by which rules, for how long, and what becomes of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ctxtui.attach import news
from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError, NotFound, Several
from ctxtui.core.session import MAIN
from ctxtui.services.attach.desk.request_desk import Foretold, PreparedRequest, RequestDesk
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.hold_rules import HoldRules, about_tokens, rules_of
from ctxtui.services.attach.own_answer import SPOKEN, error_event, own_answer, own_refusal, ping_of
from ctxtui.transcripts.kit.fields import as_dict, as_str
from ctxtui.transcripts.kit.http_exchange.decode import detect_dialect
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, classify_side_call, identify_sender, parse_body

RELEASE, APPLY, REFUSE, ANSWER = "release", "apply", "refuse", "answer"
HOWS: Final = (RELEASE, APPLY, REFUSE, ANSWER)
"""As the program sent it; under the edits that are applied now; not at all; not at all, the user answers."""
MORE: Final = "more"
"""It waits longer, where its client can be kept waiting."""
REFUSED: Final = "the request was refused by the user of ctxtui"
NEXT: Final = "you asked for the next request"
_SPARE: Final = 15.0
"""Seconds before a client gives up in which its request is let go."""
_USUAL: Final = 120.0
"""Seconds that a request waits at most whose client does not say for how long it waits."""
_STREAM: Final = 600.0
"""Seconds that a request waits at least whose answer is a stream: pings keep its client waiting."""
_OFTEN: Final = 10.0
"""Seconds from ping to ping."""


class Decision(NamedTuple):
    """What becomes of a held request: one of `HOWS`, and what the user answers in the model's place."""

    how: str
    text: str = ""


@dataclass(slots=True, kw_only=True)
class HeldRequest:
    """A request that waits: `until` (Unix seconds) it is let go by itself. `dialect` is the API that it asks."""

    x: str
    session: str
    thread: str
    dialect: str
    body: dict[str, Json]
    size: int
    why: str
    since: float
    until: float
    decided: asyncio.Future[Decision]
    foretold: Foretold | None = None
    pings_from: float | None = None
    """When its client is told for the first time that somebody is there (Unix seconds); None where it cannot be."""
    pinged: bool = False
    """Whether it was told: its answer has begun."""

    def json(self, now: float) -> dict[str, Json]:
        """As it is told."""
        told = {"id": self.x, "session": self.session, "thread": self.thread, "model": as_str(self.body.get("model"))}
        left = max(0.0, round(self.until - now, 1))
        found = self.foretold
        return {
            **told,
            "why": self.why,
            "about_tokens": about_tokens(self.size),
            "tokens": found.tokens if found is not None else None,
            "usd": found.usd if found is not None else None,
            "miss": found.miss if found is not None else None,
            "seconds_left": left,
            "can_wait": self.pings_from is not None,
            "pinged": self.pinged,
        }


@dataclass(slots=True)
class HoldGate:
    """Holds requests by `rules`, then lets them leave under the edits that `edits` knows. `tell` hears of each;
    `recorded` gives the names of the files that are written. `next` are the sessions whose next request is held."""

    edits: EditsGate
    rules: HoldRules
    tell: Callable[[news.ExchangeEvent], None]
    recorded: Callable[[], Iterable[str]] = tuple
    _: KW_ONLY
    desk: RequestDesk | None = None
    """Foretells requests, and has policies and edits that waited act; None: nobody does."""
    clock: Callable[[], float] = time.time
    troubles: Callable[[], Iterable[str]] = tuple
    """What could not be recorded so far, in words."""
    held: dict[str, HeldRequest] = field(default_factory=dict)
    next: set[str] = field(default_factory=set)
    _own: HoldRules = field(init=False)

    def __post_init__(self) -> None:
        self._own = self.rules

    def wants(self, head: Head, url: str) -> bool:
        """Whether the request has to be whole before it leaves."""
        if self.rules or self.next or (self.desk is not None and self.desk.policies):
            return True
        return self.edits.wants(head, url)

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """Hold it where a rule or the user says so, until somebody decides or its client would give up."""
        body = parse_body(waiting.body)
        exchange = Exchange(waiting.body, url=waiting.url)
        dialect = detect_dialect(exchange, body) if isinstance(body, dict) else ""
        # What Ollama is asked has the shape of another API, and answers that have not.
        dialect = exchange.provider if dialect and exchange.provider == "ollama" else dialect
        if not dialect or classify_side_call(exchange.path, body):
            return await self.edits.decide(waiting)
        sender = identify_sender(waiting.head.last)
        session = sender.session or self.edits.session_for(waiting)
        thread = sender.thread or MAIN
        prepared = await self._prepared(session, thread, waiting)
        why = NEXT if session in self.next else self.rules.reason(waiting.body)
        why = why or self.rules.foretold_reason(prepared.foretold)
        if not why:
            return _with(await self.edits.decide(waiting), _told(prepared))
        self.next.discard(session)
        now, patience = self.clock(), _patience(waiting.head)
        streams = waiting.alive is not None and as_dict(body).get("stream") is True and bool(ping_of(dialect))
        one = HeldRequest(
            x=waiting.x,
            session=session,
            thread=thread,
            dialect=dialect,
            body=as_dict(body),
            size=len(waiting.body),
            why=why,
            since=now,
            until=now + (max(patience, _STREAM) if streams else patience),
            pings_from=now + patience if streams else None,
            decided=asyncio.get_running_loop().create_future(),
            foretold=prepared.foretold,
        )
        return _with(await self._decided(waiting, one, await self._wait(one, waiting)), _told(prepared))

    async def _prepared(self, session: str, thread: str, waiting: WaitingRequest) -> PreparedRequest:
        """What has to be known of it before anybody decides."""
        desk = self.desk
        if desk is None:
            return PreparedRequest()
        if self.rules.foretells or desk.policies or await self.edits.wait(session, thread):
            return await desk.prepare(session, thread, waiting.url, waiting.body)
        return PreparedRequest()

    async def _decided(self, waiting: WaitingRequest, one: HeldRequest, decision: Decision) -> RequestVerdict:
        told: dict[str, Json] = {"released": decision.how, **({"pinged": True} if one.pinged else {})}
        if decision.how == REFUSE:
            return RequestVerdict(answer=own_refusal(one.dialect, REFUSED), told=told)
        if decision.how == ANSWER:
            said = own_answer(one.dialect, one.body, decision.text, about_tokens(one.size), self.clock())
            return RequestVerdict(answer=said, told=told)
        # As it would have left had nobody held it, where time is up.
        verdict = await self.edits.decide(waiting) if decision.how != RELEASE else RequestVerdict()
        return _with(verdict, told)

    async def _wait(self, one: HeldRequest, waiting: WaitingRequest) -> Decision:
        """Until somebody decides, or time is up; near the end of its client's patience, and as often again, its client
        is told that somebody is there, where it asked for a stream."""
        self.held[one.x] = one
        self.tell(news.RequestHeld(one.x, one.since, one.until, one.why))
        again = one.pings_from
        try:
            while (now := self.clock()) < one.until:
                until = one.until if again is None else min(again, one.until)
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, until - now)):
                        return await asyncio.shield(one.decided)
                if again is not None and waiting.alive is not None and self.clock() >= again:
                    said = waiting.alive(ping_of(one.dialect), partial(error_event, one.dialect), self.clock())
                    one.pinged, again = one.pinged or said, again + _OFTEN
            return Decision("time is up")
        finally:
            del self.held[one.x]

    def release(self, id_: str, how: str, text: str = "") -> str:
        """Decide about a held request, by the beginning of its id ("": the only one); its id. Raises `NotFound`,
        `Several`, `CtxtuiError`."""
        one = self._held_as(id_)
        if how == ANSWER and one.dialect not in SPOKEN:
            raise CtxtuiError(
                f"an answer of yours cannot be spelled in this API ({one.dialect})", way_out="refuse or release it"
            )
        one.decided.set_result(Decision(how, text))
        return one.x

    def _held_as(self, id_: str) -> HeldRequest:
        open_ = {name: one for name, one in self.held.items() if not one.decided.done()}
        found = [open_[id_]] if id_ in open_ else [one for name, one in open_.items() if name.startswith(id_)]
        if not found:
            raise NotFound(f"no request {id_} is held" if id_ else "no request is held")
        if len(found) > 1:
            raise Several("several requests are held: " + ", ".join(one.x for one in found), way_out="name one")
        return found[0]

    def more(self, id_: str) -> str:
        """Let a held request wait longer, its client being told that somebody is there; its id. Raises as `release`,
        and where its client cannot be told."""
        one = self._held_as(id_)
        if one.pings_from is None:
            raise CtxtuiError(
                "its program asked for no stream: it gives up when its time is over", way_out="decide before it leaves"
            )
        one.until += _STREAM
        return one.x

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What a control connection asks: ``{"do": "list" | "on" | "off" | "next" | "not next" | MORE | one of HOWS}``,
        with the ``id`` of a request and the ``text`` of an answer, the ``session`` whose next request is meant, or the
        ``rules`` that are on from now on (none: each request) in the run that writes the ``file``. Raises `NotFound`,
        `Several`, `BadConfig`."""
        do = asked.get("do")
        if do in HOWS:
            return {"id": self.release(str(asked.get("id") or ""), str(do), str(asked.get("text") or ""))}
        if do == MORE:
            return {"id": self.more(str(asked.get("id") or ""))}
        meant = asked.get("file") in (None, *self.recorded())
        if do == "on" and meant:
            self.rules = rules_of(asked.get("rules") or {"each": True})
        elif do == "off" and meant:
            self.rules = replace(self._own, each=False)
        session = str(asked.get("session") or "")
        if do == "next" and session:
            self.next.add(session)
        elif do == "not next":
            self.next.discard(session)
        held = [one.json(self.clock()) for one in self.held.values()]
        told = {"held": held, "each": self.rules.each, "rules": list(self.rules.words)}
        return {**told, "next": sorted(self.next), "files": sorted(self.recorded()), "troubles": [*self.troubles()]}

    def close(self) -> None:
        """End what it started."""
        self.edits.close()
        if self.desk is not None:
            self.desk.close()


def _told(prepared: PreparedRequest) -> dict[str, Json]:
    """What goes on record of what was done before a request left."""
    done: list[Json] = [*prepared.done]
    return {**({"done": done} if done else {}), **({"trouble": prepared.trouble} if prepared.trouble else {})}


def _with(verdict: RequestVerdict, told: dict[str, Json]) -> RequestVerdict:
    """`verdict` with more on record."""
    return replace(verdict, told={**verdict.told, **told}) if told else verdict


def _patience(head: Head) -> float:
    """Seconds that a request can wait before its client gives up: the shortest time that it names."""
    found: list[float] = []
    for name in ("x-stainless-timeout", "x-stainless-read-timeout"):
        # An SDK whose time-out is the client's own says NOT_GIVEN in the first one.
        with suppress(ValueError):
            found.append(float(head.get(name)))
    seconds = min((one for one in found if one > 0), default=0.0)
    return max(1.0, min(seconds, 3600.0) - _SPARE) if seconds else _USUAL
