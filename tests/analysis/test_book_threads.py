"""A book that a screen and a worker ask at the same moment: the other thread is played at the worst one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.core import block
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights
from tests.analysis.sessions import Script, words

MODEL = "claude-haiku-4-5"
TABLE = model_table()


class Once:
    """Does `then` the first time that it is called after `armed`."""

    def __init__(self) -> None:
        self.then: Callable[[], object] | None = None

    def __call__(self) -> None:
        then, self.then = self.then, None
        if then is not None:
            then()


def session(calls: int = 4) -> Script:
    script = Script(MODEL)
    for n in range(calls):
        script.hear(block.text(f"question {n} " + "word " * 50)).call(
            block.text(f"answer {n}"), usage=Usage(fresh=100 * (n + 1), output=3)
        )
    return script


def book(script: Script, once: Once) -> Book:
    def measure(card: ModelCard) -> Callable[[Block], Features]:
        once()
        return lambda one: count_features(one, words, card)

    return Book(script.session, TABLE, measure)


def test_both_get_the_same_counts_of_a_model() -> None:
    script, once, theirs = session(), Once(), list[Any]()
    made = book(script, once)

    def other() -> None:
        theirs.append(made.cumulated(MODEL))
        made.advance()

    once.then = other
    mine = made.cumulated(MODEL)
    assert theirs == [mine] and mine.done == len(script.session.tree)
    assert made.is_settled and sum(made.sums(MODEL, script.head)) > 0


def test_weights_of_before_do_not_stay_as_those_of_now(monkeypatch: Any) -> None:
    script = session()
    made = book(script, Once())
    learning = made._learning
    while made.advance(4)[0] < len(script.session.tree):
        pass
    asked = learning.weights

    def slow(model: str) -> Weights:
        found = asked(model)
        monkeypatch.undo()
        # The worker gives out new ones before these are kept.
        made.weights("another")
        made.settle()
        return found

    monkeypatch.setattr(learning, "weights", slow)
    learning._weights, learnt = {}, learning._published_reports
    learning._published_reports = 0
    made._weights.clear()
    made.weights(MODEL)
    assert learning._published_reports >= learnt
    assert made.weights(MODEL) == learning.weights(MODEL)


def test_weights_are_asked_for_while_others_are_given_out(monkeypatch: Any) -> None:
    script = session()
    made = book(script, Once())
    made.count(10_000)
    made.weights(MODEL)
    asked, models = made._learning.weights, iter(("a", "b", "c"))

    def also(model: str) -> Weights:
        other = next(models, None)
        if other is not None:
            made.weights(other)
        return asked(model)

    monkeypatch.setattr(made._learning, "weights", also)
    made.advance()
    assert made.weights(MODEL) == asked(MODEL) and made.weights("a") == asked("a")


def test_a_thread_that_grows_while_it_is_gone_through() -> None:
    script = Script(MODEL)
    script.hear(block.text("one")).call(block.text("first"), usage=None)
    made = book(script, Once())

    class Grows(dict[str, Call]):
        def __getitem__(self, id_: str) -> Call:
            found = super().__getitem__(id_)
            if len(self) == 1:
                for n in (2, 3):
                    super().__setitem__(f"n{n}", replace(found, id=f"n{n}", usage=Usage(fresh=n)))
                    script.session.order[found.thread].append(f"n{n}")
            return found

    script.session.calls = Grows(script.session.calls)
    (thread,) = script.session.order
    epoch = next(iter(script.session.calls.values())).epoch.number
    assert made.first_report(thread, epoch) is None
    first = made.first_report(thread, epoch)
    assert first is not None and first.id == "n2"
