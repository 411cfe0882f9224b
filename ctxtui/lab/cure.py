"""A cure: something that could have been done otherwise, and what it would have saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ctxtui.core.call import Call
from ctxtui.pricing.rates import Rates

CLEAR, HOUR, MINUTES, TOOLS, CACHE = "clear results", "1h entries", "5m entries", "unused tools", "cache"
"""Kinds of cures."""

RatesOf = Callable[[Call], Rates | None]


@dataclass(frozen=True, slots=True)
class Cure:
    """Something to do otherwise: `saves` USD net. `thread` and `call` (from 1) say where, 0 for throughout; `count` of
    what (results, tools, pauses) and the `tokens` that it is about; `names` are tools."""

    kind: str
    saves: float
    thread: str = ""
    call: int = 0
    count: int = 0
    tokens: int = 0
    names: tuple[str, ...] = ()
