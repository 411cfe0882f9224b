"""Prepares the requests of recorded sessions before they leave, in a child process: foretells them by the same
functions as the inspector's next call, applies the edits that waited for this moment, and lets policies act."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.block_sizes import BlockSizes
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.next_call import Coming
from ctxtui.analysis.cache.what_if import Replay
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.edit_prices import EditPrices
from ctxtui.analysis.request_counts import counting_terms
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.attach.desk.request_desk import Foretold, LeavingRequest, PreparedRequest
from ctxtui.services.config.policy_registry import chosen_steps
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cached_by
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import Next, count_for, first_of, next_in
from ctxtui.services.editing.overlay import SessionEdits, ThreadEdits
from ctxtui.services.editing.priced_policies import act_at_price
from ctxtui.services.editing.waiting_edits import due, released
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.transcripts.kit.http_exchange.decode import Decoded, decode
from ctxtui.transcripts.kit.http_exchange.exchanges import with_server_items
from ctxtui.transcripts.kit.http_exchange.pair import Exchange

_SESSIONS: Final = 4
"""Recordings that are kept open."""


class _Kept(Struct):
    """A recording that is read on as it grows, its figures so far, and its edits."""

    loaded: Loaded
    book: Book
    counter: Counter
    replay: Replay
    edits: SessionEdits

    @classmethod
    def of(cls, loaded: Loaded, settings: Settings) -> _Kept:
        counter = Counter()
        book = book_for(loaded.session, counter, settings)
        return cls(loaded, book, counter, Replay(book, cached_by(book)), SessionEdits(loaded, settings))

    @property
    def session(self) -> Session:
        return self.book.session


class _Leaving(Struct, frozen=True):
    """A request: what was asked, what it holds, and where that ends in the tree of its session."""

    asked: LeavingRequest
    decoded: Decoded
    head: int

    def next(self, kept: _Kept, overlay: ThreadEdits, at: float | None) -> Next | None:
        """It as the next one of its thread, under the applied edits; None where the thread has no call yet."""
        asked = self.asked
        parts = kept.replay, kept.book, kept.counter, asked.settings, asked.thread
        return next_in(*parts, overlay.applied, at, head=self.head, model=self.decoded.model)


class Preparer:
    """Prepares requests, each session's with what is known of it already."""

    def __init__(self) -> None:
        self._open: dict[Path, _Kept] = {}

    def __call__(self, asked: LeavingRequest) -> PreparedRequest:
        """What is to be known of the request."""
        try:
            return self._prepared(asked)
        except CtxtuiError as error:
            return PreparedRequest(why=error.message, trouble=error.message)

    def _prepared(self, asked: LeavingRequest) -> PreparedRequest:
        exchange = Exchange(asked.body, url=asked.url, started=asked.at)
        decoded = decode(exchange)
        if decoded is None:
            return PreparedRequest(why="it puts nothing before a model")
        kept = self._kept(asked)
        if decoded.params.get("previous_response_id") or decoded.params.get("conversation"):
            before = kept.session.calls.get(str(decoded.params.get("previous_response_id")))
            if before is None:
                return PreparedRequest(why="it goes on from what the provider keeps, which is not on record")
            held = kept.session.tree.items(before.response_head)
            decoded = with_server_items(decoded, [item for item in held if item.place.section == "messages"])
        one = _Leaving(asked, decoded, kept.session.tree.extend(ROOT, decoded.items))
        calls = kept.session.thread_calls(asked.thread)
        if not calls or calls[-1].usage is None:
            call = _as_call(exchange, decoded, one.head, asked.thread)
            first = first_of(kept.replay, kept.book, kept.counter, asked.settings, call)
            return PreparedRequest(foretold=Foretold(first.input, first.total, ""))
        overlay = kept.edits.of(asked.thread)
        done, trouble = self._edited(kept, one, overlay, calls[-1])
        found = one.next(kept, overlay, asked.at)
        assert found is not None
        foretold = Foretold(found.coming.input, found.coming.total, miss_of(found.coming, calls))
        return PreparedRequest(foretold=foretold, done=done, trouble=trouble)

    def _edited(self, kept: _Kept, one: _Leaving, overlay: ThreadEdits, last: Call) -> tuple[tuple[str, ...], str]:
        """Apply what waited for this request, and let policies act: what was done, and what went wrong."""
        asked, done = one.asked, list[str]()
        if kept.edits.moved():
            kept.edits.take(kept.edits.stored())
        if overlay.waiting:
            other = last.model != one.decoded.model
            come = due(frozenset(overlay.waiting.values()), partial(one.next, kept, overlay), asked.at, other)
            done.append(released(overlay, come))
        if asked.policies:
            done.append(self._policies(kept, one, overlay, last))
        trouble = ""
        try:
            kept.edits.save()
        except CtxtuiError as error:
            trouble = f"edits could not be kept: {error.message}"
        return tuple(filter(None, done)), trouble

    def _policies(self, kept: _Kept, one: _Leaving, overlay: ThreadEdits, last: Call) -> str:
        book, counter, asked = kept.book, kept.counter, one.asked
        coming = one.next(kept, overlay, asked.at)
        assert coming is not None
        model, last = one.decoded.model or last.model, replace(last, model=one.decoded.model or last.model)
        card = book.card(model)
        context = Context.of_call(kept.session.tree, last, one.head)
        rules = rules_for(context.dialect, card)
        count_for(book, counter, model)
        sizes = BlockSizes(book, model, context)
        before = apply(context, overlay.applied, rules)
        situation = PolicyContext(
            context=context,
            log=tuple(overlay.log),
            tokens=sizes.at,
            count=sizes.of,
            usable=context_window(book, last, asked.settings.usable_share).usable,
            rules=rules,
            cold=not coming.asked.read,
            hidden=max(0, coming.asked.prompt.total - sizes.whole) if not overlay.applied else 0,
        )
        prices = EditPrices(before, coming.asked, coming.weigh, counter(card), counting_terms(book, last, context))
        steps = chosen_steps(asked.policies, asked.given)
        return act_at_price(steps, situation, overlay, prices.tag, asked.settings.horizon)

    def _kept(self, asked: LeavingRequest) -> _Kept:
        known = self._open.pop(asked.recording, None)
        if known is not None:
            known.loaded.more()
        if known is None or known.loaded.session is not known.session:
            try:
                known = _Kept.of(load(asked.recording, own=""), asked.settings)
            except (NoContext, FileNotFoundError):
                return _Kept.of(Loaded(Session(), ""), asked.settings)
        self._open[asked.recording] = known
        while len(self._open) > _SESSIONS:
            del self._open[next(iter(self._open))]
        return known


def miss_of(what: Coming, calls: Sequence[Call]) -> str:
    """Why the next call of a thread with these `calls` will miss the cache: it reads no more than half of what the last
    one left. "" where it will not, or where nothing was cached."""
    last = calls[-1].usage
    if last is None or not (last.cache_read or last.cache_write or what.cause) or what.read * 2 > last.input:
        return ""
    return what.cause or "what the last call left is not read"


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
