"""A client's status line as styled text: context, the next call's price, what is left of the cache, one warning."""

from __future__ import annotations

from ctxtui.analysis.money.status_line import COLD, ENDING, MISS, OVER, QUOTA_NEAR, ClientStatus, StatusWarning
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import warned
from ctxtui.views.text.span import Span, Spans

_BETWEEN = Span(" · ", "dim")
_SOON = 60.0


def line(status: ClientStatus, usd: float | None, warning: StatusWarning | None) -> Spans:
    """The line; `usd` is what the next call costs (None: no price is known)."""
    if status.context is None:
        return [Span("no call yet", "dim")]
    parts: list[Spans] = [
        _context(status),
        [Span("next ≈ ", "dim"), Span(numbers.money(usd), "ink bold")],
        _cache(status),
    ]
    if warning is not None:
        parts.append(warned(words_of(warning)))
    found: list[Span] = []
    for part in parts:
        found += [*([_BETWEEN] if found else []), *part]
    return found


def _context(status: ClientStatus) -> Spans:
    context = status.context or 0
    if not status.usable:
        return [Span(numbers.tokens(context))]
    share = context / status.usable
    style = "crit" if share > 1 else "warn" if share >= 0.9 else "readtx"
    told = Span(f" of {numbers.tokens(status.usable)} ", "dim")
    return [Span(numbers.tokens(context)), told, Span(numbers.share(share, 0), style)]


def _cache(status: ClientStatus) -> Spans:
    left = status.seconds_left
    if not status.cached:
        return [Span("no cache", "dim")]
    if left is None:
        return [Span("cache ?", "dim")]
    if not left:
        return [Span("cache expired", "crit")]
    return [Span("cache ", "dim"), Span(_clock(left), "warn bold" if left < _SOON else "ink")]


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600} h {whole // 60 % 60} min" if whole >= 3600 else f"{whole // 60}:{whole % 60:02}"


def words_of(what: StatusWarning) -> str:
    """A warning in words."""
    tokens = numbers.tokens(what.amount)
    if what.kind == OVER:
        return f"{tokens} over usable"
    if what.kind == QUOTA_NEAR:
        return f"5 hours {what.amount:.0f} % used" + (f", over in {_clock(what.seconds)}" if what.seconds else "")
    if what.kind == MISS:
        return f"cache missed, {tokens} again" + (f": {safe_text.one_line(what.words, 30)}" if what.words else "")
    if what.kind == COLD:
        return f"next call writes {tokens} again"
    if what.kind == ENDING:
        return f"in {_clock(what.seconds)} the next call costs {numbers.money(what.usd)}"
    return f"{tokens} of usable left"
