"""The pane of the next call: tokens read, written and sent fresh, cost, cache lifetime."""

from __future__ import annotations

from ctxtui.analysis.cache.keep_warm import KeepWarmStatus
from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.views.text import bars, cells, narrow, numbers
from ctxtui.views.text.signs import GUTTER, MARK
from ctxtui.views.text.span import Span, Spans, width

FULL_HEIGHT: int = 7
EXPIRY_WARNING_SECONDS: float = 60.0
KEEP_WARM_MARGIN: int = 16
"""Cells of the title rule that the pane's name and the line itself need."""
_TOKENS_END = 17


def _keep_warm_text(status: KeepWarmStatus, room: int) -> Spans:
    """Number and cost of the run's refreshes, and its limit if there is space.

    It is amber once they have stopped.
    """
    usd = numbers.money(status.usd)
    forms = (
        f"kept warm {status.count}×, {usd} of ${status.cap_usd:g}",
        f"warm {status.count}× {usd} of ${status.cap_usd:g}",
        f"warm {status.count}× {usd}",
    )
    return (Span(narrow.first_that_fits(forms, room), "warn" if status.why else "dim"),)


def notes(forecast: NextCallForecast, room: int, keep_warm: KeepWarmStatus | None = None) -> Spans:
    """Text for the title rule: an old forecast, how the cache is kept warm, or the kind."""
    if forecast.outdated:
        return [Span("forecast a moment ago", "dim")]
    if keep_warm is not None:
        return _keep_warm_text(keep_warm, room - KEEP_WARM_MARGIN)
    return [Span("forecast, markers inferred" if forecast.inferred and room >= 40 else "forecast", "dim")]


def lines(forecast: NextCallForecast, now: float, room: int, height: int) -> list[Spans]:
    """The body in at most `height` lines; `now` in Unix seconds.

    Below `FULL_HEIGHT` the four parts share one line.

    """
    if height < FULL_HEIGHT:
        return [_figures_line(forecast, room), _total_line(forecast, room, now), _lifetime_line(forecast, now, room)][
            : max(1, height)
        ]
    most = max(forecast.read, forecast.write, forecast.fresh, forecast.answer, 1)
    parts = (("read", "readtx", forecast.read), ("write", "write", forecast.write), ("fresh", "fresh", forecast.fresh))
    out: list[Spans] = [
        _line(name, GUTTER[name].span, Span(numbers.tokens(n), style), name, n, most=most, usd=usd, room=room)
        for (name, style, n), usd in zip(parts, forecast.usd[:3], strict=True)
    ]
    answer = Span(numbers.typical(forecast.answer) if forecast.answer else numbers.NOT_YET, "dim")
    out.append(
        _line("answer", Span("›", "dim"), answer, "dim", forecast.answer, most=most, usd=forecast.usd[3], room=room)
    )
    out.append([Span(" "), Span("─" * max(0, room - 2), "hair")])
    return [*out, _total_line(forecast, room, now), _lifetime_line(forecast, now, room)]


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


def _figures_line(forecast: NextCallForecast, room: int) -> Spans:
    parts = (("read", forecast.read), ("write", forecast.write), ("fresh", forecast.fresh))
    answer = Span("›", "dim"), Span(numbers.typical(forecast.answer) if forecast.answer else numbers.NOT_YET, "dim")
    return narrow.figures([*((GUTTER[name].span, Span(numbers.tokens(n), name)) for name, n in parts), answer], room)


def _total_line(forecast: NextCallForecast, room: int, now: float) -> Spans:
    spans = [Span(" ≈ ", "dim"), Span(numbers.money(forecast.total), "ink bold")]
    # The figures are from the time of the recording; a cache that has expired since saves nothing.
    left = forecast.seconds_left(now)
    is_expired = left is not None and left <= 0
    half = (forecast.hi - forecast.lo) / 2
    if forecast.input and half and not (is_expired and room < 34):
        spans.append(Span(f" ±{max(1, round(100 * half / forecast.input))} %", "dim"))
    if forecast.uncached and forecast.total is not None:
        saved = 1 - forecast.total / forecast.uncached
        uncached_text, saves = Span(f"   uncached {numbers.money(forecast.uncached)}", "dim"), list[Span]()
        if saved > 0.005:
            share = Span(f"{100 * saved:.0f} %", "dim" if is_expired else "ok bold")
            saves = [
                Span(f"   {'saved' if is_expired else 'saves'} ", "dim"),
                share,
                Span(" then" if is_expired else "", "dim"),
            ]
        if room >= 40 and width([*spans, uncached_text, *saves]) <= room:
            spans.append(uncached_text)
        spans += saves
    return spans


def _lifetime_line(forecast: NextCallForecast, now: float, room: int) -> Spans:
    marks = [
        Span(
            " " + MARK["automatic breakpoint" if forecast.inferred else "breakpoint"].glyph * forecast.marker_count,
            "accent",
        )
    ]
    life = (
        f" {forecast.life / 3600:.0f}h"
        if forecast.life >= 3600
        else f" {forecast.life / 60:.0f}m"
        if forecast.life
        else ""
    )
    lead = [*(marks if forecast.marker_count else [Span(" ")]), Span(life, "dim")]
    left = forecast.seconds_left(now)
    if left is None:
        texts = ("when that expires is not known", "expiry not known") if forecast.read else ("nothing is cached",)
        return [*lead, Span(f"  {narrow.first_that_fits(texts, room - width(lead) - 3)}", "dim")]
    if left <= 0:
        return [*lead, Span("  expired", "crit bold"), Span(f" {numbers.ago(-left)} ago", "dim")]
    style = "warn bold" if left < EXPIRY_WARNING_SECONDS else "ink bold"
    spans = [*lead, Span("  expires in ", "dim"), Span(numbers.countdown(left), style), Span(" ")]
    bar = max(0, room - sum(cells.width(span.text) for span in spans) - 1)
    return [
        *spans,
        *(
            bars.level(left, forecast.life or left, bar, "warn" if left < EXPIRY_WARNING_SECONDS else "readtx")
            if bar > 3
            else ()
        ),
    ]


def plain_lines(forecast: NextCallForecast, now: float) -> list[Spans]:
    """The same for plain output: an empty line, the figures, then cost and lifetime."""
    figures = [
        Span("next call  ", "bold"),
        Span(f"read {numbers.tokens(forecast.read)}", "read"),
        Span(f"  write {numbers.tokens(forecast.write)}", "write"),
        Span(f"  fresh {numbers.tokens(forecast.fresh)}", "fresh"),
        Span(f"  answer {numbers.typical(forecast.answer)}", "dim"),
    ]
    return [[], [*figures, *_total_line(forecast, 80, now)], [Span("          "), *_lifetime_line(forecast, now, 60)]]
