"""Where edits of an open session are staged: the overlay of each thread, and what it makes of a context."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from ctxtui.core.tree import ROOT
from ctxtui.curation.applied import Applied
from ctxtui.curation.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.dependence import Literals, Lost, Quote
from ctxtui.curation.price_tag import EXPIRY, PriceTag, price_tag
from ctxtui.curation.price_tag import Moment as Priced
from ctxtui.curation.rules import rules_for
from ctxtui.runtime.coming import Next, next_of
from ctxtui.views.staged_pane import Moment, StagedPane
from ctxtui.views.staging import Staging

if TYPE_CHECKING:
    from ctxtui.core.block import Block
    from ctxtui.core.edit import Edit
    from ctxtui.runtime.overlay import Overlay
    from ctxtui.runtime.study import Study
    from ctxtui.views.scene import Scene


FEW: Final = 1000
"""Blocks of a context that are read at once, on the screen's thread (some 15 ms)."""
MANY: Final = 20_000
"""Blocks that are read at once where the user waits for it (a third of a second)."""
Later = Callable[[Callable[[], None]], None]
"""Has something done in a worker, before anything else."""


class Kept(Protocol):
    """Where overlays come from and are saved (`runtime.overlays.Overlays`)."""

    def of(self, thread: str) -> Overlay:
        """The overlay of `thread`."""

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""

    def save(self) -> None:
        """Write what is new."""


