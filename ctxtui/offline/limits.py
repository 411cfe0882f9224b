"""Rate limits: what a minute may hold, told in headers, enforced where asked for (facts §1, §4)."""

from __future__ import annotations

import datetime
from typing import Final

from msgspec import Struct, field

MINUTE: Final = 60.0


class RateLimits(Struct):
    """Requests and tokens a minute. Cache reads do not count as input (facts §1). `enforced` makes the provider refuse
    what is over; otherwise the headers alone tell."""

    requests: int = 4000
    input_tokens: int = 2_000_000
    output_tokens: int = 400_000
    enforced: bool = False
    _seen: list[tuple[float, int, int]] = field(default_factory=list)

    def wait(self, now: float) -> float | None:
        """Seconds until a further request is let in; None where it is now."""
        self._forget(now)
        if not self.enforced or not self._seen:
            return None
        count, given, said = self._used()
        if count < self.requests and given < self.input_tokens and said < self.output_tokens:
            return None
        return max(1.0, self._seen[0][0] + MINUTE - now)

    def note(self, now: float, fresh: int, output: int) -> None:
        """A request that was served: its input less cache reads, its output, in tokens."""
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
