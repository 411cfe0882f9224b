"""Stage edits of an open session: each thread's edits, and their effect on the next request."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.cache.next_call import NextCallForecast, adjust_forecast
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.money.edited_calls import EditedCalls
from ctxtui.analysis.request_counts import CountingTerms, count_under, counting_terms
from ctxtui.core import edit_log
from ctxtui.core.block import Block
from ctxtui.core.edit import Edit
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.edits_from_selection import SummaryTerms
from ctxtui.curation.price.dependence import Literals, Lost, Quote
from ctxtui.curation.price.price_tag import EXPIRY, MISS, NOW, ApplyMoment, PriceTag, find_breakage, price_tag
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.curation.provider_rules import rules_for
from ctxtui.curation.sent_blocks import SentBlocks
from ctxtui.curation.summary_request import quoted_literals
from ctxtui.curation.transplant import find_objection
from ctxtui.services.editing.edited_context import EditedContext, build_request_body
from ctxtui.services.editing.later_calls import recorded_savings
from ctxtui.services.editing.next_request import PricedRequest
from ctxtui.services.editing.next_request_cache import Later, NextRequestCache
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.study.study import Study
from ctxtui.tokens.features import NOTHING, Features
from ctxtui.tokens.weights import weigh
from ctxtui.views.model.scene import Scene
from ctxtui.views.model.staging import Staging
from ctxtui.views.text.numbers import countdown
from ctxtui.views.transcript.staged_pane import MomentPrice, StagedPane, WaitingEdits
from ctxtui.wire.grammar import GRAMMARS

_CACHED_COUNTS: Final = 4
"""At least three are in use: without edits, under the applied ones, under the staged ones."""


class RequestCounts:
    """Counts the tokens of the request after a call under edits; caches the last few counts."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._cached: list[tuple[Applied, object, RequestCount]] = []
        self._terms: tuple[object, CountingTerms | None] = (None, None)

    def count(self, scene: Scene, applied: Applied) -> RequestCount | None:
        """Count the request under `applied`; None while part of it is being counted."""
        study, call = self._study, scene.call
        figures = scene.figures
        key = (call.id, study.book.version, figures.context_tokens, figures.not_recorded, figures.attached)
        cached = next((entry for entry in self._cached if _is_same(entry[0], applied) and entry[1] == key), None)
        if cached is not None:
            self._cached = [*(entry for entry in self._cached if entry is not cached), cached]
            return cached[2]
        if not study.book.is_counted(call.model, applied.context.head):
            return None
        waiting: list[Block] = []

        def measure(block: Block) -> Features:
            features = study.features(call.model, block)
            if features is None:
                waiting.append(block)
            return NOTHING if features is None else features

        terms_key = (applied.context.head, applied.context, study.book.cumulated(call.model), study.book.version)
        if self._terms[0] != (key, terms_key) or self._terms[1] is None:
            self._terms = (key, terms_key), counting_terms(study.book, call, applied.context)
        assert self._terms[1] is not None
        count = count_under(self._terms[1], applied, measure)
        if waiting:
            return None
        self._cached = [*self._cached[1 - _CACHED_COUNTS :], (applied, key, count)]
        return count


def _is_same(a: Applied, b: Applied) -> bool:
    # Unedited results of a context are separate objects.
    both_unedited = not a.is_changed and not b.is_changed and a.context is b.context and a.length == b.length
    return a is b or (both_unedited and a.withheld == b.withheld)


MAX_INLINE_NEW_BLOCKS: Final = 1000
"""Maximum new blocks of a context that the screen's thread reads itself (about 15 ms)."""
MAX_INLINE_PRICED_BLOCKS: Final = 2000
"""Maximum blocks of a context whose edits the screen's thread prices itself (about 15 ms)."""
_EARLIER_STATES: Final = 8
"""Maximum earlier sets of applied edits that are compared with a sent call."""

MOMENT_OF_CONDITION: Final = {edit_log.EXPIRY: EXPIRY, edit_log.MISS: MISS}
"""The moment at which waiting edits are sent, by their condition."""
CONDITION_OF_MOMENT: Final = {NOW: "", **{moment: until for until, moment in MOMENT_OF_CONDITION.items()}}
"""The condition for each moment; "" for `NOW`."""


