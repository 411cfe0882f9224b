"""A report as one document: what a session, or several, or one call came to, with charts; everything in it is masked
before it gets here.
"""

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
from ctxtui.views.html.document import foot, head, safe, table
from ctxtui.views.inspector.stacked_chart import sign_of
from ctxtui.views.lists import findings as finding_view
from ctxtui.views.lists import growth as growth_view
from ctxtui.views.text import numbers
from ctxtui.views.text.span import plain

MOST_PHASES: Final = 60
"""Phases that the table has; more are said to be there."""


class ReportedCall(Struct, frozen=True):
    """What one call was reported to read, write and send fresh (None: no report), what it cost in all (USD; None: not
    known; the least where its answer is reported in part, `partial`), and why it missed the cache ("": it did not)."""

    usage: tuple[int, int, int] | None
    usd: float | None
    missed: str = ""
    partial: bool = False


class ReportedBlock(Struct, frozen=True):
    """A heavy block: its `category`, `label` and first `words`, tokens, in how many calls it stood, USD for that."""

    category: str
    label: str
    words: str
    tokens: int
    calls: int
    usd: float | None


class ReportedSession(Struct, frozen=True, kw_only=True):
    """What the document says of one session. `facts` are short texts, `growth` and `found` those of its main thread,
    `calls` that thread's calls, `parts` the bill as (name, USD, tokens), `usd` its sum (None: no price is known).
    `number` is the call that it is about (0: all)."""

    title: str
    facts: tuple[str, ...]
    growth: GrowthReport
    found: Findings
    calls: tuple[ReportedCall, ...]
    parts: tuple[tuple[str, float, int], ...]
    blocks: tuple[ReportedBlock, ...]
    usd: float | None
    partial: bool = False
    number: int = 0
    paid: Mapping[str, float | None] = field(default_factory=dict)
    """USD by the id of each call of every thread (None: not known): a call that stands in two files counts once."""

    @property
    def cost(self) -> str:
        """Its sum in words."""
        known = self.usd is not None and not (self.partial and self.usd == 0)
        return numbers.least(self.usd, self.partial) if known else "unknown"

    @property
    def peak(self) -> int:
        """The largest context, in tokens."""
        return max((call.tokens for call in self.growth.growth.calls), default=0)


class ReportPage(Struct, frozen=True, kw_only=True):
    """The whole document: sessions in order, those that are told in a row only (`rest`), how much is masked and what
    that found, files that could not be read with the reason."""

    title: str
    sessions: tuple[ReportedSession, ...]
    rest: int = 0
    level: str = ""
    masked: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def page(what: ReportPage) -> str:
    """The HTML: no script, nothing loaded from anywhere."""
    return "\n".join(_page(what)) + "\n"


def _page(what: ReportPage) -> Iterator[str]:
    yield from head(what.title, charts.RULES + _RULES)
    masked = "; ".join(map(safe, what.masked)) or "nothing was found to mask"
    yield f"<header><h1>{safe(what.title)}</h1>"
    if len(what.sessions) == 1:
        yield f"<p>{' · '.join(map(safe, what.sessions[0].facts))}</p>"
    yield f'<p class="masked">Masked ({safe(what.level)}): {masked}</p></header><main>'
    for name, trouble in what.failed:
        yield f'<p class="warn">not read: {safe(name)}: {safe(trouble)}</p>'
    if len(what.sessions) > 1:
        yield from _overview(what)
    whole = what.sessions[: len(what.sessions) - what.rest]
    for number, one in enumerate(whole, 1):
        yield f'<section id="s{number}">'
        if len(what.sessions) > 1:
            yield f'<h2 class="session">{safe(one.title)}</h2><p class="dim">{" · ".join(map(safe, one.facts))}</p>'
        yield from _session(one)
        yield "</section>"
    yield foot("Made by ctxtui. Money is list price; a range holds what comes in four of five cases.")


def _overview(what: ReportPage) -> Iterator[str]:
    paid = {id_: usd for one in what.sessions for id_, usd in one.paid.items()}
    known = [usd for usd in paid.values() if usd is not None]
    least = len(known) < len(paid) or any(one.partial for one in what.sessions)
    total = numbers.least(sum(known), least) if known else "unknown"
    yield f"<h2>{len(what.sessions):,} sessions <small>{total} in all, each call once</small></h2>"
    most = max((one.usd for one in what.sessions if one.usd is not None), default=0.0)
    told = len(what.sessions) - what.rest
    rows = []
    for number, one in enumerate(what.sessions, 1):
        sizes = [call.tokens for call in one.growth.growth.calls]
        name = safe(one.title)
        best = one.found.found[0] if one.found.found else None
        rows.append(
            (
                f'<a href="#s{number}">{name}</a>' if number <= told else name,
                f"{len(sizes):,}",
                numbers.tokens(one.peak),
                charts.spark(sizes, f"context over {len(sizes)} calls"),
                one.cost,
                charts.bar(one.usd or 0.0, most, "b-money"),
                safe(finding_view.saved(best)) if best is not None else numbers.NONE,
            )
        )
    yield from table(("session", "calls", "peak", "context", "cost", "", "best cure saves"), rows, (0, 3, 5))
    if what.rest:
        yield f'<p class="dim">The {told:,} dearest are told in full below, the other {what.rest:,} only here.</p>'


