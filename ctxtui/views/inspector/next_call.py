"""The pane of the next call: what it will read, write and send fresh, what that costs, how long the cache lives."""

from __future__ import annotations

from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.views.text import bars, cells, narrow, numbers
from ctxtui.views.text.signs import GUTTER, MARK
from ctxtui.views.text.span import Span, Spans, width

FULL: int = 7
"""Lines of the whole pane."""
SOON: float = 60.0
"""Seconds from which what is left of the lifetime is told in amber."""
_TOKENS_END = 17


def notes(what: NextCallForecast, room: int) -> list[Span]:
    """For the rule: that these figures are foretold, whether before the context grew, and whether the client's markers
    were inferred."""
    if what.outdated:
        return [Span("forecast a moment ago", "dim")]
    return [Span("forecast, markers inferred" if what.inferred and room >= 40 else "forecast", "dim")]


def lines(what: NextCallForecast, now: float, room: int, height: int) -> list[Spans]:
    """The body in at most `height` lines: all of it, or the figures in one line, the total, the lifetime."""
    if height < FULL:
        return [_in_one(what, room), _total(what, room, now), _life(what, now, room)][: max(1, height)]
    most = max(what.read, what.write, what.fresh, what.answer, 1)
    parts = (("read", "readtx", what.read), ("write", "write", what.write), ("fresh", "fresh", what.fresh))
    out: list[Spans] = [
        _line(name, GUTTER[name].span, Span(numbers.tokens(n), style), name, n, most=most, usd=usd, room=room)
        for (name, style, n), usd in zip(parts, what.usd[:3], strict=True)
    ]
    answer = Span(numbers.typical(what.answer) if what.answer else numbers.NOT_YET, "dim")
    out.append(_line("answer", Span("›", "dim"), answer, "dim", what.answer, most=most, usd=what.usd[3], room=room))
    out.append([Span(" "), Span("─" * max(0, room - 2), "hair")])
    return [*out, _total(what, room, now), _life(what, now, room)]


def _line(
    name: str, sign: Span, figure: Span, bar_style: str, n: int, *, most: int, usd: float | None, room: int
) -> Spans:
    bar = max(0, room - _TOKENS_END - 11)
    money = numbers.money(usd)
    bold = " bold" if n >= 1000 and name != "answer" else ""
    return [
        Span(" "),
        sign,
        Span(f" {name:<7}"),
        Span(cells.right(figure.text, _TOKENS_END - 10), figure.style + bold),
        Span(" "),
        Span(bars.line(n, most, bar).ljust(bar), bar_style),
        Span(f"{money:>9}", "faint" if money == "$0.000" else "ink"),
    ]


def _in_one(what: NextCallForecast, room: int) -> Spans:
    parts = (("read", what.read), ("write", what.write), ("fresh", what.fresh))
    answer = Span("›", "dim"), Span(numbers.typical(what.answer) if what.answer else numbers.NOT_YET, "dim")
    return narrow.figures([*((GUTTER[name].span, Span(numbers.tokens(n), name)) for name, n in parts), answer], room)


def _total(what: NextCallForecast, room: int, now: float) -> Spans:
    spans = [Span(" ≈ ", "dim"), Span(numbers.money(what.total), "ink bold")]
    # The figures are those of the time of the recording: what has expired since saves nothing any more.
    left = what.seconds_left(now)
    late = left is not None and left <= 0
    half = (what.hi - what.lo) / 2
    if what.input and half and not (late and room < 34):
        spans.append(Span(f" ±{max(1, round(100 * half / what.input))} %", "dim"))
    if what.uncached and what.total is not None:
        saved = 1 - what.total / what.uncached
        told, saves = Span(f"   uncached {numbers.money(what.uncached)}", "dim"), list[Span]()
        if saved > 0.005:
            share = Span(f"{100 * saved:.0f} %", "dim" if late else "ok bold")
            saves = [Span(f"   {'saved' if late else 'saves'} ", "dim"), share, Span(" then" if late else "", "dim")]
        if room >= 40 and width([*spans, told, *saves]) <= room:
            spans.append(told)
        spans += saves
    return spans


def _life(what: NextCallForecast, now: float, room: int) -> Spans:
    marks = [
        Span(" " + MARK["automatic breakpoint" if what.inferred else "breakpoint"].glyph * what.marker_count, "accent")
    ]
    life = f" {what.life / 3600:.0f}h" if what.life >= 3600 else f" {what.life / 60:.0f}m" if what.life else ""
    lead = [*(marks if what.marker_count else [Span(" ")]), Span(life, "dim")]
    left = what.seconds_left(now)
    if left is None:
        ways = ("when that expires is not known", "expiry not known") if what.read else ("nothing is cached",)
        return [*lead, Span(f"  {narrow.first_that_fits(ways, room - width(lead) - 3)}", "dim")]
    if left <= 0:
        return [*lead, Span("  expired", "crit bold"), Span(f" {numbers.ago(-left)} ago", "dim")]
    style = "warn bold" if left < SOON else "ink bold"
    told = [*lead, Span("  expires in ", "dim"), Span(_clock(left), style), Span(" ")]
    bar = max(0, room - sum(cells.width(span.text) for span in told) - 1)
    return [*told, *(bars.level(left, what.life or left, bar, "warn" if left < SOON else "readtx") if bar > 3 else ())]


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return (
        f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}" if whole >= 3600 else f"{whole // 60}:{whole % 60:02}"
    )


def sentence(what: NextCallForecast, now: float) -> list[Spans]:
    """The same in two lines, for plain output."""
    figures = [
        Span("next call  ", "bold"),
        Span(f"read {numbers.tokens(what.read)}", "read"),
        Span(f"  write {numbers.tokens(what.write)}", "write"),
        Span(f"  fresh {numbers.tokens(what.fresh)}", "fresh"),
        Span(f"  answer {numbers.typical(what.answer)}", "dim"),
    ]
    return [[], [*figures, *_total(what, 80, now)], [Span("          "), *_life(what, now, 60)]]
