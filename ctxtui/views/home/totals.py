"""Home's header line with the totals over its sessions."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.views.home.columns import read_share
from ctxtui.views.model.call_owners import CallSums
from ctxtui.views.text import numbers, sums
from ctxtui.views.text.span import Span, Spans, merged, width


class Totals(Struct, frozen=True, kw_only=True):
    """Sums over `sessions` sessions, chosen among `of` (0: all).

    `cost` in USD covers calls with a price, `unpriced` counts those without; `partial` counts answers that are reported
    in part; `read` is the part of `input` tokens that was read from a cache.
    """

    sessions: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    partial: int = 0
    input: int = 0
    read: int = 0
    of: int = 0


def totals(call_sums: CallSums, sessions: int, of: int = 0) -> Totals:
    return Totals(
        sessions=sessions,
        calls=round(call_sums.calls),
        tokens=round(call_sums.tokens),
        cost=max(0.0, call_sums.usd),
        unpriced=round(call_sums.unpriced),
        partial=round(call_sums.partial),
        input=round(call_sums.input),
        read=round(call_sums.read),
        of=of,
    )


def explain_totals(totals: Totals) -> dict[str, str]:
    """Explanations of the header's figures, by glossary word."""
    spent = sums.rate(totals.cost, totals.tokens, "tokens in and out")
    note = "A call in several files is counted once."
    of = f", of {totals.of:,}" if totals.of else ""
    whole = f"{totals.tokens:,} tokens = {totals.input:,} of input + {totals.tokens - totals.input:,} of output."
    return {
        "tokens": f"{whole} {note}",
        "cost": f"{spent} {note}",
        "list price": f"{spent} {note}",
        "hit rate": sums.share(totals.read, totals.input, " of input"),
        "sessions": f"{totals.sessions:,} are added up{of}: {numbers.many(totals.calls, 'call')}.",
    }


def header(room: int, directory: str, totals: Totals) -> list[Span]:
    """The first screen line: program and directory, then as many totals as fit."""
    left = [Span(" ctxtui ", "accent-ink on-accent bold"), Span(" "), Span("sessions", "ink bold")]
    directory_spans = [Span("   "), Span(directory, "dim")]
    groups = _groups(totals)
    while groups and width(left) + width(_joined(groups)) + 3 > room:
        groups.pop(0)
    right = _joined(groups)
    spans = [*left, *directory_spans] if width(left) + width(directory_spans) + width(right) + 3 <= room else left
    return merged([*spans, Span(" " * max(1, room - width(spans) - width(right) - 1)), *right, Span(" ")])


def _groups(totals: Totals) -> list[Spans]:
    count = totals.sessions
    session_count = f"{count:,} of {totals.of:,} sessions" if totals.of else numbers.many(count, "session")
    out: list[Spans] = [[Span(session_count, "warn" if totals.of else "dim")]]
    if totals.tokens:
        in_part = totals.partial > 0
        out.append([Span(numbers.least_tokens(totals.tokens, in_part), "ink bold"), Span(" tokens", "dim")])
        unpriced = numbers.many(totals.unpriced, "call")
        more = [Span(f" + {unpriced} without a price", "dim")] if totals.unpriced else []
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
