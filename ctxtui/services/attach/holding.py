"""Requests of other programs that wait for the user: by which rules, for how long, and what becomes of them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ctxtui.attach import news
from ctxtui.attach.gate import Verdict, Waiting
from ctxtui.attach.http1 import Head
from ctxtui.attach.refusal import refusal
from ctxtui.core.canonical import Json
from ctxtui.core.errors import NotFound, Several
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.transcripts.kit.fields import obj, word
from ctxtui.transcripts.kit.http_exchange.decode import dialect_of
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, value
from ctxtui.transcripts.kit.http_exchange.sender import sender_of, side_call

RELEASE, APPLY, REFUSE = "release", "apply", "refuse"
HOWS: Final = (RELEASE, APPLY, REFUSE)
"""As the program sent it; under the edits that are applied now; not at all."""
_SPARE: Final = 15.0
"""Seconds before a client gives up in which its request is let go."""
_USUAL: Final = 120.0
"""Seconds that a request waits at most whose client does not say for how long it waits."""
_CHARACTERS: Final = 4
"""Bytes of a body that are about one token: the rule decides at once, without a tokenizer."""


@dataclass(slots=True, kw_only=True)
class HoldRules:
    """Which requests are held: `each`, those over about so many `tokens` (0: none), those in which `pattern` stands."""

    each: bool = False
    tokens: int = 0
    pattern: re.Pattern[bytes] | None = None

    def __bool__(self) -> bool:
        return bool(self.each or self.tokens or self.pattern)

    def reason(self, body: bytes) -> str:
        """Why a request with this body is held; "" where it is not."""
        about = len(body) // _CHARACTERS
        if self.tokens and about > self.tokens:
            return f"about {about:,} tokens, over {self.tokens:,}"
        if self.pattern is not None and self.pattern.search(body):
            return f"{self.pattern.pattern.decode('utf-8', 'replace')} stands in it"
        return "each request is held" if self.each else ""


@dataclass(slots=True, kw_only=True)
class HeldRequest:
    """A request that waits: `until` (Unix seconds) it is let go by itself. `decided` is set to one of `HOWS`."""

    x: str
    session: str
    thread: str
    model: str
    tokens: int
    why: str
    since: float
    until: float
    decided: asyncio.Future[str]

    def json(self, now: float) -> dict[str, Json]:
        """As it is told."""
        told = {"id": self.x, "session": self.session, "thread": self.thread, "model": self.model, "why": self.why}
        return {**told, "about_tokens": self.tokens, "seconds_left": max(0.0, round(self.until - now, 1))}


@dataclass(slots=True)
class HoldGate:
    """Holds requests by `rules`, then lets them leave under the edits that `edits` knows. `tell` hears of each."""

    edits: EditsGate
    rules: HoldRules
    tell: Callable[[news.News], None]
    clock: Callable[[], float] = time.time
    held: dict[str, HeldRequest] = field(default_factory=dict)

    def wants(self, head: Head, url: str) -> bool:
        """Whether the request has to be whole before it leaves."""
        return bool(self.rules) or self.edits.wants(head, url)

    async def decide(self, waiting: Waiting) -> Verdict:
        """Hold it where a rule says so, until somebody decides or its client would give up."""
        body = value(waiting.body)
        exchange = Exchange(waiting.body, url=waiting.url)
        asks = isinstance(body, dict) and dialect_of(exchange, body) and not side_call(exchange.path, body)
        why = self.rules.reason(waiting.body) if asks else ""
        if not why:
            return await self.edits.decide(waiting)
        how = await self._wait(waiting, obj(body), why)
        if how == REFUSE:
            said = refusal(403, "the request was refused by the user")
            return Verdict(answer=said, told={"released": REFUSE})
        verdict = await self.edits.decide(waiting) if how != RELEASE else Verdict()
        return Verdict(body=verdict.body, told={**verdict.told, "released": how})

    async def _wait(self, waiting: Waiting, body: dict[str, Json], why: str) -> str:
        sender = sender_of({name.lower(): text for name, text in waiting.head.fields})
        now = self.clock()
        one = HeldRequest(
            x=waiting.x,
            session=sender.session or self.edits.session_for(waiting),
            thread=sender.thread or "main",
            model=word(body.get("model")),
            tokens=len(waiting.body) // _CHARACTERS,
            why=why,
            since=now,
            until=now + _patience(waiting.head),
            decided=asyncio.get_running_loop().create_future(),
        )
        self.held[one.x] = one
        self.tell(news.Held(one.x, now, one.until, why))
        try:
            async with asyncio.timeout(one.until - now):
                return await one.decided
        except TimeoutError:
            # As it would have left had nobody held it.
            return "time is up"
        finally:
            del self.held[one.x]

    def release(self, id_: str, how: str) -> str:
        """Decide about a held request, by the beginning of its id ("": the only one); its id. Raises `NotFound`,
        `Several`."""
        found = [one for name, one in self.held.items() if name.startswith(id_) and not one.decided.done()]
        if not found:
            raise NotFound(f"no request {id_} is held" if id_ else "no request is held")
        if len(found) > 1:
            raise Several("several requests are held: " + ", ".join(one.x for one in found), way_out="name one")
        found[0].decided.set_result(how)
        return found[0].x

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What a control connection asks: ``{"do": "list" | "on" | "off" | one of HOWS, "id": ...}``."""
        do = asked.get("do")
        if do in HOWS:
            return {"id": self.release(str(asked.get("id") or ""), str(do))}
        if do in ("on", "off"):
            self.rules.each = do == "on"
        return {"held": [one.json(self.clock()) for one in self.held.values()], "each": self.rules.each}

    def close(self) -> None:
        """End what it started."""
        self.edits.close()


def _patience(head: Head) -> float:
    """Seconds that a request can wait before its client gives up."""
    told = head.get("x-stainless-timeout") or head.get("x-stainless-read-timeout")
    try:
        seconds = float(told)
    except ValueError:
        return _USUAL
    return max(1.0, min(seconds, 3600.0) - _SPARE) if seconds > 0 else _USUAL


def rules_of(*, each: bool, tokens: int, pattern: str) -> HoldRules:
    """The rules that options name. Raises `re.error`."""
    return HoldRules(each=each, tokens=tokens, pattern=re.compile(pattern.encode()) if pattern else None)
