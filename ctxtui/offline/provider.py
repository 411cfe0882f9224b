"""The offline provider's state between requests. Ids are reproducible by seed."""

from __future__ import annotations

import datetime
import string
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from msgspec import Struct
from msgspec import field as struct_field

from ctxtui.core.canonical import Json
from ctxtui.offline.answer import ModelAnswer
from ctxtui.offline.anthropic.message_threads import MessageThreads
from ctxtui.offline.conversation import ScriptTask
from ctxtui.offline.exchange import CachedContent, KeptResponse
from ctxtui.offline.model import Manner, answer
from ctxtui.offline.playback import Playback
from ctxtui.offline.script import Script
from ctxtui.offline.usage_ledger import UsageLedger
from ctxtui.wire.request import Request

MINUTE: Final = 60.0


class RateLimits(Struct):
    """Requests and tokens per minute. Cache reads do not count as input (facts §1).

    `enforced`: excess requests are refused; otherwise only the headers report it.
    """

    requests: int = 4000
    input_tokens: int = 2_000_000
    output_tokens: int = 400_000
    enforced: bool = False
    _seen: list[tuple[float, int, int]] = struct_field(default_factory=list)

    def wait(self, now: float) -> float | None:
        """Seconds until the next request is accepted; None if it is now."""
        self._forget(now)
        if not self.enforced or not self._seen:
            return None
        count, given, said = self._used()
        if count < self.requests and given < self.input_tokens and said < self.output_tokens:
            return None
        return max(1.0, self._seen[0][0] + MINUTE - now)

    def note(self, now: float, fresh: int, output: int) -> None:
        """Count a served request: its input without cache reads, its output, in tokens."""
        self._forget(now)
        self._seen.append((now, fresh, output))

    def _forget(self, now: float) -> None:
        self._seen = [one for one in self._seen if one[0] > now - MINUTE]

    def _used(self) -> tuple[int, int, int]:
        return len(self._seen), sum(one[1] for one in self._seen), sum(one[2] for one in self._seen)

    def anthropic(self, now: float) -> dict[str, str]:
        """The headers of the Messages API; tokens are rounded to thousands."""
        count, given, said = self._used()
        reset = datetime.datetime.fromtimestamp(now + MINUTE, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        rows = {
            "requests": (self.requests, self.requests - count),
            "tokens": (self.input_tokens + self.output_tokens, self.input_tokens + self.output_tokens - given - said),
            "input-tokens": (self.input_tokens, self.input_tokens - given),
            "output-tokens": (self.output_tokens, self.output_tokens - said),
        }
        made: dict[str, str] = {}
        for name, (limit, left) in rows.items():
            shown = max(0, left) if name == "requests" else round(max(0, left), -3)
            made |= {
                f"anthropic-ratelimit-{name}-limit": str(limit),
                f"anthropic-ratelimit-{name}-remaining": str(shown),
                f"anthropic-ratelimit-{name}-reset": reset,
            }
        return made

    def openai(self, now: float) -> dict[str, str]:
        """The headers of OpenAI's APIs."""
        count, given, said = self._used()
        return {
            "x-ratelimit-limit-requests": str(self.requests),
            "x-ratelimit-remaining-requests": str(max(0, self.requests - count)),
            "x-ratelimit-reset-requests": f"{MINUTE / self.requests * 1000:.0f}ms",
            "x-ratelimit-limit-tokens": str(self.input_tokens),
            "x-ratelimit-remaining-tokens": str(max(0, self.input_tokens - given - said)),
            "x-ratelimit-reset-tokens": "1m0s",
        }


_LETTERS: Final = string.ascii_letters + string.digits


class IdMaker:
    """Makes ids; equal seeds give equal ids."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def new(self, prefix: str, length: int = 24) -> str:
        """A new id that begins with `prefix`."""
        return prefix + "".join(self._random.choices(_LETTERS, k=length))


MAX_KEPT_BYTES: Final = 128 * 1024 * 1024
"""Maximum bytes of requests with stored responses."""

Clock = Callable[[], float]
"""Returns the time in Unix seconds."""


class SetClock:
    """A clock for tests, which only `advance` moves."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        """Unix seconds."""

    def __call__(self) -> float:
        """The time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds


@dataclass(slots=True, kw_only=True)
class Provider:
    """The state of one offline provider.

    `clock` gives Unix seconds, and `ahead` are seconds added to it; `playback` has recorded or scripted answers,
    `limits` the rate limits.
    """

    clock: Clock = time.time
    seed: int = 0
    playback: Playback | Script | None = None
    limits: RateLimits = field(default_factory=RateLimits)
    ledger: UsageLedger = field(default_factory=UsageLedger)
    kept: dict[str, KeptResponse] = field(default_factory=dict)
    items: dict[str, dict[str, Json]] = field(default_factory=dict)
    threads: MessageThreads = field(default_factory=MessageThreads)
    cached: dict[str, CachedContent] = field(default_factory=dict)
    """Google's cached contents by name (see `google.cached_contents`)."""
    ahead: float = 0.0
    names: IdMaker = field(init=False)

    def __post_init__(self) -> None:
        self.names = IdMaker(self.seed)

    def now(self) -> float:
        """The provider's time, in Unix seconds."""
        return self.clock() + self.ahead

    def keep(self, id_: str, kept: KeptResponse) -> None:
        """Store a response with its items; the oldest ones are deleted if there are too many."""
        self.kept[id_] = kept
        self.items.update({item["id"]: item for item in kept.response["output"]})
        room = MAX_KEPT_BYTES - sum(one.size for one in self.kept.values())
        while room < 0 and len(self.kept) > 1:
            gone = self.kept.pop(next(iter(self.kept)))
            room += gone.size
            for item in gone.response["output"]:
                self.items.pop(item["id"], None)

    def say(self, request: Request, talk: ScriptTask, manner: Manner) -> ModelAnswer:
        """The answer to `talk`: from a recording or script if it has one."""
        played = self.playback.answer(request) if self.playback is not None else None
        return played or answer(talk, manner)
