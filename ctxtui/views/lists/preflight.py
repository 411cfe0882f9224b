"""The preflight report: growth, limits, cost, and blocks that a compaction would replace."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ctxtui.analysis.growth.projection import Limit, Outlook, Preflight
from ctxtui.analysis.growth.units_ahead import Range
from ctxtui.curation.price.advice import Advice, Smallest
from ctxtui.views.lists import advice
from ctxtui.views.text import cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span

MAX_MESSAGES = 8
"""Maximum of the user's messages that are listed."""
NAME_CELLS = 12


def lines(report: Preflight) -> Iterator[list[Span]]:
    """The report, line by line."""
    outlook = report.outlook
    of = f" of {numbers.tokens(report.window.limit)} ({report.window.origin_text})" if report.window.limit else ""
    yield _row("now", numbers.tokens(outlook.context), f"tokens{of}, after {count_units(outlook.unit, outlook.turns)}")
    if outlook.growth is None:
        yield _row("growth", numbers.NOT_YET, f"not known yet: too few {outlook.unit}s")
    else:
        missed = f"; {outlook.rewrites:.1f} cache misses a {outlook.unit}" if outlook.rewrites else ""
        words = f"tokens{_range_text(outlook.growth)}{_describe_calls(outlook)}{missed}"
        yield _row(f"a {outlook.unit}", numbers.signed(outlook.growth.mid), words)
    if report.usable:
        yield _row("usable", numbers.tokens(report.usable.tokens), describe_limit(report.usable, outlook))
    if report.compaction:
        how = {"observed": "as observed before", "assumed": "assumed: the client's default"}[report.compaction.how]
        yield _row(
            "compacts",
            numbers.tokens(report.compaction.tokens),
            f"{describe_limit(report.compaction, outlook)} ({how})",
        )
    yield _row(count_units(outlook.unit, outlook.ahead), *_describe_cost(outlook))
    if report.partial:
        yield _row("", "", f"at least: {report.partial:,} answers are only partly reported, the known part is counted")
    if outlook.after is not None:
        yield _row("context", numbers.tokens(outlook.after.mid), _describe_growth(outlook.after, report.window.limit))
    yield from _replaced_lines(report)


def _row(name: str, figure: str, words: str) -> list[Span]:
    return [Span(cells.left(name, NAME_CELLS), "dim"), Span(cells.right(figure, 8), "bold"), Span("  " + words)]


def count_units(unit: str, n: int) -> str:
    """``3 turns``, ``1 phase``."""
    return f"{n:,} {unit}{'' if n == 1 else 's'}"


def _range_text(value: Range) -> str:
    return f" ({numbers.signed(value.low)} to {numbers.signed(value.high)})"


def _describe_calls(outlook: Outlook) -> str:
    if outlook.calls is None:
        return ""
    low, mid, high = (max(1, round(n)) for n in outlook.calls)
    spread = f" ({low} to {high})" if low != high else ""
    return f", {mid} call{'' if mid == 1 else 's'}{spread}"


def describe_limit(limit: Limit, outlook: Outlook, unit: str = "") -> str:
    """Describe when a limit is reached, counted in `unit` ("": that of `outlook`)."""
    unit = unit or outlook.unit
    soon, mid, late = limit.turns
    if soon == 0:
        return "passed already"
    if mid is None:
        sooner = f"not at the usual pace, in {count_units(unit, soon)} at the soonest" if soon is not None else ""
        return sooner or "not at this pace"
    spread = "" if soon == late else f" ({soon or '?'} to {late if late is not None else 'never'})"
    return f"in {count_units(unit, mid)}{spread}"


def _describe_cost(outlook: Outlook) -> tuple[str, str]:
    if outlook.growth is None:
        return numbers.NOT_YET, f"not known yet: too few {outlook.unit}s"
    if outlook.usd is None:
        return "unknown", "no price is known"
    low, high = numbers.money(outlook.usd.low), numbers.money(outlook.usd.high)
    return numbers.money(outlook.usd.mid), f"{low} to {high} in four of five cases, list price"


def _describe_growth(after: Range, window: int) -> str:
    text = f"{numbers.tokens(after.low)} to {numbers.tokens(after.high)} then, without a compaction"
    return f"{text}: more than the limit" if window and after.mid > window else text


def _replaced_lines(report: Preflight) -> Iterator[list[Span]]:
    total = sum(report.replaced.values())
    if not total:
        return
    yield []
    yield [Span(f"A compaction now would replace {numbers.tokens(total)} tokens with a summary:", "bold")]
    for name, tokens in report.replaced.items():
        sign = signs.category(name)
        row = [Span(f"  {sign.glyph} ", sign.style), Span(cells.left(sign.name, 12), sign.style)]
        yield [*row, Span(cells.right(numbers.tokens(tokens), 8))]
    if report.instructions:
        yield [Span(f"Your messages in it ({len(report.instructions)}):", "bold")]
    for message in report.instructions[:MAX_MESSAGES]:
        words = cells.fit(safe_text.one_line(message.words), 64)
        yield [Span(cells.right(str(message.turn), 5) + "  ", "faint"), Span(words)]
    if len(report.instructions) > MAX_MESSAGES:
        yield [Span(f"       and {len(report.instructions) - MAX_MESSAGES} more", "dim")]


def fix_lines(smallest: Smallest | None, name: str) -> Iterator[list[Span]]:
    """The smallest set of edits that keeps the turns of session `name` below the usable window."""
    if smallest is None:
        return
    yield []
    if not smallest.kinds:
        yield [Span("No reversible edit would make room: ", "warn"), Span("the newest rounds fill the window.")]
        return
    edits = ", ".join(f"{n:,} x {kind.replace('_', ' ')}" for kind, n in smallest.kinds.items())
    result = "stays below it" if smallest.is_reached else f"still above it, at {numbers.tokens(smallest.after)}"
    yield [Span("To have room: ", "bold"), Span(edits), Span(f"; {smallest.risk.description}", "dim")]
    yield [
        Span("  context ", "dim"),
        Span(f"{numbers.tokens(smallest.before)} → {numbers.tokens(smallest.after)}", "ink bold"),
        Span(f", {result}; {smallest.moment} {numbers.signed_money(smallest.once)} once, ", "dim"),
        Span(f"{numbers.signed_money(smallest.per_call)} a call"),
        Span(f"; {smallest.quoted} of it quoted later" if smallest.quoted else "", "warn"),
    ]
    yield [Span(f"  ctxtui curate {shlex.quote(name)} --after --policy budget --set target={smallest.target}", "faint")]


def advice_lines(pieces: Sequence[Advice], name: str) -> Iterator[list[Span]]:
    """Advice for the calls ahead, lowest risk first."""
    if pieces:
        yield []
        yield [Span("What would help, ", "bold"), Span(f"{advice.note(pieces)}:", "dim")]
        yield from (spans for spans, _ in advice.lines(pieces, name))
