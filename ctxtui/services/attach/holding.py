"""Holds requests, and answers to compactions, until the user decides or time is up."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ctxtui.attach import exchange_events
from ctxtui.attach.gate import AnswerVerdict, KeepAlive, RequestVerdict, WaitingAnswer, WaitingRequest
from ctxtui.attach.http1 import Head
from ctxtui.core import canonical
from ctxtui.core.block_content import read
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError, NotFound, Several
from ctxtui.core.json_values import as_dict
from ctxtui.core.session import MAIN
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.hold_rules import HoldRules, estimate_tokens, rules_from_options
from ctxtui.services.attach.keep_warm import KeepWarm
from ctxtui.services.attach.own_answer import ANSWERABLE_APIS, build_answer, build_refusal, error_event, ping_of
from ctxtui.services.attach.preparation.preparer_client import ForecastSummary, PreparedRequest, PreparerClient
from ctxtui.services.attach.request_risks import RequestRisks, RiskReason
from ctxtui.transcripts.kit.http_exchange.compaction import (
    CompactionRequest,
    conversation_of,
    read_summary,
    recognize_compaction,
    replace_summary,
    summary_part,
)
from ctxtui.transcripts.kit.http_exchange.decode import asked_model, detect_dialect, wants_stream
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, classify_side_call, identify_sender, parse_body
from ctxtui.wire.grammar import GOOGLE, RESPONSES
from ctxtui.wire.registry import DIALECTS

RELEASE, APPLY, REFUSE, ANSWER = "release", "apply", "refuse", "answer"
HOWS: Final = (RELEASE, APPLY, REFUSE, ANSWER)
"""Send it without edits; send it under the edits applied now; refuse it; answer it in the model's place."""
MORE: Final = "more"
"""Extend the time, if its client can be kept waiting."""
REFUSAL_TEXT: Final = "the request was refused by the user of ctxtui"
NEXT_REASON: Final = "you asked for the next request"
RELEASE_MARGIN_S: Final = 15.0
"""Seconds before its client gives up at which a request is released, or its first ping sent."""
DEFAULT_HOLD_S: Final = 120.0
"""Seconds to hold a request without pings if its client does not send its time-out."""
STREAM_HOLD_S: Final = 600.0
"""Minimum seconds to hold a request if pings keep its client waiting; an extension adds as many."""
PING_INTERVAL_S: Final = 10.0
SEALED_REASON: Final = "{} compacts its history; only the provider can read the summary"
UNHELD_REASON: Final = "{} compacts its history; over a WebSocket its answer cannot be held"
ANSWER_REASON: Final = "{} compacts its history: this is the summary"
RETRY_S: Final = 30.0
"""A refused compaction that its client sends again within so many seconds is refused at once."""
REFUSED_COMPACTION_TEXT: Final = "the compaction was refused by the user of ctxtui; the history stays"


class Decision(NamedTuple):
    """Decision on a held request: one of `HOWS` or "time is up"; for `ANSWER` its text."""

    how: str
    text: str = ""


@dataclass(slots=True, kw_only=True)
class HeldRequest:
    """A held request, or the held answer to a compaction.

    Held from `since` to `until` (Unix seconds) at most. `x` is the id of its exchange, `size` the bytes of its body.
    `streams`: it asks for a stream (not for a JSON list).
    """

    x: str
    session: str
    thread: str
    dialect: str
    body: dict[str, Json]
    model: str
    streams: bool
    size: int
    why: str
    since: float
    until: float
    decision: asyncio.Future[Decision]
    forecast: ForecastSummary | None = None
    pings_from: float | None = None
    """Time of the first ping to its client (Unix seconds); None if it gets no pings."""
    pinged: bool = False
    """Whether a ping was sent: the answer has begun."""
    client: str = ""
    summary: str | None = None
    """The client's summary, if the answer to a compaction is held; None if the request is held."""
    pins: tuple[str, ...] = ()
    """Texts of pinned blocks; those that the summary lacks are added to it."""

    def json(self, now: float) -> dict[str, Json]:
        forecast = self.forecast
        return {
            "id": self.x,
            "session": self.session,
            "thread": self.thread,
            "model": self.model,
            "why": self.why,
            "about_tokens": estimate_tokens(self.size),
            "tokens": forecast.tokens if forecast is not None else None,
            "usd": forecast.usd if forecast is not None else None,
            "miss": forecast.miss if forecast is not None else None,
            "seconds_left": max(0.0, round(self.until - now, 1)),
            "can_wait": self.pings_from is not None,
            "pinged": self.pinged,
            "summary": self.summary,
            "pins": len(_missing_pins(self.summary or "", self.pins)),
        }


