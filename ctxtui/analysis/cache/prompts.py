"""The calls of a recorded session as prompts for the cache simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ctxtui.analysis.forecast import Forecaster
from ctxtui.cache.explain import SentRequest
from ctxtui.cache.markers import Markers, read_markers_on
from ctxtui.cache.prefix_key import PrefixChains, RequestEnds
from ctxtui.cache.prefix_salt import PrefixSalt, prefix_salt
from ctxtui.cache.prompt import CachedPrompt, build_prompt
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call, answer_start
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, PathItems, Tree
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, plus
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import detect_dialect


class Lengths:
    """Tokens of contexts by node. What is known by report is pinned; between two pins blocks are counted.

    `measure` gives one node's own features, always the same for one node; `tokens` what features come to.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._pins: dict[int, int] = {}
        self._version = 0
        # The pin below a node and the features between the two: a prompt asks for every place of a long context.
        self._since: dict[int, tuple[int, Features]] = {}

    def pin(self, node: int, tokens: int) -> None:
        """A report says that the context `node` has `tokens` tokens."""
        self._pins[node] = tokens
        self._version += 1
        self._since.clear()

    def start(self, tokens: int) -> None:
        """What stands before everything that is recorded, as far as it is not known yet: system prompt and tools."""
        self._version += ROOT not in self._pins
        self._pins.setdefault(ROOT, max(0, tokens))

    @property
    def front(self) -> int:
        """Tokens before everything that is recorded; 0 while nothing is known."""
        return self._pins.get(ROOT, 0)

    def reported(self, node: int) -> tuple[int, int]:
        """The last node at or above `node` whose length a report told, with that length."""
        while node not in self._pins and node != ROOT:
            node = self._tree[node].parent
        return node, self._pins.get(node, 0)

    def reader(self, measure: Callable[[int], Features], tokens: Callable[[Features], float]) -> Callable[[int], int]:
        """A function from node to tokens, for one model at one moment."""

        known: tuple[int, dict[int, int]] = -1, {}

        def length(node: int) -> int:
            nonlocal known
            if known[0] != self._version:
                known = self._version, {}
            found = known[1].get(node)
            if found is None:
                pinned, features = self._from_pin(node, measure)
                found = self._pins.get(pinned, 0) + (round(tokens(features)) if features is not NOTHING else 0)
                known[1][node] = found
            return found

        return length

    def _from_pin(self, node: int, measure: Callable[[int], Features]) -> tuple[int, Features]:
        """The last node at or above `node` whose length is known, and the features of what stands between them."""
        above = []
        while node not in self._pins and node != ROOT and node not in self._since:
            above.append(node)
            node = self._tree[node].parent
        pinned, features = self._since.get(node, (node, NOTHING))
        for node in reversed(above):
            features = plus(features, measure(node))
            self._since[node] = pinned, features
        return pinned, features


THINKING_LEVEL: Final = "thinking_level"
"""In `Call.extra`: how much thinking a client asked for, in its own words."""
THINKS_NOT: Final = "off"
"""The level at which it asks for none."""
_DIALECTS: Final = {"anthropic": ANTHROPIC, "openai": RESPONSES}


