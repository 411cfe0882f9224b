"""What readers of several formats say alike: times, and the words for an epoch's boundary."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from ctxtui.core.call import Epoch

LAST: Final = 253_370_764_800.0
"""Unix seconds of the year 9999."""


def seconds(timestamp: str | float | None) -> float | None:
    """A record's timestamp in Unix seconds: ISO text, or a number of seconds or milliseconds; None if it is neither, or
    before 1970 or after 9998, which no calendar here can show in every time zone."""
    if isinstance(timestamp, str):
        return _of_text(timestamp)
    if timestamp is None or timestamp != timestamp:
        return None
    return _shown(timestamp / 1000 if timestamp > 1e11 else float(timestamp))


# The records of a message carry one time, and each time is asked for more than once.
@lru_cache(maxsize=64)
def _of_text(timestamp: str) -> float | None:
    try:
        moment = datetime.fromisoformat(timestamp)
        # Without a zone it would be read in this machine's own.
        return _shown((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def _shown(found: float) -> float | None:
    return found if 0 <= found < LAST else None


def shrunk(before: int, after: int, by: str) -> str:
    """The detail of a compaction: ``154.8k → 22.3k · by claude code``, ``?`` for a figure not known (0)."""
    sizes = " → ".join(thousands(n) if n else "?" for n in (before, after))
    return f"{sizes} · by {by}"


def completed(epoch: Epoch, after: int) -> Epoch:
    """`epoch` with the size after a compaction, once its first call's input is known."""
    if "→ ?" not in epoch.detail or not after:
        return epoch
    return replace(epoch, detail=epoch.detail.replace("→ ?", f"→ {thousands(after)}"))


def thousands(n: int) -> str:
    """A number of tokens, short: ``950``, ``22.3k``."""
    return str(n) if n < 1000 else f"{n / 1000:.1f}k"
