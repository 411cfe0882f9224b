"""How a model's provider caches prompts: what its engine does, and the figures for it (facts §2, §4, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json

SECTIONS: Final = ("tools", "system", "messages")
"""The sections of a prompt, in the order in which they are cached."""


class Parameter(Struct, frozen=True):
    """A member of a body that reaches the prompt: a change of what stands at `path` (dots between keys) loses the
    cache from the section `since` on. Leaving it out is the same as sending `default`."""

    path: str
    since: str
    default: Json = None
    engine: str = ""


class Mechanism(Struct, frozen=True, kw_only=True):
    """What a way of caching does, whatever its figures are. Every engine says it of itself; who needs to know asks for
    it here and not for an engine by its name.

    `writes_at_markers`: entries stand only where a marker stood, for the lifetime that the marker names. What a call
    reports as read and written is then all that it has in the cache, and which markers a client sets is learnt where
    a recording does not have them. `keeps_every_prefix`: all of every request is kept, unasked, until nothing has
    used it for `retention` seconds; by how much reads fall short of it is learnt. `holds_one`: a server holds the
    last prompt as it was and nobody reports what was read of it, so that it is as much as the next prompt begins
    with. `keeps_answers`: an answer can leave entries of its own, whatever `CacheRules.answers` says.
    `takes_breakpoints`: the breakpoints in a body of OpenAI's dialects count. `minimum_by_model`: the shortest cached
    prefix is the model's, where its card has one. `dialect` is that of a request whose provider is not known ("":
    any).
    """

    writes_at_markers: bool = False
    keeps_every_prefix: bool = False
    holds_one: bool = False
    keeps_answers: bool = False
    takes_breakpoints: bool = False
    minimum_by_model: bool = False
    dialect: str = ""


class CacheRules(Struct, frozen=True, kw_only=True):
    """How one model's prompts are cached.

    `engine` names the engine, `mechanism` is what it does; `minimum` is the shortest cached prefix and `step`,
    `offset`, `spare` count tokens; the `lives` of entries are seconds by name (``5m``), `life` is the default one;
    `retention` is seconds without use. `lookback` counts positions or breakpoints, `markers` is the most per request,
    `slots` the prompts held at once. `answers`: an answer is kept with its prompt. `settles`: what was written is
    found only some calls later now and then. `strips`: thinking of earlier turns is taken out before the prompt is
    cached. `read` and `writes` (by lifetime) are prices as multiples of fresh input. `sources` tells where each figure
    is from, by field name.
    """

    engine: str = "none"
    mechanism: Mechanism = Mechanism()
    minimum: int = 0
    lookback: int = 0
    markers: int = 0
    lives: Mapping[str, float] = field(default_factory=dict)
    life: str = ""
    step: int = 1
    offset: int = 0
    retention: float = 0.0
    slots: int = 1
    answers: bool = False
    spare: int = 0
    settles: bool = False
    strips: bool = False
    marked: int = 2
    asks_aside: bool = False
    keeps_resumed: bool = False
    read: float = 1.0
    writes: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    sources: tuple[tuple[str, str], ...] = ()

    @property
    def known(self) -> bool:
        """Whether anything is known of how the model is cached."""
        return self.engine != "none"

    def seconds(self, life: str) -> float:
        """The lifetime called `life`; the default one where it is not known."""
        return self.lives.get(life) or self.lives[self.life]

    def counted(self, common: int, total: int) -> int:
        """What is reported as read when `common` of `total` tokens are in the cache: whole steps, and only from the
        minimum on."""
        held = min(common, total - self.spare)
        if held < max(self.minimum, 1):
            return 0
        return max(0, (held + self.offset) // self.step * self.step - self.offset)
