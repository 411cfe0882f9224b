"""The simulator: timed requests in, what each reads and writes out. One engine per way of caching, one protocol."""

from __future__ import annotations

from typing import ClassVar, Final, Protocol, Self

from ctxtui.cache.engines.anthropic import Anthropic
from ctxtui.cache.engines.automatic import Automatic
from ctxtui.cache.engines.breakpoints import Breakpoints
from ctxtui.cache.engines.slots import Slots
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import Mechanism
from ctxtui.core.tree import ROOT


class Engine(Protocol):
    """One provider's cache. `ask` only looks; `take` enters an outcome of `ask` as having happened."""

    mechanism: ClassVar[Mechanism]
    """What this way of caching does."""

    def ask(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """What a request would read and write if it started `at` (Unix seconds). Where nobody asks `why` no more was
        read, reasons that take long to find may be left out."""

    def take(self, outcome: CacheOutcome, began: float) -> None:
        """The request was sent, and its answer `began` (Unix seconds)."""

    def held(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        """The deepest place of the prompt whose prefix is cached and readable, of those written for at least `life`
        seconds; None where there is none."""

    def copy(self) -> Self:
        """The same cache, independent of this one."""


class Nothing:
    """No cache at all."""

    mechanism: ClassVar[Mechanism] = Mechanism()

    def ask(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Everything is fresh."""
        return CacheOutcome(prompt, at)

    def take(self, outcome: CacheOutcome, began: float) -> None:
        """Nothing stays."""

    def held(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        """Nothing is held."""
        return None

    def copy(self) -> Nothing:
        """The same."""
        return self


ENGINES: Final[dict[str, type[Engine]]] = {
    "anthropic": Anthropic,
    "automatic": Automatic,
    "breakpoints": Breakpoints,
    "none": Nothing,
    "slots": Slots,
}
"""Every engine by the name that `CacheRules.engine` has. A new one is a file in `engines` and its line here."""


class Simulator:
    """The caches of all providers that requests went to. Prompts of one model and scope share prefixes by their keys.

    Requests are given in the order in which they started.
    """

    def __init__(self, engines: dict[str, Engine] | None = None) -> None:
        self._engines: dict[str, Engine] = engines or {}

    def ask(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """What `prompt` would read and write if it started `at` (Unix seconds); changes nothing. Where nobody asks
        `why` no more was read, reasons that take long to find may be left out."""
        return self._engine(prompt).ask(prompt, at, why=why)

    def take(self, outcome: CacheOutcome, began: float | None = None) -> None:
        """Enter an outcome as having happened; its answer `began` then (Unix seconds), None: with the request.

        A request that was refused or never answered is not entered.
        """
        self._engine(outcome.prompt).take(outcome, outcome.at if began is None else began)

    def send(self, prompt: CachedPrompt, at: float, began: float | None = None, *, why: bool = True) -> CacheOutcome:
        """`ask` and `take` in one."""
        engine = self._engines.get(prompt.rules.engine) or self._engine(prompt)
        outcome = engine.ask(prompt, at, why=why)
        engine.take(outcome, at if began is None else began)
        return outcome

    def held(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> int:
        """What of `prompt` is in the cache at `at`: the deepest node of its path with a live entry that was written for
        at least `life` seconds (`ROOT`: none)."""
        found = self._engine(prompt).held(prompt, at, life)
        return found.node if found is not None else ROOT

    def copy(self) -> Simulator:
        """The same caches, independent of these: for a what-if that goes on."""
        return Simulator({name: engine.copy() for name, engine in self._engines.items()})

    def _engine(self, prompt: CachedPrompt) -> Engine:
        name = prompt.rules.engine
        found = self._engines.get(name)
        if found is None:
            found = self._engines[name] = ENGINES[name]()
        return found
