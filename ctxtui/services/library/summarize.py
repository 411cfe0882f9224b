"""Home's figures of a session that was read and counted."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.miss_finder import Misses, session_misses
from ctxtui.analysis.cache.what_if import Replay
from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.skills import call_skills
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import figures
from ctxtui.analysis.growth.shorteners import find_compressors, find_policies
from ctxtui.analysis.money.block_costs import thread_costs
from ctxtui.analysis.money.spending import SpendingRow, rows_by_category, rows_by_tool
from ctxtui.analysis.money.tool_costs import tool_costs
from ctxtui.analysis.money.totals import main_thread, thread_side
from ctxtui.analysis.session_events import CallEvent, list_events, summarize_thread
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, EpochStart, Fidelity, count_calls, paid_id
from ctxtui.core.category import CATEGORIES
from ctxtui.core.edit import Edit
from ctxtui.core.session import MAIN, Session
from ctxtui.core.turns import turns_of
from ctxtui.curation.legality.provider_errors import refusal
from ctxtui.pricing.price import Cost, count_charged_tokens, further_usage, known_usd, lacks_price
from ctxtui.pricing.rates import Rates
from ctxtui.services.config.clients import requests_variable
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.editing.next_request import following_request
from ctxtui.services.library.glances import MAX_EXCERPT_CHARS, first_user_text
from ctxtui.services.library.totals.spending import with_sums
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.lists.misses import describe_cause
from ctxtui.views.model.session_summary import (
    COMPACTED,
    COMPACTION,
    MISS,
    MISSED,
    MODEL,
    OVER,
    TURN,
    CallSpent,
    GrowthColumn,
    SessionSummary,
)
from ctxtui.views.text.numbers import many

Price = Callable[[Call], Cost | None]
FindRates = Callable[[Call], Rates | None]
"""The rates that apply to a call; None: unknown."""

_MARKS: Final = frozenset({MISS, COMPACTION, MODEL, TURN})
"""Events that the chart of growth shows."""


def complete_summary(
    summary: SessionSummary,
    loaded: Loaded,
    book: Book,
    price: Price,
    rates: FindRates,
    usable_share: float,
    logs: Mapping[str, Sequence[Edit]] | None = None,
) -> SessionSummary:
    """Complete `summary` with the figures of a recording that is read and counted whole.

    `logs` are the edits by thread of a stored session, `usable_share` is the share of the window to fill.
    """
    session = loaded.session
    chosen = choose_call(session)
    calls = session.thread_calls(chosen.thread) or [chosen.call]
    costs = {id_: price(call) for id_, call in session.calls.items()}
    misses = _without_copied_misses(session_misses(book, cache_rules_by_call(book), costs, rates), session)
    copy_sentence = _describe_copy(session)
    basic = replace(
        _with_recording_data(summary, loaded),
        advice="" if copy_sentence else _recording_advice(session, loaded.source),
        lines=loaded.lines,
        skipped=len(loaded.skipped),
        sentence=copy_sentence or summarize_thread(session, chosen.thread, misses.misses),
        refused=refusal(session, chosen.thread)[:MAX_EXCERPT_CHARS],
        compressors=find_compressors(session),
        policies=find_policies(session, logs or {}),
    )
    with_texts = _with_texts_and_turns(_with_growth(basic, book, calls, misses, usable_share), session, calls)
    return _with_spending(with_texts, book, costs, _EventsByCall(book, misses, usable_share))


def complete_usage(summary: SessionSummary, loaded: Loaded, price: Price) -> SessionSummary:
    """Complete `summary` with the usage of its calls; `loaded` needs no contexts."""
    basic, session = _with_recording_data(summary, loaded), loaded.session
    spent = _calls_spent(session, basic, {id_: price(call) for id_, call in session.calls.items()})
    return with_sums(replace(basic, title=session.about.title or summary.title, usage_only=True, spent=tuple(spent)))


def _with_recording_data(summary: SessionSummary, loaded: Loaded) -> SessionSummary:
    session = loaded.session
    models = Tally[str]()
    for call in session.calls.values():
        if call.model and not call.is_copy:
            models[call.model] += call.count
    return replace(
        summary,
        source=loaded.source,
        cwd=session.about.cwd or summary.cwd,
        client_version=session.about.version or summary.client_version,
        known=True,
        model=session.model,
        models=tuple(models.most_common()),
        calls=count_calls(call for call in session.calls.values() if not call.is_copy),
        copied=_count_copied(session),
        quotas=tuple(session.quotas),
    )


def _without_copied_misses(misses: Misses, session: Session) -> Misses:
    not_copied = [miss for miss in misses.misses if not session.thread_calls(miss.thread)[miss.number - 1].is_copy]
    return replace(misses, misses=tuple(not_copied))


def _describe_copy(session: Session) -> str:
    """Home's sentence for a session that ctxtui wrote and no tool has continued; else ""."""
    count = _count_copied(session)
    if not count or count < len(session.calls):
        return ""
    return f"Made by ctxtui to be resumed: {many(count, 'call')} copied from another session, counted there."


