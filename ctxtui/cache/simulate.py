"""Cache simulator: predicts what each timed request reads and writes.

An *engine* simulates one kind of cache, such as Anthropic's, in which clients mark what to cache.
"""

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
    """One provider's cache. `predict` changes nothing; `record` records an outcome of `predict`."""

    mechanism: ClassVar[Mechanism]

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what a request reads and writes if it starts `at` (Unix seconds).

        Unless `why`, reasons that take long to find may be missing.
        """

    def record(self, outcome: CacheOutcome, began: float) -> None:
        """Record a sent request whose answer `began` (Unix seconds)."""

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        """Deepest position whose prefix is cached and readable, written for at least `life` seconds."""

    def copy(self) -> Self:
        """Return an independent copy of the cache."""


class NoCache:
    """The engine for models whose caching is not known: nothing is read or written."""

    mechanism: ClassVar[Mechanism] = Mechanism()

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        return CacheOutcome(prompt, at)

    def record(self, outcome: CacheOutcome, began: float) -> None:
        pass

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        return None

    def copy(self) -> NoCache:
        return self


ENGINES: Final[dict[str, type[Engine]]] = {
    "anthropic": Anthropic,
    "automatic": Automatic,
    "breakpoints": Breakpoints,
    "none": NoCache,
    "slots": Slots,
}
"""Engines by the name used in `CacheRules.engine`. A new one is a file in `engines` and a line here."""


class Simulator:
    """The caches of all providers that requests were sent to.

    Prompts of one model and scope share prefixes by key. Requests must come in the order in which they started.
    """

    def __init__(self, engines: dict[str, Engine] | None = None) -> None:
        self._engines: dict[str, Engine] = engines or {}

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what `prompt` reads and writes if it starts `at` (Unix seconds); changes nothing.

        Unless `why`, reasons that take long to find may be missing.
        """
        return self._engine(prompt).predict(prompt, at, why=why)

    def record(self, outcome: CacheOutcome, began: float | None = None) -> None:
        """Record an outcome; its answer `began` at that time (Unix seconds; None: with the request).

        A request that was refused or never answered must not be recorded.
        """
        self._engine(outcome.prompt).record(outcome, outcome.at if began is None else began)

    def send(self, prompt: CachedPrompt, at: float, began: float | None = None, *, why: bool = True) -> CacheOutcome:
        """Predict an outcome and record it, with the arguments of `predict` and `record`."""
        engine = self._engines.get(prompt.rules.engine) or self._engine(prompt)
        outcome = engine.predict(prompt, at, why=why)
        engine.record(outcome, at if began is None else began)
        return outcome

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> int:
        """Deepest node of `prompt` that is cached at `at`, written for at least `life` seconds.

        `ROOT`: none.
        """
        position = self._engine(prompt).deepest_cached(prompt, at, life)
        return position.node if position is not None else ROOT

    def copy(self) -> Simulator:
        """Return an independent copy, for a what-if that continues from here."""
        return Simulator({name: engine.copy() for name, engine in self._engines.items()})

    def _engine(self, prompt: CachedPrompt) -> Engine:
        name = prompt.rules.engine
        engine = self._engines.get(name)
        if engine is None:
            engine = self._engines[name] = ENGINES[name]()
        return engine