@dataclass(slots=True)
class HoldGate:
    """Holds requests by `rules`, then sends them under the edits of `edits`.

    - `tell`: receives an event when a request or an answer is held.
    - `recorded_names`: returns the names of the recordings; `troubles`: the problems of recording so far.
    - `preparer`: makes forecasts, applies waiting edits, runs policies.
    - `held`: held requests by the id of their exchange; `next`: sessions whose next request is held.
    """

    edits: EditsGate
    rules: HoldRules
    tell: Callable[[exchange_events.ExchangeEvent], None]
    recorded_names: Callable[[], Iterable[str]] = tuple
    _: KW_ONLY
    preparer: PreparerClient | None = None
    clock: Callable[[], float] = time.time
    troubles: Callable[[], Iterable[str]] = tuple
    keep_warm: KeepWarm | None = None
    held: dict[str, HeldRequest] = field(default_factory=dict)
    next: set[str] = field(default_factory=set)
    _initial_rules: HoldRules = field(init=False)
    _refused_compactions: dict[tuple[str, str], tuple[int, float]] = field(init=False, default_factory=dict)
    """Messages of the last compaction that was refused, by session and thread, and when (Unix seconds)."""
    _risks: RequestRisks = field(init=False, default_factory=RequestRisks)

    def __post_init__(self) -> None:
        self._initial_rules = self.rules

    def wants(self, head: Head) -> bool:
        if self.rules or self.next or (self.preparer is not None and self.preparer.policies):
            return True
        return self.edits.wants(head)

    async def decide(self, waiting: WaitingRequest) -> RequestVerdict:
        """Hold the request if a rule or the user says so, until a decision or the end of its time."""
        body = parse_body(waiting.body)
        exchange = Exchange(waiting.body, url=waiting.url)
        dialect = detect_dialect(exchange, body) if isinstance(body, dict) else ""
        risk = await self._risks.reason(self.rules, dialect, waiting.body)
        compaction = recognize_compaction(exchange.path, body) if self.rules.compaction else None
        if compaction is not None and compaction.sealed:
            dialect = dialect or RESPONSES
        # A request for a title, one that counts, or one in an unknown API is held for a secret only.
        is_side_call = not dialect or bool(classify_side_call(exchange.path, body))
        if is_side_call and not risk.blocks:
            return await self.edits.decide(waiting)
        sender = identify_sender(waiting.head.last)
        session = self.edits.session_for(waiting)
        thread = sender.thread or MAIN
        if compaction is not None and self._was_refused(session, thread, as_dict(body)):
            refusal = build_refusal(dialect, REFUSED_COMPACTION_TEXT)
            return RequestVerdict(answer=refusal, report={"released": REFUSE})
        if is_side_call:
            prepared, why = PreparedRequest(), risk.text
        else:
            prepared = await self._prepare(session, thread, waiting)
            why = NEXT_REASON if session in self.next else self.rules.reason(waiting.body)
            why = why or self.rules.forecast_reason(prepared.forecast) or risk.text
            why = why or _compaction_reason(compaction, waiting)
            if why:
                self.next.discard(session)
        more = {"session": session, "thread": thread, "forecast": prepared.forecast, "client": sender.client}
        held = self._make_held(waiting, exchange, dialect, body, why, **more)
        verdict = await (self._hold(held, waiting, risk) if why else self.edits.decide(waiting))
        if compaction is not None:
            verdict = self._with_held_summary(verdict, held, compaction, waiting)
        return _add_record(verdict, _preparation_record(prepared))

    async def _hold(self, held: HeldRequest, waiting: WaitingRequest, risk: RiskReason) -> RequestVerdict:
        decision = await self._wait(held, waiting.keep_alive)
        if decision.how not in (REFUSE, ANSWER):
            self._risks.sent(risk.blocks)
        return await self._carry_out(waiting, held, decision)

    def _with_held_summary(
        self, verdict: RequestVerdict, held: HeldRequest, compaction: CompactionRequest, waiting: WaitingRequest
    ) -> RequestVerdict:
        if verdict.report.get("released") == REFUSE:
            self._remember_refusal(held)
        if compaction.sealed or not waiting.can_hold_answer:
            return verdict
        return replace(verdict, decide_answer=partial(self._decide_summary, held, compaction.client))

    async def _decide_summary(self, request: HeldRequest, client: str, answer: WaitingAnswer) -> AnswerVerdict:
        """Hold the answer to a client's compaction until a decision or the end of its time.

        It passes at once if it has no text, or if the rule was turned off meanwhile. Pinned texts that it lacks are
        added, unless it is refused.
        """
        text = await asyncio.to_thread(read_summary, request.dialect, answer.body)
        if not text or not self.rules.compaction:
            return AnswerVerdict()
        pinned = await self.edits.pinned(request.session, request.thread)
        summary = summary_part(text)
        pins = await asyncio.to_thread(_pinned_texts, request.dialect, request.body, pinned)
        held = dataclasses.replace(
            request,
            why=ANSWER_REASON.format(client),
            since=self.clock(),
            decision=asyncio.get_running_loop().create_future(),
            pinged=False,
            summary=summary,
            pins=pins,
        )
        decision = await self._wait(held, answer.keep_alive)
        record: dict[str, Json] = {"compaction": decision.how}
        if decision.how == REFUSE:
            self._remember_refusal(held)
            return AnswerVerdict(refusal=build_refusal(held.dialect, REFUSED_COMPACTION_TEXT), report=record)
        chosen = decision.text if decision.how == ANSWER else summary
        new_summary = _add_pins(chosen, pins)
        if new_summary != chosen:
            record["pinned"] = len(_missing_pins(chosen, pins))
        if new_summary == summary:
            return AnswerVerdict(report=record)
        try:
            body = await asyncio.to_thread(replace_summary, held.dialect, answer.body, new_summary)
        except CtxtuiError as error:
            return AnswerVerdict(report={**record, "refused": {"": error.message}})
        return AnswerVerdict(body=body, report=record)

    def _make_held(
        self, waiting: WaitingRequest, exchange: Exchange, dialect: str, body: Json, why: str, **more: Any
    ) -> HeldRequest:
        """The request, held because of `why` ("": only its answer may be held)."""
        now, patience = self.clock(), _max_hold_seconds(waiting.head)
        # Without server-sent events Google's stream is a list, which has no pings.
        asks_stream = wants_stream(exchange.path, as_dict(body)) and (dialect != GOOGLE or "alt=sse" in waiting.url)
        streams = waiting.keep_alive is not None and asks_stream and bool(ping_of(dialect))
        return HeldRequest(
            x=waiting.x,
            dialect=dialect,
            body=as_dict(body),
            model=asked_model(exchange.path, as_dict(body)),
            streams=asks_stream,
            size=len(waiting.body),
            why=why,
            since=now,
            until=now + (max(patience, STREAM_HOLD_S) if streams else patience),
            pings_from=now + patience if streams else None,
            decision=asyncio.get_running_loop().create_future(),
            **more,
        )

    async def _prepare(self, session: str, thread: str, waiting: WaitingRequest) -> PreparedRequest:
        preparer = self.preparer
        if preparer is None:
            return PreparedRequest()
        if self.rules.needs_forecast or preparer.policies or await self.edits.has_waiting(session, thread):
            return await preparer.prepare(session, thread, waiting.url, waiting.body)
        return PreparedRequest()

    async def _carry_out(self, waiting: WaitingRequest, held: HeldRequest, decision: Decision) -> RequestVerdict:
        record: dict[str, Json] = {"released": decision.how, **({"pinged": True} if held.pinged else {})}
        if decision.how == REFUSE:
            return RequestVerdict(answer=build_refusal(held.dialect, REFUSAL_TEXT), report=record)
        if decision.how == ANSWER:
            request = {**held.body, "model": held.model, "stream": held.streams}
            answer = build_answer(held.dialect, request, decision.text, estimate_tokens(held.size), self.clock())
            return RequestVerdict(answer=answer, report=record)
        # `RELEASE` sends it without edits. When the time is up, it is sent as if it had not been held.
        verdict = await self.edits.decide(waiting) if decision.how != RELEASE else RequestVerdict()
        return _add_record(verdict, record)

    def _remember_refusal(self, held: HeldRequest) -> None:
        self._refused_compactions[held.session, held.thread] = len(conversation_of(held.body)), self.clock()

    def _was_refused(self, session: str, thread: str, body: dict[str, Json]) -> bool:
        # Only messages are compared: Claude Code 2.1.332 tries again without thinking, with other tools and system.
        messages, at = self._refused_compactions.get((session, thread), (0, 0.0))
        return self.clock() - at < RETRY_S and len(conversation_of(body)) == messages

    async def _wait(self, held: HeldRequest, keep_alive: KeepAlive | None) -> Decision:
        self.held[held.x] = held
        self.tell(exchange_events.ExchangeHeld(held.x, held.since, held.until, held.why))
        next_ping = held.pings_from
        try:
            while (now := self.clock()) < held.until:
                until = held.until if next_ping is None else min(next_ping, held.until)
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, until - now)):
                        return await asyncio.shield(held.decision)
                if next_ping is not None and keep_alive is not None and self.clock() >= next_ping:
                    was_sent = keep_alive(ping_of(held.dialect, held.client), partial(error_event, held.dialect))
                    held.pinged, next_ping = held.pinged or was_sent, next_ping + PING_INTERVAL_S
            return Decision("time is up")
        finally:
            del self.held[held.x]

    def release(self, id_: str, how: str, text: str = "") -> str:
        """Decide on the held request with this id ("": the only one) by one of `HOWS`.

        Returns its id. `text` is the user's answer for `ANSWER`. Raises `NotFound`, `Several`, and `CtxtuiError` if
        this request does not allow the decision.
        """
        held = self._find_held(id_)
        if how == ANSWER and held.dialect not in ANSWERABLE_APIS:
            raise CtxtuiError(
                f"your answer cannot be written in this API ({held.dialect})", way_out="refuse or release it"
            )
        if how == APPLY and held.summary is not None:
            raise CtxtuiError(
                "the answer to a compaction is held: its request was sent already",
                way_out="refuse it: the history stays, and the applied edits act on the next request",
            )
        held.decision.set_result(Decision(how, text))
        return held.x

    def _find_held(self, id_: str) -> HeldRequest:
        matches = [held for held in self.held.values() if id_ in ("", held.x) and not held.decision.done()]
        if not matches:
            raise NotFound(f"no request {id_} is held" if id_ else "no request is held")
        if len(matches) > 1:
            raise Several("several requests are held: " + ", ".join(held.x for held in matches), way_out="name one")
        return matches[0]

    def extend(self, id_: str) -> str:
        """Extend the time of a held request by `STREAM_HOLD_S`; returns its id. Raises what `release` raises."""
        held = self._find_held(id_)
        if held.pings_from is None:
            raise CtxtuiError(
                "its program cannot be kept waiting: no ping can be sent to it", way_out="decide before it is sent"
            )
        held.until += STREAM_HOLD_S
        return held.x

    def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a control request, whose member ``do`` is one of these:

        - one of `HOWS`, or `MORE`: decide on the held request ``id``, or extend its time. ``text`` is the user's answer
          for `ANSWER`. Returns the request's ``id``.
        - ``on``: hold by the new ``rules`` (none: each request). ``off``: hold by the initial rules, except "each
          request". With a ``file``, only the run that writes it obeys.
        - ``next``, ``not next``: hold the next request of the ``session``, or not.

        All but the first kind, and any other request, return the status of the run. Raises what `release` and
        `rules_from_options` raise.
        """
        do = request.get("do")
        if do in HOWS:
            return {"id": self.release(str(request.get("id") or ""), str(do), str(request.get("text") or ""))}
        if do == MORE:
            return {"id": self.extend(str(request.get("id") or ""))}
        is_own_file = request.get("file") in (None, *self.recorded_names())
        if do == "on" and is_own_file:
            self.rules = rules_from_options(request.get("rules") or {"each": True})
        elif do == "off" and is_own_file:
            self.rules = replace(self._initial_rules, each=False)
        session = str(request.get("session") or "")
        if do == "next" and session:
            self.next.add(session)
        elif do == "not next":
            self.next.discard(session)
        return {
            "held": [held_request.json(self.clock()) for held_request in self.held.values()],
            "each": self.rules.each,
            "rules": list(self.rules.descriptions),
            "next": sorted(self.next),
            "files": sorted(self.recorded_names()),
            "troubles": [*self.troubles()],
            "keep_warm": self.keep_warm.json if self.keep_warm is not None else None,
        }

    def close(self) -> None:
        self.edits.close()
        if self.preparer is not None:
            self.preparer.close()


def _compaction_reason(compaction: CompactionRequest | None, waiting: WaitingRequest) -> str:
    """The reason to hold a compaction request whose answer cannot be held or read; else "".

    A sealed summary is encrypted for the provider.
    """
    if compaction is None or (not compaction.sealed and waiting.can_hold_answer):
        return ""
    return (SEALED_REASON if compaction.sealed else UNHELD_REASON).format(compaction.client)


def _preparation_record(prepared: PreparedRequest) -> dict[str, Json]:
    done: list[Json] = [*prepared.done]
    return {**({"done": done} if done else {}), **({"trouble": prepared.trouble} if prepared.trouble else {})}


def _add_record(verdict: RequestVerdict, record: dict[str, Json]) -> RequestVerdict:
    return replace(verdict, report={**verdict.report, **record}) if record else verdict


def _max_hold_seconds(head: Head) -> float:
    """Seconds that a request can be held without pings.

    The client's time-out less a margin, or a default.
    """
    timeouts: list[float] = []
    for name in ("x-stainless-timeout", "x-stainless-read-timeout", "x-server-timeout"):
        # The first header is NOT_GIVEN if the SDK uses the client's own time-out.
        with suppress(ValueError):
            timeouts.append(float(head.get(name)))
    seconds = min((timeout for timeout in timeouts if timeout > 0), default=0.0)
    return max(1.0, min(seconds, 3600.0) - RELEASE_MARGIN_S) if seconds else DEFAULT_HOLD_S


_PINS_HEADING: Final = "The user pinned these parts of the conversation. They still hold, word for word:"


def _pinned_texts(dialect: str, request: dict[str, Json], digests: Sequence[str]) -> tuple[str, ...]:
    if not digests or dialect not in DIALECTS:
        return ()
    try:
        items = DIALECTS[dialect].decode_request(canonical.dumps(request), None).items
    except CtxtuiError:
        return ()
    blocks = {item.block.digest: item.block for item in items}
    contents = [read(blocks[digest]) for digest in digests if digest in blocks]
    texts = (content.text.strip() or content.arguments.strip() for content in contents)
    return tuple(dict.fromkeys(filter(None, texts)))


def _missing_pins(summary: str, pins: Iterable[str]) -> list[str]:
    return [pin for pin in pins if pin not in summary]


def _add_pins(summary: str, pins: Sequence[str]) -> str:
    missing = _missing_pins(summary, pins)
    return "\n\n".join([summary.rstrip(), _PINS_HEADING, *missing]) if missing else summary
