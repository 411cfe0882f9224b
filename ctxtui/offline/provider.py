"""The offline provider's state between requests: cache, limits, stored responses, ids."""

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
from ctxtui.offline.conversation import Task
from ctxtui.offline.exchange import CachedContent, StoredResponse
from ctxtui.offline.model import AnswerOptions, answer_task
from ctxtui.offline.playback import Playback
from ctxtui.offline.script import Script
from ctxtui.offline.usage_ledger import UsageLedger
from ctxtui.wire.request import Request

MINUTE: Final = 60.0


class RateLimits(Struct):
    """Maximum answered requests and tokens per minute.

    Input read from the cache counts, except for Anthropic (facts §1). If not `enforced`, the limits are only reported
    in the headers.
    """

    requests: int = 4000
    input_tokens: int = 2_000_000
    output_tokens: int = 400_000
    enforced: bool = False
    _recent: list[tuple[float, int, int]] = struct_field(default_factory=list)
    """Time, input and output of each request of the last minute."""

    def wait_seconds(self, now: float) -> float | None:
        """Seconds until the oldest counted request expires, at least 1.

        None if a request is accepted now.
        """
        count, input_tokens, output_tokens = self._sum_recent(now)
        if not self.enforced or not count:
            return None
        if count < self.requests and input_tokens < self.input_tokens and output_tokens < self.output_tokens:
            return None
        return max(1.0, self._recent[0][0] + MINUTE - now)

    def count_request(self, now: float, input_tokens: int, output: int) -> None:
        """Count an answered request, with the input tokens that its API counts."""
        self._recent.append((now, input_tokens, output))

    def _sum_recent(self, now: float) -> tuple[int, int, int]:
        self._recent = [use for use in self._recent if use[0] > now - MINUTE]
        return len(self._recent), sum(use[1] for use in self._recent), sum(use[2] for use in self._recent)

    def anthropic_headers(self, now: float) -> dict[str, str]:
        """The headers of the Messages API; remaining tokens are rounded to thousands."""
        count, input_tokens, output_tokens = self._sum_recent(now)
        reset = datetime.datetime.fromtimestamp(now + MINUTE, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        rows = {
            "requests": (self.requests, self.requests - count),
            "tokens": (
                self.input_tokens + self.output_tokens,
                self.input_tokens + self.output_tokens - input_tokens - output_tokens,
            ),
            "input-tokens": (self.input_tokens, self.input_tokens - input_tokens),
            "output-tokens": (self.output_tokens, self.output_tokens - output_tokens),
        }
        headers: dict[str, str] = {}
        for name, (limit, left) in rows.items():
            shown = max(0, left) if name == "requests" else round(max(0, left), -3)
            headers |= {
                f"anthropic-ratelimit-{name}-limit": str(limit),
                f"anthropic-ratelimit-{name}-remaining": str(shown),
                f"anthropic-ratelimit-{name}-reset": reset,
            }
        return headers

    def openai_headers(self, now: float) -> dict[str, str]:
        count, input_tokens, _ = self._sum_recent(now)
        return {
            "x-ratelimit-limit-requests": str(self.requests),
            "x-ratelimit-remaining-requests": str(max(0, self.requests - count)),
            "x-ratelimit-reset-requests": f"{MINUTE / self.requests * 1000:.0f}ms",
            "x-ratelimit-limit-tokens": str(self.input_tokens),
            "x-ratelimit-remaining-tokens": str(max(0, self.input_tokens - input_tokens)),
            "x-ratelimit-reset-tokens": "1m0s",
        }


_LETTERS: Final = string.ascii_letters + string.digits


class IdMaker:
    """Makes ids. Equal seeds give the same sequence of ids, None gives another one each time."""

    def __init__(self, seed: int | None = 0) -> None:
        self._random = Random(seed)

    def new(self, prefix: str, length: int = 24) -> str:
        return prefix + "".join(self._random.choices(_LETTERS, k=length))


MAX_STORED_REQUEST_BYTES: Final = 128 * 1024 * 1024
"""Maximum bytes of the requests whose responses are stored."""

Clock = Callable[[], float]


class SetClock:
    """A clock for tests, which only `advance` moves."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass(slots=True, kw_only=True)
class Provider:
    """The state of one offline provider.

    - `clock`: gives Unix seconds; `clock_shift`: seconds added to it.
    - `playback`: recorded or scripted answers; a request without one is answered by the rules of `offline.model`.
    - `ledger`: the simulated prompt cache.
    - `responses`, `items`: what the Responses API stores, by id.
    - `threads`: conversations that the Messages API stores (message threads).
    - `cached`: Google's cached contents by name.
    - `names`: makes ids from `seed`, as `IdMaker` does.
    - `strict_models`: models and output limits are checked; otherwise any are accepted, and an unknown model has the
      rules of ``offline``.
    """

    clock: Clock = time.time
    seed: int | None = 0
    playback: Playback | Script | None = None
    strict_models: bool = False
    limits: RateLimits = field(default_factory=RateLimits)
    ledger: UsageLedger = field(default_factory=UsageLedger)
    responses: dict[str, StoredResponse] = field(default_factory=dict)
    items: dict[str, dict[str, Json]] = field(default_factory=dict)
    threads: MessageThreads = field(default_factory=MessageThreads)
    cached: dict[str, CachedContent] = field(default_factory=dict)
    clock_shift: float = 0.0
    names: IdMaker = field(init=False)

    def __post_init__(self) -> None:
        self.names = IdMaker(self.seed)

    def now(self) -> float:
        return self.clock() + self.clock_shift

    def store_response(self, id_: str, response: StoredResponse) -> None:
        """Store a response with its items.

        If the requests of all stored responses exceed `MAX_STORED_REQUEST_BYTES` together, the oldest responses are
        deleted, but never this one.
        """
        self.responses[id_] = response
        self.items.update({item["id"]: item for item in response.response["output"]})
        free_bytes = MAX_STORED_REQUEST_BYTES - sum(stored.size for stored in self.responses.values())
        while free_bytes < 0 and len(self.responses) > 1:
            free_bytes += self.delete_response(next(iter(self.responses))).size

    def delete_response(self, id_: str) -> StoredResponse:
        """Delete and return a response, with the items of its output."""
        response = self.responses.pop(id_)
        for item in response.response["output"]:
            self.items.pop(item["id"], None)
        return response

    def make_answer(self, request: Request, task: Task, options: AnswerOptions) -> ModelAnswer:
        """The answer of the recording or script, else that of the rules."""
        return (self.playback and self.playback.answer(request)) or answer_task(task, options)
