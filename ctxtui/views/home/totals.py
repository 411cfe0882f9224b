"""Home's header: the totals over its sessions."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.views.home.columns import read_share
from ctxtui.views.model.call_owners import CallSums
from ctxtui.views.text import numbers, sums
from ctxtui.views.text.span import Span, Spans, merged, width


class Totals(Struct, frozen=True, kw_only=True):
    """Sums over sessions: `sessions` of them, chosen among `of` (0: all there are), their `calls`, `tokens` in and out,
    `cost` in USD of the calls with a price, `unpriced` calls without one, `partial` ones whose answer is reported in
    part, `input` tokens and those of them that were `read` from a cache."""

    sessions: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    partial: int = 0
    input: int = 0
    read: int = 0
    of: int = 0


def totals(sums: CallSums, sessions: int, of: int = 0) -> Totals:
    """The sums of `sessions` listed ones."""
    return Totals(
        sessions=sessions,
        calls=round(sums.calls),
        tokens=round(sums.tokens),
        cost=max(0.0, sums.usd),
        unpriced=round(sums.unpriced),
        partial=round(sums.partial),
        input=round(sums.input),
        read=round(sums.read),
        of=of,
    )


def sums_of(totals: Totals) -> dict[str, str]:
    """What the figures of the header are made of, by the glossary's words."""
    spent = sums.rate(totals.cost, totals.tokens, "tokens in and out")
    once = "A call that stands in several files is counted once."
    of = f", of {totals.of:,}" if totals.of else ""
    whole = f"{totals.tokens:,} tokens = {totals.input:,} of input + {totals.tokens - totals.input:,} of output."
    return {
        "tokens": f"{whole} {once}",
        "cost": f"{spent} {once}",
        "list price": f"{spent} {once}",
        "hit rate": sums.share(totals.read, totals.input, " of input"),
        "sessions": f"{totals.sessions:,} are added up{of}: {totals.calls:,} calls.",
    }


def header(room: int, directory: str, totals: Totals) -> list[Span]:
    """The screen's first line: what this is and where, the sums at the right as far as they fit."""
    left = [Span(" ctxtui ", "accent-ink on-accent bold"), Span(" "), Span("sessions", "ink bold")]
    where = [Span("   "), Span(directory, "dim")]
    groups = _groups(totals)
    while groups and width(left) + width(_joined(groups)) + 3 > room:
        groups.pop(0)
    right = _joined(groups)
    spans = [*left, *where] if width(left) + width(where) + width(right) + 3 <= room else left
    return merged([*spans, Span(" " * max(1, room - width(spans) - width(right) - 1)), *right, Span(" ")])


def _groups(totals: Totals) -> list[Spans]:
    noun = "session" if totals.sessions == 1 else "sessions"
    told = f"{totals.sessions:,} of {totals.of:,} sessions" if totals.of else f"{totals.sessions:,} {noun}"
    out: list[Spans] = [[Span(told, "warn" if totals.of else "dim")]]
    if totals.tokens:
        in_part = totals.partial > 0
        out.append([Span(numbers.least_tokens(totals.tokens, in_part), "ink bold"), Span(" tokens", "dim")])
        calls = "call" if totals.unpriced == 1 else "calls"
        more = [Span(f" + {totals.unpriced:,} {calls} without a price", "dim")] if totals.unpriced else []
        out.append([Span(numbers.least(totals.cost, in_part), "ink bold"), Span(" list price", "dim"), *more])
    if totals.read:
        share = read_share(totals.read / totals.input)
        out.append([Span("cache read ", "dim"), Span(share.text, f"{share.style} bold")])
    return out


def _joined(groups: list[Spans]) -> list[Span]:
    out: list[Span] = []
    for group in groups:
        out += [*([Span("   ")] if out else []), *group]
    return out
