"""Turns the calls of a recorded session into prompts for the cache simulator.

A *prompt* is a request as a cache sees it: its prefixes with their lengths in tokens, and its breakpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ctxtui.analysis.cache.write_reports import WriteReports
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
from ctxtui.tokens.features import NOTHING, Features, plus, sum_features
from ctxtui.wire.grammar import ANTHROPIC, CHAT, RESPONSES
from ctxtui.wire.request import Request
from ctxtui.wire.translate.turns import detect_dialect


class Lengths:
    """Tokens of contexts by node, for one thread and model.

    Reported lengths are *pinned*; blocks after them are counted.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._pins: dict[int, int] = {}
        self._version = 0
        self._since: dict[int, tuple[int, Features]] = {}
        """By node: the pin above it, and the features in between."""

    def pin(self, node: int, tokens: int) -> None:
        self._pins[node] = tokens
        self._version += 1
        self._since.clear()

    def set_front(self, tokens: int) -> None:
        """Set the tokens before everything recorded (system prompt and tools), unless they are set."""
        self._version += ROOT not in self._pins
        self._pins.setdefault(ROOT, max(0, tokens))

    @property
    def front(self) -> int:
        return self._pins.get(ROOT, 0)

    def last_reported(self, node: int) -> tuple[int, int]:
        """Last node at or above `node` with a known length, and that length; else `ROOT` and 0."""
        while node not in self._pins and node != ROOT:
            node = self._tree[node].parent
        return node, self._pins.get(node, 0)

    def length_reader(
        self, measure: Callable[[int], Features], tokens: Callable[[Features], float]
    ) -> Callable[[int], int]:
        """Return a function from node to tokens, to be used until `tokens` changes.

        `measure` gives the features of a node, `tokens` their tokens.
        """
        cache: tuple[int, dict[int, int]] = -1, {}

        def length(node: int) -> int:
            nonlocal cache
            if cache[0] != self._version:
                cache = self._version, {}
            tokens_ = cache[1].get(node)
            if tokens_ is None:
                pinned, features = self._measure_from_pin(node, measure)
                tokens_ = self._pins.get(pinned, 0) + (round(tokens(features)) if features is not NOTHING else 0)
                cache[1][node] = tokens_
            return tokens_

        return length

    def _measure_from_pin(self, node: int, measure: Callable[[int], Features]) -> tuple[int, Features]:
        nodes_above = []
        while node not in self._pins and node != ROOT and node not in self._since:
            nodes_above.append(node)
            node = self._tree[node].parent
        pinned, features = self._since.get(node, (node, NOTHING))
        for node in reversed(nodes_above):
            features = plus(features, measure(node))
            self._since[node] = pinned, features
        return pinned, features


THINKING_LEVEL: Final = "thinking_level"
"""Key in `Call.extra`: the client's name of the thinking level."""
NO_THINKING: Final = "off"
_DIALECTS: Final = {"anthropic": ANTHROPIC, "openai": RESPONSES}
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})


