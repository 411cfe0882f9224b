"""Stage edits of an open session: each thread's edits, and their effect on a context."""

from __future__ import annotations

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
from ctxtui.services.editing.edited_context import Ready
from ctxtui.services.editing.later_calls import recorded_savings
from ctxtui.services.editing.next_request import Next
from ctxtui.services.editing.next_request_cache import Later, NextRequestCache
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.study.study import Study
from ctxtui.tokens.features import NOTHING, Features
from ctxtui.tokens.weights import weigh
from ctxtui.views.model.scene import Scene
from ctxtui.views.model.staging import Staging, is_unsent
from ctxtui.views.transcript.staged_pane import MomentPrice, StagedPane, WaitingEdits, countdown
from ctxtui.wire.grammar import GRAMMARS

_KEPT: Final = 4
"""Counts that are kept: of the request without edits, under the applied ones, under the staged ones."""


class RequestCounts:
    """Counts of the requests used last, in the session of `study`."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._known: list[tuple[Applied, object, RequestCount]] = []
        self._terms: tuple[object, CountingTerms | None] = (None, None)

    def of(self, scene: Scene, applied: Applied) -> RequestCount | None:
        """Count the request under `applied`; None while part of it is being counted."""
        study, call = self._study, scene.call
        figures = scene.figures
        key = (call.id, study.book.version, figures.context_tokens, figures.not_recorded, figures.attached)
        known = next((one for one in self._known if _is_same(one[0], applied) and one[1] == key), None)
        if known is not None:
            self._known = [*(one for one in self._known if one is not known), known]
            return known[2]
        if not study.book.is_counted(call.model, applied.context.head):
            return None
        waiting: list[Block] = []

        def measure(block: Block) -> Features:
            found = study.features(call.model, block)
            if found is None:
                waiting.append(block)
            return NOTHING if found is None else found

        of = (applied.context.head, applied.context, study.book.cumulated(call.model), study.book.version)
        if self._terms[0] != (key, of) or self._terms[1] is None:
            self._terms = (key, of), counting_terms(study.book, call, applied.context)
        assert self._terms[1] is not None
        made = count_under(self._terms[1], applied, measure)
        if waiting:
            return None
        self._known = [*self._known[1 - _KEPT :], (applied, key, made)]
        return made


def _is_same(one: Applied, other: Applied) -> bool:
    """Whether two results are the same request: unedited results of a context are separate objects."""
    bare = not one.is_changed and not other.is_changed and one.context is other.context and one.length == other.length
    return one is other or (bare and one.withheld == other.withheld)


FEW: Final = 1000
"""Blocks of a context that are read at once, on the screen's thread (some 15 ms)."""
PRICED_AT_ONCE: Final = 2000
"""Blocks of a context whose edits are priced on the screen's thread (some 15 ms); those of a longer one in a worker."""
_EARLIER_STATES: Final = 8
"""States of the edit log before the present one that are tried for the one a call left under."""

UNTIL: Final = {edit_log.EXPIRY: EXPIRY, edit_log.MISS: MISS}
"""What edits wait for, by the name of the moment at which they then leave."""
WAIT_FOR: Final = {NOW: "", **{moment: until for until, moment in UNTIL.items()}}
"""The other way round; at the moment `NOW` they wait for nothing."""


