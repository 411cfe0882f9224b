"""The lab as an HTML document: a table of variants and a chart of contexts for each session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ctxtui.analysis.lab.report import SessionLab
from ctxtui.views.html import charts
from ctxtui.views.html.document import escape, foot, head, table
from ctxtui.views.lists.lab import LEGEND, STAR, LabLine, lab_lines
from ctxtui.views.text import numbers


def lab_page(labs: Sequence[SessionLab], mask: Callable[[str], str]) -> str:
    """Render the document; `mask` removes secrets from titles, outcomes and notes."""
    return "".join(_page(labs, mask))


def _page(labs: Sequence[SessionLab], mask: Callable[[str], str]) -> Iterator[str]:
    yield from head("What if", charts.CHART_CSS)
    yield "<header><h1>What if: other policies, caches and models</h1>"
    yield "<p>Recorded sessions, call by call; no model was called.</p></header><main>"
    for lab in labs:
        yield f"<h2>{escape(mask(lab.title))} <small>{numbers.many(lab.calls, 'call')}</small></h2>"
        lines = lab_lines(lab)
        yield from _table(lines)
        yield from _chart(lab, lines)
        for name, value in lab.outcomes:
            yield f"<p>outcome {escape(mask(name))}: {escape(mask(value))}</p>"
        for note in lab.notes:
            yield f'<p class="dim">{escape(mask(note))}</p>'
    yield foot(
        "Made by ctxtui lab; as_recorded has the recording's figures, the other rows add simulated differences; "
        "answers are as recorded."
    )


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
    yield f'<p class="dim">{escape(LEGEND)}</p>'


def _row(line: LabLine) -> list[str]:
    row = line.row
    parts = [
        numbers.tokens(n) if n is not None else "?"
        for n in (row.peak, row.final, row.total, row.read, row.write, row.fresh)
    ]
    counts = [f"{n:,}" if n else "·" for n in (row.rewrites, row.over, row.dependence)]
    cost = numbers.least(row.usd, row.at_least) if row.usd is not None else "unknown"
    saves = "" if line.saves is None or row.is_recorded else numbers.share(line.saves, 0)
    return [STAR if line.best else "", escape(line.name), *parts, *counts, cost, saves]


def _chart(lab: SessionLab, lines: Sequence[LabLine]) -> Iterator[str]:
    shown = sorted((line for line in lines if line.letter), key=lambda line: not line.row.is_recorded)
    if not shown or len(lab.drawn) < 2:
        return
    curves = [
        charts.Curve(line.name, line.letter, f"line{n}", [line.row.curve[i] for i in lab.drawn])
        for n, line in enumerate(shown)
    ]
    limits = [charts.LimitLine(lab.usable, "usable")] if lab.usable else []
    yield "<figure><figcaption>context of the longest thread's calls: "
    yield escape(" · ".join(f"{line.letter} {line.name}" for line in shown))
    yield "</figcaption>"
    description = "The context of the calls of the longest thread, under the variants with a letter"
    calls = [lab.numbers[i] for i in lab.drawn]
    yield charts.curves(description, curves, height=320, limits=limits, calls=calls)
    yield "</figure>"
