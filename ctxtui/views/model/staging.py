"""Figures of the context under applied and staged edits, as shown by the panes.

The raw context is the one before edits; a raw position is the number of a block in it, from 0.
"""

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
"""Tokens of one block outside of any context; None while it is being counted."""

Count = Callable[["Applied"], "RequestCount | None"]
"""Token count of the request under edits; None while it is being counted."""

BREAKAGE_INDEPENDENT: Final = (
    "computed_fates",
    "inserted",
    "unsent_inserts",
    "counted",
    "raw",
    "request",
    "as_sent",
    "cached",
    "following",
)
"""Cached values of `Staging` that stay the same when only the breakage changes."""


@dataclass(frozen=True, slots=True)
class InsertedBlock:
    """A block that an edit inserts before the raw position `at`."""

    at: int
    item: Item
    category: int
    tokens: int | None
    edit: Edit


@dataclass(frozen=True)
class Staging:
    """The context of `scene` under its edits.

    - `edits`: the staged ones; `marked`: nodes marked by the user.
    - `head`: the end of the next request's context.
    - `under`: the context under applied edits only, if others are staged on top; else None.
    - `breakage`: the cache breakage of the next request (None: none, or not known yet).
    - `count`: counts whole requests.
    - `sent`: matches the nodes that the call shown sent with blocks of the raw context (None: they are the same nodes).
    """

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

    def with_breakage(self, breakage: Breakage | None) -> Staging:
        """A copy with that breakage and the cached values that do not depend on it."""
        if breakage == self.breakage:
            return self
        copy = replace(self, breakage=breakage)
        copy.__dict__.update({name: self.__dict__[name] for name in BREAKAGE_INDEPENDENT if name in self.__dict__})
        return copy

    @property
    def was_sent_plain(self) -> bool:
        return not self.scene.call.is_edited

    def fate(self, node: int) -> Fate | None:
        return self.fates.get(node if self.sent is None else self.sent.block(node))

    def insert_of(self, node: int) -> InsertedBlock | None:
        edit = self.sent.inserted.get(node) if self.sent is not None else None
        if edit is None:
            return None
        digest = self.scene.session.tree[node].block.digest
        return next((new for new in self.inserted if new.edit.id == edit.id and new.item.block.digest == digest), None)

    def first(self, position: int) -> int | None:
        """The first node in the transcript at or after a raw position; None if there is none."""
        if self.sent is not None:
            return self.sent.first(position)
        nodes = self.applied.context.nodes
        return nodes[position] if position < len(nodes) else None

    def position(self, node: int) -> int | None:
        """The raw position of the block shown as `node`; None if it is not in the raw context."""
        if self.sent is not None:
            return self.sent.position(node)
        nodes, at = self.applied.context.nodes, self.scene.session.tree[node].depth - 1
        return at if 0 <= at < len(nodes) and nodes[at] == node else None

    @property
    def fates(self) -> dict[int, Fate]:
        return self.computed_fates.by_node

    @cached_property
    def computed_fates(self) -> FoundFates:
        category = self.scene.running.category
        fates, steps = dict[int, Fate](), list[Step]()
        for position, change in self.applied.changes.items():
            fate = fates[change.node] = self._fate(change)
            steps.append(Step(position, fate.freed, category(change.node) if fate.after else None))
        return FoundFates(fates, sorted(steps), all(fate.after is not None for fate in fates.values()))

    def _fate(self, change: BlockChange) -> Fate:
        running = self.scene.running
        # A block that the model does not read frees nothing.
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
        """Tokens of the unchanged message header that counts with the part at `position`. 0 if it has none."""
        items = self.applied.context.items
        if position == 0 or items[position - 1].block.kind != HEADER or position - 1 in self.applied.changes:
            return 0
        return self.tokens_of(items[position - 1].block) or 0

    def _is_read(self, node: int) -> bool:
        return is_read(self.scene.session.tree, self.head, node, strips_thinking=self.scene.running.strips_thinking)

    @cached_property
    def inserted(self) -> tuple[InsertedBlock, ...]:
        """Inserted blocks in prompt order, without headers."""
        return tuple(new for insert in self.applied.inserts for new in self._inserted_blocks(insert))

    @cached_property
    def unsent_inserts(self) -> tuple[InsertedBlock, ...]:
        if self.was_sent_plain:
            return self.inserted
        tree = self.scene.session.tree
        sent = {tree[node].block.digest for node in tree.path(self.scene.call.sent_head)}
        return tuple(new for new in self.inserted if new.item.block.digest not in sent)

    def _inserted_blocks(self, insert: Insert) -> Sequence[InsertedBlock]:
        return [
            InsertedBlock(insert.position, item, INDEX[category_of(*item)], self.tokens_of(item.block), insert.edit)
            for item in insert.items
            if item.block.kind != HEADER
        ]

    @cached_property
    def counted(self) -> bool:
        inserted_tokens = [new.tokens for new in self.inserted]
        whole = self.computed_fates.whole and self.scene.running.is_counted(self.head)
        return whole and None not in (*inserted_tokens, self.request, self.raw)

    @cached_property
    def request(self) -> RequestCount | None:
        return self.count(self.applied)

    @cached_property
    def raw(self) -> RequestCount | None:
        return self.count(self.applied.without_edits)

    @property
    def before(self) -> int:
        return self.raw.whole if self.raw is not None else 0

    @property
    def freed(self) -> int:
        """Tokens removed minus tokens added by the edits that `without` leaves out."""
        return self.without - self.after

    @property
    def without(self) -> int:
        """Tokens of the next request to compare with; 0 while it is being counted.

        It has the applied edits if others are staged on top, else those of the call shown.
        """
        if self.under is not None:
            return self.under.after
        if self.was_sent_plain:
            return self.before
        return self.after if self.as_sent else self.following.context_tokens

    @cached_property
    def following(self) -> CallFigures:
        """Figures of the next request if it continues what the call shown sent."""
        return next_figures(self.scene.book, self.scene.call, self.head)

    @property
    def removed(self) -> int:
        """Tokens of the next request without any edit minus those under the edits."""
        return self.before - self.after

    @property
    def after(self) -> int:
        return self.request.whole if self.request is not None else 0

    @cached_property
    def as_sent(self) -> bool:
        """Whether the context of the call shown would be sent as it was."""
        applied, depth = self.applied, self._depth
        if self.was_sent_plain:
            return all(position >= depth for position in applied.changes) and all(
                item.position >= depth for item in applied.inserts
            )
        tree = self.scene.session.tree
        sent = [tree[node].block.digest for node in tree.path(self.scene.call.sent_head)]
        return sent == [item.item.block.digest for item in applied.items if item.position < depth]

    @property
    def _depth(self) -> int:
        return self.scene.session.tree[self.scene.call.raw_head].depth

    @cached_property
    def cached(self) -> int:
        """Tokens that the cache holds after the call shown, by its report."""
        call, usage = self.scene.call, self.scene.call.usage
        if usage is None or not usage.has_cache:
            return 0
        if usage.cache_write or call.provider == "anthropic":
            return usage.cache_read + usage.cache_write
        # An automatic cache, which reports no writes, holds all input once any was read.
        return usage.input if usage.cache_read else 0

    @property
    def breaks_at(self) -> int | None:
        """The raw position from which cached tokens become unreadable."""
        return self.breakage.at if self.breakage is not None else None

    @property
    def broken(self) -> int:
        return self.breakage.tokens if self.breakage is not None else 0

    @property
    def by_category(self) -> dict[int, int]:
        """Change in tokens by category index, from the request of `without` to the next one. Empty if unknown."""
        before = self.under.request if self.under is not None else self.raw if self.was_sent_plain else None
        if before is None or self.request is None:
            return {}
        pairs = zip(before.categories, self.request.categories, strict=True)
        return {category: after - old for category, (old, after) in enumerate(pairs) if after != old}

    @property
    def applied_by_category(self) -> dict[int, int]:
        """Change in tokens by category index by the applied edits, if others are staged on top."""
        return self.under.by_category if self.under is not None else {}

    def mark(self, node: int) -> str:
        """The mark of an unchanged block: ``marked``, ``pinned``, ``breakpoint`` or "".

        For an inserted block that of its edit, or ``dropped`` if the edit is no longer in force.
        """
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

    def is_behind_break(self, node: int) -> bool:
        """Whether `node` is after the part of the cached prefix that stays readable."""
        breakage, scene = self.breakage, self.scene
        if breakage is None:
            return False
        row = scene.session.tree[node]
        place = self.sent.place(node) if self.sent is not None else row.depth - 1
        return place >= breakage.at or (node != ROOT and scene.reported_position(row.parent) >= breakage.still_read)

    @property
    def repairs(self) -> int:
        return self.applied.repair_count
