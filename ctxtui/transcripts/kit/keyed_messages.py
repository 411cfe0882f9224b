"""A context as messages by key: each may be written again, and stays where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile

from ctxtui.core.block import Item
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.kit.dialogue import Dialogue


class KeyedMessages:
    """The messages of `dialogue`, whose head is set to the end of the last one with each change."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._items: dict[str, Sequence[Item]] = {}
        self._before: dict[str, int] = {}
        """The context before each message."""
        self._end = ROOT

    def put(self, key: str, items: Sequence[Item], first: bool = False) -> None:
        """Write a message: in its place where it has one, else at the end, or `first`."""
        changed = [key]
        if key in self._items:
            is_last = next(reversed(self._items)) == key
            if not is_last and self._items[key] != items:
                changed = list(dropwhile(lambda one: one != key, self._items))
            elif not is_last:
                changed = []
        elif first:
            self._before[key] = ROOT
            self._items = {key: items, **self._items}
            changed = list(self._items)
        else:
            self._before[key] = self._end
        self._items[key] = items
        for n, one in enumerate(changed):
            self._before[one] = self._end if n else self._before[one]
            self._end = self._dialogue.tree.extend(self._before[one], self._items[one])
        self._dialogue.head = self._end

    def cut(self, key: str) -> None:
        """Forget a message and all after it."""
        while key in self._items:
            last, _ = self._items.popitem()
            self._end = self._dialogue.head = self._before[last]

    def clear(self) -> None:
        """Forget all messages."""
        self._items.clear()
        self._end = self._dialogue.head = ROOT
