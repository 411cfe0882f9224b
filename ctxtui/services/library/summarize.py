"""What Home shows of a session once it was read and counted."""

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
from ctxtui.core.block_content import read
from ctxtui.core.call import Call, Fidelity, count_calls, paid_id
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
Terms = Callable[[Call], Rates | None]
"""What a token costs a call; None where that is not known."""

_MARKS: Final = frozenset({MISS, COMPACTION, MODEL, TURN})


def filled(
    seen: SessionSummary,
    loaded: Loaded,
    book: Book,
    price: Price,
    terms: Terms,
    usable_share: float,
    logs: Mapping[str, Sequence[Edit]] | None = None,
) -> SessionSummary:
    """`seen` with the figures of the recording, which must be read and counted whole; `logs` are the edits of each
    thread, where the database holds the session."""
    session = loaded.session
    chosen = choose_call(session)
    calls = session.thread_calls(chosen.thread) or [chosen.call]
    costs = {id_: price(call) for id_, call in session.calls.items()}
    missed = _made_here(session_misses(book, cache_rules_by_call(book), costs, terms), session)
    told = replace(
        _told(seen, loaded),
        advice=_advice(session, loaded.source),
        lines=loaded.lines,
        skipped=len(loaded.skipped),
        sentence=_copies(session) or summarize_thread(session, chosen.thread, missed.misses),
        refused=refusal(session, chosen.thread)[:MAX_EXCERPT_CHARS],
        compressors=find_compressors(session),
        policies=find_policies(session, logs or {}),
    )
    said = _said(_grown(told, book, calls, missed, usable_share), session, calls)
    return _spent(said, book, costs, _Happened(book, missed, usable_share))


def filled_usage(seen: SessionSummary, loaded: Loaded, price: Price) -> SessionSummary:
    """`seen` with what its calls used, of a recording that may have been read for that alone (`load_usage`)."""
    told, session = _told(seen, loaded), loaded.session
    spent = _calls_spent(session, told, {id_: price(call) for id_, call in session.calls.items()})
    return with_sums(replace(told, title=session.about.title or seen.title, usage_only=True, spent=tuple(spent)))


def _told(seen: SessionSummary, loaded: Loaded) -> SessionSummary:
    """`seen` with what the recording says without being counted."""
    session = loaded.session
    return replace(
        seen,
        source=loaded.source,
        cwd=session.about.cwd or seen.cwd,
        client_version=session.about.version or seen.client_version,
        known=True,
        model=session.model,
        models=tuple(Tally(call.model for call in session.calls.values() if call.model).most_common()),
        calls=count_calls(call for call in session.calls.values() if not call.is_copy),
        copied=_copied(session),
        quotas=tuple(session.quotas),
    )


def _made_here(missed: Misses, session: Session) -> Misses:
    """The misses of calls that are no copies."""
    found = [one for one in missed.misses if not session.thread_calls(one.thread)[one.number - 1].is_copy]
    return replace(missed, found=tuple(found))


def _copies(session: Session) -> str:
    """That a session was made by ctxtui, where no tool has gone on with it."""
    count = _copied(session)
    if not count or count < len(session.calls):
        return ""
    return f"Made by ctxtui to be resumed: {many(count, 'call')} copied from another session, counted there."


def _copied(session: Session) -> int:
    return sum(call.is_copy for call in session.calls.values())


def _advice(session: Session, source: str) -> str:
    """How the client writes down its requests, where it did not."""
    version = session.about.version
    variable = requests_variable(source, version)
    if not variable or _copies(session) or any(call.fidelity is Fidelity.WIRE for call in session.calls.values()):
        return ""
    return f"{variable}=file:DIR keeps its requests; {version} records none"


def _said(seen: SessionSummary, session: Session, calls: list[Call]) -> SessionSummary:
    """`seen` with who spoke, how often, and the first and last words."""
    first = first_user_text(session, calls[0].response_head)
    return replace(
        seen,
        title=session.about.title or first.strip().split("\n")[0] or seen.title,
        turns=turns_of(session.tree, [call for call in calls if not call.is_copy]).count_with_calls,
        first_user_text=first,
        last_answer=_last_answer(session, calls[-1].response_head),
    )


def _grown(seen: SessionSummary, book: Book, calls: list[Call], missed: Misses, usable_share: float) -> SessionSummary:
    """`seen` with the thread's growth, what happened in it, and its peak; `missed` are the session's misses."""
    happened = list_events(book.session, calls[0].thread, missed.misses)
    totals = [figures(book, call).context_tokens for call in calls]
    peak = max(range(len(calls)), key=lambda i: totals[i])
    window = context_window(book, calls[peak], usable_share)
    kinds = Tally(event.kind for event in happened)
    return replace(
        seen,
        peak_tokens=totals[peak],
        peak_call=peak + 1,
        last_tokens=totals[-1],
        expires=_expires(book, calls) if seen.live else 0.0,
        window=window.limit,
        usable=window.usable,
        window_origin=window.origin,
        composition_at_peak=_composition(book, calls[peak]),
        growth=_growth(calls, totals, happened),
        misses=missed.count,
        compactions=kinds[COMPACTION],
        model_changes=kinds[MODEL],
    )


