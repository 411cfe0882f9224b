"""Readings of blocks, remembered while they are in view: decoding a body costs more than drawing its row."""

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
_BACK: Final = 512
"""How many blocks before a result its call is looked for: beyond that the index of all calls is asked."""

LARGE: Final = 1 << 19
"""Bytes from which a block is decoded elsewhere."""
_COMING: Final = Preview("", "·", "faint")

T = TypeVar("T")
Want = Callable[[Callable[[], None]], None]
"""Takes what is to be done in another thread."""


class Recent(Generic[T]):
    """What was made lately, by key; the oldest goes when there are more than `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[object, T] = OrderedDict()

    def get(self, key: object) -> T | None:
        """What is kept under `key`."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: object, value: T) -> T:
        """Keep `value`."""
        self._kept[key] = value
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()


def preview_of(book: Book, node: int) -> Preview:
    """The block of `node` in one line, a result with what its call asked for."""
    here, names = book.session.tree[node], book.names
    value = here.block.value()
    got = read_value(here.block.kind, value)
    call = names.call(got.call_id or names.answered_call_id(here), here.id) if here.category == _RESULT else None
    return preview(here.block.kind, here.category, value, got, call, book.session.about.cwd)


class Readings:
    """What the blocks of a session say, by node.

    Large blocks take longer to decode than a frame may: with `want` their decoding is handed to it, to be done in
    another thread, and until then they are not `ready`.
    """

    def __init__(self, session: Session, names: Names, want: Want | None = None) -> None:
        self._session = session
        self._names = names
        self._want = want
        self._wanted: set[int] = set()
        self._previews: Recent[Preview] = Recent(4096)
        self._cwd = session.about.cwd
        self._large: Recent[tuple[Json, BlockContent]] = Recent(4)

    @property
    def tree(self) -> Tree:
        """The session's tree."""
        return self._session.tree

    def ready(self, node: int) -> bool:
        """Whether the block can be read at once; asks for it otherwise."""
        block = self._session.tree[node].block
        if self._want is None or len(block.body) < LARGE or self._large.get(node) is not None:
            return True
        if node not in self._wanted:
            self._wanted.add(node)
            self._want(lambda: self._load(node))
        return False

    def _load(self, node: int) -> None:
        self.decoded(node)
        self._wanted.discard(node)

    def decoded(self, node: int) -> tuple[Json, BlockContent]:
        """The block's JSON, and what it says."""
        block = self._session.tree[node].block
        if len(block.body) < LARGE:
            value = block.value()
            return value, read_value(block.kind, value)
        found = self._large.get(node)
        if found is None:
            value = block.value()
            found = self._large.put(node, (value, read_value(block.kind, value)))
        return found

    def value(self, node: int) -> Json:
        """The block's JSON."""
        return self.decoded(node)[0]

    def reading(self, node: int) -> BlockContent:
        """What the block says."""
        return self.decoded(node)[1]

    def words(self, node: int) -> str:
        """The text of the block that a search looks into."""
        # Imported here: nothing is searched on the first screen.
        from ctxtui.analysis.content.search import text_of_content

        return text_of_content(self.reading(node), self._session.tree[node].block.kind)

    def preview(self, node: int) -> Preview:
        """The block in one line; ``·`` while it is not ready."""
        if self._cwd != self._session.about.cwd:
            # Paths are told from there: a recording may say late where it was made.
            self._cwd = self._session.about.cwd
            self._previews.clear()
        found = self._previews.get(node)
        if found is None:
            if not self.ready(node):
                return _COMING
            found = self._previews.put(node, self._made(self._session.tree[node]))
        return found

    def _made(self, node: Node) -> Preview:
        value, got = self.decoded(node.id)
        call = None
        if node.category == _RESULT:
            call = self.call_of(node, got) or self._names.call(
                got.call_id or self._names.answered_call_id(node), node.id
            )
        return preview(node.block.kind, node.category, value, got, call, self._session.about.cwd)

    @property
    def cwd(self) -> str:
        """The session's directory."""
        return self._session.about.cwd

    def call_id(self, node: int) -> str:
        """The id by which a call and its result name each other; "" where there is none, or it is not ready."""
        here = self._session.tree[node]
        if not self.ready(node):
            return ""
        return self.reading(node).call_id or (self._names.answered_call_id(here) if here.category == _RESULT else "")

    def call_of(self, node: Node, got: BlockContent) -> BlockContent | None:
        """The call that a result answers, if it stands within the blocks before it."""
        tree, wanted = self._session.tree, got.call_id or self._names.answered_call_id(node)
        if node.category != _RESULT or not wanted:
            return None
        at, steps = node.parent, 0
        while at != ROOT and steps < _BACK:
            here = tree[at]
            if here.category == _CALL and wanted.encode("utf-8", "replace") in here.block.body and self.ready(at):
                call = self.reading(at)
                if call.call_id == wanted:
                    return call
            at, steps = here.parent, steps + 1
        return None
