"""Remaining rate limits, from the headers of a provider's answers (facts §1, §4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

_HEADER: Final = re.compile(
    r"(?:anthropic-ratelimit-(?P<what>requests|tokens|input-tokens|output-tokens)-(?P<field>limit|remaining|reset))"
    r"|(?:x-ratelimit-(?P<field2>limit|remaining|reset)-(?P<what2>requests|tokens))"
)
"""A header about a limit: ``anthropic-ratelimit-tokens-reset``, or OpenAI's ``x-ratelimit-reset-tokens``."""
_TIME_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
"""A part of OpenAI's duration until a reset, ``1m30.5s``; Anthropic sends a date."""
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Headroom(Struct, frozen=True):
    """Remaining requests or tokens of a rate limit.

    `what` is ``requests``, ``tokens``, ``input-tokens`` or ``output-tokens``. `reset` is when the whole limit is
    available again, in Unix seconds (None: unknown).
    """

    what: str
    remaining: int
    limit: int
    reset: float | None = None

    @property
    def share(self) -> float:
        """Remaining share, from 0 to 1."""
        return self.remaining / self.limit if self.limit else 1.0


def read_headrooms(headers: Mapping[str, str], now: float) -> tuple[Headroom, ...]:
    """Every limit in `headers`, the tightest first; `now` in Unix seconds."""
    fields_by_limit: dict[str, dict[str, str]] = {}
    for name, value in headers.items():
        match = _HEADER.fullmatch(name.lower())
        if match:
            fields_by_limit.setdefault(match["what"] or match["what2"], {})[match["field"] or match["field2"]] = value
    headrooms = []
    for limit_name, fields in fields_by_limit.items():
        remaining, limit = _as_number(fields.get("remaining", "")), _as_number(fields.get("limit", ""))
        if remaining is not None and limit:
            headrooms.append(Headroom(limit_name, remaining, limit, _reset_time(fields.get("reset", ""), now)))
    return tuple(sorted(headrooms, key=lambda room: room.share))


def _as_number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _reset_time(text: str, now: float) -> float | None:
    spans = _TIME_PART.findall(text)
    if spans and "".join(a + b for a, b in spans) == text:
        return now + sum(float(number) * _SECONDS[unit] for number, unit in spans)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an error's headers ask to wait; None if not given, or given as a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * scale)
        except (KeyError, ValueError):
            continue
    return None
