"""Counting an answer while it comes in: nothing is off in the end, and it costs little more than counting once."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ctxtui.core import block
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.counting import LocalCounts
from ctxtui.services.counting.live_count import LiveCount, settled_end
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import prior_weights, weigh

TEXTS = {
    "prose": "The quick brown fox jumps over the lazy dog, and tells of it here.\n\n" * 120,
    "code": "def f(x):\n    if x > 1:\n        return f(x - 1)\n\n\n" * 120,
    "no line": "word " * 3000,
}


class Counting:
    """Counts here, and how many characters it was given."""

    def __init__(self) -> None:
        self.here = LocalCounts()
        self.characters = 0

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        self.characters += sum(map(len, texts))
        return self.here.words(card, texts)


@pytest.mark.parametrize("name", list(TEXTS))
@pytest.mark.parametrize("kind", ["text", "thinking"])
def test_exact_at_the_end_and_cheap(name: str, kind: str) -> None:
    words, card = TEXTS[name], model_table().card("gpt-5.4")
    bench, chance = Counting(), random.Random(1)
    live = LiveCount(bench, card, prior_weights(card))
    at, found = 0, {}
    while at < len(words):
        size = chance.randrange(200, 900)
        live.feed(0, kind, words[at : at + size])
        at += size
        found = live.advance()
    whole = block.text(words) if kind == "text" else block.make("thinking", {"type": "thinking", "thinking": words})
    exact = round(weigh(LocalCounts().features(card, [whole])[0], prior_weights(card)))
    assert abs(found[0] - exact) <= (2 if name == "no line" else 0)
    assert bench.characters < 3 * len(words) + 50_000 * (name == "no line")


def test_nothing_new_is_not_counted() -> None:
    card = model_table().card("gpt-5.4")
    bench = Counting()
    live = LiveCount(bench, card, prior_weights(card))
    live.feed(0, "text", "hello")
    first = live.advance()
    before = bench.characters
    assert live.advance() == first and bench.characters == before


def test_where_a_text_may_be_cut() -> None:
    assert settled_end("one\ntwo") == 4
    assert settled_end("one\n  two") == 0, "an indent belongs to the line's end"
    assert settled_end("x" * 5000) == 0
    assert 0 < settled_end("word " * 1000) < 5000


def test_a_line_that_begins_with_a_slash_is_not_cut_off() -> None:
    for text in ("x;\n//c", "(\n/usr/bin"):
        assert settled_end(text) == 0, "the tokenizer takes the slash with the line's end"


class Slow(Counting):
    """Counts how many calls run at once; each waits a little for another one."""

    def __init__(self) -> None:
        super().__init__()
        self.running = self.most = 0
        self.first, self.second = threading.Event(), threading.Event()

    def words(self, card: ModelCard, texts: list[str]) -> list[int]:
        self.running += 1
        self.most = max(self.most, self.running)
        (self.second if self.running > 1 else self.first).set()
        self.second.wait(0.2)
        self.running -= 1
        return super().words(card, texts)


def test_one_count_at_a_time() -> None:
    card = model_table().card("gpt-5.4")
    slow = Slow()
    live = LiveCount(slow, card, prior_weights(card))
    live.feed(0, "text", "one line\n")
    with ThreadPoolExecutor(2) as pool:
        pool.submit(live.advance)
        slow.first.wait(10)
        live.feed(0, "text", "and another")
        pool.submit(live.advance)
    assert slow.most == 1
    assert live.advance()[0] > 3, "what came meanwhile is counted next"


def test_a_block_that_begins_during_the_count() -> None:
    card = model_table().card("gpt-5.4")
    feeders: list[threading.Thread] = []

    class Blocks(dict[int, Any]):
        """Each pass over the blocks is interrupted by a new one, if the lock allows it."""

        def __iter__(self) -> Iterator[int]:
            feeder = threading.Thread(target=live.feed, args=(len(feeders) + 1, "text", "new"))
            for number in super().__iter__():
                if feeder not in feeders:
                    feeders.append(feeder)
                    feeder.start()
                    feeder.join(0.1)
                yield number

        def values(self) -> Any:
            return [self[number] for number in self]

        def items(self) -> Any:
            return [(number, self[number]) for number in self]

    live = LiveCount(Counting(), card, prior_weights(card), Blocks())
    live.feed(0, "text", "hello")
    assert 0 in live.advance()
    for feeder in feeders:
        feeder.join()
    assert set(live.advance()) >= {0, 1}
