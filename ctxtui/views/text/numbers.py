"""Number formats: short, of known width, and exact at every boundary."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

MINUS: Final = "−"
"""U+2212: as wide as the plus, unlike the hyphen."""

NONE: Final = "·"

NOT_APPLICABLE: Final = "–"

NOT_YET: Final = "?"

_UNITS: Final = "kMGTPEZY"


def tokens(n: float) -> str:
    """Format tokens in at most 6 cells: ``999``, ``1.0k``, ``999.9k``, ``1.00M``, ``100.0M``.

    Halves round up. From 10^27 on the result is ``∞``.
    """
    if n < 0:
        short = tokens(-n)
        return short if short == "0" else MINUS + short
    if not math.isfinite(n):
        return NOT_YET if math.isnan(n) else "∞"
    count = math.floor(n + 0.5)
    if count < 1000:
        return str(count)
    for power, unit in enumerate(_UNITS, 1):
        size = 1000**power
        hundredths = _rounded(count * 100, size)
        if power > 1 and hundredths < 10000:
            return f"{hundredths // 100}.{hundredths % 100:02}{unit}"
        tenths = _rounded(count * 10, size)
        if tenths < 10000:
            return f"{tenths // 10}.{tenths % 10}{unit}"
    return "∞"


def _rounded(top: int, bottom: int) -> int:
    return (2 * top + bottom) // (2 * bottom)


def exact(n: int) -> str:
    return f"{n:,}".replace("-", MINUS)


def many(count: int, noun: str, plural: str = "") -> str:
    """Format a count: ``1 call``, ``1,200 calls``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def signed(n: float) -> str:
    """Format a change in tokens: ``+1.9k``, ``−46.7k``, ``0``. At most 7 cells."""
    short = tokens(n)
    return short if short in {"0", NOT_YET} or short.startswith(MINUS) else "+" + short


def guessed(n: float) -> str:
    """Format an estimated number of tokens: ``?4.1k``."""
    return "?" + tokens(n)


def typical(n: float) -> str:
    """Format a typical, not predicted, number of tokens: ``~180``."""
    return "~" + tokens(n)


def unread(n: float) -> str:
    """Format tokens recorded or sent, but not read by the provider: ``(18)``."""
    return f"({tokens(n)})"


def money(usd: float | None) -> str:
    """Format US dollars: 3 decimals under $1, else 2, with commas; None is the word ``unknown``."""
    if usd is None or math.isnan(usd):
        return "unknown"
    sign, size = (MINUS if usd < 0 else ""), abs(usd)
    short = f"{size:.3f}" if size < 0.9995 else f"{size:,.2f}"
    return f"{sign}${short}" if short != "0.000" else "$0.000"


def least(usd: float | None, partial: bool) -> str:
    """Like `money`, with ``≥`` if a part is missing (`partial`); ``unknown`` without any."""
    return f"≥ {money(usd)}" if partial and usd else money(None if partial else usd)


def least_tokens(n: float, partial: bool) -> str:
    """Like `tokens`, with ``≥`` if the end of an answer is missing; ``·`` if no part is known."""
    return f"≥{tokens(n)}" if partial and n else NONE if partial else tokens(n)


def signed_money(usd: float | None) -> str:
    """Format a change in US dollars: ``+$0.729``, ``−$0.876``, ``$0.000``."""
    short = money(usd)
    return "+" + short if usd is not None and usd > 0 and short != "$0.000" else short


def share(part: float, decimals: int = 1) -> str:
    """Format a fraction (0 to 1) in percent: ``46.7 %``, with `decimals` = 0 ``47 %``."""
    if not math.isfinite(part):
        return NOT_APPLICABLE
    percent = round(part * 100, decimals) or 0.0  # not -0.0
    return f"{percent:.{decimals}f} %".replace("-", MINUS)


def interval(value: float, low: float, high: float) -> str:
    """Format the wider half of the interval [`low`, `high`] in percent of `value`: ``±0.4 %``.

    "" for an exact figure, and if `value` is 0.
    """
    half = max(high - value, value - low, 0.0)
    if half == 0 or value == 0:
        return ""
    percent = 100 * half / abs(value)
    return f"±{percent:.1f} %" if percent < 9.95 else f"±{percent:.0f} %"


def ago(seconds: float | None) -> str:
    """Format a duration in at most 5 cells: ``4:41``, ``59:59``, ``2 h``, ``3 d``, ``3 y``.

    None is ``?``.
    """
    if seconds is None or not math.isfinite(seconds):
        return NOT_YET
    whole = max(0, math.floor(seconds))
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02}"
    if whole < 86400:
        return f"{whole // 3600} h"
    days = whole // 86400
    return f"{days} d" if days < 1000 else f"{min(days // 365, 999)} y"


def countdown(seconds: float) -> str:
    """Format a remaining time: ``4:12``, ``1:04:12``."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def clock(moment: datetime | None) -> str:
    """Format the time of day, ``05:08:41``, in the time zone of `moment`."""
    return moment.strftime("%H:%M:%S") if moment is not None else NOT_YET