def _session(one: ReportedSession) -> Iterator[str]:
    yield from _cards(one)
    yield from _context(one)
    if one.number:
        yield from _this_call(one)
    yield from _findings(one)
    yield from _cache(one)
    yield from _cost(one)
    yield from _phases(one)
    yield from _blocks(one)


def _cards(one: ReportedSession) -> Iterator[str]:
    grown, usages = one.growth.growth, [call.usage for call in one.calls if call.usage is not None]
    read, sent = sum(usage[0] for usage in usages), sum(map(sum, usages))
    figures = [
        ("cost", one.cost),
        ("peak context", numbers.tokens(one.peak)),
        ("sent in all", numbers.tokens(grown.carry)),
        ("read from cache", numbers.share(read / sent) if sent else numbers.NOT_APPLICABLE),
        ("cache misses", f"{sum(bool(call.missed) for call in one.calls):,}"),
        ("sent before", numbers.share(grown.again.share) if grown.again.share is not None else numbers.NOT_APPLICABLE),
    ]
    cells = "".join(f"<div><b>{safe(figure)}</b><span>{safe(name)}</span></div>" for name, figure in figures)
    yield f'<div class="cards">{cells}</div>'


def _fills(name: str) -> tuple[str, str]:
    """The classes of a part, as an area and beside a text."""
    if name in CATEGORIES:
        n = CATEGORIES.index(name)
        return f"f{n}", f"c{n}"
    return ("f-residual", "b-residual") if name == RESIDUAL else ("f-rest", "b-rest")


def _context(one: ReportedSession) -> Iterator[str]:
    grown, ahead = one.growth.growth, one.growth.ahead
    names = [name for name in PARTS if any(call.parts.get(name, 0) > 0 for call in grown.calls)]
    parts = [
        StackPart(sign_of(name).name, _fills(name)[0], [call.parts.get(name, 0) for call in grown.calls])
        for name in names
    ]
    limits = [LimitLine(ahead.window.usable, "usable")] if ahead is not None and ahead.window.usable else []
    marks = [Mark(call.number - 1, "Σ", f"cut before call {call.number:,}") for call in grown.calls if call.broken]
    if one.number:
        marks.insert(0, Mark(one.number - 1, "▲", f"call {one.number:,}", style="mark-here"))
    says = f"Context of {len(grown.calls)} calls by category, at most {numbers.tokens(one.peak)} tokens"
    yield "<h2>Context, call by call</h2><figure>"
    legend = charts.legend([(_fills(name)[1], sign_of(name).glyph, sign_of(name).name) for name in names])
    yield f"<figcaption>{legend}</figcaption>"
    yield charts.stacked(says, parts, height=280, limits=limits, marks=marks)
    yield "</figure>"
    yield '<dl class="sentences">'
    for sentence in growth_view.sentences(one.growth):
        yield f"<dt>{safe(sentence.name)}</dt><dd>{safe(plain(sentence.spans).strip())}</dd>"
    yield "</dl>"


def _this_call(one: ReportedSession) -> Iterator[str]:
    calls = one.growth.growth.calls
    if not 0 < one.number <= len(calls):
        return
    call, paid = calls[one.number - 1], one.calls[one.number - 1]
    usd = numbers.least(paid.usd, paid.partial)
    yield f"<h2>Call {one.number:,} <small>{numbers.exact(call.tokens)} tokens, {call.method}; {usd}</small></h2>"
    before: Mapping[str, int] = calls[one.number - 2].parts if one.number > 1 else {}
    most = max(call.parts.values(), default=0)
    rows = [
        (
            f"<span class='{_fills(name)[0].replace('f', 't', 1) if name in CATEGORIES else 'dim'}'>"
            f"{sign_of(name).glyph}</span> {safe(sign_of(name).name)}",
            numbers.tokens(tokens),
            numbers.share(tokens / call.tokens) if call.tokens else "",
            numbers.signed(tokens - before.get(name, 0)),
            charts.bar(tokens, most, _fills(name)[1]),
        )
        for name, tokens in sorted(call.parts.items(), key=lambda item: -item[1])
    ]
    yield from table(("category", "tokens", "share", "since the call before", ""), rows, (0, 4))
    if paid.missed:
        yield f'<p class="warn">The cache missed: {safe(paid.missed)}</p>'


