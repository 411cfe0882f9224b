"""The pane of this call: read, written and fresh tokens, answer, cost, and timing facts."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.cache.miss import TTL
from ctxtui.analysis.session_events import describe_miss
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost
from ctxtui.views.model.scene import Scene, describe_sent_edits, is_unreported
from ctxtui.views.text import bars, cells, narrow, numbers, safe_text
from ctxtui.views.text.signs import GUTTER
from ctxtui.views.text.span import Span, Spans

FULL_HEIGHT: int = 7
"""Lines of the complete body: four parts, a rule, total, facts."""
_TOKENS_END_CELLS = 17
_MIN_ORIGIN_CELLS = 26


class CallPart(Struct, frozen=True):
    """Tokens (None: not reported) and cost of a part of the call; lower bounds if `partial`."""

    name: str
    sign: Span
    style: str
    tokens: int | None
    usd: float | None
    partial: bool = False


class ThisCall(Struct, frozen=True, kw_only=True):
    """Facts of the call shown.

    - `total`: USD; `priced`: whether prices are known yet.
    - `uncached`: the cost of the same call without a cache; None if unknown, or if no cache figures are reported.
    - `missed`: a sentence about its cache miss ("": none); `by_pause`: a pause caused it.
    - `facts`: edits it was sent with, pause, duration, stop reason.
    - `sent`: False for a request that is not sent yet.
    """

    reported: bool
    lines: tuple[CallPart, ...]
    total: float | None
    partial: bool = False
    """Whether `total` is a lower bound: `Call.is_partial`, or a price is missing."""
    priced: bool
    uncached: float | None
    facts: tuple[str, ...]
    missed: str = ""
    by_pause: bool = False
    error: str = ""
    sent: bool = True
    unreported: bool = False
    """Whether the session has answers, but no call of it is reported."""


NO_USAGE_TEXT: Final = "No usage in this recording: tokens are counted, money is not known."


def this_call(scene: Scene) -> ThisCall:
    """The content of the pane for the call shown; without a report it has only facts."""
    call, usage = scene.call, scene.call.usage
    before = scene.calls[scene.index - 1] if scene.index else None
    missed = scene.missed.get(scene.number)
    cost = scene.costs.get(call.id)
    content = ThisCall(
        reported=usage is not None,
        lines=(),
        total=None,
        priced=call.id in scene.costs,
        uncached=None,
        facts=(*describe_sent_edits(scene), *_facts(before, call)),
        missed=describe_miss(missed) if missed else "",
        by_pause=missed is not None and missed.cause == TTL,
        error=call.error,
        sent=usage is not None or bool(call.id),
        unreported=usage is None and is_unreported(scene),
    )
    if usage is None:
        return content
    return replace(
        content,
        lines=_lines(call, usage, cost),
        total=cost.usd if cost else usage.cost or None,
        partial=cost is not None and (call.is_partial or bool(cost.lacks)),
        uncached=scene.uncached.get(call.id) if usage.has_cache else None,
    )


def _lines(call: Call, usage: Usage, cost: Cost | None) -> tuple[CallPart, ...]:
    cached = usage.has_cache
    return (
        CallPart(
            "read", GUTTER["read"].span, "readtx", usage.cache_read if cached else None, cost.read if cost else None
        ),
        CallPart(
            "write", GUTTER["write"].span, "write", usage.cache_write if cached else None, cost.write if cost else None
        ),
        CallPart("fresh", GUTTER["fresh"].span, "fresh", usage.fresh, cost.fresh if cost else None),
        CallPart(
            "answer",
            Span("›", "dim"),
            "dim",
            call.output,
            cost.output if cost else None,
            partial=call.is_partial,
        ),
    )


def _facts(before: Call | None, call: Call) -> tuple[str, ...]:
    facts = []
    if before and before.started is not None and call.started is not None:
        pause = call.started - (before.ended or before.started)
        if pause >= 1:
            facts.append(f"after {numbers.ago(pause)}")
    if call.started is not None and call.ended is not None and call.ended > call.started:
        facts.append(f"took {numbers.ago(call.ended - call.started)}")
    if call.stop_reason:
        facts.append(call.stop_reason.replace("_", " "))
    return tuple(facts)


def lines(content: ThisCall, room: int, height: int) -> list[Spans]:
    """The body in at most `height` lines: complete, or folded to figures, total and facts.

    In a single line it is the total; without a report, a sentence and the facts.
    """
    if not content.reported:
        text = " No usage recorded for this call." if room >= 35 else " No usage recorded."
        text = text if content.sent else " Not sent yet."
        words = safe_text.wrap(NO_USAGE_TEXT, max(20, room - 2)) if content.unreported else []
        out: list[Spans] = [[Span(f" {line}", "dim")] for line in words] or [[Span(text, "dim")]]
        out.append(_facts_line(content, room))
        return out[:height]
    if height < FULL_HEIGHT:
        out = [_figures_line(content, room), _total_line(content, room), _facts_line(content, room)]
        return out[1:2] if height == 1 else out[:height]
    most = max((line.tokens or 0 for line in content.lines), default=0)
    out = [_part_line(line, most, room, content.priced) for line in content.lines]
    out.append([Span(" "), Span("─" * (room - 2), "hair")])
    return [*out, _total_line(content, room), _facts_line(content, room)]


def _part_line(line: CallPart, most: int, room: int, priced: bool) -> list[Span]:
    bar = max(0, room - _TOKENS_END_CELLS - 11)
    shown = _tokens(line)
    usd = "" if line.tokens is None else _usd(line) if priced else numbers.NONE
    faint = usd == "$0.000" or not priced
    name = [Span(" "), line.sign, Span(f" {line.name:<7}")]
    style = line.style
    if line.tokens and line.tokens >= 1000 and line.name != "answer":
        style += " bold"
    drawn = bars.line(line.tokens or 0, most, bar)
    bar_style = line.name if line.name in GUTTER else "dim"
    return [
        *name,
        Span(cells.right(shown, _TOKENS_END_CELLS - 10), style),
        Span(" "),
        Span(drawn.ljust(bar), bar_style),
        Span(f"{usd:>9}", "faint" if faint else "ink"),
    ]


def _usd(line: CallPart) -> str:
    return numbers.least(line.usd, line.partial).replace(" ", "")


def _tokens(line: CallPart) -> str:
    if line.tokens is None:
        return numbers.NOT_YET
    return numbers.least_tokens(line.tokens, line.partial)


def _figures_line(content: ThisCall, room: int) -> Spans:
    return narrow.figures([(part.sign, Span(_tokens(part), part.style)) for part in content.lines], room)


def _total_line(content: ThisCall, room: int) -> list[Span]:
    if not content.priced:
        return [Span(f" {numbers.NONE}", "faint")]
    spans = [Span(f" {numbers.least(content.total, content.partial)}", "ink bold")]
    if content.total is None:
        return [*spans, Span(" no list price for this model" if room >= 38 else " no list price", "dim")]
    if content.uncached is None or content.uncached <= 0:
        return spans
    saved = 1 - content.total / content.uncached
    saves = [
        Span("saves " if saved >= 0 else "costs ", "dim"),
        Span(numbers.share(abs(saved), 0), "ok bold" if saved >= 0 else "warn bold"),
    ]
    spans += [Span("  uncached ", "dim"), Span(numbers.money(content.uncached))] if room >= 40 else []
    if saved < 0:
        saves.append(Span(" more", "dim"))
    gap = room - 1 - sum(cells.width(span.text) for span in (*spans, *saves))
    return [*spans, Span(" " * max(2, gap)), *saves]


def _facts_line(content: ThisCall, room: int) -> list[Span]:
    if content.error:
        return [Span(" ✗ ", "crit"), Span(cells.fit(safe_text.one_line(content.error), room - 4), "crit")]
    if content.missed:
        style = "warn" if content.by_pause else "crit"
        # Shorter forms of the same words, for narrow panes.
        brief = content.missed.replace(" rewritten", "", 1)
        texts = (content.missed, brief, brief.replace(" after an ", ": ").replace(" after a ", ": "))
        return [Span(" ▼ ", style), Span(narrow.first_that_fits(texts, room - 4), style)]
    return [Span(f" {narrow.facts(content.facts, room - 2)}", "dim")]


def notes(content: ThisCall, room: int) -> list[Span]:
    return [Span("reported", "dim")] if content.reported and room >= _MIN_ORIGIN_CELLS else []
