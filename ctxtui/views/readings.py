"""Readings of blocks, remembered while they are in view: decoding a body costs more than drawing its row."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from ctxtui.core.canonical import Json
from ctxtui.core.category import INDEX
from ctxtui.core.reading import Reading, read, read_value
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT, Node
from ctxtui.lab.labels import Names
from ctxtui.views.preview import Preview, preview

_CALL, _RESULT = INDEX["tool_call"], INDEX["tool_result"]
_BACK: Final = 512
"""How many blocks before a result its call is looked for: beyond that the index of all calls is asked."""

T = TypeVar("T")


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


class Readings:
    """What the blocks of a session say, by node."""

    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._names = names
        self._previews: Recent[Preview] = Recent(4096)

    def value(self, node: int) -> Json:
        """The block's JSON."""
        return self._session.tree[node].block.value()

    def reading(self, node: int) -> Reading:
        """What the block says."""
        return read(self._session.tree[node].block)

    def preview(self, node: int) -> Preview:
        """The block in one line."""
        found = self._previews.get(node)
        return found if found is not None else self._previews.put(node, self._made(self._session.tree[node]))

    def _made(self, node: Node) -> Preview:
        value = node.block.value()
        got = read_value(node.block.kind, value)
        tool = ""
        if node.category == _RESULT and not got.name:
            call = self.call_of(node, got)
            tool = call.name if call else self._names.tool(got.call_id or self._names.answered(node))
        return preview(node.block.kind, node.category, value, got, tool, self._session.about.cwd)

    def call_of(self, node: Node, got: Reading) -> Reading | None:
        """The call that a result answers, if it stands within the blocks before it."""
        tree, wanted = self._session.tree, got.call_id or self._names.answered(node)
        if node.category != _RESULT or not wanted:
            return None
        at, steps = node.parent, 0
        while at != ROOT and steps < _BACK:
            here = tree[at]
            if here.category == _CALL and wanted.encode() in here.block.body:
                call = read(here.block)
                if call.call_id == wanted:
                    return call
            at, steps = here.parent, steps + 1
        return None