class StagingArea:
    """The staged edits of the session of `study`. Contexts and results are cached between frames."""

    def __init__(self, study: Study, overlays: SessionEdits, clock: Callable[[], float] = time.time) -> None:
        self.study = study
        self.clock = clock
        """Gives the time in Unix seconds."""
        self._overlays = overlays
        self._context: Context | None = None
        self._reading: tuple[object, int] | None = None
        self._applied: tuple[object, Applied] | None = None
        self._base: tuple[object, Applied] | None = None
        self._plain: tuple[object, Applied] | None = None
        self._under: Staging | None = None
        self._next = NextRequestCache(study, clock)
        self._tag: tuple[object, PriceTag] | None = None
        self._pricing: object = None
        """Of which edits a worker makes the price."""
        self._sizes: tuple[Next | None, dict[str, int]] = None, {}
        """Tokens of blocks as the next request has them, which is asked for with every edit."""
        self._rest: tuple[object, EditedCalls | None] | None = None
        self._counts = RequestCounts(study)
        self._sent: tuple[Applied, tuple[int, int], SentBlocks] | None = None

    def next_call(self, scene: Scene, later: Later, *, live: bool = False) -> Next | None:
        """The request after the call shown, under the applied edits; None while it is computed. `later` computes it in
        a worker. A live session's is sent now, a recorded one's when the call shown had ended.
        """
        return self._following(scene, self.applied(scene), later, live=live) if self._known(scene, later) else None

    def earlier_call(self, scene: Scene, *, live: bool = False) -> Next | None:
        """The same as `next_call` from before the context grew; None if unknown."""
        return self._next.earlier(scene, self.context(scene), self.applied(scene), live=live)

    def coming(self, scene: Scene, later: Later, *, live: bool = False) -> NextCallForecast | None:
        """Forecast of the next call, also under staged edits unless all of them wait; None while computed. The
        arguments are those of `next_call`.
        """
        found = self.next_call(scene, later, live=live)
        if found is None:
            earlier = self.earlier_call(scene, live=live) if self.ready(scene, later) else None
            return earlier.coming if earlier is not None else None
        if not self._overlays.of(scene.thread or "main").ready:
            return found.coming
        staging = self.staging(scene)
        tag = self._price(staging, found, later) if staging.counted else None
        if tag is None:
            return replace(found.coming, outdated=True)
        now = tag.moments[0]
        return adjust_forecast(found.coming, now.plain, now.usage, tag.markers, found.asked.charge)

    def _known(self, scene: Scene, later: Later) -> bool:
        """Whether the next call can be asked for."""
        usage, (done, total) = scene.call.usage, self.study.progress
        return usage is not None and usage.has_cache and done >= total and self.ready(scene, later)

    def _following(self, scene: Scene, applied: Applied, later: Later, *, live: bool) -> Next | None:
        return self._next.of(scene, self.context(scene), applied, later, live=live)

    def overlay(self, thread: str) -> ThreadEdits:
        """The edits of `thread`. Raises `CtxtuiError` if the database cannot be read."""
        return self._overlays.of(thread)

    @property
    def elsewhere(self) -> SessionEdits:
        """The source of edits staged by other processes."""
        return self._overlays

    def has_edits(self, thread: str) -> bool:
        """Whether `thread` has edits in force, staged or applied."""
        return bool(self._overlays.of(thread).in_force)

    def ready(self, scene: Scene, later: Later) -> bool:
        """Whether `context` is quick enough for a frame; if not, `later` reads it in a worker."""
        head, tree, known = scene.tip or scene.head, scene.session.tree, self._context
        before = known.head if known is not None and known.tree is tree else ROOT
        new = tree[head].depth - tree[before].depth
        if tree[head].depth <= FEW or head == before or (0 <= new <= FEW and tree.holds(head, before)):
            return True
        if self._reading != (tree, head):
            self._reading = tree, head
            later(partial(self._read, scene, head))
        return False

    def _read(self, scene: Scene, head: int) -> None:
        # One that has grown since is read as it is by now.
        if self._reading == (scene.session.tree, head):
            self._context = Context.of_call(scene.session.tree, scene.call, head)
            self._reading = None

    def context(self, scene: Scene) -> Context:
        """The context of the request after the call shown, for curation."""
        head, tree, spelled = scene.tip or scene.head, scene.session.tree, scene.call.skeleton
        known = self._context
        # Before the first call of a chat its dialect is only guessed.
        named = spelled.dialect if spelled is not None and spelled.dialect in GRAMMARS else ""
        if known is None or known.tree is not tree or (named and known.dialect != named):
            known = Context.of_call(tree, scene.call, head)
        self._context = known.grow_to(head)
        return self._context

    def staging(self, scene: Scene, marks: frozenset[int] = frozenset()) -> Staging:
        """The effect of the edits on the context."""
        overlay = self._overlays.of(scene.thread or "main")
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
            under = Staging(scene, base, sizes, head=head, count=partial(self.counted, scene))
        self._under = under
        return Staging(
            scene,
            applied,
            sizes,
            edits=overlay.staged,
            marked=marks,
            head=head,
            under=under,
            count=partial(self.counted, scene),
            sent=self.sent_blocks(scene),
        )

    def staging_with(self, scene: Scene, edits: Sequence[Edit]) -> Staging:
        """The effect of `edits` in addition to those in force."""
        now = self.staging(scene)
        standing = self._overlays.of(scene.thread or "main").in_force
        return now.with_applied(self._apply(now.applied.context, (*standing, *edits), scene.call.model))

    def sent_blocks(self, scene: Scene) -> SentBlocks:
        """The blocks of `context` that the call shown has sent."""
        applied, heads = self.applied(scene), (scene.call.raw_head, scene.call.sent_head)
        if self._sent is None or self._sent[0] is not applied or self._sent[1] != heads:
            log = self._overlays.of(scene.thread or "main").log
            self._sent = applied, heads, SentBlocks(scene.call, applied, log, self._earlier(applied, log, scene))
        return self._sent[2]

    def _earlier(self, applied: Applied, log: Sequence[Edit], scene: Scene) -> Iterator[Applied]:
        """The context under earlier sets of applied edits, the latest first."""
        known, left = edit_log.edits_in_force(log).applied, _EARLIER_STATES
        for count in range(len(log) - 1, -1, -1):
            before = edit_log.edits_in_force(log[:count]).applied
            if before != known and left:
                known, left = before, left - 1
                yield self._apply(applied.context, before, scene.call.model)

    def counted(self, scene: Scene, applied: Applied) -> RequestCount | None:
        """Count the request under `applied`; None while part of it is being counted."""
        return self._counts.of(scene, applied)

    def pane(self, staging: Staging, moment: int | None, later: Later, *, live: bool = False) -> StagedPane:
        """The content of the pane of staged edits. `moment` is the chosen price (0-based; None: that of the moment at
        which the edits will be applied); `later` and `live` are as in `next_call`.
        """
        applied, usable = staging.applied, staging.scene.limits.usable
        known = self._known(staging.scene, later)
        coming = self._following(staging.scene, self.before(staging.scene), later, live=live) if known else None
        overlay = self._overlays.of(staging.scene.thread or "main")
        staged = bool(staging.edits) or staging.unsent
        if not overlay.staged and (not applied.is_changed or (not staging.unsent and staging.as_sent)):
            count = len(overlay.in_force)
            return StagedPane(staging=staging, usable=usable, dialect=applied.context.dialect, active=count)
        tag = self._price(staging, coming, later) if coming is not None and staged and staging.counted else None
        if coming is not None and (tag is not None or not staged):
            found = tag.breakage if tag is not None else find_breakage(coming.asked, coming.asked.read_now)
            staging = staging.with_breakage(found)
        waits = self._waits(staging, coming, live=live)
        rest = self._rest_of(staging, coming, tag) if staged else None
        if tag is None:
            return StagedPane(
                staging=staging,
                usable=usable,
                dialect=applied.context.dialect,
                asleep=len(applied.asleep),
                known=coming is not None and not staged,
                waits=waits,
                rest=rest,
            )
        assert coming is not None
        now = self.clock() if live else coming.asked.now
        moments = tuple(
            MomentPrice(one.name, _hint(one, now), one.once, one.per_call, one.pays_back) for one in tag.moments
        )
        named = [one.name for one in moments]
        leaves = next((named.index(one.moment) for one in waits if one.moment in named), 0)
        chosen = leaves if moment is None else moment % max(1, len(moments))
        return StagedPane(
            staging=staging,
            usable=usable,
            dialect=applied.context.dialect,
            moments=moments,
            chosen=chosen,
            cheapest=tag.cheapest,
            waits=waits,
            rest=rest,
            thinking_lost=tag.thinking_lost,
            warnings=tuple(_warnings(tag)),
            asleep=len(applied.asleep),
            known=True,
        )

    def _rest_of(self, staging: Staging, coming: Next | None, tag: PriceTag | None) -> EditedCalls | None:
        """Savings of the edits to the end of the recording."""
        scene = staging.scene
        ledger = self.study.thread(scene.thread).ledger
        edits = id(staging.applied), id(staging.under), id(tag), staging.counted
        key = (*edits, scene.index, len(scene.calls), id(ledger), ledger.changes if ledger is not None else 0)
        if self._rest is None or self._rest[0] != key:
            self._rest = key, recorded_savings(staging, coming, tag, ledger)
        return self._rest[1]

    def _waits(self, staging: Staging, coming: Next | None, *, live: bool) -> tuple[WaitingEdits, ...]:
        """The waiting edits, by what they wait for."""
        waiting = self._overlays.of(staging.scene.thread or "main").waiting
        expiry = None
        if coming is not None and live:
            # Where nothing would be read any more, it has come.
            expiry = coming.asked.expiry if coming.asked.read else coming.asked.now
        found = []
        for until, moment in UNTIL.items():
            count = sum(one == until for one in waiting.values())
            if count:
                left = None if until != edit_log.EXPIRY or expiry is None else max(0, int(expiry - self.clock()))
                found.append(WaitingEdits(count, moment, left))
        return tuple(found)

    def broken(self, staging: Staging, later: Later, *, live: bool) -> tuple[Sequence[Quote], Sequence[Lost]] | None:
        """Literals that later blocks quote, and those that summaries lost; None while computed."""
        if not self._known(staging.scene, later):
            return None
        coming = self._following(staging.scene, self.before(staging.scene), later, live=live)
        if coming is None:
            return None
        tag = self._price(staging, coming, later)
        if tag is None and self._pricing is not None:
            return None
        return (tag.quotes, tag.lost) if tag is not None else ((), ())

    def _price(self, staging: Staging, coming: Next, later: Later) -> PriceTag | None:
        """The tag of the staged edits; None while a block is being counted or a worker prices them."""
        scene, after = staging.scene, staging.applied
        key = (id(after), id(coming), self._overlays.of(scene.thread or "main").version)
        if self._tag is None or self._tag[0] != key:
            before = self.before(scene)
            without, under = self.counted(scene, before), self.counted(scene, after)
            if without is None or under is None:
                return None
            work = partial(self._make_tag, key, before, after, coming, (without, under), scene.call.model)
            if len(after.context) <= PRICED_AT_ONCE:
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
        coming: Next,
        counts: tuple[RequestCount, RequestCount],
        model: str,
    ) -> None:
        """Store the tag of the edits in `after`, unless it is outdated or a block is still being counted."""
        if self._pricing != key:
            return
        waiting = False
        if self._sizes[0] is not coming:
            self._sizes = coming, {}
        sizes = self._sizes[1]

        def count(block: Block) -> int:
            nonlocal waiting
            size = sizes.get(block.digest)
            if size is None:
                found = self.study.features(model, block)
                if found is None:
                    waiting = True
                    return 0
                size = sizes[block.digest] = round(coming.weigh(found))
            return size

        tag = price_tag(before, after, coming.asked, count, counts, self._next.literals)
        if self._pricing == key:
            self._pricing = None
        if not waiting:
            self._tag = key, tag

    def before(self, scene: Scene) -> Applied:
        """The context to compare the edits with: under the applied edits. If nothing is staged and the applied edits
        are not sent yet: without edits.
        """
        if self._overlays.of(scene.thread or "main").staged or not is_unsent(scene):
            return self.applied(scene)
        context = self.context(scene)
        key = (id(context), context.head, len(context))
        if self._plain is None or self._plain[0] != key:
            self._plain = key, Applied(context, length=len(context))
        return self._plain[1]

    @property
    def foretelling(self) -> bool:
        """Whether a forecast, or something that it needs, is being computed."""
        done, total = self.study.progress
        working = self._reading is not None or self._pricing is not None
        return self._next.foretelling or done < total or working

    @property
    def literals(self) -> Literals | None:
        """Literals of the context whose next call was forecast; None before."""
        return self._next.literals

    def applied(self, scene: Scene) -> Applied:
        """The context under the applied edits."""
        context, model = self.context(scene), scene.call.model
        applied = self._overlays.of(scene.thread or "main").applied
        key = (id(context), context.head, len(context), tuple(edit.id for edit in applied), model)
        if self._base is None or self._base[0] != key:
            self._base = key, self._apply(context, applied, model)
        return self._base[1]

    def _apply(self, context: Context, edits: tuple[Edit, ...], model: str) -> Applied:
        return apply(context, edits, rules_for(context.dialect, self.study.book.card(model)))

    def leaving(self, scene: Scene, *, staged: bool = False) -> Ready:
        """The context of the next request under the applied edits, and the `staged` ones if requested."""
        card = self.study.book.card(scene.call.model)
        number = scene.number if scene.call.id else 0
        chosen = ChosenCall(scene.thread, number, scene.call)
        applied = self.staging(scene).applied if staged else self.applied(scene)
        sizes = partial(self.study.tokens, scene.call.model)
        under = self.counted(scene, applied)
        return Ready(
            session=self.study.session,
            chosen=chosen,
            context=applied.context,
            applied=applied,
            limits=card.request_limits,
            after=True,
            size=under.whole + under.back if under is not None else None,
            count=lambda block: sizes(block) or 0,
        )

    def summary_terms(self, scene: Scene, length: int) -> SummaryTerms:
        """Terms for a summary without a model of at most `length` tokens (0: by its size)."""
        book, known = self.study.book, self.literals
        measure, weights = book.measure(scene.call.model), book.weights(scene.call.model)

        def keep(positions: Sequence[int]) -> Sequence[str]:
            return quoted_literals(known, positions) if known is not None else ()

        return SummaryTerms(lambda block: round(weigh(measure(block), weights)), length, keep)

    def keep(self, thread: str) -> Callable[[str, bytes], None]:
        """A function that stores an artifact with the edits of `thread`."""
        return self._overlays.of(thread).keep_artifact

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""
        return self._overlays.unsaved

    def save(self) -> None:
        """Write new entries to the database; for a worker thread. Raises `CtxtuiError`."""
        self._overlays.save()


def _hint(one: ApplyMoment, now: float) -> str:
    """The time until a moment: until the cache expires."""
    return "" if one.name != EXPIRY or one.at is None else countdown(max(0, int(one.at - now)))


def _warnings(tag: PriceTag) -> Iterator[tuple[str, str]]:
    """Warnings about the edits, each with its subject."""
    if tag.quotes:
        by = len({position for quote in tag.quotes for position in quote.by})
        more = f" +{len(tag.quotes) - 1}" if len(tag.quotes) > 1 else ""
        yield f"{by:,} later block{' quotes' if by == 1 else 's quote'}", tag.quotes[0].literal + more
    if tag.lost:
        more = f" +{len(tag.lost) - 1}" if len(tag.lost) > 1 else ""
        yield f"{len(tag.lost):,} literal{'' if len(tag.lost) == 1 else 's'} lost in Σ:", tag.lost[0].literal + more