def _findings(one: ReportedSession) -> Iterator[str]:
    found = one.found
    yield f"<h2>Findings <small>{safe(finding_view.note(found))}</small></h2>"
    if not found.found:
        yield f'<p class="dim">{safe(finding_view.none(found))}</p>'
    else:
        rows = []
        for each in found.found:
            price = "<br>".join(safe(plain(line).strip()) for line in finding_view.price_lines(each, found))
            about = f"<b>{safe(finding_view.sentence(each.finding))}</b><br>{safe(finding_view.cure(each.finding))}"
            rows.append((safe(finding_view.saved(each)), f'{about}<div class="dim">{price}</div>'))
        yield from table(("saves", "what is the case, and what cures it"), rows, (1,))
    for lacking in found.lacks:
        yield f'<p class="dim">Not told: {safe(lacking)}</p>'


def _cache(one: ReportedSession) -> Iterator[str]:
    if not any(call.usage for call in one.calls):
        return
    usages = [call.usage or (0, 0, 0) for call in one.calls]
    parts = [
        StackPart(name, f"f-{name}", [usage[n] for usage in usages])
        for n, name in enumerate(("read", "write", "fresh"))
    ]
    marks = [
        Mark(at, "▼", f"call {at + 1:,}: {call.missed}", style="mark-miss")
        for at, call in enumerate(one.calls)
        if call.missed
    ]
    yield "<h2>What the cache did</h2><figure><figcaption>"
    yield charts.legend([(f"b-{name}", "", name) for name in ("read", "write", "fresh")])
    yield "</figcaption>"
    yield charts.stacked("Input of each call: read from the cache, written to it, neither", parts, marks=marks)
    yield "</figure>"


def _cost(one: ReportedSession) -> Iterator[str]:
    if one.usd is None:
        yield '<h2>What it cost</h2><p class="dim">No price is known for the model.</p>'
        return
    yield f"<h2>What it cost <small>{one.cost}, list price</small></h2>"
    most = max((usd for _, usd, _ in one.parts), default=0.0)
    rows = [
        (safe(name), numbers.tokens(tokens), numbers.money(usd), charts.bar(usd, most, "b-money"))
        for name, usd, tokens in one.parts
        if usd or tokens
    ]
    yield from table(("part", "tokens", "USD", ""), rows, (0, 3))
    if len(one.calls) > 1:
        sums, total = [], 0.0
        for call in one.calls:
            total += call.usd or 0.0
            sums.append(total)
        yield "<figure><figcaption>cost so far, call by call (this thread)</figcaption>"
        yield charts.curves(
            "Cost so far, call by call", [charts.Curve("cost so far", "", "line1", sums)], height=180, figure=_usd
        )
        yield "</figure>"


def _usd(value: float) -> str:
    return f"${value:,.2f}" if value < 100 else f"${value:,.0f}"


def _phases(one: ReportedSession) -> Iterator[str]:
    grown = one.growth.growth
    if len(grown.phases) < 2:
        return
    yield f"<h2>Phases <small>by {safe(grown.rule or 'name')}</small></h2>"
    most = max((phase.growth for phase in grown.phases), default=0)
    rows = []
    for phase, parts in list(zip(grown.phases, grown.by_phase, strict=True))[-MOST_PHASES:]:
        rising = [part for part in parts if part.growth > 0]
        calls = f"{phase.first:,}–{phase.last:,}" if phase.calls > 1 else f"{phase.first:,}"
        rows.append(
            (
                safe(phase.name or "before the first"),
                calls,
                safe(sign_of(rising[0].name).name) if rising else numbers.NONE,
                numbers.signed(phase.growth),
                numbers.tokens(phase.peak),
                numbers.tokens(phase.sent),
                numbers.least(phase.least, phase.usd is None),
                charts.bar(phase.growth, most, "b-write"),
            )
        )
    yield from table(("phase", "calls", "what grew", "growth", "peak", "sent", "cost", ""), rows, (0, 2, 7))
    if len(grown.phases) > MOST_PHASES:
        yield f'<p class="dim">The last {MOST_PHASES} of {len(grown.phases):,}.</p>'


def _blocks(one: ReportedSession) -> Iterator[str]:
    if not one.blocks:
        return
    yield "<h2>Heaviest blocks <small>by tokens x calls that they stayed</small></h2>"
    rows = []
    for block in one.blocks:
        sign = sign_of(block.category)
        n = CATEGORIES.index(block.category) if block.category in CATEGORIES else 0
        label = f"<b>{safe(block.label)}</b> " if block.label and not block.words.startswith(block.label) else ""
        rows.append(
            (
                f'<span class="t{n}">{sign.glyph}</span> {label}{safe(block.words)}',
                numbers.tokens(block.tokens),
                f"{block.calls:,}",
                numbers.money(block.usd) if block.usd is not None else "unknown",
            )
        )
    yield from table(("block", "tokens", "calls", "cost"), rows)


_RULES: Final = """
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
