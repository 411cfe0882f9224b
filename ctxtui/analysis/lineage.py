"""Lineage: which earlier call a call's context extends, and by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from msgspec import Struct

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, answer_nodes_in, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Node, Tree
from ctxtui.core.usage import Usage
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, minus, plus, together

_THINKING: Final = INDEX["thinking"]
_RESULT: Final = INDEX["tool_result"]
_SPEAKING: Final = frozenset({"user", "human"})

_LONG: Final = 40
"""Blocks from which on the running counts are quicker than a sum."""
_FEW: Final = 5
"""Blocks up to which adding one after another is quicker than adding column by column."""


class LineageStep(Struct, frozen=True, kw_only=True):
    """From the context of `base` to that of a later call.

    `answer` and `thinking` are what stands there of the base's answer, thinking apart (`whole`: all of it, `parts`
    blocks without thinking); `added` is what follows, `lost` what the base's context had and this one has not, `stale`
    the thinking in it of turns before the base's own, which a provider that strips thinking had taken out. Where
    a person spoke (`asked`), a provider that strips thinking takes out `earlier`, the thinking before the answer, of
    which `earlier_tokens` are known by report. `nodes` are the blocks of `added`.
    """

    base: Call
    usage: Usage
    answer: Features
    thinking: Features
    thought: bool
    whole: bool
    parts: int
    added: Features
    lost: Features
    stale: Features
    asked: bool
    earlier: Features
    earlier_tokens: int
    nodes: tuple[int, ...]

    @property
    def net(self) -> Features:
        """What entered less what left, the answer apart."""
        return self.added if self.lost is NOTHING else minus(self.added, self.lost)


class _Thoughts(Struct, frozen=True):
    """The thinking in a context since a person last spoke: counted, and known by report."""

    features: Features = NOTHING
    tokens: int = 0


_NO_THOUGHTS: Final = _Thoughts()


class Lineage:
    """The calls of one thread that have a report, and where their contexts and answers end in the tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._heads: dict[int, Call] = {}
        self._last: Call | None = None
        self._thoughts: dict[str, _Thoughts] = {}

    def step(self, call: Call, counts: Cumulated) -> LineageStep | None:
        """The step to `call` from the call that it extends, as `counts` has it; None for a thread's first.

        Raises `IndexError` while the context is not counted.
        """
        if self._last is None:
            return None
        last = self._from(self._last, call, counts)
        if self._tree.holds(call.sent_head, self._last.sent_head):
            return last
        on_path = self._on_path(call.sent_head)
        if on_path is None:
            return last
        other = self._from(on_path, call, counts)
        # A context that went back goes on from the earlier call; one that was edited in place still has most blocks.
        return other if _size(other.net) <= _size(last.net) else last

    def add(self, call: Call, step: LineageStep | None) -> None:
        """Remember `call`, which came by `step`; only calls with a report."""
        self._last = call
        self._heads[call.sent_head] = self._heads[call.response_head] = call
        thoughts = _NO_THOUGHTS
        if step is not None and not step.asked:
            known = step.usage.reasoning if step.thought else 0
            features = plus(step.earlier, NOTHING if known else step.thinking)
            if features != NOTHING or step.earlier_tokens + known:
                thoughts = _Thoughts(features, step.earlier_tokens + known)
        if thoughts is not _NO_THOUGHTS:
            self._thoughts[call.id] = thoughts
        else:
            self._thoughts.pop(call.id, None)

    def is_of(self, calls: Mapping[str, Call]) -> bool:
        """Whether everything that is remembered is of `calls` as they are: none was replaced since."""
        return all(calls.get(call.id) is call for call in list(self._heads.values()))

    @property
    def ids(self) -> set[str]:
        """The ids of the calls that stand where a context or an answer ends."""
        return {call.id for call in list(self._heads.values())}

    def _along(self, counts: Cumulated, start: int, nodes: list[int]) -> Features:
        """The features of the blocks `nodes`, which follow `start`."""
        if len(nodes) < _LONG:
            return _total([counts.measure(self._tree[n].block) for n in nodes])
        return minus(_total(counts.at(nodes[-1])), _total(counts.at(start)))

    def _stale(self, counts: Cumulated, start: int, head: int) -> Features:
        """The thinking between the contexts `start` and `head` from before the turn that `head` is in."""
        begun = self._tree[head].turn_start
        if begun == ROOT or self._tree[begun].depth <= self._tree[start].depth:
            return NOTHING
        return minus(counts.of(self._tree[begun].parent, _THINKING), counts.of(start, _THINKING))

    def _on_path(self, head: int) -> Call | None:
        while head != ROOT:
            found = self._heads.get(head)
            if found is not None:
                return found
            head = self._tree[head].parent
        return None

    def _from(self, base: Call, call: Call, counts: Cumulated) -> LineageStep:
        tree, usage, measure = self._tree, base.usage, counts.measure
        assert usage is not None
        kept, said = tree.holds(call.sent_head, base.sent_head), answer_nodes_in(tree, base, call.sent_head)
        start = said[-1] if said else tree.common(base.sent_head, call.sent_head)
        nodes = tree.path(call.sent_head, start)
        gone = [] if kept else tree.path(base.sent_head, start)
        answer: list[Features] = []
        thinking: list[Features] = []
        parts = 0
        for node in map(tree.__getitem__, said):
            block = node.block
            if node.category == _THINKING and block.kind != HEADER:
                thinking.append(measure(block))
            else:
                answer.append(measure(block))
                parts += block.kind != HEADER
        thoughts = self._thoughts.get(base.id, _NO_THOUGHTS)
        return LineageStep(
            base=base,
            usage=usage,
            answer=_total(answer),
            thinking=_total(thinking),
            thought=bool(thinking),
            whole=bool(said) and len(said) == len(answer_path(tree, base)),
            parts=parts,
            added=self._along(counts, start, nodes),
            lost=self._along(counts, start, gone),
            stale=self._stale(counts, start, base.sent_head),
            asked=sum(map(_asks, map(tree.__getitem__, nodes))) > sum(map(_asks, map(tree.__getitem__, gone))),
            earlier=thoughts.features,
            earlier_tokens=thoughts.tokens,
            nodes=tuple(nodes),
        )


def _asks(node: Node) -> bool:
    """Whether a person speaks here; also beside a tool result, which opens no turn but ends the thinking before it."""
    place = node.place
    spoken = place.section == "messages" and place.role in _SPEAKING and not place.mark
    return spoken and node.block.kind != HEADER and node.category != _RESULT


def _total(parts: Sequence[Features]) -> Features:
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    return reduce(plus, parts) if len(parts) < _FEW else together(parts)


def _size(features: Features) -> float:
    return sum(map(abs, features[:7]))
