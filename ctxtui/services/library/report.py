"""What a report says of sessions: their growth, findings, bill and heaviest blocks, with secrets masked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ctxtui.analysis.call_choice import ChosenCall, choose
from ctxtui.analysis.figures import block_figures
from ctxtui.analysis.findings.priced import PricedFinding
from ctxtui.analysis.money.bill import PARTS
from ctxtui.analysis.money.block_costs import DearBlock, ThreadCosts, heaviest
from ctxtui.analysis.short_names import first_words
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.curation.masking import Masker
from ctxtui.dataclasses import replace
from ctxtui.pricing.price import known_usd
from ctxtui.services.counting.accounts import Account, account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.library.findings import findings_of
from ctxtui.services.library.growth import GrowthReport, costs_of, growth_report
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.library.sharing import masked_title
from ctxtui.views.lists.misses import cause_of
from ctxtui.views.pages.report_page import ReportedBlock, ReportedCall, ReportedSession
from ctxtui.views.text import cells

if TYPE_CHECKING:
    from ctxtui.services.config.settings import Settings
    from ctxtui.services.recordings.recording import Loaded

HEAVIEST: Final = 12
"""Blocks that are named."""
_TITLE: Final = 100
"""Characters of a title."""


def reported(
    loaded: Loaded, counter: Counter, settings: Settings, masker: Masker, thread: str = "", number: int = 0
) -> ReportedSession:
    """What the document says of the session, or of call `number` of its `thread` (0: of the whole). Raises
    `NotFound`."""
    session = loaded.session
    chosen = choose(session, thread, number)
    made = account(session, counter, settings)
    grown = growth_report(made, chosen, Notebook(loaded, settings).read(), settings.phases)
    found = findings_of(made, counter, chosen, settings)
    found = replace(found, found=tuple(_masked(one, masker) for one in found.found))
    calls, missed = session.thread_calls(chosen.thread), {}
    for one in made.misses().found:
        if one.thread == chosen.thread:
            missed[one.number] = cause_of(one)
    bill = made.statement().bill
    return ReportedSession(
        title=_title(made, chosen, loaded.name, masker),
        facts=tuple(masker.text(fact) for fact in _facts(session, chosen, loaded.source, number) if fact),
        growth=_named(grown, masker.text),
        found=found,
        calls=tuple(
            ReportedCall(
                None if call.usage is None else (call.usage.cache_read, call.usage.cache_write, call.usage.fresh),
                known_usd(call, made.costs.get(call.id)),
                missed.get(n, ""),
                call.answered_in_part,
            )
            for n, call in enumerate(calls, 1)
        ),
        parts=tuple((name, bill.parts[name].usd, bill.parts[name].tokens) for name in PARTS),
        blocks=tuple(_blocks(made, chosen, masker)),
        usd=bill.usd,
        partial=bill.at_least,
        number=number,
        paid={
            id_: known_usd(call, made.costs.get(id_)) for id_, call in session.calls.items() if call.usage is not None
        },
    )


def _masked(one: PricedFinding, masker: Masker) -> PricedFinding:
    about = replace(one.finding, names=tuple(map(masker.text, one.finding.names)))
    return replace(one, finding=about)


def _named(grown: GrowthReport, mask: Callable[[str], str]) -> GrowthReport:
    phases = tuple(replace(phase, name=mask(phase.name)) for phase in grown.growth.phases)
    rule = mask(grown.growth.rule)
    return replace(grown, growth=replace(grown.growth, phases=phases, rule=rule))


def _title(made: Account, chosen: ChosenCall, name: str, masker: Masker) -> str:
    """The session's title, masked: cut anew from the masked text that it begins, because a secret cut in half is known
    no more."""
    rows = [
        row for row in block_figures(made.book, chosen.call) if row.node != ROOT and row.category in ("user", "summary")
    ]
    masked = [masker.block(row.block) for row in rows]
    return masked_title(cells.fit(made.session.about.title or name, _TITLE), rows, masked, masker)


def _facts(session: Session, chosen: ChosenCall, source: str, number: int) -> Sequence[str]:
    calls = session.thread_calls(chosen.thread)
    about = f"call {number:,} of {len(calls):,}" if number else f"{len(calls):,} call{'' if len(calls) == 1 else 's'}"
    times = [call.started for call in session.calls.values() if call.started]
    when = _date(min(times)) if times else ""
    until = _date(max(times)) if times else ""
    others = len([id_ for id_, ids in session.order.items() if ids]) - 1
    threads = f"and {others:,} other thread{'' if others == 1 else 's'}" if others > 0 else ""
    thread = "" if chosen.thread == "main" else chosen.thread
    dates = when if when == until else f"{when} to {until}"
    models = ", ".join(dict.fromkeys(call.model for call in calls if call.model))
    return session.about.source or source, models or session.model, about, thread, threads, dates


def _date(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _blocks(made: Account, chosen: ChosenCall, masker: Masker) -> list[ReportedBlock]:
    """The heaviest blocks of the thread, their words from what is masked."""
    if not chosen.number:
        return []
    costs = costs_of(made, chosen.thread)
    found = heaviest([costs], HEAVIEST) or _carried(costs)
    priced = any(made.costs.get(call.id) is not None for call in costs.calls)
    rows = []
    for one in found:
        node = costs.tree[one.node]
        got = read(masker.block(node.block))
        label = masker.text(made.book.names.label(node, got))
        words = first_words(got.text or got.arguments)
        usd = one.usd if priced else None
        rows.append(ReportedBlock(CATEGORIES[node.category], label, words, one.tokens, one.calls, usd))
    return rows


def _carried(costs: ThreadCosts) -> list[DearBlock]:
    """Without prices: those that were carried most."""
    every = [
        DearBlock(node, costs.running.own(node), 0.0, costs.stays.count(node, len(costs.calls)))
        for node in costs.nodes()
        if costs.tree[node].block.kind != HEADER
    ]
    return sorted(every, key=lambda one: -one.tokens * one.calls)[:HEAVIEST]
