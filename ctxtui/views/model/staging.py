"""What staged edits make of the context shown: every figure that the panes show of it (look book, staged)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Final

from ctxtui.analysis.figures import CallFigures, next_figures
from ctxtui.core.block import HEADER, Block, Item
from ctxtui.core.category import INDEX, category_of
from ctxtui.core.edit import Edit
from ctxtui.core.tree import ROOT
from ctxtui.core.turns import is_read
from ctxtui.curation.apply.applied import Applied, BlockChange, Insert
from ctxtui.curation.price.price_tag import Breakage
from ctxtui.curation.price.request_count import RequestCount
from ctxtui.curation.sent_blocks import SentBlocks
from ctxtui.views.model.fates import Fate, FoundFates, Step
from ctxtui.views.model.scene import Scene

Tokens = Callable[[Block], int | None]
"""Tokens of a block that no context has yet; None while it is being counted."""

Count = Callable[["Applied"], "RequestCount | None"]
"""What the request comes to that leaves under edits; None while something of it is being counted."""

_ANYWHERE: Final = ("found", "news", "counted", "raw", "request", "as_sent", "cached", "following")
"""What of a `Staging` does not depend on what it breaks."""


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
    `marked` the nodes that the user marked, `head` the end of the context that the next request would have. `under` is
    the same under the edits that are applied, where others are staged on top (None: nothing is to be taken off).
    `breakage` is what the next request breaks of the cache (None: nothing, or it is not known yet). `count` counts
    whole requests. `sent` tells which blocks of the raw context the call shown has sent (None: they are the same
    nodes)."""

    scene: Scene
    applied: Applied
    tokens_of: Tokens
    _: KW_ONLY
    edits: tuple[Edit, ...] = ()
    marked: frozenset[int] = frozenset()
    head: int = ROOT
    under: Staging | None = None
    breakage: Breakage | None = None
    count: Count = lambda applied: None
    sent: SentBlocks | None = None

    def breaking(self, breakage: Breakage | None) -> Staging:
        """The same, breaking that; what is known already and does not depend on it goes along."""
        if breakage == self.breakage:
            return self
        other = replace(self, breakage=breakage)
        other.__dict__.update({name: self.__dict__[name] for name in _ANYWHERE if name in self.__dict__})
        return other

    def under_other(self, applied: Applied) -> Staging:
        """The same under other edits."""
        return replace(self, applied=applied)

    @property
    def unsent(self) -> bool:
        """Whether the call shown was sent without edits: those that are applied wait for the next one."""
        return is_unsent(self.scene)

    def fate(self, node: int) -> Fate | None:
        """What becomes of the block that `node` shows; None where it stays as it is."""
        return self.fates.get(node if self.sent is None else self.sent.block(node))

    def put_in(self, node: int) -> New | None:
        """What an edit put in that the call shown has sent as `node`; None where it is none of these."""
        edit = self.sent.inserted.get(node) if self.sent is not None else None
        if edit is None:
            return None
        digest = self.scene.session.tree[node].block.digest
        return next((new for new in self.news if new.edit.id == edit.id and new.item.block.digest == digest), None)

    def first(self, position: int) -> int | None:
        """The first node shown that stands at a raw position or behind it; None where none does."""
        if self.sent is not None:
            return self.sent.first(position)
        nodes = self.applied.context.nodes
        return nodes[position] if position < len(nodes) else None

    def position(self, node: int) -> int | None:
        """The raw position of the block that `node` shows; None where it shows none of the context."""
        if self.sent is not None:
            return self.sent.position(node)
        nodes, at = self.applied.context.nodes, self.scene.session.tree[node].depth - 1
        return at if 0 <= at < len(nodes) and nodes[at] == node else None

    @property
    def fates(self) -> dict[int, Fate]:
        """What becomes of the blocks that change, by node, in the order of the changes."""
        return self.found.by_node

    @cached_property
    def found(self) -> FoundFates:
        """The same, and what follows from it."""
        category = self.scene.running.category
        found, steps = dict[int, Fate](), list[Step]()
        for position, change in self.applied.changes.items():
            fate = found[change.node] = self._fate(change)
            steps.append(Step(position, fate.freed, category(change.node) if fate.after else None))
        return FoundFates(found, sorted(steps), all(fate.after is not None for fate in found.values()))

    def _fate(self, change: BlockChange) -> Fate:
        running = self.scene.running
        tokens = (
            running.block_tokens(change.node) if running.is_counted(change.node) and self._is_read(change.node) else 0
        )
        if change.before.kind == HEADER:
            tokens = 0
        header = self._header_before(change.position) if tokens else 0
        after: int | None = 0
        if change.after is not None and tokens:
            counted = self.tokens_of(change.after)
            after = None if counted is None else counted + header
        mark = "dropped" if change.is_repair else change.edit.spec.mark
        stays = header if change.after is None else 0
        return Fate(
            tokens=tokens,
            after=after,
            mark=mark,
            out=change.after is None,
            repair=change.is_repair,
            kind=change.edit.kind,
            author=change.edit.author,
            stays=stays,
        )

    def _header_before(self, position: int) -> int:
        """Tokens of the message's header that count with the block at `position` and stay when that changes."""
        items = self.applied.context.items
        if position == 0 or items[position - 1].block.kind != HEADER or position - 1 in self.applied.changes:
            return 0
        return self.tokens_of(items[position - 1].block) or 0

    def _is_read(self, node: int) -> bool:
        return is_read(self.scene.session.tree, self.head, node, strips_thinking=self.scene.running.strips_thinking)

    @cached_property
    def news(self) -> tuple[New, ...]:
        """What edits put in, in prompt order; headers are no rows."""
        return tuple(new for insert in self.applied.inserts for new in self._news(insert))

    @cached_property
    def coming(self) -> tuple[New, ...]:
        """Those of `news` that the context shown does not hold yet: it may have been sent under edits."""
        if self.unsent:
            return self.news
        tree = self.scene.session.tree
        sent = {tree[node].block.digest for node in tree.path(self.scene.call.sent_head)}
        return tuple(new for new in self.news if new.item.block.digest not in sent)

    def _news(self, insert: Insert) -> Sequence[New]:
        return [
            New(insert.position, item, INDEX[category_of(*item)], self.tokens_of(item.block), insert.edit)
            for item in insert.items
            if item.block.kind != HEADER
        ]

    @cached_property
    def counted(self) -> bool:
        """Whether every figure is known."""
        known = [new.tokens for new in self.news]
        whole = self.found.whole and self.scene.running.is_counted(self.head)
        return whole and None not in (*known, self.request, self.raw)

    @cached_property
    def request(self) -> RequestCount | None:
        """The request that would leave; None while something of it is being counted."""
        return self.count(self.applied)

    @cached_property
    def raw(self) -> RequestCount | None:
        """The same without any edit."""
        return self.count(self.applied.without_edits)

    @property
    def before(self) -> int:
        """Tokens of the request without any edit; 0 while it is being counted."""
        return self.raw.whole if self.raw is not None else 0

    @property
    def freed(self) -> int:
        """Tokens that go with the edits in question, less those that come; negative where more come."""
        return self.without - self.after

    @property
    def without(self) -> int:
        """Tokens of the request without the edits in question; 0 while it is being counted."""
        if self.under is not None:
            return self.under.after
        if self.unsent:
            return self.before
        return self.after if self.as_sent else self.following.context_tokens

    @cached_property
    def following(self) -> CallFigures:
        """The figures of the request that follows, without edits that the call shown was not sent with."""
        return next_figures(self.scene.book, self.scene.call, self.head)

    @property
    def gone(self) -> int:
        """Tokens that the raw context has more than what would be sent."""
        return self.before - self.after

    @property
    def after(self) -> int:
        """Tokens of the request that would leave; 0 while it is being counted."""
        return self.request.whole if self.request is not None else 0

    @cached_property
    def as_sent(self) -> bool:
        """Whether the call shown was sent under just these edits: nothing of its context is about to change."""
        applied, depth = self.applied, self._depth
        if self.unsent:
            return all(position >= depth for position in applied.changes) and all(
                one.position >= depth for one in applied.inserts
            )
        tree = self.scene.session.tree
        sent = [tree[node].block.digest for node in tree.path(self.scene.call.sent_head)]
        return sent == [one.item.block.digest for one in applied.items if one.position < depth]

    @property
    def _depth(self) -> int:
        """How many blocks the context shown has without edits."""
        return self.scene.session.tree[self.scene.call.raw_head].depth

    @cached_property
    def cached(self) -> int:
        """Tokens that the last request has left in the cache, as far as its report tells of one."""
        usage = self.scene.call.usage
        return usage.cache_read + usage.cache_write if usage is not None and usage.has_cache else 0

    @property
    def breaks_at(self) -> int | None:
        """The raw position from which cached tokens are not read any more; None where nothing breaks."""
        return self.breakage.at if self.breakage is not None else None

    @property
    def broken(self) -> int:
        """How many."""
        return self.breakage.tokens if self.breakage is not None else 0

    @property
    def by_category(self) -> dict[int, int]:
        """How many tokens more (or, negative, less) each category has under the edits, by index."""
        before = self.raw if self.unsent else self.under.request if self.under is not None else None
        if before is None or self.request is None:
            return {}
        pairs = zip(before.categories, self.request.categories, strict=True)
        return {category: after - was for category, (was, after) in enumerate(pairs) if after != was}

    def mark(self, node: int) -> str:
        """The name of the mark of a block that stays as it is: ``marked``, ``pinned``, ``breakpoint`` or ""; of one
        that was put in, that of its edit, ``dropped`` where the next request goes without it."""
        if node in self.marked:
            return "marked"
        if self.sent is not None and node in self.sent.inserted:
            edit = self.sent.inserted[node]
            return edit.spec.mark if edit is not None else "dropped"
        at = self.position(node)
        if at is None:
            return ""
        if at in self.applied.marks and self.applied.marks[at].params.get("on", True):
            return "breakpoint"
        return "pinned" if at in self.applied.pinned else ""

    def behind(self, node: int) -> bool:
        """Whether `node` lies where the cached prefix cannot be read any more: behind what changes, or behind the last
        cache entry before that."""
        broken, scene = self.breakage, self.scene
        if broken is None:
            return False
        here = scene.session.tree[node]
        place = self.sent.place(node) if self.sent is not None else here.depth - 1
        return place >= broken.at or (node != ROOT and scene.reported_position(here.parent) >= broken.still_read)

    @property
    def repairs(self) -> int:
        """Blocks that go so that the provider takes the rest."""
        return self.applied.repair_count


def is_unsent(scene: Scene) -> bool:
    """Whether the call shown was sent as the agent had it, without edits."""
    return scene.call.sent_head == scene.call.raw_head
