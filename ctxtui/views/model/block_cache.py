"""Contents of blocks in view; caches previews, and the decoded bodies of large blocks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import BlockContent, read_value
from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.views.model.preview import Preview, preview

if TYPE_CHECKING:
    from ctxtui.analysis.book import Book

_CALL, _RESULT = INDEX["tool_call"], INDEX["tool_result"]
MAX_STEPS_BACK: Final = 512
"""Blocks before a result that are searched for its call; beyond that the index of all calls is used."""

LARGE_BLOCK_BYTES: Final = 1 << 19
"""Size from which a block is decoded in another thread, and cached."""
LOADING: Final = Preview("", "·", "faint")

T = TypeVar("T")
Schedule = Callable[[Callable[[], None]], None]
"""Schedules a task in another thread."""


class Recent(Generic[T]):
    """The most recently used values by key, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[object, T] = OrderedDict()

    def get(self, key: object) -> T | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: object, value: T) -> T:
        """Store `value` and return it."""
        self._values[key] = value
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        self._values.clear()


def preview_of(book: Book, node: int) -> Preview:
    row, names = book.session.tree[node], book.names
    value = row.block.value()
    content = read_value(row.block.kind, value)
    call = names.call(names.answered_id(row), row.id) if row.category == _RESULT else None
    return preview(row.block.kind, row.category, value, content, call, book.session.about.cwd)


class Readings:
    """Contents of a session's blocks, by node.

    Decoding a large block takes longer than a frame: with `schedule` it is done in another thread, and the block is not
    `ready` until then.
    """

    def __init__(self, session: Session, names: Names, schedule: Schedule | None = None) -> None:
        self._session = session
        self._names = names
        self._schedule = schedule
        self._scheduled: set[int] = set()
        self._previews: Recent[Preview] = Recent(4096)
        self._cwd = session.about.cwd
        self._large: Recent[tuple[Json, BlockContent]] = Recent(4)

    @property
    def tree(self) -> Tree:
        return self._session.tree

    def ready(self, node: int) -> bool:
        """Whether the block can be read at once; schedules its decoding otherwise."""
        block = self._session.tree[node].block
        if self._schedule is None or len(block.body) < LARGE_BLOCK_BYTES or self._large.get(node) is not None:
            return True
        if node not in self._scheduled:
            self._scheduled.add(node)
            self._schedule(lambda: self._load(node))
        return False

    def _load(self, node: int) -> None:
        self.decoded(node)
        self._scheduled.discard(node)

    def decoded(self, node: int) -> tuple[Json, BlockContent]:
        block = self._session.tree[node].block
        decoded = self._large.get(node)
        if decoded is None:
            value = block.value()
            decoded = value, read_value(block.kind, value)
            if len(block.body) >= LARGE_BLOCK_BYTES:
                self._large.put(node, decoded)
        return decoded

    def value(self, node: int) -> Json:
        return self.decoded(node)[0]

    def reading(self, node: int) -> BlockContent:
        return self.decoded(node)[1]

    def words(self, node: int) -> str:
        """The block's searchable text."""
        # Late import: the first screen searches nothing.
        from ctxtui.analysis.content.search import text_of_content

        return text_of_content(self.reading(node), self._session.tree[node].block.kind)

    def preview(self, node: int) -> Preview:
        """Preview of the block; ``·`` while it is not ready."""
        if self._cwd != self._session.about.cwd:
            # Paths are relative to it, and a recording may name it late.
            self._cwd = self._session.about.cwd
            self._previews.clear()
        block_preview = self._previews.get(node)
        if block_preview is None:
            if not self.ready(node):
                return LOADING
            block_preview = self._previews.put(node, self._create_preview(self._session.tree[node]))
        return block_preview

    def _create_preview(self, node: Node) -> Preview:
        value, content = self.decoded(node.id)
        call = self.call_of(node, content)
        return preview(node.block.kind, node.category, value, content, call, self._session.about.cwd)

    @property
    def cwd(self) -> str:
        return self._session.about.cwd

    def call_id(self, node: int) -> str:
        """The id shared by a call and its result; "" if there is none or the block is not ready."""
        row = self._session.tree[node]
        if not self.ready(node):
            return ""
        content = self.reading(node)
        if row.category == _CALL:
            return content.pairing_id
        return content.call_id or (self._names.answered_call_id(row) if row.category == _RESULT else "")

    def call_of(self, node: Node, content: BlockContent) -> BlockContent | None:
        """The call that a result answers; None for other blocks, or if it is not recorded."""
        if node.category != _RESULT:
            return None
        tree, call_id = self._session.tree, content.call_id or self._names.answered_call_id(node)
        current, steps = node.parent, 0
        while call_id and current != ROOT and steps < MAX_STEPS_BACK:
            row = tree[current]
            if row.category == _CALL and call_id.encode("utf-8", "replace") in row.block.body and self.ready(current):
                call = self.reading(current)
                if call.pairing_id == call_id:
                    if not call.call_id:
                        break
                    return call
            current, steps = row.parent, steps + 1
        return self._names.call(call_id, node.id)