def _expires(book: Book, calls: list[Call]) -> float:
    """When what the next call would read expires, as the inspector foretells it (Unix seconds); 0 where that is not
    known."""
    last = calls[-1]
    if last.usage is None:
        return 0.0
    head, replay = last.response_head or last.sent_head, Replay(book, cache_rules_by_call(book))
    return (
        following_request(replay, book, last, head, calls, lambda asked: [(None, None)] * len(asked)).coming.expires
        or 0.0
    )


def _spent(seen: SessionSummary, book: Book, costs: Mapping[str, Cost | None], happened: _Happened) -> SessionSummary:
    """`seen` with what all calls of all threads took."""
    session = book.session
    spent = tuple(map(happened.at, session.calls.values(), _calls_spent(session, seen, costs)))
    own = frozenset(call.id for call in session.calls.values() if not call.is_copy)
    costs = {id_: cost if id_ in own else None for id_, cost in costs.items()}
    threads = thread_costs(book, costs)
    priced = any(one.cost for one in spent)
    known = replace(
        seen,
        read_share=_read_share(session),
        spent=spent,
        by_category=_shares(rows_by_category(threads, costs, own)) if priced else (),
        by_tool=_shares(rows_by_tool(threads, costs, book.names, own)) if priced else (),
        tools=tuple(tool_costs(session, threads, book.names)),
    )
    return with_sums(known)


def _shares(rows: list[SpendingRow]) -> tuple[tuple[str, float], ...]:
    return tuple((row.name, row.usd) for row in rows if row.usd)


def one_spent(call: Call, cost: Cost | None) -> CallSpent:
    """What a call adds to totals, without what its session says of it."""
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


def _calls_spent(session: Session, seen: SessionSummary, costs: Mapping[str, Cost | None]) -> Iterator[CallSpent]:
    """What each call adds, with its model (of those of `seen`), time and thread."""
    index, main = {name: number for number, (name, _) in enumerate(seen.models)}, main_thread(session)
    for id_, call in session.calls.items():
        thread = session.threads.get(call.thread)
        yield one_spent(call, costs[id_])._replace(
            model=index.get(call.model, -1),
            started=int(call.at or 0),
            thread=(thread.label or thread.id) if thread and thread.id != MAIN else "",
            side=thread_side(session, call, main),
        )


class _Happened:
    """What happened at each call of a session, in all its threads."""

    def __init__(self, book: Book, missed: Misses, usable_share: float) -> None:
        self._book = book
        self._usable_share = usable_share
        self._usable: dict[tuple[str, str], int] = {}
        self._missed = {(one.thread, one.number): one for one in missed.misses}
        self._number: dict[str, int] = {}
        self._skill: dict[str, str] = {}
        self._compacted: set[str] = set()
        for thread in book.session.threads:
            calls = book.session.thread_calls(thread)
            skills = call_skills(book.session, thread)
            for number, (call, skill) in enumerate(zip(calls, skills, strict=True), 1):
                self._number[call.id], self._skill[call.id] = number, skill
                if number > 1 and call.epoch.start == COMPACTION and call.epoch != calls[number - 2].epoch:
                    self._compacted.add(call.id)

    def at(self, call: Call, spent: CallSpent) -> CallSpent:
        """`spent`, which is of this `call`, with what happened at it."""
        missed = self._missed.get((call.thread, self._number.get(call.id, 0)))
        signs = ((MISSED, missed), (COMPACTED, call.id in self._compacted), (OVER, self._is_over(call)))
        marks = "".join(sign for sign, is_so in signs if is_so)
        skill = self._skill.get(call.id, "")
        if missed is None:
            return spent._replace(marks=marks, skill=skill)
        return spent._replace(marks=marks, lost=missed.usd, cause=describe_cause(missed), skill=skill)

    def _is_over(self, call: Call) -> bool:
        key = call.thread, call.model
        usable = self._usable.get(key)
        if usable is None:
            usable = self._usable[key] = context_window(self._book, call, self._usable_share).usable
        return bool(usable and call.usage and call.usage.input > usable)


def _read_share(session: Session) -> float | None:
    made = (call for call in session.calls.values() if not call.is_copy)
    used = [call.usage for call in made if call.usage and call.usage.has_cache]
    whole = sum(usage.input for usage in used)
    return sum(usage.cache_read for usage in used) / whole if len(used) > 1 and whole else None


def _composition(book: Book, call: Call) -> tuple[tuple[str, int], ...]:
    got = figures(book, call)
    rest = (("not recorded", got.not_recorded or 0), ("re-attached", got.attached), ("residual", got.residual))
    return (*got.categories.items(), *((name, tokens) for name, tokens in rest if tokens))


def _growth(calls: list[Call], totals: list[int], happened: list[CallEvent]) -> tuple[GrowthColumn, ...]:
    marks: dict[int, list[str]] = {}
    for event in happened:
        if event.kind in _MARKS:
            marks.setdefault(event.number, []).append(event.kind)
    columns = []
    for number, (call, total) in enumerate(zip(calls, totals, strict=True), 1):
        usage = call.usage
        own = tuple(marks.get(number, ()))
        if usage is not None and usage.has_cache:
            columns.append(GrowthColumn(usage.cache_read, usage.cache_write, usage.fresh, own))
        else:
            columns.append(GrowthColumn(total, 0, 0, own))
    return tuple(columns)


def _last_answer(session: Session, head: int) -> str:
    tree = session.tree
    while head:
        node = tree[head]
        if CATEGORIES[node.category] == "assistant" and node.block.kind != "header" and (text := read(node.block).text):
            return text[:MAX_EXCERPT_CHARS]
        head = node.parent
    return ""
