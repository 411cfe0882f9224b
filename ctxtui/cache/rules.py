"""Caching rules of a model at a provider: the kind of cache, and figures (facts §2, §4, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json

SECTIONS: Final = ("tools", "system", "messages")


class Parameter(Struct, frozen=True):
    """A member of a body that reaches the prompt, at `path` (dots between keys).

    A change of its value (`default` if it is left out) invalidates the cache from the section `since` on, in the
    simulator's `engine` ("": in all).
    """

    path: str
    since: str
    default: Json = None
    engine: str = ""


class Mechanism(Struct, frozen=True, kw_only=True):
    """Behaviour of a kind of cache, apart from its figures. Test these flags instead of an engine's name.

    - `writes_at_markers`: entries exist only at markers, for the lifetime that the marker names.
    - `keeps_every_prefix`: every prefix of a request is kept until it is unused for `CacheRules.retention` seconds.
    - `holds_one`: the server holds the last prompt and reports no reads: a call reads the common prefix.
    - `keeps_answers`: answers can leave entries of their own, whatever `CacheRules.answers` says.
    - `takes_breakpoints`: breakpoints in a body of OpenAI's dialects count.
    - `minimum_by_model`: the shortest cached prefix is a figure of the model, if the model's card has one.
    - `dialect`: the dialect assumed for a request whose provider is unknown ("": Chat).
    """

    writes_at_markers: bool = False
    keeps_every_prefix: bool = False
    holds_one: bool = False
    keeps_answers: bool = False
    takes_breakpoints: bool = False
    minimum_by_model: bool = False
    dialect: str = ""


class CacheRules(Struct, frozen=True, kw_only=True):
    """Caching rules of one model.

    - `engine`: the name of the simulator's engine (``none``: the model's caching is not known); `mechanism`: its flags.
    - `minimum`: the shortest cached prefix in tokens.
    - `step`, `offset`: reads are counted in whole steps of tokens; a step ends `offset` tokens before a multiple of
      `step`.
    - `spare`: tokens of a prompt that are always evaluated anew.
    - `lives`: lifetimes of entries in seconds, by name (``5m``); `life`: the name of the default one.
    - `retention`: seconds without use after which a prefix is dropped.
    - `lookback`: positions or breakpoints that are looked up; `markers`: maximum per request; `slots`: prompts held at
      once.
    - `answers`: an answer is kept with its prompt.
    - `settles`: writes sometimes become readable only some calls later.
    - `strips`: thinking of earlier turns is removed before the prompt is cached.
    - `marked`: number of last messages that the client marks at their ends, if its markers are not recorded.
    - `asks_aside`: the client sends an unrecorded request after each turn, unless the session's calls show otherwise.
    - `keeps_resumed`: if the client is restarted, its requests begin as before, unless the calls show otherwise.
    - `reports_writes`: a report without a write says that nothing was written.
    - `read`, `writes` (by the lifetime's name): prices as multiples of fresh input.
    - `parameters`: by dialect, the parameters that reach the prompt.
    - `sources`: the source of each figure, by field name.
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
    reports_writes: bool = True
    read: float = 1.0
    writes: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    sources: tuple[tuple[str, str], ...] = ()

    @property
    def is_known(self) -> bool:
        return self.engine != "none"

    def seconds(self, life: str) -> float:
        return self.lives.get(life) or self.lives[self.life]

    def reported_read(self, common: int, total: int) -> int:
        """Tokens reported as read if `common` of `total` are cached: whole steps.

        0 below the minimum.
        """
        cached = min(common, total - self.spare)
        if cached < max(self.minimum, 1):
            return 0
        return max(0, (cached + self.offset) // self.step * self.step - self.offset)
