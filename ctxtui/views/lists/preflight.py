"""The preflight report: growth, limits, cost, what a compaction would replace, and fixes."""

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
NAME_CELLS = 12


def lines(report: Preflight) -> Iterator[list[Span]]:
    """Yield the forecast, then what a compaction would replace."""
    outlook = report.outlook
    of = f" of {numbers.tokens(report.window.limit)} ({report.window.origin_text})" if report.window.limit else ""
    yield _row("now", numbers.tokens(outlook.context), f"tokens{of}, after {numbers.many(outlook.turns, outlook.unit)}")
    if outlook.growth is None:
        yield _row("growth", numbers.NOT_YET, f"not known yet: too few {outlook.unit}s")
    else:
        misses = f"; {outlook.rewrites:.1f} cache misses a {outlook.unit}" if outlook.rewrites else ""
        spread = f"{numbers.signed(outlook.growth.low)} to {numbers.signed(outlook.growth.high)}"
        words = f"tokens ({spread}){_describe_calls(outlook)}{misses}"
        yield _row(f"a {outlook.unit}", numbers.signed(outlook.growth.mid), words)
    if report.usable:
        yield _row("usable", numbers.tokens(report.usable.tokens), describe_limit(report.usable, outlook.unit))
    if report.compaction:
        how = {"observed": "as observed before", "assumed": "assumed: the client's default"}[report.compaction.how]
        yield _row(
            "compacts",
            numbers.tokens(report.compaction.tokens),
            f"{describe_limit(report.compaction, outlook.unit)} ({how})",
        )
    yield _row(numbers.many(outlook.ahead, outlook.unit), *_describe_cost(outlook))
    if report.partial:
        answers = f"{numbers.many(report.partial, 'answer')} {'is' if report.partial == 1 else 'are'}"
        yield _row("", "", f"at least: {answers} only partly reported, the known part is counted")
    if outlook.after is not None:
        yield _row("context", numbers.tokens(outlook.after.mid), _describe_growth(outlook.after, report.window.limit))
    yield from _replaced_lines(report)


def _row(name: str, figure: str, words: str) -> list[Span]:
    return [Span(cells.left(name, NAME_CELLS), "dim"), Span(cells.right(figure, 8), "bold"), Span("  " + words)]


def _describe_calls(outlook: Outlook) -> str:
    if outlook.calls is None:
        return ""
    low, mid, high = (max(1, round(n)) for n in outlook.calls)
    spread = f" ({low} to {high})" if low != high else ""
    return f", {numbers.many(mid, 'call')}{spread}"


def describe_limit(limit: Limit, unit: str) -> str:
    """When a limit is reached; `unit` is the word for the units that `limit` counts."""
    soon, mid, late = limit.turns
    if soon == 0:
        return "passed already"
    if mid is None:
        sooner = f"not at the usual pace, in {numbers.many(soon, unit)} at the soonest" if soon is not None else ""
        return sooner or "not at this pace"
    spread = "" if soon == late else f" ({soon or '?'} to {late if late is not None else 'never'})"
    return f"in {numbers.many(mid, unit)}{spread}"


def _describe_cost(outlook: Outlook) -> tuple[str, str]:
    if outlook.growth is None:
        return numbers.NOT_YET, f"not known yet: too few {outlook.unit}s"
    if outlook.usd is None:
        return "unknown", "no price is known"
    low, high = numbers.money(outlook.usd.low), numbers.money(outlook.usd.high)
    return numbers.money(outlook.usd.mid), f"{low} to {high} in four of five cases, list price"


def _describe_growth(after: Range, limit: int) -> str:
    text = f"{numbers.tokens(after.low)} to {numbers.tokens(after.high)} then, without a compaction"
    return f"{text}: more than the limit" if limit and after.mid > limit else text


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


def fix_lines(smallest: Smallest | None, report: Preflight, name: str, place: str) -> Iterator[list[Span]]:
    """The smallest set of edits that makes room, its effect and its command line."""
    if smallest is None:
        return
    yield []
    if not smallest.kinds:
        yield [Span("The policy budget found no edit that would make room.", "warn")]
        return
    edits = ", ".join(f"{n:,} x {kind.replace('_', ' ')}" for kind, n in smallest.kinds.items())
    yield [Span("To have room: ", "bold"), Span(edits), Span(f"; {smallest.risk.description}", "dim")]
    sizes = f"{numbers.tokens(smallest.before)} → {numbers.tokens(smallest.after)}"
    yield [Span("  context ", "dim"), Span(sizes, "ink bold"), Span(_describe_end(smallest, report), "dim")]
    if smallest.once is None or smallest.per_call is None:
        price = "no price is known"
    else:
        once = f"{smallest.moment} {numbers.signed_money(smallest.once)} once"
        price = f"{once}, {numbers.signed_money(smallest.per_call)} a call"
    literals = f"{numbers.many(smallest.quoted, 'removed literal')} {'is' if smallest.quoted == 1 else 'are'}"
    yield [Span(f"  {price}"), Span(f"; {literals} quoted later" if smallest.quoted else "", "warn")]
    yield [Span(f"  {fix_command(smallest, name, place)}", "faint")]


def _describe_end(smallest: Smallest, report: Preflight) -> str:
    outlook, usable = report.outlook, report.usable
    if outlook.after is None or usable is None:
        return ""
    end = smallest.after + max(0.0, outlook.after.mid - outlook.context)
    turns = numbers.many(outlook.ahead, outlook.unit)
    where = "within" if end <= usable.tokens else "still more than"
    return f", about {numbers.tokens(end)} after {turns}: {where} the usable {numbers.tokens(usable.tokens)}"


def fix_command(smallest: Smallest, name: str, place: str) -> str:
    """The command line for session `name`, at a `place` from `advice.place_options`."""
    return f"ctxtui curate {shlex.quote(name)}{place} --after --policy budget --set target={smallest.target}"


def advice_lines(pieces: Sequence[Advice], name: str, place: str) -> Iterator[list[Span]]:
    if pieces:
        yield []
        yield [Span("What would help, ", "bold"), Span(f"{advice.note(pieces)}:", "dim")]
        yield from (spans for spans, _ in advice.lines(pieces, name, place))
