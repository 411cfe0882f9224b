"""What a headless run is asked to do, and what came of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core.usage import Usage
from ctxtui.curation.policies.builtin.sliding_window import NAME as SLIDING
from ctxtui.curation.policies.builtin.truncate_results import NAME as TRUNCATING
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.profile import Profile, make_step, parse_profile
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.services.config.window_checks import CRITICAL, FINE, WARNING
from ctxtui.services.members import members

CONTEXT_MESSAGES: Final = 10
"""Messages of a request where nothing else is asked for: the first one and the last nine."""
RESULT_LENGTH: Final = 2000
"""Characters that are kept of a tool result then."""
AUTO: Final = -1
"""In place of either: these in windows up to `SMALL_WINDOW`, no limit in larger ones."""
SMALL_WINDOW: Final = 32_768
"""Tokens."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """What is asked for: the `task`, the most `rounds` (0: no limit), the policies that were `named`, the most
    `messages` of a request and characters of a tool result (`length`; 0: no limit, None: the usual one where no policy
    is named, `AUTO`: that where the window is small), the USD that may be spent (None: no limit), and the tools that
    need no leave (names, or patterns)."""

    task: str
    rounds: int = 100
    named: tuple[Step, ...] = ()
    messages: int | None = None
    length: int | None = None
    budget_usd: float | None = None
    allow: tuple[str, ...] = ()
    log_dir: Path | None = None
    """The folder that the run is written into, besides the record."""

    def steps(self, window: int) -> tuple[Step, ...]:
        """The policies for a model with this `window` (tokens, 0: unknown): those that were named, then the two that
        the limits stand for."""
        small = 0 < window <= SMALL_WINDOW

        def limit(given: int | None, usual: int) -> int:
            held = small if given == AUTO else not self.named
            return usual * held if given in (None, AUTO) else given or 0

        messages, length = limit(self.messages, CONTEXT_MESSAGES), limit(self.length, RESULT_LENGTH)
        found = [*self.named]
        if length:
            found.append(make_step(TRUNCATING, POLICIES, {"limit": length}))
        if messages:
            found.append(make_step(SLIDING, POLICIES, {"n": messages - 1, "keep_first": 1, "slack": 0}))
        return tuple(found)

    def profile(self, window: int) -> Profile | None:
        """The policies, armed: nobody is there to apply what they propose."""
        steps = self.steps(window)
        return Profile("run", steps, armed=True) if steps else None


def named_steps(name: str, text: str | None, known: dict[str, Policy]) -> tuple[Step, ...]:
    """The policies that ``--policy name`` means: those of the profile `text` (None: it is no file), else the one of
    this name. Raises `NotFound`, `BadConfig`."""
    return parse_profile(text, known, name).steps if text is not None else (make_step(name, known, {}),)


class Outcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    ROUNDS = "rounds used up"
    BUDGET = "budget"
    REFUSED = "refused"
    ERROR = "error"


class RequestSize(NamedTuple):
    """The last request that left: its `characters` as sent, its tokens as foretold, its `messages`, and its `level`
    (`context_levels`)."""

    characters: int = 0
    tokens: int = 0
    messages: int = 0
    level: int = FINE


class RunResult(Struct, frozen=True, kw_only=True):
    """What came of a run. `messages` are those of the last request and its answer, `estimated` their tokens: what the
    request was foretold to be, and the answer as reported. `edits` are those that each policy made, by name. `usage`
    and `cost` in USD (None where a call has no known price; what is known of it is `least`) are of all calls, those of
    its sub-agents (`agents`) included."""

    text: str
    outcome: Outcome
    why: str = ""
    rounds: int = 0
    most: int = 0
    messages: int = 0
    slid: bool = False
    estimated: int = 0
    edits: dict[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage.nothing)
    cost: float | None = None
    least: float = 0.0
    agents: int = 0
    session: str = ""
    size: RequestSize = field(default_factory=RequestSize)

    def as_fields(self) -> dict[str, Any]:
        """As JSON names it (docs/json.md)."""
        return {
            "result": self.text,
            "metadata": {
                **members(self, "rounds_used=rounds max_rounds=most? final_message_count=messages"),
                **members(self, "context_sliding_applied=slid estimated_total_tokens=estimated"),
                "policies": [{"name": name, "edits": made} for name, made in self.edits.items()],
                "tokens": members(self.usage, "input output cache_read cache_write fresh"),
                **members(self, "cost_usd=cost cost_usd_at_least=least agents session"),
                "context": {
                    **members(self.size, "total_chars=characters estimated_tokens=tokens message_count=messages"),
                    "warning": self.size.level >= WARNING,
                    "critical": self.size.level >= CRITICAL,
                },
                "outcome": self.outcome.value,
                "why": self.why,
            },
        }
