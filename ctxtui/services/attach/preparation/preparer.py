"""Prepares requests of recorded sessions in a child process, before a relay sends them on.

It makes the forecast with the functions of the inspector's next call, applies edits that waited for this request, and
runs the policies. It also finds what refreshes a session's cached prefix. `preparer_client` asks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.block_sizes import BlockSizes
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.keep_warm import RefreshTotals, WarmPrefix, refresh_request
from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.analysis.cache.what_if import Replay
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.edit_prices import EditPrices
from ctxtui.analysis.request_counts import counting_terms
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.errors import CtxtuiError, NoContext, NotFound
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.attach.preparation.preparer_client import (
    ForecastSummary,
    LeavingRequest,
    PreparedRequest,
    Warmth,
    WarmthQuery,
)
from ctxtui.services.config.policy_registry import build_steps
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import local_pricer, prices_for
from ctxtui.services.editing.next_request import PricedRequest, count_for_model, forecast_first, next_call_in
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.editing.priced_policies import act_at_price
from ctxtui.services.editing.waiting_edits import apply_due, conditions_met
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.exchanges import with_server_items
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.wire.key_mask import MASK
from ctxtui.wire.request import Request

MAX_OPEN_RECORDINGS: Final = 4
NO_USAGE: Final = "policies and waiting edits are not applied: the answers have no usage report"


class _OpenRecording(Struct):
    """An open recording, with its figures and its edits."""

    loaded: Loaded
    book: Book
    counter: Counter
    replay: Replay
    edits: SessionEdits

    @classmethod
    def from_loaded(cls, loaded: Loaded, settings: Settings) -> _OpenRecording:
        counter = Counter()
        book = book_for(loaded.session, counter, settings)
        return cls(loaded, book, counter, Replay(book, cache_rules_by_call(book)), SessionEdits(loaded, settings))

    @property
    def session(self) -> Session:
        return self.book.session


class _DecodedRequest(Struct, frozen=True):
    """A decoded request, and its context in the tree of its session."""

    request: LeavingRequest
    decoded: Decoded
    head: int

    def next(self, recording: _OpenRecording, overlay: ThreadEdits, at: float | None) -> PricedRequest | None:
        """The request as the next call of its thread under the applied edits.

        None if the thread has no call yet, or its last one has no usage report.
        """
        request = self.request
        parts = recording.replay, recording.book, recording.counter, request.settings, request.thread
        return next_call_in(*parts, overlay.applied, at, head=self.head, model=self.decoded.model)


class Preparer:
    """Prepares requests; keeps recent sessions open between them."""

    def __init__(self) -> None:
        self._open: dict[Path, _OpenRecording] = {}

    def __call__(self, request: LeavingRequest | WarmthQuery) -> PreparedRequest | Warmth:
        """Prepare a request, or find the request that keeps a cache warm; errors are in the answer."""
        if isinstance(request, WarmthQuery):
            try:
                return self._find_warmth(request)
            except CtxtuiError as error:
                return Warmth(why=error.message)
        try:
            return self._prepare(request)
        except CtxtuiError as error:
            return PreparedRequest(why=error.message, trouble=error.message)

    def _prepare(self, request: LeavingRequest) -> PreparedRequest:
        exchange = Exchange(request.body, url=request.url, started=request.at)
        decoded = decode(exchange)
        if decoded is None:
            return PreparedRequest(why="it is no request to a model")
        recording = self._open_recording(request.recording, request.settings)
        if decoded.params.get("previous_response_id") or decoded.params.get("conversation"):
            previous = recording.session.calls.get(str(decoded.params.get("previous_response_id")))
            if previous is None:
                return PreparedRequest(why="it continues content stored by the provider, which is not recorded")
            previous_items = recording.session.tree.items(previous.response_head)
            decoded = with_server_items(decoded, [item for item in previous_items if item.place.section == "messages"])
        leaving = _DecodedRequest(request, decoded, recording.session.tree.extend(ROOT, decoded.items))
        calls, overlay = recording.session.thread_calls(request.thread), recording.edits.of_thread(request.thread)
        if not calls or calls[-1].usage is None:
            call = _as_call(exchange, decoded, leaving.head, request.thread)
            first = forecast_first(recording.replay, recording.book, recording.counter, request.settings, call)
            needs_usage = calls and not any(call.usage for call in calls) and (request.policies or overlay.waiting)
            return PreparedRequest(
                forecast=ForecastSummary(first.input, first.total, ""), trouble=NO_USAGE if needs_usage else ""
            )
        done, trouble = self._apply_waiting(recording, leaving, overlay, calls[-1])
        next_call = leaving.next(recording, overlay, request.at)
        assert next_call is not None
        forecast = ForecastSummary(
            next_call.forecast.input, next_call.forecast.total, miss_reason(next_call.forecast, calls)
        )
        return PreparedRequest(forecast=forecast, done=done, trouble=trouble)

    def _find_warmth(self, query: WarmthQuery) -> Warmth:
        recording = self._open_recording(query.recording, query.settings)
        price = local_pricer(prices_for(query.settings))
        refreshes = [call for call in recording.session.calls.values() if call.keeps_warm]
        costs = {
            call.id: cost.usd if cost is not None else 0.0
            for call, (cost, _) in zip(refreshes, price(refreshes), strict=True)
        }
        in_run = [call for call in refreshes if (call.started or 0.0) >= query.since]
        answered = [call for call in in_run if call.usage is not None]
        totals = RefreshTotals(len(answered), sum(costs[call.id] for call in answered))
        if any(call.usage is None and not call.error for call in in_run):
            return Warmth(why="a refresh has no usage report, so its cost is not known", totals=totals)
        try:
            return replace(self._find_prefix(recording, query, costs), totals=totals)
        except CtxtuiError as error:
            return Warmth(why=error.message, totals=totals)

    def _find_prefix(self, recording: _OpenRecording, query: WarmthQuery, refresh_usd: Mapping[str, float]) -> Warmth:
        """Find the main thread's cached prefix and its refresh request, or the reason for none.

        `refresh_usd` is the cost of each refresh by its id.
        """
        session = recording.session
        calls = session.thread_calls()
        last = calls[-1] if calls else None
        if last is None:
            return Warmth(why="no call of the main thread is recorded")
        if last.usage is None:
            return Warmth(why="the last call has no usage report")
        if last.skeleton is None:
            return Warmth(why="the last call's request is not recorded as it was sent")
        request = refresh_request(Request(tuple(session.tree.items(last.sent_head)), last.skeleton))
        if MASK.encode() in request.body:
            return Warmth(why="a key is in the request, which no recording keeps")
        if recording.edits.has_database_changed():
            recording.edits.add_stored(recording.edits.stored())
        applied = recording.edits.of_thread(MAIN).applied
        parts = recording.replay, recording.book, recording.counter, query.settings, MAIN, applied
        now = next_call_in(*parts, query.at)
        assert now is not None
        expires = now.forecast.expires
        later = next_call_in(*parts, expires + 1.0) if expires is not None else None
        of_pause = (
            call
            for call in session.calls.values()
            if call.keeps_warm and call.sent_head == last.sent_head and (call.started or 0.0) > (last.started or 0.0)
        )
        again = recording.replay.request_after(last, last.sent_head, query.at)
        usage = replace(again.simulator.predict(again.prompt, query.at).to_usage(), output=request.answer_tokens)
        prefix = WarmPrefix(
            # A request that reads less than the next one would does not refresh all of the prefix.
            expires=expires if usage.cache_read >= now.question.read else None,
            refresh_usd=now.question.charge(usage, query.at),
            rewrite_usd=_difference(later.forecast.total, now.forecast.total) if later is not None else None,
            pause_usd=sum(refresh_usd[call.id] for call in of_pause),
        )
        betas = last.extra.get("betas")
        names = tuple(str(name) for name in betas) if isinstance(betas, list) else ()
        return Warmth(prefix=prefix, body=request.body, betas=names)

    def _apply_waiting(
        self, recording: _OpenRecording, leaving: _DecodedRequest, overlay: ThreadEdits, last: Call
    ) -> tuple[tuple[str, ...], str]:
        """Apply edits that waited for this request, and run the policies.

        Return what was done, and a problem.
        """
        request, done = leaving.request, list[str]()
        if recording.edits.has_database_changed():
            recording.edits.add_stored(recording.edits.stored())
        if overlay.waiting:
            is_other_model = last.model != leaving.decoded.model
            due_times = conditions_met(
                frozenset(overlay.waiting.values()),
                partial(leaving.next, recording, overlay),
                request.at,
                is_other_model,
            )
            done.append(apply_due(overlay, due_times))
        if request.policies:
            done.append(self._run_policies(recording, leaving, overlay, last))
        trouble = ""
        try:
            recording.edits.save()
        except CtxtuiError as error:
            trouble = f"edits could not be stored: {error.message}"
        return tuple(filter(None, done)), trouble

    def _run_policies(
        self, recording: _OpenRecording, leaving: _DecodedRequest, overlay: ThreadEdits, last: Call
    ) -> str:
        book, counter, request = recording.book, recording.counter, leaving.request
        next_call = leaving.next(recording, overlay, request.at)
        assert next_call is not None
        model, last = leaving.decoded.model or last.model, replace(last, model=leaving.decoded.model or last.model)
        card = book.card(model)
        context = Context.of_call(recording.session.tree, last, leaving.head)
        rules = rules_for(context.dialect, card)
        count_for_model(book, counter, model)
        sizes = BlockSizes(book, model, context)
        applied = apply(context, overlay.applied, rules)
        policy_context = PolicyContext(
            context=context,
            log=tuple(overlay.log),
            tokens=sizes.tokens_at,
            count=sizes.block_tokens,
            usable=context_window(book, last, request.settings.usable_share).usable,
            rules=rules,
            cold=not next_call.question.read,
            hidden=max(0, next_call.question.prompt.total - sizes.total) if not overlay.applied else 0,
        )
        prices = EditPrices(
            applied, next_call.question, next_call.weigh, counter(card), counting_terms(book, last, context)
        )
        steps = build_steps(request.policies, request.policy_settings)
        return act_at_price(steps, policy_context, overlay, prices.tag, request.settings.horizon)

    def _open_recording(self, path: Path, settings: Settings) -> _OpenRecording:
        recording = self._open.pop(path, None)
        if recording is not None:
            recording.loaded.more()
        if recording is None or recording.loaded.session is not recording.session:
            try:
                recording = _OpenRecording.from_loaded(load(path, own=""), settings)
            except (NoContext, NotFound):
                return _OpenRecording.from_loaded(Loaded(Session(), ""), settings)
        self._open[path] = recording
        while len(self._open) > MAX_OPEN_RECORDINGS:
            del self._open[next(iter(self._open))]
        return recording


def _difference(later: float | None, now: float | None) -> float | None:
    return None if later is None or now is None else later - now


def miss_reason(forecast: NextCallForecast, calls: Sequence[Call]) -> str:
    """The reason why the call after `calls` will read at most half of the last one's input.

    "" if it will read more, or nothing is cached.
    """
    last = calls[-1].usage
    if last is None or not (last.cache_read or last.cache_write or forecast.cause) or forecast.read * 2 > last.input:
        return ""
    return forecast.cause or "the last call's cache is not read"


def _as_call(exchange: Exchange, decoded: Decoded, head: int, thread: str) -> Call:
    return Call(
        "",
        thread,
        raw_head=head,
        sent_head=head,
        response_head=head,
        provider=exchange.provider,
        model=decoded.model,
        started=exchange.started,
        fidelity=Fidelity.WIRE,
        skeleton=decoded.skeleton,
    )
