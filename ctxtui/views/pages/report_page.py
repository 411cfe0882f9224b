"""A report as an HTML document with charts; its texts are masked already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from ctxtui.analysis.findings.priced import Findings
from ctxtui.analysis.growth.feasible import GrowthReport
from ctxtui.analysis.growth.growth import PARTS, RESIDUAL
from ctxtui.core.category import CATEGORIES
from ctxtui.views.html import charts
from ctxtui.views.html.charts import LimitLine, Mark, StackPart
from ctxtui.views.html.document import escape, foot, head, table
from ctxtui.views.inspector.stacked_chart import sign_of
from ctxtui.views.lists import findings as finding_view
from ctxtui.views.lists import growth as growth_view
from ctxtui.views.text import numbers
from ctxtui.views.text.span import plain

MAX_PHASES: Final = 60


class ReportedCall(Struct, frozen=True):
    """One call: reported tokens read, written and fresh; cost; the cause of a cache miss.

    `usd` is None if unknown, and a lower bound if `partial`.
    """

    usage: tuple[int, int, int] | None
    usd: float | None
    missed: str = ""
    partial: bool = False


class ReportedBlock(Struct, frozen=True):
    """A heavy block: `calls` is the number of calls that contain it, `usd` its cost in these."""

    category: str
    label: str
    words: str
    tokens: int
    calls: int
    usd: float | None


class ReportedSession(Struct, frozen=True, kw_only=True):
    """One session of the document.

    `growth`, `findings` and `calls` describe one thread; `parts` is the bill as (name, USD, tokens), `usd` its
    sum. `number` is the call that it is about (0: all).
    """

    title: str
    facts: tuple[str, ...]
    growth: GrowthReport
    findings: Findings
    calls: tuple[ReportedCall, ...]
    parts: tuple[tuple[str, float, int], ...]
    blocks: tuple[ReportedBlock, ...]
    usd: float | None
    partial: bool = False
    number: int = 0
    paid: Mapping[str, float | None] = field(default_factory=dict)
    """USD by id of each call in all threads (None: unknown); a call in two files counts once."""

    @property
    def cost(self) -> str:
        has_price = self.usd is not None and not (self.partial and self.usd == 0)
        return numbers.least(self.usd, self.partial) if has_price else "unknown"

    @property
    def peak(self) -> int:
        return max((call.tokens for call in self.growth.growth.calls), default=0)


class ReportPage(Struct, frozen=True, kw_only=True):
    """The document.

    - `rest`: the number of sessions at the end that are only rows of the overview.
    - `level`: the masking level; `masked`: one line for each kind of masked text.
    - `failed`: unreadable files, each with the reason.
    """

    title: str
    sessions: tuple[ReportedSession, ...]
    rest: int = 0
    level: str = ""
    masked: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def page(report: ReportPage) -> str:
    return "\n".join(_page(report)) + "\n"


def _page(report: ReportPage) -> Iterator[str]:
    yield from head(report.title, charts.CHART_CSS + REPORT_CSS)
    masked = "; ".join(map(escape, report.masked)) or "nothing was found to mask"
    yield f"<header><h1>{escape(report.title)}</h1>"
    if len(report.sessions) == 1:
        yield f"<p>{' · '.join(map(escape, report.sessions[0].facts))}</p>"
    yield f'<p class="masked">Masked ({escape(report.level)}): {masked}</p></header><main>'
    for name, trouble in report.failed:
        yield f'<p class="warn">not read: {escape(name)}: {escape(trouble)}</p>'
    if len(report.sessions) > 1:
        yield from _overview(report)
    full_sessions = report.sessions[: len(report.sessions) - report.rest]
    for number, session in enumerate(full_sessions, 1):
        yield f'<section id="s{number}">'
        if len(report.sessions) > 1:
            facts = " · ".join(map(escape, session.facts))
            yield f'<h2 class="session">{escape(session.title)}</h2><p class="dim">{facts}</p>'
        yield from _session(session)
        yield "</section>"
    yield foot("Made by ctxtui. Money is list price; ranges cover four of five cases.")


def _overview(report: ReportPage) -> Iterator[str]:
    paid = {id_: usd for session in report.sessions for id_, usd in session.paid.items()}
    amounts = [usd for usd in paid.values() if usd is not None]
    least = len(amounts) < len(paid) or any(session.partial for session in report.sessions)
    total = numbers.least(sum(amounts), least) if amounts else "unknown"
    yield f"<h2>{numbers.many(len(report.sessions), 'session')} <small>{total} in all, each call once</small></h2>"
    most = max((session.usd for session in report.sessions if session.usd is not None), default=0.0)
    full_count = len(report.sessions) - report.rest
    rows = []
    for number, session in enumerate(report.sessions, 1):
        sizes = [call.tokens for call in session.growth.growth.calls]
        name = escape(session.title)
        best = session.findings.priced[0] if session.findings.priced else None
        rows.append(
            (
                f'<a href="#s{number}">{name}</a>' if number <= full_count else name,
                f"{len(sizes):,}",
                numbers.tokens(session.peak),
                charts.spark(sizes, f"context over {len(sizes)} calls"),
                session.cost,
                charts.bar(session.usd or 0.0, most, "b-money"),
                escape(finding_view.format_savings(best)) if best is not None else numbers.NONE,
            )
        )
    yield from table(("session", "calls", "peak", "context", "cost", "", "best fix saves"), rows, (0, 3, 5))
    if report.rest:
        yield f'<p class="dim">The {full_count:,} most expensive are shown below, the other {report.rest:,} not.</p>'


def _session(session: ReportedSession) -> Iterator[str]:
    yield from _cards(session)
    yield from _context(session)
    if session.number:
        yield from _this_call(session)
    yield from _findings(session)
    yield from _cache(session)
    yield from _cost(session)
    yield from _phases(session)
    yield from _blocks(session)


def _cards(session: ReportedSession) -> Iterator[str]:
    grown, usages = session.growth.growth, [call.usage for call in session.calls if call.usage is not None]
    read, sent = sum(usage[0] for usage in usages), sum(map(sum, usages))
    figures = [
        ("cost", session.cost),
        ("peak context", numbers.tokens(session.peak)),
        ("sent in all", numbers.tokens(grown.carry)),
        ("read from cache", numbers.share(read / sent) if sent else numbers.NOT_APPLICABLE),
        ("cache misses", f"{sum(bool(call.missed) for call in session.calls):,}"),
        ("sent before", numbers.share(grown.again.share) if grown.again.share is not None else numbers.NOT_APPLICABLE),
    ]
    cells = "".join(f"<div><b>{escape(figure)}</b><span>{escape(name)}</span></div>" for name, figure in figures)
    yield f'<div class="cards">{cells}</div>'


def _css_classes(name: str) -> tuple[str, str]:
    """CSS classes of a part: of an area, and of text."""
    if name in CATEGORIES:
        n = CATEGORIES.index(name)
        return f"f{n}", f"c{n}"
    return ("f-residual", "b-residual") if name == RESIDUAL else ("f-rest", "b-rest")


def _context(session: ReportedSession) -> Iterator[str]:
    growth, ahead = session.growth.growth, session.growth.ahead
    names = [name for name in PARTS if any(call.parts.get(name, 0) > 0 for call in growth.calls)]
    parts = [
        StackPart(sign_of(name).name, _css_classes(name)[0], [call.parts.get(name, 0) for call in growth.calls])
        for name in names
    ]
    limits = [LimitLine(ahead.window.usable, "usable")] if ahead is not None and ahead.window.usable else []
    marks = [Mark(call.number - 1, "Σ", f"cut before call {call.number:,}") for call in growth.calls if call.broken]
    if session.number:
        marks.insert(0, Mark(session.number - 1, "▲", f"call {session.number:,}", style="mark-here"))
    description = f"Context of {len(growth.calls)} calls by category, at most {numbers.tokens(session.peak)} tokens"
    yield "<h2>Context, call by call</h2><figure>"
    legend = charts.legend([(_css_classes(name)[1], sign_of(name).glyph, sign_of(name).name) for name in names])
    yield f"<figcaption>{legend}</figcaption>"
    yield charts.stacked(description, parts, height=280, limits=limits, marks=marks)
    yield "</figure>"
    yield '<dl class="sentences">'
    for sentence in growth_view.sentences(session.growth):
        yield f"<dt>{escape(sentence.name)}</dt><dd>{escape(plain(sentence.spans).strip())}</dd>"
    yield "</dl>"


def _this_call(session: ReportedSession) -> Iterator[str]:
    calls = session.growth.growth.calls
    if not 0 < session.number <= len(calls):
        return
    call, paid = calls[session.number - 1], session.calls[session.number - 1]
    usd = numbers.least(paid.usd, paid.partial)
    yield f"<h2>Call {session.number:,} <small>{numbers.exact(call.tokens)} tokens, {call.method}; {usd}</small></h2>"
    before: Mapping[str, int] = calls[session.number - 2].parts if session.number > 1 else {}
    most = max(call.parts.values(), default=0)
    rows = [
        (
            f"<span class='{_css_classes(name)[0].replace('f', 't', 1) if name in CATEGORIES else 'dim'}'>"
            f"{sign_of(name).glyph}</span> {escape(sign_of(name).name)}",
            numbers.tokens(tokens),
            numbers.share(tokens / call.tokens) if call.tokens else "",
            numbers.signed(tokens - before.get(name, 0)),
            charts.bar(tokens, most, _css_classes(name)[1]),
        )
        for name, tokens in sorted(call.parts.items(), key=lambda item: -item[1])
    ]
    yield from table(("category", "tokens", "share", "since the call before", ""), rows, (0, 4))
    if paid.missed:
        yield f'<p class="warn">The cache missed: {escape(paid.missed)}</p>'


def _findings(session: ReportedSession) -> Iterator[str]:
    findings = session.findings
    yield f"<h2>Findings <small>{escape(finding_view.note(findings))}</small></h2>"
    if not findings.priced:
        yield f'<p class="dim">{escape(finding_view.none_found(findings))}</p>'
    else:
        rows = []
        for finding in findings.priced:
            price = "<br>".join(escape(plain(line).strip()) for line in finding_view.price_lines(finding, findings))
            problem = escape(finding_view.sentence(finding.finding))
            about = f"<b>{problem}</b><br>{escape(finding_view.fix(finding.finding))}"
            rows.append((escape(finding_view.format_savings(finding)), f'{about}<div class="dim">{price}</div>'))
        yield from table(("saves", "problem and fix"), rows, (1,))
    for missing in findings.lacks:
        yield f'<p class="dim">Not checked: {escape(missing)}</p>'


def _cache(session: ReportedSession) -> Iterator[str]:
    if not any(call.usage for call in session.calls):
        return
    usages = [call.usage or (0, 0, 0) for call in session.calls]
    parts = [
        StackPart(name, f"f-{name}", [usage[n] for usage in usages])
        for n, name in enumerate(("read", "write", "fresh"))
    ]
    marks = [
        Mark(at, "▼", f"call {at + 1:,}: {call.missed}", style="mark-miss")
        for at, call in enumerate(session.calls)
        if call.missed
    ]
    yield "<h2>What the cache did</h2><figure><figcaption>"
    yield charts.legend([(f"b-{name}", "", name) for name in ("read", "write", "fresh")])
    yield "</figcaption>"
    yield charts.stacked("Input of each call: read from the cache, written to it, neither", parts, marks=marks)
    yield "</figure>"


def _cost(session: ReportedSession) -> Iterator[str]:
    if session.usd is None:
        is_reported = any(call.usage for call in session.calls)
        reason = "No price is known for the model." if is_reported else "No usage is recorded."
        yield f'<h2>What it cost</h2><p class="dim">{reason}</p>'
        return
    yield f"<h2>What it cost <small>{session.cost}, list price</small></h2>"
    most = max((usd for _, usd, _ in session.parts), default=0.0)
    rows = [
        (escape(name), numbers.tokens(tokens), numbers.money(usd), charts.bar(usd, most, "b-money"))
        for name, usd, tokens in session.parts
        if usd or tokens
    ]
    yield from table(("part", "tokens", "USD", ""), rows, (0, 3))
    if len(session.calls) > 1:
        sums, total = [], 0.0
        for call in session.calls:
            total += call.usd or 0.0
            sums.append(total)
        yield "<figure><figcaption>cost so far, call by call (this thread)</figcaption>"
        yield charts.curves(
            "Cost so far, call by call", [charts.Curve("cost so far", "", "line1", sums)], height=180, figure=_usd
        )
        yield "</figure>"


def _usd(value: float) -> str:
    return f"${value:,.2f}" if value < 100 else f"${value:,.0f}"


def _phases(session: ReportedSession) -> Iterator[str]:
    growth = session.growth.growth
    if len(growth.phases) < 2:
        return
    yield f"<h2>Phases <small>by {escape(growth.rule or 'name')}</small></h2>"
    most = max((phase.growth for phase in growth.phases), default=0)
    rows = []
    for phase, parts in list(zip(growth.phases, growth.by_phase, strict=True))[-MAX_PHASES:]:
        rising = [part for part in parts if part.growth > 0]
        calls = f"{phase.first:,}–{phase.last:,}" if phase.calls > 1 else f"{phase.first:,}"
        rows.append(
            (
                escape(phase.name or "before the first"),
                calls,
                escape(sign_of(rising[0].name).name) if rising else numbers.NONE,
                numbers.signed(phase.growth),
                numbers.tokens(phase.peak),
                numbers.tokens(phase.sent),
                numbers.least(phase.least, phase.usd is None),
                charts.bar(phase.growth, most, "b-write"),
            )
        )
    yield from table(("phase", "calls", "what grew", "growth", "peak", "sent", "cost", ""), rows, (0, 2, 7))
    if len(growth.phases) > MAX_PHASES:
        yield f'<p class="dim">The last {MAX_PHASES} of {len(growth.phases):,}.</p>'


def _blocks(session: ReportedSession) -> Iterator[str]:
    if not session.blocks:
        return
    yield "<h2>Heaviest blocks <small>by tokens x calls that they stayed</small></h2>"
    rows = []
    for block in session.blocks:
        sign = sign_of(block.category)
        n = CATEGORIES.index(block.category) if block.category in CATEGORIES else 0
        label = f"<b>{escape(block.label)}</b> " if block.label and not block.words.startswith(block.label) else ""
        rows.append(
            (
                f'<span class="t{n}">{sign.glyph}</span> {label}{escape(block.words)}',
                numbers.tokens(block.tokens),
                f"{block.calls:,}",
                numbers.money(block.usd) if block.usd is not None else "unknown",
            )
        )
    yield from table(("block", "tokens", "calls", "cost"), rows)


REPORT_CSS: Final = """
.warn{color:var(--warn)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem;margin:1rem 0}
.cards div{background:var(--panel);padding:.6rem .8rem}
.cards b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}
.cards span{color:var(--dim);font-size:13px}
.wide{overflow-x:auto}
table{width:100%}
th{color:var(--dim);font-weight:400;text-align:right;padding:.2rem 1.2rem .2rem 0;vertical-align:bottom}
td{text-align:right;padding:.25rem 1.2rem .25rem 0;border-top:1px solid var(--hair);vertical-align:top}
td:not(.left){white-space:nowrap}
th.left,td.left{text-align:left;overflow-wrap:anywhere;min-width:5rem}
td.left:first-child{min-width:9rem}
a{color:var(--accent)}
h2.session{border-top:2px solid var(--hair);padding-top:1.2rem;margin-top:3rem;font-size:1.2rem}
.sentences{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.6rem 0}
.sentences dt{color:var(--dim)}
.sentences dd{margin:0}
@media (max-width:50rem){th,td{padding-right:.6rem}.track{width:4rem}}
"""