class StagingDesk:
    """What is staged in the session of `study`. Contexts and results are kept from one showing to the next."""

    def __init__(self, study: Study, overlays: Kept) -> None:
        self.study = study
        self._overlays = overlays
        self._context: Context | None = None
        self._reading: tuple[object, int] | None = None
        self._applied: tuple[object, Applied] | None = None
        self._base: tuple[object, Applied] | None = None
        self._next: dict[object, Next | None] = {}
        self._literals: Literals | None = None
        self._tag: tuple[object, PriceTag] | None = None

    def next_call(self, scene: Scene, later: Later, *, live: bool = False) -> Next | None:
        """The request that would follow the call shown; None while it is worked out, which `later` does in a worker.
        A live session's is sent now, a recorded one's when the call shown had ended."""
        study, call = self.study, scene.call
        done, total = study.progress
        if call.usage is None or not call.usage.has_cache or done < total or not self.ready(scene, later):
            return None
        context = self.context(scene)
        key = (call.id, context.head, study.book.version, len(study.session.calls), live)
        if key not in self._next:
            self._next = {key: None}

            def work() -> None:
                calls = list(scene.calls[: scene.index + 1])
                at = time.time() if live else None
                found = next_of(study.book, call, context.head, calls, study.pricer, at)
                literals = Literals(context)
                literals.advance()
                self._literals = literals
                self._next[key] = found

            later(work)
        return self._next[key]

    def overlay(self, thread: str) -> Overlay:
        """The edits of `thread`. Raises `CtxtuiError` where the database cannot be read."""
        return self._overlays.of(thread)

    def has_edits(self, thread: str, marks: Collection[int] = ()) -> bool:
        """Whether there is anything to show of `thread`."""
        return bool(marks) or bool(self._overlays.of(thread).in_force)

    def ready(self, scene: Scene, later: Later, *, waited_for: bool = False) -> bool:
        """Whether `context` has it soon enough, maybe with the user waiting for it; else `later` reads it in a worker:
        that of a long session takes a while."""
        most = MANY if waited_for else FEW
        head, tree, known = scene.tip or scene.head, scene.session.tree, self._context
        before = known.head if known is not None and known.tree is tree else ROOT
        new = tree[head].depth - tree[before].depth
        if tree[head].depth <= most or head == before or (0 <= new <= most and tree.holds(head, before)):
            return True
        if self._reading != (tree, head):
            self._reading = tree, head
            later(partial(self._read, scene))
        return False

    def _read(self, scene: Scene) -> None:
        self._context = Context.of_call(scene.session.tree, scene.call, scene.tip or scene.head)
        self._reading = None

    def context(self, scene: Scene) -> Context:
        """The context that the request after the call shown would have, read for curation."""
        head, tree = scene.tip or scene.head, scene.session.tree
        if self._context is None or self._context.tree is not tree:
            self._context = Context.of_call(tree, scene.call, head)
        self._context = self._context.grown(head)
        return self._context

    def staging(self, scene: Scene, marks: frozenset[int] = frozenset()) -> Staging:
        """What the edits make of it."""
        overlay = self._overlays.of(scene.thread or "main")
        context = self.context(scene)
        model = scene.call.model
        key = (id(context), context.head, len(context), overlay, overlay.version, model)
        if self._applied is None or self._applied[0] != key:
            rules = rules_for(context.dialect, self.study.book.card(model))
            self._applied = key, apply(context, overlay.in_force, rules)
        return Staging(
            scene, self._applied[1], partial(self.study.tokens_of, model), overlay.staged, marks, context.head or ROOT
        )

    def pane(self, staging: Staging, moment: int | None, coming: Next | None) -> StagedPane:
        """What the pane of staged edits shows: `moment` is the price that is chosen (0-based; None: the cheapest),
        `coming` the next request without them."""
        tag = self._price(staging, coming) if coming is not None and staging.counted else None
        applied = staging.applied
        if tag is None:
            return StagedPane(staging, staging.scene.limits.usable, applied.context.dialect, asleep=len(applied.asleep))
        assert coming is not None
        moments = tuple(
            Moment(one.name, _hint(one, coming.asked.now), one.once, one.per_call, one.pays_back) for one in tag.moments
        )
        chosen = tag.cheapest if moment is None else moment % max(1, len(moments))
        return StagedPane(
            staging,
            staging.scene.limits.usable,
            applied.context.dialect,
            moments,
            chosen,
            tag.thinking_lost,
            tuple(_warnings(tag)),
            len(applied.asleep),
            tag.broken,
            tag.breaks_at,
        )

    def broken(self, staging: Staging, coming: Next) -> tuple[Sequence[Quote], Sequence[Lost]]:
        """The literals that later blocks quote, and those that summaries lost."""
        tag = self._price(staging, coming)
        return (tag.quotes, tag.lost) if tag is not None else ((), ())

    def _price(self, staging: Staging, coming: Next) -> PriceTag | None:
        """The tag of what is staged; None while a block of it is being counted."""
        overlay, model = self._overlays.of(staging.scene.thread or "main"), staging.scene.call.model
        key = (id(staging.applied), id(coming), overlay.version)
        if self._tag is None or self._tag[0] != key:
            before = self.before(staging)
            waiting: list[Block] = []

            def count(block: Block) -> int:
                found = self.study.tokens_of(model, block)
                if found is None:
                    waiting.append(block)
                return found or 0

            tag = price_tag(before, staging.applied, coming.asked, count, self._literals)
            if waiting:
                return None
            self._tag = key, tag
        return self._tag[1]

    def before(self, staging: Staging) -> Applied:
        """The context of `staging` without what is only staged."""
        scene = staging.scene
        applied = self._overlays.of(scene.thread or "main").applied
        return self._base_of(staging.applied.context, applied, scene.call.model)

    @property
    def foretelling(self) -> bool:
        """Whether a next request is being worked out."""
        return None in self._next.values()

    @property
    def literals(self) -> Literals | None:
        """The literals of the context whose next call was worked out; None before."""
        return self._literals

    def _base_of(self, context: Context, applied: tuple[Edit, ...], model: str) -> Applied:
        """The context under what is applied already."""
        key = (id(context), context.head, len(context), tuple(edit.id for edit in applied), model)
        if self._base is None or self._base[0] != key:
            self._base = key, apply(context, applied, rules_for(context.dialect, self.study.book.card(model)))
        return self._base[1]

    def keep(self, thread: str) -> Callable[[str, bytes], None]:
        """What keeps an artifact with the edits of `thread`."""
        return self._overlays.of(thread).keep

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""
        return self._overlays.unsaved

    def save(self) -> None:
        """Write what is new to the database, for a worker thread. Raises `CtxtuiError`."""
        self._overlays.save()


def _hint(one: Priced, now: float) -> str:
    """When a moment is: how long until the cache has expired."""
    if one.name != EXPIRY or one.at is None:
        return ""
    left = max(0, int(one.at - now))
    return f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}" if left >= 3600 else f"{left // 60}:{left % 60:02}"


def _warnings(tag: PriceTag) -> Iterator[tuple[str, str]]:
    """What to look out for, each with what it is about."""
    if tag.quotes:
        by = len({position for quote in tag.quotes for position in quote.by})
        more = f" +{len(tag.quotes) - 1}" if len(tag.quotes) > 1 else ""
        yield f"{by:,} later block{' quotes' if by == 1 else 's quote'}", tag.quotes[0].literal + more
    if tag.lost:
        more = f" +{len(tag.lost) - 1}" if len(tag.lost) > 1 else ""
        yield f"{len(tag.lost):,} literal{'' if len(tag.lost) == 1 else 's'} lost in Σ:", tag.lost[0].literal + more
