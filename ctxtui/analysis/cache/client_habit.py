"""What a client does about the cache that its recording does not say, inferred from its earlier calls.

Claude Code records no markers, and some of its calls not at all. From the reports of earlier calls follows how long
its entries live, which prefix is warm when everything else is lost, and whether it asks by itself after each turn.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.usage import Usage

CALL_AT_MOST: Final = 180.0
"""Seconds that a call and the tools it asks for take at most, where a copy lost the times: the two minutes that the
client gives a command by default, and one for the answer."""
ANSWERED_IN: Final = 0.5
"""Seconds in which nothing is answered: a call that took less has the times of a copy."""
LAG: Final = 300
"""Tokens by which a read may fall short of what is in the cache before the cache counts as behind."""
ASKED_AT: Final = "asked_at"
"""In `Call.extra`: when a person asked, where the record's own time is that of a copy."""


def sent_at(call: Call) -> float | None:
    """When the request of `call` started (Unix seconds); None where the recording's time is only that of a copy. Who
    recorded the request itself has its time, however quick the answer was."""
    asked = call.extra.get(ASKED_AT)
    if isinstance(asked, float):
        return asked
    quick = call.ended is not None and call.started is not None and call.ended - call.started < ANSWERED_IN
    if call.started is None or (quick and call.fidelity != Fidelity.WIRE):
        return None
    return call.started


class Clock(Struct):
    """Times of one thread's calls, in order: the call before, `call`, started not before `first` and not after `last`,
    and its answer `ended` (None: not known)."""

    first: float | None = None
    last: float | None = None
    ended: float | None = None
    call: str = ""

    def known(self, call: Call) -> bool:
        """Whether anything is known about when `call`, the next one, started."""
        return self.last is not None or sent_at(call) is not None

    def at(self, call: Call) -> float:
        """The earliest time at which `call`, the next one, can have started; 0 where nothing is known."""
        known = sent_at(call)
        return known if known is not None else self.first or 0.0

    def latest(self, call: Call) -> float:
        """The latest time at which it can have started."""
        known = sent_at(call)
        return known if known is not None else self.last + CALL_AT_MOST if self.last is not None else 0.0

    def tick(self, call: Call) -> None:
        """`call` has been made."""
        if self.known(call):
            self.first, self.last = self.at(call), self.latest(call)
        known = sent_at(call)
        self.ended = call.ended if known is not None and call.ended is not None and call.ended >= known else None
        self.call = call.id


class Habit(Struct, kw_only=True):
    """What one thread's calls have shown so far.

    `life` is the lifetime that the client wrote last. `cold` is the prefix that other traffic keeps warm (tokens): what
    the thread's first call read of what stands in front of its conversation, and what was read after everything else
    had expired. `warm` is the prefix that
    survives a change of the messages, system prompt and tools; None until one was seen. `asides` counts turns after
    which the client asked by itself, `turns` all that tell. `caches`: something was read or written at all. `behind`
    is what the last call read where the provider's cache had not caught up (0: it had), `stays` and `leaves` count how
    that went on. `lost` and `kept` count how resumed clients went on.
    """

    life: str = ""
    cold: int = 0
    warm: int | None = None
    asides: int = 0
    turns: int = 0
    caches: bool = False
    behind: int = 0
    stays: int = 0
    leaves: int = 0
    lost: int = 0
    kept: int = 0

    @property
    def loses_at_resume(self) -> bool:
        """Whether a client that is started anew is taken to lose the rest: its system prompt may be another one."""
        return self.lost + 1 > self.kept

    @property
    def lags(self) -> bool:
        """Whether a cache that fell behind is more likely to stay there for another call than to catch up."""
        return self.behind > 0 and self.stays > self.leaves

    def read(self, tokens: int, expected: int, usual: bool) -> None:
        """Take in that a call read `tokens` where `expected` were in the cache; `usual`: nothing explains less."""
        fell = usual and tokens < expected - LAG
        if self.behind:
            stays = fell and tokens <= self.behind + LAG
            self.stays += stays
            self.leaves += not stays
        self.behind = tokens if fell else 0

    @property
    def asks_aside(self) -> bool:
        """Whether the client makes a call after each turn that it does not record."""
        return self.asides * 2 > self.turns

    def aside(self, was: bool) -> None:
        """Take in whether the client has asked by itself after a turn."""
        self.turns += 1
        self.asides += was

    def wrote(self, usage: Usage) -> None:
        """Take in what a call wrote. A client may change its lifetime, as Claude Code does when its plan is used up. A
        call that wrote both says nothing new of a client that is known: results of a provider's tools are written for
        five minutes whatever the client asks for (facts §2)."""
        self.caches = self.caches or usage.cache_read + usage.cache_write > 0
        if usage.write_1h and usage.write_5m:
            self.life = self.life or ("1h" if usage.write_1h > usage.write_5m else "5m")
        elif usage.write_1h or usage.write_5m:
            self.life = "1h" if usage.write_1h else "5m"