def _count_copied(session: Session) -> int:
    return sum(call.is_copy for call in session.calls.values())


def _recording_advice(session: Session, source: str) -> str:
    version = session.about.version
    variable = requests_variable(source, version)
    if not variable or any(call.fidelity is Fidelity.WIRE for call in session.calls.values()):
        return ""
    return f"{variable}=file:DIR records requests; {version} alone does not"


def _with_texts_and_turns(summary: SessionSummary, session: Session, calls: list[Call]) -> SessionSummary:
    first = first_user_text(session, calls[0].response_head)
    return replace(
        summary,
        title=session.about.title or first.strip().split("\n")[0] or summary.title,
        turns=turns_of(session.tree, [call for call in calls if not call.is_copy]).count_with_calls,
        first_user_text=first,
        last_answer=_find_last_answer(session, calls[-1].response_head),
    )


def _with_growth(
    summary: SessionSummary, book: Book, calls: list[Call], misses: Misses, usable_share: float
) -> SessionSummary:
    events_ = list_events(book.session, calls[0].thread, misses.misses)
    totals = [figures(book, call).context_tokens for call in calls]
    peak = max(range(len(calls)), key=lambda i: totals[i])
    window = context_window(book, calls[peak], usable_share)
    kinds = Tally(event.kind for event in events_)
    return replace(
        summary,
        peak_tokens=totals[peak],
        peak_call=peak + 1,
        last_tokens=totals[-1],
        expires=_next_expiry(book, calls) if summary.live else 0.0,
        window=window.limit,
        usable=window.usable,
        window_origin=window.origin,
        composition_at_peak=_context_composition(book, calls[peak]),
        growth=_growth_columns(calls, totals, events_),
        misses=misses.count,
        compactions=kinds[COMPACTION],
        model_changes=kinds[MODEL],
    )


def _next_expiry(book: Book, calls: list[Call]) -> float:
    """Forecast expiry of the next call's cached prefix (Unix seconds; 0: none, or unknown)."""
    last = calls[-1]
    if last.usage is None:
        return 0.0
    head, replay = last.response_head or last.sent_head, Replay(book, cache_rules_by_call(book))
    # The expiry needs no prices.
    return (
        following_request(replay, book, last, head, calls, lambda usages: [(None, None)] * len(usages)).forecast.expires
        or 0.0
    )


def _with_spending(
    summary: SessionSummary, book: Book, costs: Mapping[str, Cost | None], events: _EventsByCall
) -> SessionSummary:
    session = book.session
    spent = tuple(map(events.add_events, session.calls.values(), _calls_spent(session, summary, costs)))
    own_calls = frozenset(call.id for call in session.calls.values() if not call.is_copy)
    costs = {id_: cost if id_ in own_calls else None for id_, cost in costs.items()}
    threads = thread_costs(book, costs)
    priced = any(spending.cost for spending in spent)
    complete = replace(
        summary,
        read_share=_read_share(session),
        spent=spent,
        by_category=_cost_shares(rows_by_category(threads, costs, own_calls)) if priced else (),
        by_tool=_cost_shares(rows_by_tool(threads, costs, book.names, own_calls)) if priced else (),
        tools=tuple(tool_costs(session, threads, book.names)),
    )
    return with_sums(complete)


def _cost_shares(rows: list[SpendingRow]) -> tuple[tuple[str, float], ...]:
    return tuple((row.name, row.usd) for row in rows if row.usd)


def spending_of_call(call: Call, cost: Cost | None) -> CallSpent:
    """The amounts that a call adds to the totals.

    Model, start, thread, side and events are left at their defaults.
    """
    name, usage = paid_id(call), call.usage
    if usage is None or call.is_copy:
        return CallSpent(name, 0, partial=call.is_partial, copied=call.is_copy, calls=call.count)
    more = further_usage(call)
    return CallSpent(
        name,
        count_charged_tokens(call),
        usage.input + more.input,
        usage.cache_read + more.cache_read,
        known_usd(call, cost),
        partial=call.is_partial,
        unpriced=lacks_price(call, cost),
        calls=call.count,
    )


