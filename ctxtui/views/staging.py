"""What staged edits make of the context shown: every figure that the panes show of it (look book, staged)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.category import INDEX, category_of
from ctxtui.core.edit import (
    COMPACT_JSON,
    DEDUPLICATE,
    DROP,
    EXTERNALIZE,
    HOIST,
    MINIMISE,
    MOVE,
    NOTE,
    REPLACE,
    STRIP,
    SUMMARIZE,
    TRUNCATE,
    Edit,
)
from ctxtui.core.tree import ROOT
from ctxtui.tokens.cumulate import is_read
from ctxtui.views.scene import Scene
from ctxtui.views.signs import MARK
from ctxtui.views.span import Span

if TYPE_CHECKING:
    from ctxtui.curation.applied import Applied, Change, Insert

Tokens = Callable[[Block], int | None]
"""Tokens of a block that no context has yet; None while it is being counted."""

MARK_OF: Final = {
    DROP: "dropped",
    SUMMARIZE: "summary",
    TRUNCATE: "truncated",
    REPLACE: "replaced",
    HOIST: "replaced",
    EXTERNALIZE: "externalized",
    DEDUPLICATE: "deduplicated",
    STRIP: "dropped",
    COMPACT_JSON: "truncated",
    MINIMISE: "truncated",
    NOTE: "edit",
    MOVE: "replaced",
}
"""The mark of a block by the kind of the edit that changed it."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one block: `tokens` it has and `after` the edits (None: being counted; 0: it is out), the `mark`
    of its row, whether it is `out`, and whether only a `repair` took it."""

    tokens: int
    after: int | None
    mark: Span
    out: bool
    repair: bool
    kind: str


@dataclass(frozen=True, slots=True)
class New:
    """A block that an edit puts in before the raw position `at`."""

    at: int
    item: Item
    category: int
    tokens: int | None
    edit: Edit


@dataclass(frozen=True)
class Staging:
    """The context of `scene` under its edits, as far as it is counted. `edits` are those that are only staged,
    `marked` the nodes that the user marked, `head` the end of the context that the next request would have."""

    scene: Scene
    applied: Applied
    tokens_of: Tokens
    edits: tuple[Edit, ...] = ()
    marked: frozenset[int] = frozenset()
    head: int = ROOT

    def fate(self, node: int) -> Fate | None:
        """What becomes of `node`; None where it stays as it is."""
        return self.fates.get(node)

    @cached_property
    def fates(self) -> dict[int, Fate]:
        """What becomes of the blocks that change, by node."""
        return {change.node: self._fate(change) for change in self.applied.changes.values()}

    def _fate(self, change: Change) -> Fate:
        running = self.scene.running
        tokens = running.own(change.node) if running.counted(change.node) and self._is_read(change.node) else 0
        if change.before.kind == HEADER:
            tokens = 0
        after = 0 if change.after is None else tokens if not tokens else self.tokens_of(change.after)
        sign = MARK[MARK_OF.get(change.edit.kind, "edit")].span
        if change.repaired:
            sign = Span(MARK["dropped"].glyph, "dim")
        return Fate(tokens, after, sign, change.after is None, change.repaired, change.edit.kind)

    def _is_read(self, node: int) -> bool:
        return is_read(self.scene.session.tree, self.head, node, strips_thinking=self.scene.running.strips_thinking)

    @cached_property
    def news(self) -> tuple[New, ...]:
        """What edits put in, in prompt order; headers are no rows."""
        return tuple(new for insert in self.applied.inserts for new in self._news(insert))

    def _news(self, insert: Insert) -> Sequence[New]:
        return [
            New(insert.position, item, INDEX[category_of(*item)], self.tokens_of(item.block), insert.edit)
            for item in insert.items
            if item.block.kind != HEADER
        ]

    @property
    def active(self) -> bool:
        """Whether anything is staged or applied, so that the screen shows what comes of it."""
        return bool(self.edits) or self.applied.touched

    @cached_property
    def counted(self) -> bool:
        """Whether every figure is known."""
        known = [fate.after for fate in self.fates.values()] + [new.tokens for new in self.news]
        return self.scene.running.counted(self.head) and None not in known

    @cached_property
    def before(self) -> int:
        """Tokens of the context as it is."""
        return self.scene.position(self.head) if self.scene.running.counted(self.head) else 0

    @cached_property
    def freed(self) -> int:
        """Tokens that go, less those that come; negative where more come."""
        return self.freed_from(0)

    def freed_from(self, position: int, until: int | None = None) -> int:
        """As `freed`, from a raw position on, up to another one (exclusive)."""
        changes = self.applied.changes
        last = len(self.applied.context) + 1 if until is None else until
        gone = sum(
            fate.tokens - (fate.after or 0)
            for at, change in changes.items()
            if position <= at < last and (fate := self.fates[change.node])
        )
        return gone - sum(new.tokens or 0 for new in self.news if position <= new.at < last)

    @property
    def after(self) -> int:
        """Tokens of the context under the edits."""
        return max(0, self.before - self.freed)

    @cached_property
    def cached(self) -> int:
        """Tokens of the context that the last request has left in the cache, as far as its report tells of one."""
        scene = self.scene
        usage = scene.call.usage
        if usage is None or not usage.has_cache or not (usage.cache_read or usage.cache_write):
            return 0
        whole = scene.position(scene.head) if scene.running.counted(scene.head) else 0
        return round(whole * (usage.cache_read + usage.cache_write) / usage.input) if usage.input else 0

    @cached_property
    def break_token(self) -> int | None:
        """The token at which the sent prefix parts from the raw one; None where it does not."""
        at = self.applied.breaks_at
        if at is None:
            return None
        nodes = self.applied.context.nodes
        node = nodes[at] if at < len(nodes) else self.head
        parent = self.scene.session.tree[node].parent if at < len(nodes) else node
        return self.scene.position(parent) if self.scene.running.counted(node) else 0

    @property
    def broken(self) -> int:
        """Cached tokens that lie behind the break: they cannot be read again."""
        return 0 if self.break_token is None else max(0, self.cached - self.break_token)

    @property
    def rewritten(self) -> int:
        """Tokens behind the break under the edits: written again, once."""
        return 0 if self.break_token is None else max(0, self.after - self.break_token)

    @cached_property
    def by_category(self) -> dict[int, int]:
        """How many tokens more (or, negative, less) each category has under the edits, by index."""
        tree = self.scene.session.tree
        change: dict[int, int] = {}
        for node, fate in self.fates.items():
            category = tree[node].category
            change[category] = change.get(category, 0) + (fate.after or 0) - fate.tokens
        for new in self.news:
            change[new.category] = change.get(new.category, 0) + (new.tokens or 0)
        return {category: tokens for category, tokens in change.items() if tokens}

    @property
    def repairs(self) -> int:
        """Blocks that go so that the provider takes the rest."""
        return sum(1 for fate in self.fates.values() if fate.repair)
