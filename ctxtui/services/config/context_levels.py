"""From when on a context is said to be large: by its share of what is meant to be used, and by tokens alone."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.services.config.settings import Settings

FINE, WARNING, CRITICAL = 0, 1, 2
REMEDY: Final = "drop, truncate or summarize something"


class ContextLevel(Struct, frozen=True):
    """`number` is `FINE`, `WARNING` or `CRITICAL`; `told` is the size and what it is held against ("" where fine)."""

    number: int
    told: str = ""


def context_level(used: int, usable: int, settings: Settings) -> ContextLevel:
    """The level of a request of so many tokens, of which `usable` are meant to be used (0: not known)."""
    share = used / usable if usable else 0.0
    by_share = _level(share, settings.warn_share, settings.critical_share)
    by_tokens = _level(used, settings.warn_tokens, settings.critical_tokens)
    if by_tokens and by_tokens >= by_share:
        limit = settings.critical_tokens if by_tokens == CRITICAL else settings.warn_tokens
        return ContextLevel(by_tokens, f"the context is at {used:,} tokens, over {limit:,}")
    if by_share:
        told = f"the context is at {100 * share:.0f} % of the {usable:,} tokens that are meant to be used"
        return ContextLevel(by_share, told)
    return ContextLevel(FINE)


def _level(value: float, warn: float, critical: float) -> int:
    """Thresholds of 0 are none."""
    return CRITICAL if critical and value >= critical else WARNING if warn and value >= warn else FINE
