"""Options and results of a headless run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core.usage import Usage
from ctxtui.curation.policies.builtin.sliding_window import NAME as SLIDING
from ctxtui.curation.policies.builtin.truncate_results import NAME as TRUNCATING
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.profile import Profile, make_step
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.services.config.window_checks import CRITICAL, FINE, WARNING
from ctxtui.services.members import members

CONTEXT_MESSAGES: Final = 10
RESULT_LENGTH: Final = 2000
AUTO: Final = -1
"""Value for both limits: the defaults in windows up to `SMALL_WINDOW` tokens, no limit in larger or unknown ones."""
SMALL_WINDOW: Final = 32_768


class RunOptions(Struct, frozen=True, kw_only=True):
    """Options of a run.

    - `task`: the first message.
    - `rounds`: maximum number of requests for each message; 0: no limit.
    - `named`: the policies that the user named.
    - `messages`, `length`: limits for the messages of a request and the characters of a tool result; 0: no limit; None:
      the default limit, or none if policies are named; or `AUTO`.
    - `allow`: names or patterns of tools that need no permission; guarded calls still do.
    - `log_dir`: the folder for the run's log, in addition to the record.
    """

    task: str
    rounds: int = 100
    named: tuple[Step, ...] = ()
    messages: int | None = None
    length: int | None = None
    budget_usd: float | None = None
    allow: tuple[str, ...] = ()
    log_dir: Path | None = None

    def steps(self, window: int) -> tuple[Step, ...]:
        """The named policies, then those of the limits.

        `window` is the model's, in tokens (0: unknown).
        """
        small = 0 < window <= SMALL_WINDOW

        def limit(option: int | None, usual: int) -> int:
            is_default = small if option == AUTO else not self.named
            return usual * is_default if option in (None, AUTO) else option or 0

        messages, length = limit(self.messages, CONTEXT_MESSAGES), limit(self.length, RESULT_LENGTH)
        steps = [*self.named]
        if length:
            steps.append(make_step(TRUNCATING, POLICIES, {"limit": length}))
        if messages:
            steps.append(make_step(SLIDING, POLICIES, {"n": messages - 1, "keep_first": 1, "slack": 0}))
        return tuple(steps)

    def profile(self, window: int) -> Profile | None:
        """The policies, armed, because no user is there to apply their proposals.

        None if there are none.
        """
        steps = self.steps(window)
        return Profile("run", steps, armed=True) if steps else None


class Outcome(StrEnum):
    """The reason why a run ended; the values are part of its JSON result."""

    DONE = "done"
    ROUNDS = "rounds used up"
    BUDGET = "budget"
    REFUSED = "refused"
    ERROR = "error"


class RequestSize(NamedTuple):
    """The size of the last request.

    `tokens` are forecast; `level` is that of `window_checks.context_level`.
    """

    characters: int = 0
    tokens: int = 0
    messages: int = 0
    level: int = FINE


class RunResult(Struct, frozen=True, kw_only=True):
    """The result of a run.

    - `text`: the last answer. `why`: the reason of the outcome ("": none).
    - `rounds`: number of answered requests of the main thread; `most`: the limit for each message (0: none).
    - `messages`: number of messages of the last request and its answer. `slid`: a sliding window removed some.
    - `estimated`: tokens of these: the forecast of the request plus the reported answer.
    - `edits`: number of edits of each policy of the run, by name; in a continued session, earlier ones too.
    - `usage`, `cost` (USD): of all calls, including those of `agents` sub-agents. `cost` is None if a part of it is not
      known; `least` is the known part.
    """

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
        return {
            "result": self.text,
            "metadata": {
                **members(self, "rounds_used=rounds max_rounds=most? final_message_count=messages"),
                **members(self, "context_sliding_applied=slid estimated_total_tokens=estimated"),
                "policies": [{"name": name, "edits": count} for name, count in self.edits.items()],
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
