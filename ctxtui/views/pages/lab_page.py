"""The lab as one document: a table of the variants and their curves, for each session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ctxtui.analysis.lab.report import SessionLab
from ctxtui.views.html import charts
from ctxtui.views.html.document import foot, head, safe, table
from ctxtui.views.lists.lab import STAR, LabLine, lab_lines, variant_words
from ctxtui.views.text import numbers


def lab_page(found: Sequence[SessionLab], masked: Callable[[str], str]) -> str:
    """The document; `masked` takes secrets out of what the recordings say."""
    return "".join(_page(found, masked))


def _page(found: Sequence[SessionLab], masked: Callable[[str], str]) -> Iterator[str]:
    yield from head("What if", charts.RULES)
    yield "<header><h1>What if: other policies, caches and models</h1>"
    yield "<p>Recorded sessions, call by call; no model was called.</p></header><main>"
    for one in found:
        yield f"<h2>{safe(masked(one.title))} <small>{one.calls:,} calls</small></h2>"
        lines = lab_lines(one)
        yield from _table(lines)
        yield from _chart(one, lines)
        for name, value in one.outcomes:
            yield f"<p>outcome {safe(masked(name))}: {safe(masked(value))}</p>"
        for note in one.notes:
            yield f'<p class="dim">{safe(masked(note))}</p>'
    yield foot("Made by ctxtui lab; figures are simulated, answers as recorded.")


def _table(lines: Sequence[LabLine]) -> Iterator[str]:
    if not lines:
        return
    heads = (
        "",
        "variant",
        "peak",
        "final",
        "sent",
        "read",
        "write",
        "fresh",
        "rewrites",
        "over",
        "quoted",
        "cost",
        "saves",
    )
    yield from table(heads, (_row(line) for line in lines), (0, 1))


def _row(line: LabLine) -> list[str]:
    row = line.row
    parts = [
        numbers.tokens(n) if n is not None else "?"
        for n in (row.peak, row.final, row.total, row.read, row.write, row.fresh)
    ]
    counts = [f"{n:,}" if n else "·" for n in (row.rewrites, row.over, row.dependence)]
    cost = numbers.money(row.usd) if row.usd is not None else "unknown"
    saves = "" if line.saves is None or row.is_recorded else f"{100 * line.saves:.0f} %".replace("-", "−")
    return [STAR if line.best else "", safe(variant_words(row)), *parts, *counts, cost, saves]


def _chart(one: SessionLab, lines: Sequence[LabLine]) -> Iterator[str]:
    shown = sorted((line for line in lines if line.letter), key=lambda line: not line.row.is_recorded)
    if not shown or len(one.drawn) < 2:
        return
    every = [
        charts.Curve(variant_words(line.row), line.letter, f"line{n}", [line.row.curve[i] for i in one.drawn])
        for n, line in enumerate(shown)
    ]
    limits = [charts.LimitLine(one.usable, "usable")] if one.usable else []
    yield "<figure><figcaption>context per call: "
    yield safe(" · ".join(f"{line.letter} {variant_words(line.row)}" for line in shown))
    yield "</figcaption>"
    yield charts.curves("The context of each call under every variant", every, height=320, limits=limits)
    yield "</figure>"
