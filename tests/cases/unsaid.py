"""Sessions whose client takes something out of the context without a word, as scripts of `tests.analysis.sessions`.

A provider that counts by fixed weights reports each call, so that what is read is known; the record says nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.call import Call, Epoch, EpochStart, Fidelity
from ctxtui.core.session import CallSeen
from ctxtui.core.usage import Usage
from tests.analysis.audits import OPUS45, Provider, speech
from tests.analysis.sessions import Script, thinking

FRONT = 20_000
"""System prompt and tools, which no transcript holds."""


def call_block(text: str, id_: str, name: str = "Bash") -> Block:
    return block.from_part({"type": "tool_use", "id": id_, "name": name, "input": {"command": text}})


def result(text: str, id_: str) -> Block:
    return block.from_part({"type": "tool_result", "tool_use_id": id_, "content": text})


@dataclass
class Unsaid:
    """A script and the nodes that its provider does not read any more; `front` is what stands before everything."""

    seed: int = 1
    model: str = OPUS45
    fidelity: Fidelity = Fidelity.TRANSCRIPT
    front: int = FRONT
    added: int = 0
    script: Script = field(init=False)
    gone: set[int] = field(default_factory=set)
    broken: bool = False
    """Whether the cache does not find the next call's context, because something before it changed."""

    def __post_init__(self) -> None:
        self.script = Script(self.model, self.fidelity)
        self.dice = random.Random(self.seed)
        self.rounds = 0

    @property
    def calls(self) -> list[Call]:
        return self.script.session.thread_calls("main")

    def hear(self, least: int = 10, most: int = 40) -> None:
        self.script.hear(block.text(speech(self.dice, least, most)))

    def call(self, *answer: Block, after: float = 10.0, broken: bool = False) -> Call:
        """A call that is reported with what the provider reads, after everything that stands now."""
        made = self.script.call(*answer, after=after, error="aborted" if broken else "")
        read = self._tokens(made.sent_head)
        before = self.calls[-2] if len(self.calls) > 1 else None
        cached = self._cached(before, made)
        usage = Usage(fresh=read - cached, cache_read=cached, output=1, output_final=False)
        made = replace(made, usage=usage)
        self.script.session.apply(CallSeen(made))
        return made

    def _cached(self, before: Call | None, made: Call) -> int:
        if before is None or before.usage is None:
            return 0
        fell, broken = bool(self.gone - self._known), self.broken
        self.broken = False
        self._known = set(self.gone)
        return 0 if broken else self.front if fell else min(before.usage.input, self._tokens(made.sent_head))

    _known: set[int] = field(default_factory=set)

    def _tokens(self, head: int) -> int:
        provider, tree = Provider(), self.script.session.tree
        whole = provider.tokens(self.script, head)
        gone = [n for n in tree.path(head) if n in self.gone]
        less = sum(provider.tokens(self.script, n) - provider.tokens(self.script, tree[n].parent) for n in gone)
        return whole - 12_000 + self.front + self.added - less + 25 * sum(self._is_result(n) for n in gone)

    def _is_result(self, node: int) -> bool:
        return self.script.session.tree[node].block.kind == "tool_result"

    def work(self, rounds: int, least: int = 100, most: int = 600) -> None:
        """So many rounds of one tool call and its result."""
        for _ in range(rounds):
            self.rounds += 1
            id_ = f"t{self.rounds}"
            self.call(block.text(speech(self.dice, 3, 20)), call_block(speech(self.dice, 3, 30), id_))
            self.script.hear(result(speech(self.dice, least, most), id_))

    def nodes(self, wanted: Callable[[Block], bool]) -> list[int]:
        """The nodes of the context so far whose blocks are `wanted`."""
        tree = self.script.session.tree
        return [n for n in tree.path(self.script.head) if wanted(tree[n].block)]

    def lose(self, nodes: Iterable[int]) -> set[int]:
        """From now on these are not read."""
        lost = set(nodes)
        self.gone |= lost
        return lost

    def epoch(self, start: EpochStart) -> None:
        self.script.epoch = Epoch(self.script.epoch.number + 1, start)


def cleared(seed: int = 1, keep: int = 3) -> tuple[Unsaid, set[int]]:
    """The client clears all results but the last few, after a pause, and says nothing."""
    made = Unsaid(seed)
    made.hear()
    made.work(12)
    made.call(block.text("done"))
    results = made.nodes(lambda one: one.kind == "tool_result")
    lost = made.lose(results[:-keep])
    made.hear()
    made.call(block.text("again"), after=4_000)
    made.hear()
    made.work(4)
    made.call(block.text("done"))
    return made, lost


def failed_answer(seed: int = 1) -> tuple[Unsaid, set[int]]:
    """An answer that broke off is recorded, and never sent back."""
    made = Unsaid(seed)
    made.hear()
    made.work(3)
    calls = [call_block(speech(made.dice, 300, 600), f"b{n}") for n in range(4)]
    made.call(*calls, broken=True)
    lost = made.lose(made.nodes(lambda one: one in calls))
    made.hear()
    made.work(3)
    made.call(block.text("done"))
    return made, lost


def thinking_left_out(seed: int = 1) -> tuple[Unsaid, set[int]]:
    """After a while the client sends no thinking of earlier turns any more."""
    made = Unsaid(seed)
    for n in range(6):
        made.hear()
        made.call(thinking(speech(made.dice, 300, 700)), call_block("ls", f"t{n}"))
        made.script.hear(result(speech(made.dice, 20, 60), f"t{n}"))
        made.call(block.text(speech(made.dice, 20, 60)))
    lost = made.lose(made.nodes(lambda one: one.kind == "thinking"))
    made.hear()
    made.call(block.text("done"), after=4_000)
    return made, lost


def old_messages_left_out(seed: int = 1) -> tuple[Unsaid, set[int]]:
    """The client drops the first half of what was said."""
    made = Unsaid(seed)
    for _ in range(10):
        made.hear(300, 900)
        made.call(block.text(speech(made.dice, 300, 900)))
    said = made.nodes(lambda one: one.kind == "text")
    lost = made.lose(said[:10])
    made.hear()
    made.call(block.text("done"), after=4_000)
    return made, lost


def summarised_without_a_word(seed: int = 1) -> tuple[Unsaid, set[int]]:
    """The client sends files along that no record names, then leaves them out at once with half of what was said."""
    made = Unsaid(seed)
    made.hear(300, 900)
    made.call(block.text(speech(made.dice, 300, 900)))
    made.added = 9_000
    for _ in range(10):
        made.hear(300, 900)
        made.call(block.text(speech(made.dice, 300, 900)))
    said = made.nodes(lambda one: one.kind == "text")
    lost = made.lose(said[:14])
    made.added, made.front = 0, 0
    made.hear()
    made.call(block.text("done"), after=4_000)
    return made, lost
