"""Builds a thread's context and calls in the order in which a transcript records them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import Final

from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.block_content import read
from ctxtui.core.call import IN_ALL, SUM, Call, Epoch, EpochStart, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Event, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit.fields import complete_epoch, one_line

_USER: Final = Place("messages", "user")
"""Place of a person's text; texts that the client inserted have a mark."""


class Ids:
    """Unique ids for the calls of a session: the provider's own, else derived from the content."""

    def __init__(self) -> None:
        self._id_counts: dict[str, int] = {}

    def assign(self, call: Call, tree: Tree) -> str:
        name = call.id or self._derive(call, tree)
        number = self._id_counts[name] = self._id_counts.get(name, 0) + 1
        return name if number == 1 else f"{name}~{number}"

    @staticmethod
    def _derive(call: Call, tree: Tree) -> str:
        u = call.usage
        figures = [u.fresh, u.cache_read, u.cache_write, u.output] if u else []
        request_tip = tree[call.raw_head]
        answer_digests = [tree[n].block.digest for n in tree.path(call.response_head, call.raw_head)]
        evidence = [
            call.started or call.ended,
            call.model,
            *figures,
            request_tip.block.digest,
            request_tip.depth,
            *answer_digests,
        ]
        return "call-" + canonical.digest(canonical.dumps(evidence))[:16]


class Dialogue:
    """The growing context of one thread, and its calls.

    `head` is the node at which the context ends, `title` the start of the first text by a person, `calls` the number of
    calls so far, `unreported` those without usage.
    """

    def __init__(self, tree: Tree, thread: str = MAIN, ids: Ids | None = None) -> None:
        self.tree = tree
        self.thread = thread
        self.head = ROOT
        self.title = ""
        self.calls = 0
        self.unreported: list[Call] = []
        self._ids = ids or Ids()
        self._epoch = Epoch()
        self._model = ""
        self._last: Call | None = None
        self._restart: tuple[EpochStart, str] | None = None

    def add(self, items: Iterable[Item]) -> None:
        """Append items that no call of this thread generated."""
        for item in items:
            if not self.title and item.place == _USER and item.block.kind != HEADER:
                content = read(item.block)
                self.title = "" if content.call_id else one_line(content.text)
            self.head = self.tree.child(self.head, item.block, item.place)

    def restart(self, start: EpochStart, detail: str = "", head: int = ROOT) -> None:
        """Restart the context at `head`; the next call opens an epoch unless it is the first."""
        self.head = head
        self._restart = (start, detail)

    def add_call(self, items: Iterable[Item], base: Call, after: int | None = None) -> CallSeen:
        """Add a call with the answer `items`.

        `base` holds the recorded fields. `after` is the request's context if that is not `head`.
        """
        before = self.head if after is None else after
        self.head = self.tree.extend(before, items)
        call = replace(base, thread=self.thread, raw_head=before, sent_head=before, response_head=self.head)
        self.calls += 1
        epoch = complete_epoch(self._next_epoch(base.model), call.usage.input if call.usage else 0)
        self._epoch = epoch
        self._last = replace(call, id=self._ids.assign(call, self.tree), epoch=epoch)
        if call.usage is None:
            self.unreported.append(self._last)
        return CallSeen(self._last)

    def extend_answer(self, items: Iterable[Item]) -> CallSeen | None:
        """Extend the last call's answer; None if there is no call yet."""
        if self._last is None:
            return None
        self.head = self.tree.extend(self.head, items)
        self._last = replace(self._last, response_head=self.head)
        if self._last.usage is None:
            self.unreported[-1] = self._last
        return CallSeen(self._last)

    @property
    def last_id(self) -> str:
        """The id of the last call; "" without one."""
        return self._last.id if self._last is not None else ""

    def tip_event(self) -> TipMoved:
        return TipMoved(self.thread, self.head)

    def _next_epoch(self, model: str) -> Epoch:
        start, detail = self._restart or (None, "")
        if start is None and model and self._model and model != self._model:
            start, detail = EpochStart.MODEL, f"{self._model} → {model}"
        if start is not None and self.calls > 1:
            self._epoch = Epoch(self._epoch.number + 1, start, detail)
        self._restart = None
        self._model = model or self._model
        return self._epoch


def mark_covered(calls: Iterable[Call]) -> Iterator[Event]:
    """Yield the calls without a report again, marked as included in a separate sum."""
    yield from (CallSeen(replace(call, extra={**call.extra, IN_ALL: True})) for call in calls if call.usage is None)


def emit_sum(
    tree: Tree,
    ids: Ids,
    base: Call,
    calls_in_sum: Iterable[Call],
    thread: str = "totals",
    parent: str = MAIN,
    calls: int = 0,
) -> Iterator[Event]:
    """Emit a `thread` with only a usage sum, and mark the calls that it covers.

    They are those of `calls_in_sum` without a report, and `calls` more that are not recorded (0: unknown number).
    """
    yield from mark_covered(calls_in_sum)
    side = Dialogue(tree, thread, ids)
    yield ThreadSeen(thread, "sum for calls without a report", parent)
    yield side.add_call([], replace(base, fidelity=Fidelity.TOTALS, extra={**base.extra, SUM: calls or True}))


class KeyedMessages:
    """Messages of `dialogue` that may be replaced by key."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._items: dict[str, Sequence[Item]] = {}
        self._before: dict[str, int] = {}
        """The context before each message."""
        self._end = ROOT

    def put(self, key: str, items: Sequence[Item], first: bool = False) -> None:
        """Set a message: in place if it exists, else at the end, or at the start with `first`."""
        changed = [key]
        if key in self._items:
            is_last = next(reversed(self._items)) == key
            if not is_last and self._items[key] != items:
                changed = list(dropwhile(lambda item_key: item_key != key, self._items))
            elif not is_last:
                changed = []
        elif first:
            self._before[key] = ROOT
            self._items = {key: items, **self._items}
            changed = list(self._items)
        else:
            self._before[key] = self._end
        self._items[key] = items
        # The first changed message keeps the context before it; each later one follows its predecessor.
        for n, changed_key in enumerate(changed):
            self._before[changed_key] = self._end if n else self._before[changed_key]
            self._end = self._dialogue.tree.extend(self._before[changed_key], self._items[changed_key])
        self._dialogue.head = self._end

    def remove_from(self, key: str) -> None:
        while key in self._items:
            last, _ = self._items.popitem()
            self._end = self._dialogue.head = self._before[last]

    def clear(self) -> None:
        self._items.clear()
        self._end = self._dialogue.head = ROOT
