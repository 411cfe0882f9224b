"""The scene: one call of one thread, with everything that the Inspector's panes need to know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ctxtui.analysis.context_window import ContextWindow, context_window
from ctxtui.analysis.figures import CallFigures
from ctxtui.core.call import EDITS, Call
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.turns import Turns, turns_of
from ctxtui.views.text import numbers

_GOES_ON = frozenset({"ctxtui", "attached"})
"""Formats whose threads end where the next request does, whatever was answered last."""

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.cache.miss import CacheMiss
    from ctxtui.analysis.running_totals import RunningTotals
    from ctxtui.analysis.session_events import CallEvent
    from ctxtui.pricing.price import Cost


class Scene(Struct, frozen=True):
    """What the Inspector shows now.

    `calls` are those of `thread`, `index` (from 0) is the one shown. `events` are the thread's, `costs` holds a `Cost`
    for every priced call by id, None where no price is known; a call that is not in it is not priced yet. `uncached`
    is what a priced call would have cost in USD without a cache, `missed` the misses by number of call. `partial`: only
    the end of the recording was read, so that no number that counts from its beginning is known. `turns`
    are the thread's.
    """

    book: Book
    running: RunningTotals
    thread: str
    calls: Sequence[Call]
    index: int
    figures: CallFigures
    limits: ContextWindow
    turns: Turns
    events: Sequence[CallEvent] = ()
    costs: Mapping[str, Cost | None] = field(default_factory=dict)
    uncached: Mapping[str, float] = field(default_factory=dict)
    missed: Mapping[int, CacheMiss] = field(default_factory=dict)
    partial: bool = False

    @property
    def session(self) -> Session:
        """The recording."""
        return self.book.session

    @property
    def call(self) -> Call:
        """The call shown."""
        return self.calls[self.index]

    @property
    def number(self) -> int:
        """Its number in the thread, from 1."""
        return self.index + 1

    @property
    def head(self) -> int:
        """The context shown."""
        return self.call.sent_head

    @property
    def last(self) -> bool:
        """Whether this is the thread's last call."""
        return self.index == len(self.calls) - 1

    @property
    def tip(self) -> int:
        """Where the record of the thread ends: behind the answer for its last call, else the answer itself. A chat of
        ours, and a request that is held, may go on in another context (with other tools): then that."""
        answer = self.call.response_head or self.head
        thread = self.session.threads.get(self.thread)
        if not self.last or thread is None:
            return answer
        tree, tip = self.session.tree, thread.tip
        elsewhere = bool(tip) and self.session.about.source in _GOES_ON and not tree.holds(answer, tip)
        return tip if tip and (elsewhere or tree.holds(tip, answer)) else answer

    @property
    def counted(self) -> bool:
        """Whether all tokens of this context are known."""
        return self.figures.counted and self.running.is_counted(self.head)

    @property
    def missing(self) -> int:
        """Tokens that the recording lacks, with what was attached again; 0 where nothing is lacking."""
        return (self.figures.not_recorded or 0) + self.figures.attached

    def position(self, node: int) -> int:
        """Tokens that the provider has read when it has read the block of `node`, what is not recorded included."""
        return self.missing + self.running.read_tokens(self.head, node)

    @property
    def stretch(self) -> float:
        """Reported tokens for one of ours: a context is as long as the provider counted. A report of none counts
        nothing."""
        ours, told = self.position(self.head), self.figures.context_tokens
        return told / ours if ours and told and self.figures.reported else 1.0

    def reported_position(self, node: int) -> float:
        """As `position`, in tokens of the report."""
        return self.position(node) * self.stretch


def calls_of(session: Session, thread: str) -> list[Call]:
    """The calls of a thread; one without any has a call made of what is recorded, so that it can be shown."""
    calls = session.thread_calls(thread)
    if calls:
        return calls
    tip = session.threads[thread].tip if thread in session.threads else ROOT
    return [Call("", thread, tip, tip, tip)]


def scene_at(
    book: Book,
    running: RunningTotals,
    calls: Sequence[Call],
    index: int,
    usable_share: float,
    events: Sequence[CallEvent] = (),
    costs: Mapping[str, Cost | None] | None = None,
    uncached: Mapping[str, float] | None = None,
    missed: Mapping[int, CacheMiss] | None = None,
    turns: Turns | None = None,
) -> Scene:
    """The scene of `calls[index]`; an index beyond the ends is held at them. `turns` are those of `calls`, where they
    are known already."""
    from ctxtui.analysis.figures import figures

    index = min(max(index, 0), len(calls) - 1)
    call = calls[index]
    limits = context_window(book, call, usable_share)
    return Scene(
        book,
        running,
        call.thread or MAIN,
        calls=calls,
        index=index,
        figures=figures(book, call),
        limits=limits,
        events=events,
        costs=costs or {},
        uncached=uncached or {},
        missed=missed or {},
        turns=turns or turns_of(book.session.tree, calls),
    )


def shown_category(scene: Scene | None, tree: Tree, node: int) -> int:
    """The index of the category that the block of a node is shown in: of its place, until the `scene` is there."""
    return scene.running.category(node) if scene is not None else tree[node].category


def is_unreported(scene: Scene) -> bool:
    """Whether there are answers in a session of which no call is reported: what they cost is not known, not nothing."""
    calls = scene.session.calls.values()
    known = scene.figures.categories
    answered = (
        known.get("assistant") or known.get("tool_call") or any(call.response_head > call.sent_head for call in calls)
    )
    return bool(answered) and not any(call.usage is not None for call in calls)


def proof(scene: Scene) -> tuple[str, ...]:
    """What became of the edits in a call that left through ctxtui, and what its program believes to have sent."""
    call = scene.call
    told = call.extra.get(EDITS)
    if not isinstance(told, dict):
        return ()
    counts = [f"{len(told.get(how) or ()):,} {how}" for how in ("applied", "asleep", "refused") if told.get(how)]
    out = [f"edits: {', '.join(counts)}"] if counts else []
    raw, sent, running = call.raw_head, call.sent_head, scene.running
    if raw != sent and running.is_counted(raw) and running.is_counted(sent):
        own, left = running.read_tokens(raw, raw), running.read_tokens(sent, sent)
        out.append(f"program has {numbers.tokens(own)}, {numbers.tokens(left)} was sent")
    out += [str(one) for one in told.get("done") or ()]
    out += [f"from the record of {told['played']}"] if told.get("played") else []
    return (*out, "you answered") if told.get("released") == "answer" else tuple(out)
