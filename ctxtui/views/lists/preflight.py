"""What lies ahead, in a few lines: growth, limits, money, and what a compaction would eat."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from ctxtui.analysis.growth.projection import TURN, Limit, Outlook, Preflight
from ctxtui.analysis.growth.units_ahead import Range
from ctxtui.curation.price.advice import Advice, Smallest
from ctxtui.views.lists import advice
from ctxtui.views.text import cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span

_SHOWN = 8
_NAME = 12


def lines(what: Preflight) -> Iterator[list[Span]]:
    """The report, line by line."""
    seen = what.outlook
    of = f" of {numbers.tokens(what.window.limit)} ({what.window.origin_text})" if what.window.limit else ""
    yield _row("now", numbers.tokens(seen.context), f"tokens{of}, after {units(seen.unit, seen.turns)}")
    if seen.growth is None:
        yield _row("growth", numbers.NOT_YET, "no turn tells yet how the context grows")
    else:
        missed = f"; {seen.rewrites:.1f} cache misses a {seen.unit}" if seen.rewrites else ""
        words = f"tokens{_between(seen.growth)}{_calls(seen)}{missed}"
        yield _row(f"a {seen.unit}", numbers.signed(seen.growth.mid), words)
    if what.usable:
        yield _row("usable", numbers.tokens(what.usable.tokens), when(what.usable, seen))
    if what.compaction:
        how = {"observed": "as it did before", "assumed": "assumed: the client's default"}[what.compaction.how]
        yield _row("compacts", numbers.tokens(what.compaction.tokens), f"{when(what.compaction, seen)} ({how})")
    yield _row(units(seen.unit, seen.ahead), *_money(seen))
    if what.partial:
        yield _row("", "", f"at least: {what.partial:,} answers are not reported in full, what is known of them counts")
    if seen.after is not None:
        yield _row("context", numbers.tokens(seen.after.mid), _after(seen.after, what.window.limit))
    yield from _eaten(what)


def _row(name: str, figure: str, words: str) -> list[Span]:
    return [Span(cells.left(name, _NAME), "dim"), Span(cells.right(figure, 8), "bold"), Span("  " + words)]


def units(unit: str, n: int) -> str:
    """So many turns, rounds or phases."""
    return f"{n:,} {unit}{'' if n == 1 else 's'}"


def _between(value: Range) -> str:
    return f" ({numbers.signed(value.low)} to {numbers.signed(value.high)})"


def _calls(seen: Outlook) -> str:
    if seen.calls is None:
        return ""
    low, mid, high = (max(1, round(n)) for n in seen.calls)
    spread = f" ({low} to {high})" if low != high else ""
    return f", {mid} call{'' if mid == 1 else 's'}{spread}"


def when(limit: Limit, seen: Outlook, unit: str = "") -> str:
    """In how many of `unit` ("": what `seen` counts) a limit is met."""
    unit = unit or seen.unit
    soon, mid, late = limit.turns
    if soon == 0:
        return "passed already"
    if mid is None:
        sooner = f"not at the usual pace, in {units(unit, soon)} at the soonest" if soon is not None else ""
        return sooner or "not at this pace"
    spread = "" if soon == late else f" ({soon or '?'} to {late if late is not None else 'never'})"
    return f"in {units(unit, mid)}{spread}"


def _money(seen: Outlook) -> tuple[str, str]:
    if seen.growth is None:
        return numbers.NOT_YET, f"no {TURN} tells yet what a {TURN} costs"
    if seen.usd is None:
        return "unknown", "no price is known"
    low, high = numbers.money(seen.usd.low), numbers.money(seen.usd.high)
    return numbers.money(seen.usd.mid), f"{low} to {high} in four of five cases, list price"


def _after(after: Range, window: int) -> str:
    told = f"{numbers.tokens(after.low)} to {numbers.tokens(after.high)} after them, without a compaction"
    return f"{told}: more than the limit" if window and after.mid > window else told


def _eaten(what: Preflight) -> Iterator[list[Span]]:
    total = sum(what.eaten.values())
    if not total:
        return
    yield []
    yield [Span(f"A compaction now would put a summary in place of {numbers.tokens(total)} tokens:", "bold")]
    for name, tokens in what.eaten.items():
        sign = signs.category(name)
        row = [Span(f"  {sign.glyph} ", sign.style), Span(cells.left(sign.name, 12), sign.style)]
        yield [*row, Span(cells.right(numbers.tokens(tokens), 8))]
    if what.asked:
        yield [Span(f"What people said in it ({len(what.asked)}):", "bold")]
    for one in what.asked[:_SHOWN]:
        words = cells.fit(safe_text.one_line(one.words), 64)
        yield [Span(cells.right(str(one.turn), 5) + "  ", "faint"), Span(words)]
    if len(what.asked) > _SHOWN:
        yield [Span(f"       and {len(what.asked) - _SHOWN} more", "dim")]


def cure(found: Smallest | None, name: str) -> Iterator[list[Span]]:
    """The smallest set of edits that keeps the turns of the session called `name` below the usable window."""
    if found is None:
        return
    yield []
    if not found.kinds:
        yield [Span("No reversible edit would make room: ", "warn"), Span("the newest rounds fill the window.")]
        return
    what = ", ".join(f"{n:,} x {kind.replace('_', ' ')}" for kind, n in found.kinds.items())
    enough = "stays below it" if found.is_reached else f"comes to {numbers.tokens(found.after)}, not yet below"
    yield [Span("To have room: ", "bold"), Span(what), Span(f"; {found.risk.description}", "dim")]
    yield [
        Span("  context ", "dim"),
        Span(f"{numbers.tokens(found.before)} → {numbers.tokens(found.after)}", "ink bold"),
        Span(f", {enough}; {found.moment} {numbers.signed_money(found.once)} once, ", "dim"),
        Span(f"{numbers.signed_money(found.per_call)} a call"),
        Span(f"; {found.quoted} of it quoted later" if found.quoted else "", "warn"),
    ]
    yield [Span(f"  ctxtui curate {shlex.quote(name)} --after --policy budget --set target={found.target}", "faint")]


def helps(every: Sequence[Advice], name: str) -> Iterator[list[Span]]:
    """What would help from here on, what risks least first."""
    if every:
        yield []
        yield [Span("What would help, ", "bold"), Span(f"{advice.note(every)}:", "dim")]
        yield from (spans for spans, _ in advice.lines(every, name))
