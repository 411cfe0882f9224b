"""Lineage: finds the earlier call that a call's context extends, and the difference.

Input forecasts start from it: the report of that call, plus what was added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from msgspec import Struct

from ctxtui.cache.prefix_key import is_from_person
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, answer_nodes_in, answer_path
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, minus, plus, sum_features

_THINKING: Final = INDEX["thinking"]
_RESULT: Final = INDEX["tool_result"]

_MIN_CUMULATED: Final = 40
"""Blocks from which on running counts are faster than a sum."""
_MIN_COLUMNS: Final = 5
"""Blocks from which on adding column by column is faster than one by one."""


class LineageStep(Struct, frozen=True, kw_only=True):
    """Difference between the context of `base` and that of a later call.

    - `usage` is what the provider reported for the base.
    - `answer` measures the blocks of the base's answer that the later context contains, without thinking; `parts` is
      their number. `thinking` measures the thinking blocks. `is_whole_answer` is True if no block of it is missing,
      `has_thinking` if any thinking block is there.
    - `added` measures the blocks after the answer; `nodes` are their nodes.
    - `lost` measures the blocks of the base's context that the later context lacks. `stale` is the part of it that is
      thinking of turns before the base's own: a provider that strips thinking had removed that part already.
    - `person_wrote` is True if a person wrote before the later call. A provider that strips thinking then also removes
      `earlier`, the thinking before the answer. It reported `earlier_tokens` of these.
    """

    base: Call
    usage: Usage
    answer: Features
    thinking: Features
    has_thinking: bool
    is_whole_answer: bool
    parts: int
    added: Features
    lost: Features
    stale: Features
    person_wrote: bool
    earlier: Features
    earlier_tokens: int
    nodes: tuple[int, ...]

    @property
    def net(self) -> Features:
        """Features added minus features lost, without the answer."""
        return self.added if self.lost is NOTHING else minus(self.added, self.lost)


class _Thoughts(Struct, frozen=True):
    """Thinking since a person's last message: counted features, and reported tokens."""

    features: Features = NOTHING
    tokens: int = 0


_NO_THOUGHTS: Final = _Thoughts()


class Lineage:
    """Calls of a thread with a report, by the tree nodes where their contexts and answers end."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._heads: dict[int, Call] = {}
        self._last: Call | None = None
        self._thoughts: dict[str, _Thoughts] = {}

    def step_to(self, call: Call, counts: Cumulated) -> LineageStep | None:
        """Step to `call` from the call that it extends, by `counts`.

        None before the first call with a report. Raises `IndexError` while the context is not counted.
        """
        if self._last is None:
            return None
        last = self._make_step(self._last, call, counts)
        if self._tree.holds(call.sent_head, self._last.sent_head):
            return last
        on_path = self._nearest_call(call.sent_head)
        if on_path is None:
            return last
        rewound = self._make_step(on_path, call, counts)
        # A rewound context extends the earlier call; one that was edited in place still has most blocks.
        return rewound if _absolute_size(rewound.net) <= _absolute_size(last.net) else last

    def add(self, call: Call, step: LineageStep | None) -> None:
        """Remember `call`, which was reached by `step`; only calls with a report."""
        self._last = call
        self._heads[call.sent_head] = self._heads[call.response_head] = call
        thoughts = _NO_THOUGHTS
        if step is not None and not step.person_wrote:
            reasoning = step.usage.reasoning if step.has_thinking else 0
            features = plus(step.earlier, NOTHING if reasoning else step.thinking)
            if features != NOTHING or step.earlier_tokens + reasoning:
                thoughts = _Thoughts(features, step.earlier_tokens + reasoning)
        if thoughts is not _NO_THOUGHTS:
            self._thoughts[call.id] = thoughts
        else:
            self._thoughts.pop(call.id, None)

    def is_unchanged_in(self, calls: Mapping[str, Call]) -> bool:
        return all(calls.get(call.id) is call for call in list(self._heads.values()))

    def _sum_features(self, counts: Cumulated, start: int, nodes: list[int]) -> Features:
        if len(nodes) < _MIN_CUMULATED:
            return _sum_parts([counts.measure(self._tree[n].block) for n in nodes])
        return minus(_sum_parts(counts.composition_at(nodes[-1])), _sum_parts(counts.composition_at(start)))

    def _find_stale_thinking(self, counts: Cumulated, start: int, head: int) -> Features:
        """Thinking between the contexts `start` and `head` from before the turn of `head`."""
        begun = self._tree[head].turn_start
        if begun == ROOT or self._tree[begun].depth <= self._tree[start].depth:
            return NOTHING
        return minus(counts.features_at(self._tree[begun].parent, _THINKING), counts.features_at(start, _THINKING))

    def _nearest_call(self, head: int) -> Call | None:
        while head != ROOT:
            call = self._heads.get(head)
            if call is not None:
                return call
            head = self._tree[head].parent
        return None

    def _make_step(self, base: Call, call: Call, counts: Cumulated) -> LineageStep:
        tree, usage, measure = self._tree, base.usage, counts.measure
        assert usage is not None
        extends, answer_nodes = tree.holds(call.sent_head, base.sent_head), answer_nodes_in(tree, base, call.sent_head)
        start = answer_nodes[-1] if answer_nodes else tree.common(base.sent_head, call.sent_head)
        nodes = tree.path(call.sent_head, start)
        lost_nodes = [] if extends else tree.path(base.sent_head, start)
        answer: list[Features] = []
        thinking: list[Features] = []
        parts = 0
        for node in map(tree.__getitem__, answer_nodes):
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
            answer=_sum_parts(answer),
            thinking=_sum_parts(thinking),
            has_thinking=bool(thinking),
            is_whole_answer=bool(answer_nodes) and len(answer_nodes) == len(answer_path(tree, base)),
            parts=parts,
            added=self._sum_features(counts, start, nodes),
            lost=self._sum_features(counts, start, lost_nodes),
            stale=self._find_stale_thinking(counts, start, base.sent_head),
            person_wrote=sum(map(is_from_person, map(tree.__getitem__, nodes)))
            > sum(map(is_from_person, map(tree.__getitem__, lost_nodes))),
            earlier=thoughts.features,
            earlier_tokens=thoughts.tokens,
            nodes=tuple(nodes),
        )


def _sum_parts(parts: Sequence[Features]) -> Features:
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    return reduce(plus, parts) if len(parts) < _MIN_COLUMNS else sum_features(parts)


def _absolute_size(features: Features) -> float:
    """Sum of the sizes of texts, ciphers and images without their signs."""
    return sum(map(abs, features[:7]))
