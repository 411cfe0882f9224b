"""The line that ctxtui adds to a client's status bar: context, next cost, cache, a warning."""

from __future__ import annotations

from ctxtui.analysis.money.status_line import COLD, ENDING, MISS, OVER, QUOTA_NEAR, ClientStatus, StatusWarning
from ctxtui.views.text import bars, numbers, safe_text
from ctxtui.views.text.signs import warned
from ctxtui.views.text.span import Span, Spans

SEPARATOR = Span(" · ", "dim")
EXPIRY_WARNING_SECONDS = 60.0


def line(status: ClientStatus, usd: float | None, warning: StatusWarning | None) -> Spans:
    """The line; `usd` is the cost of the next call."""
    if status.context is None:
        return [Span("no call yet", "dim")]
    parts: list[Spans] = [
        _context(status),
        [Span("next ≈ ", "dim"), Span(numbers.money(usd), "ink bold")],
        _cache(status),
    ]
    if warning is not None:
        parts.append(warned(describe_warning(warning)))
    spans: list[Span] = []
    for part in parts:
        spans += [*([SEPARATOR] if spans else []), *part]
    return spans


def _context(status: ClientStatus) -> Spans:
    context = status.context or 0
    if not status.usable:
        return [Span(numbers.tokens(context))]
    limit = Span(f" of {numbers.tokens(status.usable)} ", "dim")
    share = Span(numbers.share(context / status.usable, 0), bars.budget_style(context, status.usable))
    return [Span(numbers.tokens(context)), limit, share]


def _cache(status: ClientStatus) -> Spans:
    left = status.seconds_left
    if not status.cached:
        return [Span("no cache", "dim")]
    if left is None:
        return [Span("cache ?", "dim")]
    if not left:
        return [Span("cache expired", "crit")]
    return [Span("cache ", "dim"), Span(_clock(left), "warn bold" if left < EXPIRY_WARNING_SECONDS else "ink")]


def _clock(seconds: float) -> str:
    minutes = int(seconds) // 60
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else numbers.countdown(seconds)


def describe_warning(warning: StatusWarning) -> str:
    """The warning in a few words: ``12.0k over usable``."""
    tokens = numbers.tokens(warning.amount)
    if warning.kind == OVER:
        return f"{tokens} over usable"
    if warning.kind == QUOTA_NEAR:
        return f"5 hours {warning.amount:.0f} % used" + (
            f", resets in {_clock(warning.seconds)}" if warning.seconds else ""
        )
    if warning.kind == MISS:
        again = f", {tokens} again" if warning.amount else ""
        return f"cache missed{again}" + (f": {safe_text.one_line(warning.words, 30)}" if warning.words else "")
    if warning.kind == COLD:
        return f"next call writes {tokens} again"
    if warning.kind == ENDING:
        return f"in {_clock(warning.seconds)} the next call costs {numbers.money(warning.usd)}"
    return f"{tokens} of usable left"


def describe_cold_send(tokens: int, seconds: float, usd: float | None, warm_usd: float | None) -> str:
    """A sentence about a message that is sent `seconds` after the cache expired."""
    price = f", about {numbers.money(usd)} instead of {numbers.money(warm_usd)}" if usd is not None else ""
    again = f"this message writes {numbers.tokens(tokens)} tokens again{price}"
    return f"The prompt cache expired {numbers.ago(seconds)} ago: {again}. Esc stops it."