class StagingArea:
    """The edits of the session of `study`, and their effect on contexts.

    Cached for use in every frame. `clock` gives Unix seconds.
    """

    def __init__(self, study: Study, overlays: SessionEdits, clock: Callable[[], float] = time.time) -> None:
        self.study = study
        self.clock = clock
        self.session_edits = overlays
        self._context: Context | None = None
        self._reading: tuple[object, int] | None = None
        self._applied: tuple[object, Applied] | None = None
        self._base: tuple[object, Applied] | None = None
        self._plain: tuple[object, Applied] | None = None
        self._under: Staging | None = None
        self._next = NextRequestCache(study, clock)
        self._tag: tuple[object, PriceTag] | None = None
        self._pricing: object = None
        self._sizes: tuple[PricedRequest | None, dict[str, int]] = None, {}
        """Tokens of blocks by digest, at the scale of the next request."""
        self._rest: tuple[object, EditedCalls | None] | None = None
        self._counts = RequestCounts(study)
        self._sent: tuple[Applied, tuple[int, int], SentBlocks] | None = None

    def next_call(self, scene: Scene, later: Later, *, live: bool = False) -> PricedRequest | None:
        """The request after the call shown, under the applied edits.

        None while it or the session's figures are computed, or if the call has no report about the cache. `later` runs
        work in a worker. The request of a `live` session is sent now.
        """
        return self._next_request(scene, self.applied, later, live=live)

    def earlier_call(self, scene: Scene, *, live: bool = False) -> PricedRequest | None:
        """The request that `next_call` returned before the context grew; None if unknown."""
        return self._next.earlier(scene, self.context(scene), self.applied(scene), live=live)

    def forecast(self, scene: Scene, later: Later, *, live: bool = False) -> NextCallForecast | None:
        """Forecast of the next call, also under the staged edits unless all of them wait.

        While `next_call` is None: the forecast from before the context grew, or None. The arguments are those of
        `next_call`.
        """
        next_request = self.next_call(scene, later, live=live)
        if next_request is None:
            earlier_request = self.earlier_call(scene, live=live) if self.is_ready(scene, later) else None
            return earlier_request.forecast if earlier_request is not None else None
        if not self._edits_of(scene).ready:
            return next_request.forecast
        staging = self.staging(scene)
        tag = self._price(staging, next_request, later) if staging.counted else None
        if tag is None:
            return replace(next_request.forecast, outdated=True)
        now = tag.moments[0]
        return adjust_forecast(next_request.forecast, now.plain, now.usage, tag.markers, next_request.question.charge)

    def _can_forecast(self, scene: Scene, later: Later) -> bool:
        usage, (done, total) = scene.call.usage, self.study.progress
        return usage is not None and usage.has_cache and done >= total and self.is_ready(scene, later)

    def _next_request(
        self, scene: Scene, under: Callable[[Scene], Applied], later: Later, *, live: bool
    ) -> PricedRequest | None:
        if not self._can_forecast(scene, later):
            return None
        return self._next.request_after(scene, self.context(scene), under(scene), later, live=live)

    def overlay(self, thread: str) -> ThreadEdits:
        """The edits of `thread`. Raises `CtxtuiError` if the database cannot be read."""
        return self.session_edits.of_thread(thread)

    def _edits_of(self, scene: Scene) -> ThreadEdits:
        return self.session_edits.of_thread(scene.thread or MAIN)

    def has_edits(self, thread: str) -> bool:
        return bool(self.session_edits.of_thread(thread).in_force)

    def is_ready(self, scene: Scene, later: Later) -> bool:
        """Whether `context` is quick enough for a frame; if not, `later` prepares it in a worker."""
        head, tree, context = scene.tip or scene.head, scene.session.tree, self._context
        before = context.head if context is not None and context.tree is tree else ROOT
        new = tree[head].depth - tree[before].depth
        if (
            tree[head].depth <= MAX_INLINE_NEW_BLOCKS
            or head == before
            or (0 <= new <= MAX_INLINE_NEW_BLOCKS and tree.holds(head, before))
        ):
            return True
        if self._reading != (tree, head):
            self._reading = tree, head
            later(partial(self._read_context, scene, head))
        return False

    def _read_context(self, scene: Scene, head: int) -> None:
        # Skip this head if a later one was requested meanwhile.
        if self._reading == (scene.session.tree, head):
            self._context = Context.of_call(scene.session.tree, scene.call, head)
            self._reading = None

    def context(self, scene: Scene) -> Context:
        """The context of the request after the call shown, without edits."""
        head, tree, skeleton = scene.tip or scene.head, scene.session.tree, scene.call.skeleton
        context = self._context
        # Before the first call of a chat its dialect is only guessed.
        dialect = skeleton.dialect if skeleton is not None and skeleton.dialect in GRAMMARS else ""
        if context is None or context.tree is not tree or (dialect and context.dialect != dialect):
            context = Context.of_call(tree, scene.call, head)
        self._context = context.grow_to(head)
        return self._context

    def staging(self, scene: Scene, marks: frozenset[int] = frozenset()) -> Staging:
        """The effect of applied and staged edits on the context; the positions `marks` are marked."""
        overlay = self._edits_of(scene)
        context, model = self.context(scene), scene.call.model
        key = (id(context), context.head, len(context), overlay, overlay.version, model)
        if self._applied is None or self._applied[0] != key:
            self._applied = key, self._apply(context, overlay.in_force, model)
        applied, base = self._applied[1], self.before(scene)
        sizes, head = partial(self.study.tokens, model), context.head or ROOT
        under = self._under
        if not base.is_changed or not overlay.staged:
            under = None
        elif under is None or under.applied is not base or under.scene is not scene:
            under = Staging(scene, base, sizes, head=head, count=partial(self._counts.count, scene))
        self._under = under
        return Staging(
            scene,
            applied,
            sizes,
            edits=overlay.staged,
            marked=marks,
            head=head,
            under=under,
            count=partial(self._counts.count, scene),
            sent=self.sent_blocks(scene),
        )

    def staging_with(self, scene: Scene, edits: Sequence[Edit]) -> Staging:
        """Like `staging`, with further `edits` that are not staged."""
        now = self.staging(scene)
        in_force = self._edits_of(scene).in_force
        return dataclasses.replace(now, applied=self._apply(now.applied.context, (*in_force, *edits), scene.call.model))

    def objection(self, scene: Scene, edits: Sequence[Edit]) -> str:
        """Reason why the provider would refuse the next request with `edits` but not without them.

        "" if none. Raises `CtxtuiError` if the recorded request is damaged.
        """
        plain = self.to_edited_context(scene, staged=True)
        under = dataclasses.replace(plain, applied=self.staging_with(scene, edits).applied)
        if plain.applied.refused or under.applied.refused:
            return under.applied.refused
        return find_objection(build_request_body(plain).violations, build_request_body(under).violations)

    def sent_blocks(self, scene: Scene) -> SentBlocks:
        """The blocks of `context` that the call shown has sent."""
        applied, heads = self.applied(scene), (scene.call.raw_head, scene.call.sent_head)
        if self._sent is None or self._sent[0] is not applied or self._sent[1] != heads:
            log = self._edits_of(scene).log
            self._sent = applied, heads, SentBlocks(scene.call, applied, log, self._earlier_states(applied, log, scene))
        return self._sent[2]

    def _earlier_states(self, applied: Applied, log: Sequence[Edit], scene: Scene) -> Iterator[Applied]:
        last_applied, states_left = edit_log.edits_in_force(log).applied, _EARLIER_STATES
        for count in range(len(log) - 1, -1, -1):
            before = edit_log.edits_in_force(log[:count]).applied
            if before != last_applied and states_left:
                last_applied, states_left = before, states_left - 1
                yield self._apply(applied.context, before, scene.call.model)

    def pane(self, staging: Staging, later: Later, *, live: bool = False) -> StagedPane:
        """The pane of the staged edits: sizes, prices and warnings as far as they are known."""
        applied, usable = staging.applied, staging.scene.limits.usable
        next_request = self._next_request(staging.scene, self.before, later, live=live)
        overlay = self._edits_of(staging.scene)
        staged = bool(staging.edits) or staging.was_sent_plain
        make = partial(StagedPane, usable=usable, dialect=applied.context.dialect)
        if not overlay.staged and (not applied.is_changed or (not staging.was_sent_plain and staging.as_sent)):
            return make(staging=staging, active=len(overlay.in_force))
        tag = None
        if next_request is not None and staged and staging.counted:
            tag = self._price(staging, next_request, later)
        if tag is not None:
            staging = staging.with_breakage(tag.breakage)
        elif next_request is not None and not staged:
            staging = staging.with_breakage(find_breakage(next_request.question, next_request.question.read_now))
        waits = self._waiting_edits(staging, next_request, live=live)
        make = partial(
            make,
            staging=staging,
            waits=waits,
            rest=self._recorded_savings(staging, next_request, tag) if staged else None,
            without_target=len(applied.without_target),
        )
        if tag is None or next_request is None:
            return make(is_breakage_known=next_request is not None and not staged)
        now = self.clock() if live else next_request.question.now
        moments = tuple(
            MomentPrice(price.name, _describe_moment(price, now), price.once, price.per_call, price.pays_back)
            for price in tag.moments
        )
        names = [price.name for price in moments]
        return make(
            moments=moments,
            chosen=next((names.index(wait.moment) for wait in waits if wait.moment in names), 0),
            cheapest=tag.cheapest,
            thinking_lost=tag.thinking_lost,
            warnings=tuple(_list_warnings(tag)),
            is_breakage_known=True,
        )

    def _recorded_savings(
        self, staging: Staging, next_request: PricedRequest | None, tag: PriceTag | None
    ) -> EditedCalls | None:
        scene = staging.scene
        ledger = self.study.thread(scene.thread).ledger
        edits = id(staging.applied), id(staging.under), id(tag), staging.counted
        key = (*edits, scene.index, len(scene.calls), id(ledger), ledger.changes if ledger is not None else 0)
        if self._rest is None or self._rest[0] != key:
            self._rest = key, recorded_savings(staging, next_request, tag, ledger)
        return self._rest[1]

    def _waiting_edits(
        self, staging: Staging, next_request: PricedRequest | None, *, live: bool
    ) -> tuple[WaitingEdits, ...]:
        waiting = self._edits_of(staging.scene).waiting
        expiry = None
        if next_request is not None and live:
            # If nothing would be read from the cache, it has already expired.
            expiry = next_request.question.expiry if next_request.question.read else next_request.question.now
        waits = []
        for condition, moment in MOMENT_OF_CONDITION.items():
            count = sum(wait == condition for wait in waiting.values())
            if count:
                seconds_left = (
                    None if condition != edit_log.EXPIRY or expiry is None else max(0, int(expiry - self.clock()))
                )
                waits.append(WaitingEdits(count, moment, seconds_left))
        return tuple(waits)

    def broken_literals(
        self, staging: Staging, later: Later, *, live: bool
    ) -> tuple[Sequence[Quote], Sequence[Lost]] | None:
        """Literals that later blocks quote, and those that summaries lost.

        None while they are computed, or if the next call cannot be forecast.
        """
        next_request = self._next_request(staging.scene, self.before, later, live=live)
        if next_request is None:
            return None
        tag = self._price(staging, next_request, later)
        return None if tag is None else (tag.quotes, tag.lost)

    def _price(self, staging: Staging, next_request: PricedRequest, later: Later) -> PriceTag | None:
        scene, after = staging.scene, staging.applied
        key = (id(after), id(next_request), self._edits_of(scene).version)
        if self._tag is None or self._tag[0] != key:
            before = self.before(scene)
            count_before, count_after = self._counts.count(scene, before), self._counts.count(scene, after)
            if count_before is None or count_after is None:
                return None
            work = partial(
                self._make_tag, key, before, after, next_request, (count_before, count_after), scene.call.model
            )
            if len(after.context) <= MAX_INLINE_PRICED_BLOCKS:
                self._pricing = key
                work()
            elif self._pricing != key:
                self._pricing = key
                later(work)
        return self._tag[1] if self._tag is not None and self._tag[0] == key else None

    def _make_tag(
        self,
        key: object,
        before: Applied,
        after: Applied,
        next_request: PricedRequest,
        counts: tuple[RequestCount, RequestCount],
        model: str,
    ) -> None:
        if self._pricing != key:
            return
        waiting = False
        if self._sizes[0] is not next_request:
            self._sizes = next_request, {}
        sizes = self._sizes[1]

        def count(block: Block) -> int:
            nonlocal waiting
            size = sizes.get(block.digest)
            if size is None:
                features = self.study.features(model, block)
                if features is None:
                    waiting = True
                    return 0
                size = sizes[block.digest] = round(next_request.weigh(features))
            return size

        tag = price_tag(before, after, next_request.question, count, counts, self._next.literals)
        if self._pricing == key:
            self._pricing = None
        if not waiting:
            self._tag = key, tag

    def before(self, scene: Scene) -> Applied:
        """The context to compare the edits with: under the applied edits.

        Without edits if nothing is staged and the call shown was sent unedited.
        """
        if self._edits_of(scene).staged or scene.call.is_edited:
            return self.applied(scene)
        context = self.context(scene)
        key = (id(context), context.head, len(context))
        if self._plain is None or self._plain[0] != key:
            self._plain = key, Applied(context, length=len(context))
        return self._plain[1]

    @property
    def is_forecasting(self) -> bool:
        done, total = self.study.progress
        working = self._reading is not None or self._pricing is not None
        return self._next.is_forecasting or done < total or working

    @property
    def literals(self) -> Literals | None:
        """Literals of the context whose next call was forecast last; None before the first."""
        return self._next.literals

    def applied(self, scene: Scene) -> Applied:
        context, model = self.context(scene), scene.call.model
        applied = self._edits_of(scene).applied
        key = (id(context), context.head, len(context), tuple(edit.id for edit in applied), model)
        if self._base is None or self._base[0] != key:
            self._base = key, self._apply(context, applied, model)
        return self._base[1]

    def _apply(self, context: Context, edits: tuple[Edit, ...], model: str) -> Applied:
        return apply(context, edits, rules_for(context.dialect, self.study.book.card(model)))

    def to_edited_context(self, scene: Scene, *, staged: bool = False) -> EditedContext:
        """The next request's context under the applied edits, with `staged` also the staged ones."""
        card = self.study.book.card(scene.call.model)
        number = scene.number if scene.call.id else 0
        chosen = ChosenCall(scene.thread, number, scene.call)
        applied = self.staging(scene).applied if staged else self.applied(scene)
        sizes = partial(self.study.tokens, scene.call.model)
        request_count = self._counts.count(scene, applied)
        return EditedContext(
            session=self.study.session,
            chosen=chosen,
            context=applied.context,
            applied=applied,
            limits=card.request_limits,
            after=True,
            size=request_count.whole + request_count.back if request_count is not None else None,
            count=lambda block: sizes(block) or 0,
        )

    def summary_terms(self, scene: Scene, length: int) -> SummaryTerms:
        """Terms for a summary made without a model, of at most `length` tokens.

        0: by the size of the blocks.
        """
        book, literals = self.study.book, self.literals
        measure, weights = book.measure(scene.call.model), book.weights(scene.call.model)

        def keep(positions: Sequence[int]) -> Sequence[str]:
            return quoted_literals(literals, positions) if literals is not None else ()

        return SummaryTerms(lambda block: round(weigh(measure(block), weights)), length, keep)

    def artifact_keeper(self, thread: str) -> Callable[[str, bytes], None]:
        return self.session_edits.of_thread(thread).keep_artifact

    @property
    def unsaved(self) -> bool:
        return self.session_edits.unsaved

    def save(self) -> None:
        """Write new entries to the database; for a worker thread. Raises `CtxtuiError`."""
        self.session_edits.save()


def _describe_moment(moment: ApplyMoment, now: float) -> str:
    return "" if moment.name != EXPIRY or moment.at is None else countdown(max(0, int(moment.at - now)))


def _list_warnings(tag: PriceTag) -> Iterator[tuple[str, str]]:
    if tag.quotes:
        by = len({position for quote in tag.quotes for position in quote.by})
        more = f" +{len(tag.quotes) - 1}" if len(tag.quotes) > 1 else ""
        yield f"{by:,} later block{' quotes' if by == 1 else 's quote'}", tag.quotes[0].literal + more
    if tag.lost:
        more = f" +{len(tag.lost) - 1}" if len(tag.lost) > 1 else ""
        yield f"{len(tag.lost):,} literal{'' if len(tag.lost) == 1 else 's'} lost in Σ:", tag.lost[0].literal + more