class CachePrompts:
    """Makes prompts of calls. What is known of their lengths is kept per thread and model."""

    def __init__(
        self,
        tree: Tree,
        rules: Callable[[Call], CacheRules],
        counts: Callable[[str], Cumulated],
        inputs: Forecaster,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._counts = counts
        self._inputs = inputs
        self._path = tree.running()
        self._params: dict[str, tuple[str, dict[str, Json]]] = {}
        self._prefixes = PrefixChains(tree)
        self._seeds: dict[tuple[str, str, bool], PrefixSalt] = {}
        self._lengths: dict[tuple[str, str], Lengths] = {}
        self._marked: dict[str, Markers] = {}
        self._likely: dict[str, list[tuple[int, float, int]]] = {}

    def tokens(self, call: Call) -> Callable[[Features], float]:
        """What features come to in tokens of the call's model, as far as is learnt."""
        return self._inputs.calibration(call.model).tokens

    def front(self, call: Call) -> int:
        """Tokens of what stands before everything recorded, as the first report of the thread has it."""
        return self._length(call).front

    def reported_length(self, call: Call, node: int) -> tuple[int, int]:
        """The last node at or above `node` of whose length in the thread of `call` a report told, with that length."""
        return self._length(call).reported(node)

    def before_messages(self, call: Call) -> int:
        """Tokens of what stands in front of the messages of `call`: what is not recorded, system prompt and tools."""
        head, tree = call.sent_head, self._tree
        while head != ROOT and tree[head].place.section == "messages":
            head = tree[head].parent
        return self.front(call) + round(self._counted(call, head))

    def _counted(self, call: Call, head: int) -> float:
        """Tokens of the blocks of the context `head`, as they are counted."""
        parts = self._counts(call.model).composition_at(head)
        return self.tokens(call)(Features._make(map(sum, zip(*parts, strict=True))))

    def prompt(
        self,
        call: Call,
        total: int,
        life: str,
        *,
        known: bool = True,
        answered: bool = False,
        marks: Sequence[tuple[int, float] | tuple[int, float, int]] | None = None,
    ) -> CachedPrompt:
        """`call` as a prompt of `total` tokens.

        Its markers are `marks` (node, lifetime in seconds), else those of the recorded request, else those that the
        client is taken to set: at the ends of its last messages, with the lifetime `life` ("": the default).
        Where it is not `known` when the call was made, its entries do not expire. `answered`: its answer is there.
        """
        rules, head = self._rules(call), call.sent_head
        own = self._markers(call, rules)
        explicit = own.explicit if own is not None else False
        if marks is None and own is None:
            marks = self._likely.get(call.id)
        if marks is None and own is not None:
            path = self._path.to(head)
            marks = [(path[mark.item], mark.life, mark.ends) for mark in own.valid]
        if marks is None:
            marked = rules.mechanism.writes_at_markers
            lasts = rules.seconds(life) if marked else 0.0
            nodes = self._last_ends(head, rules.marked) if marked else ()
            marks = [(node, lasts, len(nodes) - n) for n, node in enumerate(nodes) if node != ROOT]
        if not known:
            marks = [(node, math.inf) for node, *_ in marks]
        keeps = rules.answers or rules.mechanism.keeps_answers
        # An answer under edits goes on from another context than the one that left, which no cache holds.
        answer = call.response_head if answered and keeps and self._goes_on(call) else None
        counts = self._counts(call.model)
        lengths = self._length(call).reader(lambda n: counts.measure(self._tree[n].block), self.tokens(call))
        base = self._seed(call, rules)
        return build_prompt(
            self._prefixes, rules, base, head, lengths, marks, total=total, explicit=explicit, answer=answer
        )

    def _last_ends(self, head: int, count: int) -> tuple[int, ...]:
        """The nodes at which the last `count` messages of the context `head` end, in order."""
        ends = [head]
        while len(ends) < count:
            ends.append(message_before(self._tree, ends[-1]))
        return tuple(reversed(ends))

    def places(self, call: Call) -> RequestEnds:
        """Where the request ends that `call` would be with another context."""
        rules = self._rules(call)
        return RequestEnds(self._prefixes, self._seed(call, rules), rules.strips)

    def expect(self, coming: Call, after: Call) -> None:
        """Take it that `coming`, which is not made yet, sets the markers that the request of `after` had: where they
        stood on the last two messages at their ends now, else where they stood. Nothing where none are on record."""
        own, rules = self._markers(after, self._rules(after)), self._rules(coming)
        if own is None or coming.skeleton is not None or not rules.mechanism.writes_at_markers:
            return
        tree, head, path = self._tree, coming.sent_head, self._path.to(after.sent_head)
        found: list[tuple[int, float, int]] = []
        for mark in own.valid:
            node = path[mark.item]
            behind = tree[after.sent_head].message - tree[node].message
            if tree[node].place.section == "messages" and behind < 2:
                found.append((head if behind == 0 else message_before(tree, head), mark.life, behind + 1))
            elif tree.holds(head, node):
                found.append((node, mark.life, 0))
        self._likely[coming.id] = [mark for mark in found if mark[0] != ROOT]

    def markers(self, call: Call) -> Markers | None:
        """The markers of `call` as its request has them, by position; None where they are not on record."""
        return self._markers(call, self._rules(call))

    def seed(self, call: Call) -> PrefixSalt:
        """What the prefix keys of `call` begin with."""
        return self._seed(call, self._rules(call))

    def expected(self, call: Call) -> bool:
        """Whether markers are taken for likely because an earlier request had them."""
        return call.id in self._likely

    def recorded(self, call: Call) -> bool:
        """Whether the markers of `call` are on record."""
        return self._markers(call, self._rules(call)) is not None

    def sent(self, call: Call, made: CachedPrompt) -> SentRequest:
        """A call whose request is on record, as it was sent; `made` is its prompt."""
        assert call.skeleton is not None
        return SentRequest(made, call.sent_head, call.skeleton.dialect, call.model, sent_params(call))

    def _markers(self, call: Call, rules: CacheRules) -> Markers | None:
        if call.skeleton is None:
            return None
        found = self._marked.get(call.id)
        if found is None:
            items = PathItems(self._tree, self._path.to(call.sent_head))
            found = self._marked[call.id] = read_markers_on(items, Request((), call.skeleton), rules)
        return found

    def reported(self, call: Call, first: bool) -> bool:
        """Take in the lengths that the report of `call` tells (`first`: of its thread); whether it cached anything."""
        usage, lengths, rules = call.usage, self._length(call), self._rules(call)
        if usage is None:
            return False
        if first:
            lengths.start(round(usage.input - self._counted(call, call.sent_head)))
        marked = rules.mechanism.writes_at_markers
        whole = usage.cache_read + usage.cache_write if marked else usage.input
        if not whole:
            return False
        own = self._markers(call, rules)
        if own is not None and own.valid and marked:
            # What was cached ends at the last marker.
            lengths.pin(call.sent_head, usage.input)
            lengths.pin(self._path.to(call.sent_head)[own.valid[-1].item], whole)
        else:
            lengths.pin(call.sent_head, whole)
        if rules.answers and usage.output_final and call.response_head != call.sent_head and self._goes_on(call):
            lengths.pin(call.response_head, usage.input + usage.output)
        return True

    def _goes_on(self, call: Call) -> bool:
        return answer_start(self._tree, call) == call.sent_head

    def _seed(self, call: Call, rules: CacheRules) -> PrefixSalt:
        if call.skeleton is not None:
            self._params[call.thread] = dialect, params = call.skeleton.dialect, sent_params(call)
            return prefix_salt(rules, dialect, provider=call.provider, model=call.model, params=params)
        if call.thread in self._params:
            # A client goes on with what it asked for before, also in a request that is not on record or not made yet.
            dialect, params = self._params[call.thread]
            return prefix_salt(rules, dialect, provider=call.provider, model=call.model, params=params)
        params = _told_params(call)
        key = (call.provider, call.model, bool(params))
        found = self._seeds.get(key)
        if found is None:
            dialect = self._dialect(call, rules)
            found = self._seeds[key] = prefix_salt(
                rules, dialect, provider=call.provider, model=call.model, params=params
            )
        return found

    def _dialect(self, call: Call, rules: CacheRules) -> str:
        if not call.provider:
            return rules.mechanism.dialect or CHAT
        known = _DIALECTS.get(call.provider)
        # A name that the user gave a provider says nothing of its dialect, the blocks do.
        return known or (RESPONSES if detect_dialect(self._tree.items(call.sent_head)) == RESPONSES else CHAT)

    def _length(self, call: Call) -> Lengths:
        key = (call.thread, call.model)
        found = self._lengths.get(key)
        if found is None:
            found = self._lengths[key] = Lengths(self._tree)
        return found


def sent_params(call: Call) -> dict[str, Json]:
    """The parameters of a recorded request, with the betas that its record names."""
    params = Request((), call.skeleton).params if call.skeleton is not None else {}
    betas = call.extra.get("betas")
    return {**params, "betas": betas} if isinstance(betas, list) else params


def _told_params(call: Call) -> dict[str, Json]:
    """What a client that records no request says of its parameters: whether it asked for thinking, which a provider
    caches messages apart by (facts §2). From one level to another the request may stay the same: what a level stands
    for is the client's own."""
    level = call.extra.get(THINKING_LEVEL)
    return {"thinking": {"type": "enabled"}} if isinstance(level, str) and level != THINKS_NOT else {}


def message_before(tree: Tree, head: int) -> int:
    """The node at which the message before the last one of the context `head` ends (`ROOT`: there is none)."""
    message = tree[head].message
    while head != ROOT and tree[head].message == message:
        head = tree[head].parent
    return head
