"""What a provider's rate limits leave, as words: said where it is little. Cache reads do not count against them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from ctxtui.views.text.span import Span, Spans

_TIGHT: Final = 0.5
"""The share of a rate limit under which it is told."""
_LOW: Final = 0.2


class RateLimit(Protocol):
    """One limit, see `providers.rate_limits.Headroom`: what it is on, the share that is left, when it is whole again
    (Unix seconds)."""

    @property
    def what(self) -> str: ...
    @property
    def share(self) -> float: ...
    @property
    def reset(self) -> float | None: ...


def headroom(limits: Sequence[RateLimit], now: float) -> Spans:
    """The tightest of `limits` at Unix time `now`, where little of it is left; they come tightest first."""
    room = next((one for one in limits if one.share < _TIGHT), None)
    if room is None:
        return []
    left = f"{room.what.replace('-', ' ')} {100 * room.share:.0f} % left"
    until = f", whole in {max(0, room.reset - now):.0f} s" if room.reset is not None else ""
    return [Span(f"{left}{until}  ", "warn" if room.share < _LOW else "dim")]