def _calls_spent(session: Session, summary: SessionSummary, costs: Mapping[str, Cost | None]) -> Iterator[CallSpent]:
    """The amounts that each call adds to the totals, with the data of its session.

    `model` is the index in ``summary.models`` (-1: unknown).
    """
    index, main = {name: number for number, (name, _) in enumerate(summary.models)}, main_thread(session)
    for id_, call in session.calls.items():
        thread = session.threads.get(call.thread)
        yield spending_of_call(call, costs[id_])._replace(
            model=index.get(call.model, -1),
            started=int(call.at or 0),
            thread=(thread.label or thread.id) if thread and thread.id != MAIN else "",
            side=thread_side(session, call, main),
        )


class _EventsByCall:
    """Events at each call of a session, in all threads."""

    def __init__(self, book: Book, misses: Misses, usable_share: float) -> None:
        self._book = book
        self._usable_share = usable_share
        self._missed = {(miss.thread, miss.number): miss for miss in misses.misses}
        self._number: dict[str, int] = {}
        self._skill: dict[str, str] = {}
        self._compacted: set[str] = set()
        for thread in book.session.threads:
            calls = book.session.thread_calls(thread)
            skills = call_skills(book.session, thread)
            for number, (call, skill) in enumerate(zip(calls, skills, strict=True), 1):
                self._number[call.id], self._skill[call.id] = number, skill
                if number > 1 and call.epoch.start is EpochStart.COMPACTION and call.epoch != calls[number - 2].epoch:
                    self._compacted.add(call.id)

    def add_events(self, call: Call, spent: CallSpent) -> CallSpent:
        miss = self._missed.get((call.thread, self._number.get(call.id, 0)))
        signs = ((MISSED, miss), (COMPACTED, call.id in self._compacted), (OVER, self._is_over(call)))
        marks = "".join(sign for sign, is_so in signs if is_so)
        skill = self._skill.get(call.id, "")
        if miss is None:
            return spent._replace(marks=marks, skill=skill)
        return spent._replace(marks=marks, lost=miss.usd, cause=describe_cause(miss), skill=skill)

    def _is_over(self, call: Call) -> bool:
        usable = context_window(self._book, call, self._usable_share).usable
        return bool(usable and call.usage and not call.is_sum and call.usage.input > usable)


def _read_share(session: Session) -> float | None:
    own_calls = (call for call in session.calls.values() if not call.is_copy)
    used = [call.usage for call in own_calls if call.usage and call.usage.has_cache]
    input_tokens = sum(usage.input for usage in used)
    return sum(usage.cache_read for usage in used) / input_tokens if len(used) > 1 and input_tokens else None


def _context_composition(book: Book, call: Call) -> tuple[tuple[str, int], ...]:
    figures_ = figures(book, call)
    other_tokens = (
        ("not recorded", figures_.not_recorded or 0),
        ("re-attached", figures_.attached),
        ("residual", figures_.residual),
    )
    return (*figures_.categories.items(), *((name, tokens) for name, tokens in other_tokens if tokens))


def _growth_columns(calls: list[Call], totals: list[int], events_: list[CallEvent]) -> tuple[GrowthColumn, ...]:
    marks: dict[int, list[str]] = {}
    for event in events_:
        if event.kind in _MARKS:
            marks.setdefault(event.number, []).append(event.kind)
    columns = []
    for number, (call, total) in enumerate(zip(calls, totals, strict=True), 1):
        usage = call.usage
        signs = tuple(marks.get(number, ()))
        if usage is not None and usage.has_cache:
            columns.append(GrowthColumn(usage.cache_read, usage.cache_write, usage.fresh, signs))
        else:
            # Without cache figures the whole context is one part.
            columns.append(GrowthColumn(total, 0, 0, signs))
    return tuple(columns)


def _find_last_answer(session: Session, head: int) -> str:
    tree = session.tree
    while head:
        node = tree[head]
        if CATEGORIES[node.category] == "assistant" and node.block.kind != HEADER and (text := read(node.block).text):
            return text[:MAX_EXCERPT_CHARS]
        head = node.parent
    return ""
