"""Everything the offline provider remembers between requests. Ids are the same again for the same seed."""

from __future__ import annotations

import string
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.answer import ModelAnswer
from ctxtui.offline.anthropic.diagnostics import Diagnoses
from ctxtui.offline.anthropic.message_threads import MessageThreads
from ctxtui.offline.conversation import ScriptTask
from ctxtui.offline.exchange import KeptResponse
from ctxtui.offline.limits import RateLimits
from ctxtui.offline.model.reply import Manner, answer
from ctxtui.offline.playback import Playback
from ctxtui.offline.script import Script
from ctxtui.offline.usage_ledger import UsageLedger
from ctxtui.wire.request import Request

_LETTERS: Final = string.ascii_letters + string.digits


class IdMaker:
    """Gives out ids; equal seeds give equal ids."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def new(self, prefix: str, length: int = 24) -> str:
        """A new id that begins with `prefix`."""
        return prefix + "".join(self._random.choices(_LETTERS, k=length))


MOST_KEPT: Final = 128 * 1024 * 1024
"""Bytes of requests whose responses are kept."""

Clock = Callable[[], float]
"""Gives the time in Unix seconds."""


class SetClock:
    """A clock that a test sets: it stands still until told otherwise."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        """Unix seconds."""

    def __call__(self) -> float:
        """The time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass(slots=True, kw_only=True)
class Provider:
    """The state of one offline provider. `clock` gives Unix seconds, and `ahead` are seconds added to it; `playback`
    holds answers to give instead of own ones, recorded or written beforehand, `limits` what a minute may hold."""

    clock: Clock = time.time
    seed: int = 0
    playback: Playback | Script | None = None
    limits: RateLimits = field(default_factory=RateLimits)
    ledger: UsageLedger = field(default_factory=UsageLedger)
    kept: dict[str, KeptResponse] = field(default_factory=dict)
    items: dict[str, dict[str, Json]] = field(default_factory=dict)
    diagnoses: Diagnoses = field(default_factory=Diagnoses)
    threads: MessageThreads = field(default_factory=MessageThreads)
    ahead: float = 0.0
    names: IdMaker = field(init=False)

    def __post_init__(self) -> None:
        self.names = IdMaker(self.seed)

    def now(self) -> float:
        """The time that holds here, in Unix seconds."""
        return self.clock() + self.ahead

    def keep(self, id_: str, kept: KeptResponse) -> None:
        """Keep a response with its items; the oldest ones go where that is too much."""
        self.kept[id_] = kept
        self.items.update({item["id"]: item for item in kept.response["output"]})
        room = MOST_KEPT - sum(one.size for one in self.kept.values())
        while room < 0 and len(self.kept) > 1:
            gone = self.kept.pop(next(iter(self.kept)))
            room += gone.size
            for item in gone.response["output"]:
                self.items.pop(item["id"], None)

    def say(self, request: Request, talk: ScriptTask, manner: Manner) -> ModelAnswer:
        """The answer to `talk`: that of a recording or a script that is played, where it has one."""
        played = self.playback.answer(request) if self.playback is not None else None
        return played or answer(talk, manner)
