"""Remaining rate limits and requested waits, from the headers of answers (facts §1, §4)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final

from msgspec import Struct

_HEADERS: Final = (
    re.compile(r"anthropic-ratelimit-(?P<what>(?:input-|output-)?tokens|requests)-(?P<field>limit|remaining|reset)"),
    re.compile(r"x-ratelimit-(?P<field>limit|remaining|reset)-(?P<what>requests|tokens)"),
)
"""Headers about a limit, ``anthropic-ratelimit-tokens-reset`` or OpenAI's ``x-ratelimit-reset-tokens``.

Anthropic's headers for unified limits and for priority tiers are not read.
"""
_TIME_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
"""A part of OpenAI's duration until a reset, ``1m30.5s``; Anthropic sends a date and time."""
_MAX_DIGITS: Final = 18
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
        return min(1.0, self.remaining / self.limit)


def read_headrooms(headers: Mapping[str, str], now: float) -> tuple[Headroom, ...]:
    """Limits with size and remainder in `headers`, the tightest first; `now`: Unix seconds."""
    fields_by_limit: dict[str, dict[str, str]] = {}
    for name, value in headers.items():
        for match in filter(None, (header.fullmatch(name.lower()) for header in _HEADERS)):
            fields_by_limit.setdefault(match["what"], {})[match["field"]] = value
    headrooms = []
    for limit_name, fields in fields_by_limit.items():
        remaining, limit = _as_number(fields.get("remaining", "")), _as_number(fields.get("limit", ""))
        if remaining is not None and limit:
            headrooms.append(Headroom(limit_name, remaining, limit, _reset_time(fields.get("reset", ""), now)))
    return tuple(sorted(headrooms, key=lambda headroom: headroom.share))


def _as_number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _reset_time(text: str, now: float) -> float | None:
    parts = _TIME_PART.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        reset = now + sum(float(number) * _SECONDS[unit] for number, unit in parts)
        return reset if math.isfinite(reset) else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an error's headers ask to wait; None if not given as a number."""
    values = {name.lower(): value for name, value in headers.items()}
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            if math.isfinite(seconds := float(values[name]) * scale):
                return max(0.0, seconds)
    return None
