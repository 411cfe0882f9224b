"""The context of a rollout as it grows, is compacted, and is taken back."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.formats.codex import items

SYSTEM = Place("system")
_KEPT_ROLES = frozenset({"user", "developer", "system"})


class History(Struct):
    """The context so far: `head` in `tree`. `turns` are the contexts before each thing a person said."""

    tree: Tree
    head: int = ROOT
    turns: list[int] = field(default_factory=list)
    _instructions: list[Item] = field(default_factory=list)
    _as_item: bool = False
    _expects_item: bool = False

    def instruct(self, text: str) -> None:
        """The base instructions stand before everything, unless an item of the history has them."""
        if not self._instructions and text and not self._as_item:
            self._instructions = [Item(block.text(text), SYSTEM)]
            self.head = self.tree.extend(self.head, self._instructions)

    def expect_item(self) -> None:
        """The client is one that sends base instructions as an item: where none came before the model spoke, it did not
        know the model and sent others than those of `session_meta`, which are in no record (facts §13)."""
        self._expects_item = True

    def _instructed_by_item(self) -> None:
        """An item holds the base instructions, or none that are known: what `session_meta` said of them is no part of
        the request."""
        self._as_item = True
        if not self._instructions:
            return
        first = self.tree.extend(ROOT, self._instructions)
        self._instructions = []
        if not self.tree.holds(self.head, first):
            return
        moved = {first: ROOT}
        for node in self.tree.path(self.head, first):
            here = self.tree[node]
            moved[node] = self.tree.child(moved[here.parent], here.block, here.place)
        self.head = moved[self.head]
        self.turns = [moved.get(turn, turn) for turn in self.turns]

    def add(self, said: items.CodexMessage) -> int:
        """Append an item; gives the context before it."""
        if not self._as_item and (said.base or (said.by_model and self._expects_item)):
            self._instructed_by_item()
        before = self.head
        if said.asks:
            self.turns.append(before)
        self.head = self.tree.extend(before, said.items)
        return before

    def compact(self, payload: dict[str, Json]) -> None:
        """What a compaction leaves: its replacement history, or (old files) what was said before, and the summary."""
        replacement, summary = payload.get("replacement_history"), payload.get("message")
        new: Iterable[Item]
        if isinstance(replacement, list):
            found = [items.of_value(value) for value in replacement]
            if any(one.base for one in found):
                self._instructed_by_item()
            new = [item for one in found for item in one.items]
        else:
            new = self._asked()
            if isinstance(summary, str) and summary:
                place = Place("messages", "user", items.SUMMARY)
                new = [*new, Item(block.header("user"), place), Item(block.text(summary), place)]
        self.turns.clear()
        self.head = self.tree.extend(ROOT, [*self._instructions, *new])

    def _asked(self) -> list[Item]:
        found, keeping = [], False
        for item in self.tree.items(self.head):
            if item.block.kind == HEADER:
                keeping = item.place.role in _KEPT_ROLES
            if keeping and item.place.role in _KEPT_ROLES and item.place.section == "messages":
                found.append(item)
        return found

    def take_back(self, turns: int) -> None:
        """Forget the last `turns` user turns."""
        if turns > 0 and self.turns:
            self.head = self.turns[-min(turns, len(self.turns))]
            del self.turns[-turns:]
