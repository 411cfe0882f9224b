"""A session as a fold over events, which readers of recordings and the live host produce."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import QuotaReport, newest_quotas

MAIN: Final = "main"
"""The id of a session's main thread."""
ASIDE: Final = "asked aside"
"""Kind of `Happened`: the client called the model by itself and recorded no call."""
TOOLS_CHANGED: Final = "tools"
"""Kind of `Happened`: the user changed the offered tools."""


class Described(Struct, frozen=True):
    """New metadata of the session: empty fields keep the old value, others replace it."""

    id: str = ""
    title: str = ""
    source: str = ""
    """The format's name: ``claude code``, ``codex``, ``anthropic``, ``openai chat``, ``ctxtui`` ..."""
    cwd: str = ""
    client: str = ""
    version: str = ""
    window: int = 0
    """The context window in tokens that the recording itself reports."""


DESCRIBED: Final = Described.__struct_fields__


class ThreadSeen(Struct, frozen=True):
    """A thread (the main agent or a subagent); `parent` spawned it ("": none, or unknown)."""

    id: str
    label: str = ""
    parent: str = ""


class CallSeen(Struct, frozen=True):
    """A call, or a more complete version of an earlier one with the same id, which it replaces."""

    call: Call


class TipMoved(Struct, frozen=True):
    """The record of `thread` now ends at `head`: the context that its next call would extend."""

    thread: str
    head: int


class Skipped(Struct, frozen=True):
    """A part of the source that could not be read; `line` is 1-based."""

    line: int
    reason: str


COMPACTING: Final = "compacting"
"""Kind of `Happened`: a client's request through ctxtui has its history summarized."""


class Happened(Struct, frozen=True):
    """An event that is no call: an API error, an interrupt, an unknown record.

    `at`: Unix seconds (None: not recorded). `after`: the id of the call before it ("": none, or unknown).
    """

    kind: str
    text: str
    thread: str = MAIN
    at: float | None = None
    after: str = ""


class AnswerGrew(Struct, frozen=True):
    """Progress of an answer in `thread`: (kind, text) of its blocks so far.

    Empty when none is arriving. The session does not store it.
    """

    thread: str
    blocks: tuple[tuple[str, str], ...] = ()


class Outcome(Struct, frozen=True):
    """A result from the recording: reward, resolved, score ..., verbatim."""

    name: str
    value: str


Event = Described | ThreadSeen | CallSeen | TipMoved | Skipped | Happened | Outcome | AnswerGrew | QuotaReport


def threads_of(events: Iterable[Event]) -> set[str]:
    return {
        event.call.thread if isinstance(event, CallSeen) else event.thread
        for event in events
        if isinstance(event, CallSeen | Happened)
    }


class Thread(Struct, frozen=True):
    """The main agent or a subagent of a session. `tip` is the node where its record ends."""

    id: str
    label: str = ""
    parent: str = ""
    tip: int = ROOT


class Session(Struct):
    """The state that events fold into; calls and threads are by id, `about` is the metadata."""

    tree: Tree = field(default_factory=Tree)
    about: Described = Described()
    calls: dict[str, Call] = field(default_factory=dict)
    threads: dict[str, Thread] = field(default_factory=dict)
    order: dict[str, list[str]] = field(default_factory=dict)
    """Call ids by thread, in order of first appearance."""
    skipped: list[Skipped] = field(default_factory=list)
    happenings: list[Happened] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    quotas: list[QuotaReport] = field(default_factory=list)
    """The newest report on each quota window."""

    def apply(self, event: Event) -> None:
        """Change the session as `event` says; a call with a known id replaces the earlier one."""
        # Most events are of the first two kinds, and a match statement takes five times as long as `isinstance`.
        if isinstance(event, CallSeen):
            self._add_call(event.call)
            return
        if isinstance(event, TipMoved):
            old = self._find_thread(event.thread)
            self.threads[event.thread] = Thread(old.id, old.label, old.parent, event.head)
            return
        match event:
            case Described():
                self._describe(event)
            case ThreadSeen():
                old = self._find_thread(event.id)
                self.threads[event.id] = replace(old, label=event.label or old.label, parent=event.parent or old.parent)
            case Skipped():
                self.skipped.append(event)
            case Happened():
                self.happenings.append(event)
            case Outcome():
                self.outcomes.append(event)
            case QuotaReport():
                self.quotas = newest_quotas([*self.quotas, event])
            case AnswerGrew():
                pass

    def fold(self, events: Iterable[Event]) -> Session:
        """Apply `events` in order; returns this session."""
        for event in events:
            self.apply(event)
        return self

    def _find_thread(self, id_: str) -> Thread:
        return self.threads.get(id_) or Thread(id_)

    def _add_call(self, call: Call) -> None:
        old = self.calls.get(call.id)
        # First, so that another thread that reads an order finds each of its calls.
        self.calls[call.id] = call
        if old is None or old.thread != call.thread:
            self.order.setdefault(call.thread, []).append(call.id)
            self.threads.setdefault(call.thread, Thread(call.thread))
        if old is not None and old.thread != call.thread:
            self._remove_from_old_thread(old)

    def _remove_from_old_thread(self, call: Call) -> None:
        remaining = self.order[call.thread]
        remaining.remove(call.id)
        if not remaining:
            del self.order[call.thread]
            del self.threads[call.thread]

    def _describe(self, event: Described) -> None:
        news = {name: value for name in DESCRIBED if (value := getattr(event, name))}
        self.about = replace(self.about, **news)

    def thread_calls(self, thread: str = MAIN) -> list[Call]:
        """The calls of one thread in order; call numbers count from 1 in this list."""
        return [self.calls[i] for i in self.order.get(thread, ())]

    @property
    def first_thread(self) -> str:
        """The main thread, else the first one. Raises `StopIteration` without threads."""
        return MAIN if MAIN in self.threads else next(iter(self.threads))

    @property
    def model(self) -> str:
        """The model of most calls (if two tie, the one that appeared later); "": none named."""
        tally: dict[str, int] = {}
        for call in list(self.calls.values()):
            if call.model:
                tally[call.model] = tally.get(call.model, 0) + 1
        return max(reversed(tally), key=lambda m: tally[m], default="")
