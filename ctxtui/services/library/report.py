"""Data of reports on sessions, with secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.call_choice import ChosenCall, choose_call
from ctxtui.analysis.findings.priced import Findings, PricedFinding
from ctxtui.analysis.growth.feasible import GrowthReport
from ctxtui.analysis.money.bill import PARTS
from ctxtui.analysis.money.block_costs import ExpensiveBlock, ThreadCosts, most_expensive_blocks
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
from ctxtui.services.counting.accounts import Account, make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.edited_request import applied_edits
from ctxtui.services.library.findings import price_findings
from ctxtui.services.library.growth import growth_report, thread_costs_of
from ctxtui.services.library.notebook import Notebook
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.lists.misses import describe_cause
from ctxtui.views.pages.report_page import ReportedBlock, ReportedCall, ReportedSession
from ctxtui.views.text import cells

MAX_HEAVY_BLOCKS: Final = 12
MAX_TITLE_CHARS: Final = 100


class HeavyBlockDraft(Struct, frozen=True, kw_only=True):
    """An unmasked heavy block.

    `calls`: number of calls that carried it; `usd`: their cost for it; `tool`: the tool whose result it is ("": none).
    """

    node: Node
    category: str
    call_id: str
    tool: str
    tokens: int
    calls: int
    usd: float | None


class ReportDraft(NamedTuple):
    """A session's report before masking; `pieces` are parts of secrets that blocks share."""

    session: ReportedSession
    growth: GrowthReport
    findings: Findings
    blocks: Sequence[HeavyBlockDraft]
    pieces: Pieces


def draft_report(
    loaded: Loaded, counter: Counter, settings: Settings, thread: str = "", number: int = 0
) -> ReportDraft:
    """Report on `thread` of the session up to call `number`, not masked yet.

    The thread "" is the main one, the number 0 is the last call. This is the slow part, which another process can do.
    Raises `NotFound`, `BadPattern`, and the errors of reading notes and edits.
    """
    session = loaded.session
    chosen = choose_call(session, thread, number)
    account = make_account(session, counter, settings)
    growth = growth_report(account, chosen, Notebook(loaded, settings).read(), settings.phases)
    findings = price_findings(account, counter, chosen, settings, applied_edits(loaded, settings, chosen))
    misses = [miss for miss in account.misses().misses if miss.thread == chosen.thread]
    causes = {miss.number: describe_cause(miss) for miss in misses}
    bill = account.statement().bill
    report = ReportedSession(
        title=session.about.title or loaded.name,
        facts=tuple(fact for fact in _list_facts(session, chosen, loaded.source, number) if fact),
        growth=growth,
        findings=findings,
        calls=tuple(
            ReportedCall(
                None if call.usage is None else (call.usage.cache_read, call.usage.cache_write, call.usage.fresh),
                known_usd(call, account.costs.get(call.id)),
                causes.get(n, ""),
                call.is_partial,
            )
            for n, call in enumerate(session.thread_calls(chosen.thread), 1)
        ),
        parts=tuple((name, bill.parts[name].usd, bill.parts[name].tokens) for name in PARTS),
        blocks=(),
        usd=bill.usd,
        partial=bill.at_least,
        number=number,
        paid={
            id_: known_usd(call, account.costs.get(id_))
            for id_, call in session.calls.items()
            if call.usage is not None
        },
    )
    follower = Masker(mask_rules(), Level.PERSONAL)
    follower.follow_all(session.tree)
    return ReportDraft(report, growth, findings, list(_draft_blocks(account, chosen)), follower.pieces)


def mask_report(draft: ReportDraft, masker: Masker) -> ReportedSession:
    """The report of `draft`, with everything masked that `masker` finds."""
    report = draft.session
    masker.learn(draft.pieces)
    priced = tuple(_mask_finding(finding, masker) for finding in draft.findings.priced)
    return replace(
        report,
        title=cells.fit(masker.mask_line(report.title), MAX_TITLE_CHARS),
        facts=tuple(masker.mask_text(fact) for fact in report.facts),
        growth=_mask_growth(draft.growth, masker),
        findings=replace(draft.findings, priced=priced),
        blocks=tuple(_mask_block(block, masker) for block in draft.blocks),
    )


def _mask_finding(finding: PricedFinding, masker: Masker) -> PricedFinding:
    about = replace(finding.finding, names=tuple(map(masker.mask_line, finding.finding.names)))
    return replace(finding, finding=about)


def _mask_growth(grown: GrowthReport, masker: Masker) -> GrowthReport:
    growth = grown.growth
    phases = tuple(replace(phase, name=masker.mask_line(phase.name)) for phase in growth.phases)
    thread = growth.thread if growth.thread == MAIN else masker.mask_id(growth.thread)
    return replace(grown, growth=replace(growth, thread=thread, phases=phases, rule=masker.mask_line(growth.rule)))


def _list_facts(session: Session, chosen: ChosenCall, source: str, number: int) -> Sequence[str]:
    calls = session.thread_calls(chosen.thread)
    about = f"call {number:,} of {len(calls):,}" if number else f"{len(calls):,} call{'' if len(calls) == 1 else 's'}"
    times = [call.started for call in session.calls.values() if call.started]
    when = _format_date(min(times)) if times else ""
    until = _format_date(max(times)) if times else ""
    others = len([id_ for id_, ids in session.order.items() if ids]) - 1
    threads = f"and {others:,} other thread{'' if others == 1 else 's'}" if others > 0 else ""
    thread = "" if chosen.thread == MAIN else chosen.thread
    dates = when if when == until else f"{when} to {until}"
    models = ", ".join(dict.fromkeys(call.model for call in calls if call.model))
    return session.about.source or source, models or session.model, about, thread, threads, dates


def _format_date(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}"


def _draft_blocks(account: Account, chosen: ChosenCall) -> Iterator[HeavyBlockDraft]:
    if not chosen.number:
        return
    costs = thread_costs_of(account, chosen.thread)
    heavy = most_expensive_blocks([costs], MAX_HEAVY_BLOCKS) or _most_carried(costs)
    priced = any(account.costs.get(call.id) is not None for call in costs.calls)
    for block in heavy:
        node = costs.tree[block.node]
        reading = read(node.block)
        tool = account.book.names.answered_tool(node, reading) if CATEGORIES[node.category] == "tool_result" else ""
        yield HeavyBlockDraft(
            node=node,
            category=CATEGORIES[block.category],
            call_id=reading.call_id,
            tool=tool,
            tokens=block.tokens,
            calls=block.calls,
            usd=block.usd if priced else None,
        )


def _mask_block(draft: HeavyBlockDraft, masker: Masker) -> ReportedBlock:
    reading = read(masker.mask_block(draft.node.block))
    # Look the tool up by the unmasked id.
    label = masker.mask_text(
        label_of(draft.node, reading, lambda: draft.tool if reading.call_id == draft.call_id else "")
    )
    excerpt = first_words(reading.text or reading.arguments)
    return ReportedBlock(draft.category, label, excerpt, draft.tokens, draft.calls, draft.usd)


def _most_carried(costs: ThreadCosts) -> list[ExpensiveBlock]:
    running = costs.running
    blocks = [
        ExpensiveBlock(
            node,
            running.category(node),
            running.block_tokens(node),
            0.0,
            costs.lifetimes.count_calls(node, len(costs.calls)),
        )
        for node in costs.nodes()
        if costs.tree[node].block.kind != HEADER
    ]
    return sorted(blocks, key=lambda block: -block.tokens * block.calls)[:MAX_HEAVY_BLOCKS]