class CachePrompts:
    """Builds the prompts of a session's calls, with lengths learnt from reports.

    `rules` gives the cache rules of a call, `counts` a model's running counts, `inputs` its learnt weights.
    """

    def __init__(
        self, tree: Tree, rules: Callable[[Call], CacheRules], counts: Callable[[str], Cumulated], inputs: Forecaster
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._counts = counts
        self._inputs = inputs
        self._path = tree.running()
        self._params: dict[str, tuple[str, dict[str, Json]]] = {}
        self._prefixes = PrefixChains(tree)
        self._salts: dict[tuple[str, str, bool], PrefixSalt] = {}
        self._lengths: dict[tuple[str, str], Lengths] = {}
        self._fronts: dict[str, int] = {}
        self._marked: dict[str, Markers | None] = {}
        self._assumed: dict[str, list[tuple[int, float, int]]] = {}
        self._writes = WriteReports()

    def weigher(self, call: Call) -> Callable[[Features], float]:
        """Return a function from features to tokens of the call's model, as learnt so far."""
        return self._inputs.calibration(call.model).tokens

    def front(self, call: Call) -> int:
        """Tokens before everything recorded, by the thread's first report; 0 before it."""
        return self._lengths_of(call).front

    def reported_length(self, call: Call, node: int) -> tuple[int, int]:
        """Last node at or above `node` with a known length in `call`'s thread by its model."""
        return self._lengths_of(call).last_reported(node)

    def before_messages(self, call: Call) -> int:
        """Tokens before the messages of `call`: unrecorded input, system prompt and tools."""
        tree, last = self._tree, ROOT
        for node in tree.path(call.sent_head):
            if tree[node].place.section == "messages" and tree[node].place.role not in _SYSTEM_ROLES:
                break
            last = node
        return self.front(call) + round(self._count_blocks(call, last))

    def _count_blocks(self, call: Call, head: int) -> float:
        return self.weigher(call)(sum_features(self._counts(call.model).composition_at(head)))

    def prompt(
        self,
        call: Call,
        total: int,
        life: str,
        *,
        has_time: bool = True,
        answered: bool = False,
        markers: Sequence[tuple[int, float] | tuple[int, float, int]] | None = None,
    ) -> CachedPrompt:
        """Build `call` as a prompt of `total` tokens.

        - `markers`: (node, lifetime in seconds, and optionally `CacheMarker.ends`). None: the recorded ones, else those
          of `assume_markers`, else the ends of the last messages, with the lifetime `life` ("": the default).
        - `has_time`: the time of the call is known; without it, its entries do not expire.
        - `answered`: the answer is included, if the cache keeps answers.
        """
        rules, head = self._rules(call), call.sent_head
        recorded_markers = self.markers(call)
        explicit = recorded_markers.explicit if recorded_markers is not None else False
        if markers is None and recorded_markers is None:
            markers = self._assumed.get(call.id)
        if markers is None and recorded_markers is not None:
            path = self._path.to(head)
            markers = [(path[marker.item], marker.life, marker.ends) for marker in recorded_markers.valid]
        if markers is None:
            marked = rules.mechanism.writes_at_markers
            lasts = rules.seconds(life) if marked else 0.0
            nodes = last_message_ends(self._tree, head, rules.marked) if marked else ()
            markers = [(node, lasts, len(nodes) - n) for n, node in enumerate(nodes) if node != ROOT]
        if not has_time:
            markers = [(node, math.inf) for node, *_ in markers]
        keeps = rules.answers or rules.mechanism.keeps_answers
        # An answer under edits continues another context than the one sent, which no cache holds.
        answer = call.response_head if answered and keeps and self._continues_sent_context(call) else None
        counts = self._counts(call.model)
        lengths = self._lengths_of(call).length_reader(
            lambda n: counts.measure(self._tree[n].block), self.weigher(call)
        )
        return build_prompt(
            self._prefixes,
            rules,
            self.salt(call),
            head,
            lengths,
            markers,
            total=total,
            explicit=explicit,
            answer=answer,
        )

    def request_ends(self, call: Call) -> RequestEnds:
        return RequestEnds(self._prefixes, self.salt(call), self._rules(call).strips)

    def assume_markers(self, next_call: Call, after: Call) -> None:
        """Assume that `next_call`, which is not made yet, sets the markers recorded for `after`."""
        # Markers on the last two messages move to the ends of the new last ones; others stay if their block does.
        recorded_markers, rules = self.markers(after), self._rules(next_call)
        if recorded_markers is None or next_call.skeleton is not None or not rules.mechanism.writes_at_markers:
            return
        tree, head, path = self._tree, next_call.sent_head, self._path.to(after.sent_head)
        markers: list[tuple[int, float, int]] = []
        for marker in recorded_markers.valid:
            node = path[marker.item]
            distance = tree[after.sent_head].message - tree[node].message
            if tree[node].place.section == "messages" and distance < 2:
                markers.append((head if distance == 0 else message_before(tree, head), marker.life, distance + 1))
            elif tree.holds(head, node):
                markers.append((node, marker.life, 0))
        self._assumed[next_call.id] = [marker for marker in markers if marker[0] != ROOT]

    def markers(self, call: Call) -> Markers | None:
        """Recorded markers of `call` by position; None: not recorded, or a gateway sets them."""
        if call.skeleton is None:
            return None
        if call.id not in self._marked:
            items, rules = PathItems(self._tree, self._path.to(call.sent_head)), self._rules(call)
            markers = read_markers_on(items, Request((), call.skeleton), rules)
            own = markers.valid or call.skeleton.dialect == ANTHROPIC or not rules.mechanism.writes_at_markers
            self._marked[call.id] = markers if own else None
        return self._marked[call.id]

    def has_assumed_markers(self, call: Call) -> bool:
        return call.id in self._assumed

    def sent_request(self, call: Call, prompt: CachedPrompt) -> SentRequest:
        assert call.skeleton is not None
        return SentRequest(prompt, call.sent_head, call.skeleton.dialect, call.model, sent_params(call))

    def learn_report(self, call: Call, first: bool) -> bool:
        """Store the lengths in the report of `call`; `first`: it is the first of its thread.

        Returns whether the call may have left anything in the cache.
        """
        usage, rules = call.usage, self._rules(call)
        if usage is None:
            return False
        if first:
            self._fronts[call.thread] = round(usage.input - self._count_blocks(call, call.sent_head))
        lengths = self._lengths_of(call)
        marked = rules.mechanism.writes_at_markers
        self._writes.add(call)
        cached_tokens = self._writes.cached_after(call, rules) if marked else usage.input
        if not cached_tokens:
            return False
        recorded_markers = self.markers(call)
        if recorded_markers is not None and recorded_markers.valid and marked:
            # The cached prefix ends at the last marker.
            lengths.pin(call.sent_head, usage.input)
            lengths.pin(self._path.to(call.sent_head)[recorded_markers.valid[-1].item], cached_tokens)
        else:
            lengths.pin(call.sent_head, cached_tokens)
        if (
            rules.answers
            and usage.output_final
            and call.response_head != call.sent_head
            and self._continues_sent_context(call)
        ):
            lengths.pin(call.response_head, usage.input + usage.output)
        return True

    def _continues_sent_context(self, call: Call) -> bool:
        return answer_start(self._tree, call) == call.sent_head

    def salt(self, call: Call) -> PrefixSalt:
        """Provider, model and parameters, on which prefixes of `call` depend besides blocks."""
        rules = self._rules(call)
        if call.skeleton is not None:
            self._params[call.thread] = call.skeleton.dialect, sent_params(call)
        if call.thread in self._params:
            # A client keeps its parameters, also in a request that is not recorded or not made yet.
            dialect, params = self._params[call.thread]
            return prefix_salt(rules, dialect, provider=call.provider, model=call.model, params=params)
        params = _recorded_params(call)
        key = (call.provider, call.model, bool(params))
        salt = self._salts.get(key)
        if salt is None:
            dialect = self._dialect_of(call, rules)
            salt = self._salts[key] = prefix_salt(
                rules, dialect, provider=call.provider, model=call.model, params=params
            )
        return salt

    def _dialect_of(self, call: Call, rules: CacheRules) -> str:
        if not call.provider:
            return rules.mechanism.dialect or CHAT
        dialect = _DIALECTS.get(call.provider)
        # Of other providers the blocks tell Responses from Chat.
        return dialect or (RESPONSES if detect_dialect(self._tree.items(call.sent_head)) == RESPONSES else CHAT)

    def _lengths_of(self, call: Call) -> Lengths:
        key = (call.thread, call.model)
        lengths = self._lengths.get(key)
        if lengths is None:
            lengths = self._lengths[key] = Lengths(self._tree)
        if call.thread in self._fronts:
            lengths.set_front(self._fronts[call.thread])
        return lengths


def sent_params(call: Call) -> dict[str, Json]:
    """Parameters of a recorded request, with the betas in its record."""
    params = Request((), call.skeleton).params if call.skeleton is not None else {}
    betas = call.extra.get("betas")
    return {**params, "betas": betas} if isinstance(betas, list) else params


def _recorded_params(call: Call) -> dict[str, Json]:
    """Thinking parameter of a call without a recorded request, by the thinking level (facts §2)."""
    level = call.extra.get(THINKING_LEVEL)
    return {"thinking": {"type": "enabled"}} if isinstance(level, str) and level != NO_THINKING else {}


def last_message_ends(tree: Tree, head: int, count: int) -> tuple[int, ...]:
    """Nodes at which the last `count` messages of the context `head` end, in order.

    If there are fewer messages, the first ones are the end of the system prompt, and `ROOT` before that.
    """
    ends = [head]
    while len(ends) < count:
        ends.append(message_before(tree, ends[-1]))
    return tuple(reversed(ends))


def message_before(tree: Tree, head: int) -> int:
    """Node at which the message before the last one of the context `head` ends (`ROOT`: none)."""
    message = tree[head].message
    while head != ROOT and tree[head].message == message:
        head = tree[head].parent
    return head
