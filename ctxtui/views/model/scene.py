"""The scene: one call of a thread, with the data that the Inspector's panes need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from ctxtui.analysis.context_window import ContextWindow, context_window
from ctxtui.analysis.figures import CallFigures, figures
from ctxtui.core.call import EDITS, Call
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.turns import Turns, turns_of
from ctxtui.views.text import numbers

FORMATS_WITH_TIPS = frozenset({"ctxtui", "attached"})
"""Formats whose threads end where the next request does, whatever the last answer is."""

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book
    from ctxtui.analysis.cache.miss import CacheMiss
    from ctxtui.analysis.running_totals import RunningTotals
    from ctxtui.analysis.session_events import CallEvent
    from ctxtui.pricing.price import Cost


class Scene(Struct, frozen=True):
    """The state shown by the Inspector.

    - `book`: the session with its token counts; `running`: tokens from the start of a context to any of its blocks.
    - `calls`, `events`, `turns`: those of `thread`.
    - `figures`, `limits`: the figures of the call shown, and the context window that applies to it.
    - `index`: the call shown (from 0).
    - `costs`: prices by call id: None if no price is known, absent if not priced yet.
    - `uncached`: the cost of a priced call without a cache, in USD.
    - `missed`: misses by call number.
    - `partial`: only the end of the recording was read, so no number that counts from its start is known.
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
        return self.book.session

    @property
    def call(self) -> Call:
        return self.calls[self.index]

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def head(self) -> int:
        return self.call.sent_head

    @property
    def last(self) -> bool:
        return self.index == len(self.calls) - 1

    @property
    def tip(self) -> int:
        """The end of the call's answer; for the thread's last call that of the thread.

        The thread must continue the answer; only a ctxtui chat, and a held request, may go on in another context (with
        other tools).
        """
        answer = self.call.response_head or self.head
        thread = self.session.threads.get(self.thread)
        if not self.last or thread is None:
            return answer
        tree, tip = self.session.tree, thread.tip
        elsewhere = bool(tip) and self.session.about.source in FORMATS_WITH_TIPS and not tree.holds(answer, tip)
        return tip if tip and (elsewhere or tree.holds(tip, answer)) else answer

    @property
    def counted(self) -> bool:
        return self.figures.counted and self.running.is_counted(self.head)

    @property
    def missing(self) -> int:
        """Unrecorded tokens, re-attached ones included."""
        return (self.figures.not_recorded or 0) + self.figures.attached

    def position(self, node: int) -> int:
        """Tokens up to and including the block of `node`, unrecorded ones included."""
        return self.missing + self.running.read_tokens(self.head, node)

    @property
    def stretch(self) -> float:
        """Reported tokens divided by those that ctxtui counts; 1 without a report."""
        counted, reported = self.position(self.head), self.figures.context_tokens
        return reported / counted if counted and reported and self.figures.reported else 1.0

    def reported_position(self, node: int) -> float:
        """Like `position`, scaled to the tokens that the provider reported."""
        return self.position(node) * self.stretch


def calls_of(session: Session, thread: str) -> list[Call]:
    """The calls of a thread.

    Without any, one made of its recorded blocks, so that it can be shown.
    """
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
    """The scene of `calls[index]`; the index is clamped.

    `usable_share` is the share of a context window to fill.
    """
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
    """The category index in which a node's block is shown; its own without a `scene`."""
    return scene.running.category(node) if scene is not None else tree[node].category


def is_unreported(scene: Scene) -> bool:
    """Whether a session has answers but no reported call, so that its cost is unknown, not 0."""
    calls = scene.session.calls.values()
    tokens_by_category = scene.figures.categories
    # An answer's node was added after that of its context; 0 is no answer.
    answered = (
        tokens_by_category.get("assistant")
        or tokens_by_category.get("tool_call")
        or any(call.response_head > call.sent_head for call in calls)
    )
    return bool(answered) and not any(call.usage is not None for call in calls)


def describe_sent_edits(scene: Scene) -> tuple[str, ...]:
    """Facts about a call sent by ctxtui: its edits' outcome, its size, the user's decisions."""
    call = scene.call
    record = call.extra.get(EDITS)
    if not isinstance(record, dict):
        return ()
    # Edits that are refused in part count as applied.
    refused = [id_ for id_ in record.get("refused") or () if id_ not in (record.get("applied") or ())]
    ids = {"applied": record.get("applied"), "asleep": record.get("asleep"), "refused": refused}
    counts = [f"{len(ids_):,} {how}" for how, ids_ in ids.items() if ids_]
    out = [f"edits: {', '.join(counts)}"] if counts else []
    raw, sent, running = call.raw_head, call.sent_head, scene.running
    if raw != sent and running.is_counted(raw) and running.is_counted(sent):
        raw_tokens, sent_tokens = running.read_tokens(raw, raw), running.read_tokens(sent, sent)
        out.append(f"program {numbers.tokens(raw_tokens)} → sent {numbers.tokens(sent_tokens)}")
    out += [str(item) for item in record.get("done") or ()]
    out += [f"answered from the recording {record['played']}"] if record.get("played") else []
    out += [COMPACTION_TEXTS[how]] if (how := record.get("compaction")) in COMPACTION_TEXTS else []
    return (*out, "you answered") if record.get("released") == "answer" else tuple(out)


COMPACTION_TEXTS: Final = {
    "release": "you released its summary",
    "answer": "you edited its summary",
    "refuse": "you refused its summary; the history stays",
    "time is up": "its summary was released when its time was up",
}
"""Decisions on the held answer to a client's compaction."""
