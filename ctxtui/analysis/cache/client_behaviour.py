"""Unrecorded cache behaviour of a client, inferred from the reports of its earlier calls.

Claude Code's transcripts have no cache markers, and lack calls that it makes by itself after a turn (*asides*).
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.core.call import ASKED_AT, Call, Fidelity
from ctxtui.core.usage import Usage

MAX_CALL_SECONDS: Final = 180.0
"""Longest duration of a call and its tools if a copy lost the times: two minutes, the client's default limit for a
command, and one for the answer."""
MIN_ANSWER_SECONDS: Final = 0.5
"""Shortest possible duration of an answer: a faster call has the times of a copy."""
LAG_TOKENS: Final = 300
"""Tokens by which a read may fall short of the cached prefix before the cache counts as behind."""


def sent_at(call: Call) -> float | None:
    """Start time of `call` (Unix seconds); None if no time is recorded, or only that of a copy."""
    asked_at = call.extra.get(ASKED_AT)
    if isinstance(asked_at, float):
        return asked_at
    quick = call.ended is not None and call.started is not None and call.ended - call.started < MIN_ANSWER_SECONDS
    if call.started is None or (quick and call.fidelity != Fidelity.WIRE):
        return None
    return call.started


class Clock(Struct):
    """Bounds on the times of one thread's calls, in order (Unix seconds).

    The previous call is `call`. It started between `first` and `last`, and its answer `ended` (None: unknown).
    """

    first: float | None = None
    last: float | None = None
    ended: float | None = None
    call: str = ""

    def has_time(self, call: Call) -> bool:
        return self.last is not None or sent_at(call) is not None

    def earliest(self, call: Call) -> float:
        """Earliest possible start of `call`, the next one; 0 if unknown."""
        time_sent = sent_at(call)
        return time_sent if time_sent is not None else self.first or 0.0

    def latest(self, call: Call) -> float:
        """Latest possible start of `call`; 0 if unknown."""
        time_sent = sent_at(call)
        return time_sent if time_sent is not None else self.last + MAX_CALL_SECONDS if self.last is not None else 0.0

    def use(self, call: Call) -> None:
        """Count the cache as used again by `call`, which belongs to another thread."""
        if self.last is not None and call.started is not None:
            self.first, self.last = max(self.first or 0.0, call.started), max(self.last, call.started)

    def tick(self, call: Call) -> None:
        """Move on to `call`, which is then the previous one."""
        if self.has_time(call):
            self.first, self.last = self.earliest(call), self.latest(call)
        time_sent = sent_at(call)
        self.ended = (
            call.ended if time_sent is not None and call.ended is not None and call.ended >= time_sent else None
        )
        self.call = call.id


class ClientBehaviour(Struct, kw_only=True):
    """Cache behaviour shown by one thread's calls to one model so far.

    - `life`: the lifetime that the client wrote last.
    - `shared_prefix`: tokens of the prefix that other sessions keep alive.
    - `unexpired_prefix`: tokens that survive a change of the messages (system prompt and tools); None until this
      happened.
    - `turns`, `asides`: turns with evidence, and those after which the client made an aside.
    - `caches`: anything was ever read or written.
    - `behind`: the last call's read in tokens if the provider's cache had not caught up; 0: it had.
    - `stayed_behind`, `caught_up`: how often the next read was behind again, and how often not.
    - `caches_lost`, `caches_kept`: how often a restarted client lost or kept the cache.
    """

    life: str = ""
    shared_prefix: int = 0
    unexpired_prefix: int | None = None
    asides: int = 0
    turns: int = 0
    caches: bool = False
    behind: int = 0
    stayed_behind: int = 0
    caught_up: int = 0
    caches_lost: int = 0
    caches_kept: int = 0

    @property
    def loses_at_resume(self) -> bool:
        """Whether a restarted client is expected to lose the cache: unless it kept it more often."""
        return self.caches_lost + 1 > self.caches_kept

    @property
    def lags(self) -> bool:
        """Whether the cache is behind, and more often stays so for the next call than catches up."""
        return self.behind > 0 and self.stayed_behind > self.caught_up

    def learn_read(self, tokens: int, expected: int, usual: bool) -> None:
        """Learn that a call read `tokens` of `expected` cached ones. `usual`: nothing explains a smaller read."""
        fell = usual and tokens < expected - LAG_TOKENS
        if self.behind:
            stays = fell and tokens <= self.behind + LAG_TOKENS
            self.stayed_behind += stays
            self.caught_up += not stays
        self.behind = tokens if fell else 0

    @property
    def asks_aside(self) -> bool:
        """Whether an aside is expected after a turn."""
        return self.asides * 2 > self.turns

    def learn_aside(self, was: bool) -> None:
        self.turns += 1
        self.asides += was

    def learn_writes(self, usage: Usage) -> None:
        """Learn the client's lifetime from the writes of a call."""
        # A call that wrote both lifetimes changes no known one: results of server-side tools are always written for
        # five minutes (facts §2).
        self.caches = self.caches or usage.cache_read + usage.cache_write > 0
        if usage.write_1h and usage.write_5m:
            self.life = self.life or ("1h" if usage.write_1h > usage.write_5m else "5m")
        elif usage.write_1h or usage.write_5m:
            self.life = "1h" if usage.write_1h else "5m"
