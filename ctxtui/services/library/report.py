"""What a report says of sessions: their growth, findings, bill and heaviest blocks, with secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall, choose
from ctxtui.analysis.findings.priced import Findings, PricedFinding
from ctxtui.analysis.growth.feasible import GrowthReport
from ctxtui.analysis.money.bill import PARTS
from ctxtui.analysis.money.block_costs import DearBlock, ThreadCosts, heaviest
from ctxtui.analysis.short_names import first_words, label_of
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.category import CATEGORIES
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import Node
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker, Pieces
from ctxtui.pricing.price import known_usd
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.edited_request import applied_edits
from ctxtui.services.library.findings import findings_of
from ctxtui.services.library.growth import costs_of, growth_report
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.lists.misses import describe_cause
from ctxtui.views.pages.report_page import ReportedBlock, ReportedCall, ReportedSession
from ctxtui.views.text import cells

HEAVIEST: Final = 12
"""Blocks that are named."""
_TITLE: Final = 100
"""Characters of a title."""


class DearBlockDraft(Struct, frozen=True, kw_only=True):
    """A heavy block as it is: its node, the category that it is shown in, the tool that it is a result of ("": of none)
    by its call's id, its tokens, in how many calls it was sent, USD."""

    node: Node
    category: str
    call_id: str
    tool: str
    tokens: int
    calls: int
    usd: float | None


class ReportDraft(NamedTuple):
    """What is said of a session before anything of it is masked; `pieces` of secrets are those that blocks share."""

    session: ReportedSession
    growth: GrowthReport
    found: Findings
    blocks: Sequence[DearBlockDraft]
    pieces: Pieces


def reported(
    loaded: Loaded, counter: Counter, settings: Settings, masker: Masker, thread: str = "", number: int = 0
) -> ReportedSession:
    """What the document says of the session, or of call `number` of its `thread` (0: of the whole). Raises
    `NotFound`."""
    return masked(drafted(loaded, counter, settings, thread, number), masker)


def drafted(loaded: Loaded, counter: Counter, settings: Settings, thread: str = "", number: int = 0) -> ReportDraft:
    """The same before it is masked: what takes long, and can be done in another process. Raises `NotFound`."""
    session = loaded.session
    chosen = choose(session, thread, number)
    made = account(session, counter, settings)
    grown = growth_report(made, chosen, Notebook(loaded, settings).read(), settings.phases)
    found = findings_of(made, counter, chosen, settings, applied_edits(loaded, settings, chosen))
    calls, missed = session.thread_calls(chosen.thread), {}
    for one in made.misses().found:
        if one.thread == chosen.thread:
            missed[one.number] = describe_cause(one)
    bill = made.statement().bill
    title = session.about.title or loaded.name
    whole = ReportedSession(
        title=title,
        facts=tuple(fact for fact in _facts(session, chosen, loaded.source, number) if fact),
        growth=grown,
        found=found,
        calls=tuple(
            ReportedCall(
                None if call.usage is None else (call.usage.cache_read, call.usage.cache_write, call.usage.fresh),
                known_usd(call, made.costs.get(call.id)),
                missed.get(n, ""),
                call.is_partial,
            )
            for n, call in enumerate(calls, 1)
        ),
        parts=tuple((name, bill.parts[name].usd, bill.parts[name].tokens) for name in PARTS),
        blocks=(),
        usd=bill.usd,
        partial=bill.at_least,
        number=number,
        paid={
            id_: known_usd(call, made.costs.get(id_)) for id_, call in session.calls.items() if call.usage is not None
        },
    )
    follower = Masker(mask_rules(), Level.PERSONAL)
    follower.follow_all(session.tree)
    return ReportDraft(whole, grown, found, list(_blocks(made, chosen)), follower.pieces)


def masked(draft: ReportDraft, masker: Masker) -> ReportedSession:
    """What the document says, with everything that `masker` finds masked."""
    one = draft.session
    masker.learn(draft.pieces)
    found = replace(draft.found, found=tuple(_masked(each, masker) for each in draft.found.found))
    return replace(
        one,
        title=cells.fit(masker.mask_line(one.title), _TITLE),
        facts=tuple(masker.mask_text(fact) for fact in one.facts),
        growth=_named(draft.growth, masker),
        found=found,
        blocks=tuple(_masked_block(block, masker) for block in draft.blocks),
    )


def _masked(one: PricedFinding, masker: Masker) -> PricedFinding:
    about = replace(one.finding, names=tuple(map(masker.mask_line, one.finding.names)))
    return replace(one, finding=about)


def _named(grown: GrowthReport, masker: Masker) -> GrowthReport:
    growth = grown.growth
    phases = tuple(replace(phase, name=masker.mask_line(phase.name)) for phase in growth.phases)
    thread = growth.thread if growth.thread == MAIN else masker.mask_id(growth.thread)
    return replace(grown, growth=replace(growth, thread=thread, phases=phases, rule=masker.mask_line(growth.rule)))


def _facts(session: Session, chosen: ChosenCall, source: str, number: int) -> Sequence[str]:
    calls = session.thread_calls(chosen.thread)
    about = f"call {number:,} of {len(calls):,}" if number else f"{len(calls):,} call{'' if len(calls) == 1 else 's'}"
    times = [call.started for call in session.calls.values() if call.started]
    when = _date(min(times)) if times else ""
    until = _date(max(times)) if times else ""
    others = len([id_ for id_, ids in session.order.items() if ids]) - 1
    threads = f"and {others:,} other thread{'' if others == 1 else 's'}" if others > 0 else ""
    thread = "" if chosen.thread == MAIN else chosen.thread
    dates = when if when == until else f"{when} to {until}"
    models = ", ".join(dict.fromkeys(call.model for call in calls if call.model))
    return session.about.source or source, models or session.model, about, thread, threads, dates


def _date(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _blocks(made: Account, chosen: ChosenCall) -> Iterator[DearBlockDraft]:
    """The heaviest blocks of the thread."""
    if not chosen.number:
        return
    costs = costs_of(made, chosen.thread)
    found = heaviest([costs], HEAVIEST) or _carried(costs)
    priced = any(made.costs.get(call.id) is not None for call in costs.calls)
    for one in found:
        node = costs.tree[one.node]
        got = read(node.block)
        tool = made.book.names.answered_tool(node, got) if CATEGORIES[node.category] == "tool_result" else ""
        yield DearBlockDraft(
            node=node,
            category=CATEGORIES[one.category],
            call_id=got.call_id,
            tool=tool,
            tokens=one.tokens,
            calls=one.calls,
            usd=one.usd if priced else None,
        )


def _masked_block(one: DearBlockDraft, masker: Masker) -> ReportedBlock:
    """A heavy block, its words from what is masked."""
    got = read(masker.mask_block(one.node.block))
    # By a masked id no call is found.
    label = masker.mask_text(label_of(one.node, got, lambda: one.tool if got.call_id == one.call_id else ""))
    words = first_words(got.text or got.arguments)
    return ReportedBlock(one.category, label, words, one.tokens, one.calls, one.usd)


def _carried(costs: ThreadCosts) -> list[DearBlock]:
    """Without prices: those that were carried most."""
    running = costs.running
    every = [
        DearBlock(node, running.category(node), running.own(node), 0.0, costs.stays.count(node, len(costs.calls)))
        for node in costs.nodes()
        if costs.tree[node].block.kind != HEADER
    ]
    return sorted(every, key=lambda one: -one.tokens * one.calls)[:HEAVIEST]
