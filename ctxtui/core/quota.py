"""What a provider reports of a quota: how much of a window of time is used up, and when the window begins anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class QuotaReport(NamedTuple):
    """One report on one window. `limit` says whose it is (``codex``, ``claude`` ...), `minutes` how long it is, `used`
    the share of it that is used (0 to 1, more where it was gone beyond). It `resets` and was reported `at` those Unix
    seconds (0: not said). `raw` is the JSON text of what was said, as it was said."""

    limit: str
    minutes: int
    used: float
    resets: int = 0
    at: int = 0
    raw: str = ""

    @property
    def window(self) -> tuple[str, int]:
        """Which window it is about; some versions of a client are a minute off in its length."""
        return self.limit, round(self.minutes / 10)

    @property
    def begins(self) -> int:
        """When the window began, in Unix seconds, as far as that is told: else its length before the report."""
        return (self.resets or self.at) - 60 * self.minutes


def newest(reports: Iterable[QuotaReport]) -> list[QuotaReport]:
    """The newest report on each window, the later one of two of the same moment; in the order of the first ones."""
    found: dict[tuple[str, int], QuotaReport] = {}
    for one in reports:
        known = found.get(one.window)
        if known is None or one.at >= known.at:
            found[one.window] = one
    return list(found.values())
