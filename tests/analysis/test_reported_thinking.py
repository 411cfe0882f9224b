"""Reasoning that only its provider can read counts as it was reported, where later calls carry it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import block_figures, figures
from ctxtui.core import block
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from tests.analysis.sessions import book, said

MODEL = "gpt-5.6-sol"
Spelled = Callable[[int], dict[str, object]]
FRONT = 3_000
"""Tokens that stand before everything recorded."""


def item(number: int) -> dict[str, object]:
    """A cipher as OpenAI sends it."""
    return {"type": "reasoning", "summary": [], "encrypted_content": f"gAAAAB{number:04d}"}


def signature(number: int) -> dict[str, object]:
    """The same as pi keeps it: beside its summary."""
    return {"type": "thinking", "thinking": "**Planning**", "signature": json.dumps(item(number))}


def metadata(number: int) -> dict[str, object]:
    """The same as OpenCode keeps it."""
    kept = {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": f"gAAAAB{number:04d}"}}
    return {"type": "thinking", "thinking": "**Planning**", "metadata": kept}


class Loop:
    """Calls of one turn, each answered by reasoning of 100 to 900 tokens and a text, which a result follows."""

    def __init__(self, *, carried: bool, model: str = MODEL, spelled: Spelled = item) -> None:
        self.spelled = spelled
        self.session = Session()
        self.carried, self.model = carried, model
        self.head = self.session.tree.extend(ROOT, said("user", block.text("go on")))
        self.input = FRONT
        self.calls: list[Call] = []
        self.dice = random.Random(3)

    def add(self, items: list[Item]) -> None:
        self.head = self.session.tree.extend(self.head, items)

    def call(self, *, told: bool = True) -> Call:
        number, before = len(self.calls), self.head
        reasoning = self.dice.randrange(100, 900)
        cipher = block.from_part(self.spelled(number))
        self.add([Item(cipher, Place("messages", "assistant"))])
        self.add(said("assistant", block.text("word " * 40)))
        usage = Usage(fresh=self.input, output=reasoning + 45, reasoning=reasoning) if told else None
        id_ = f"call {number}"
        made = Call(id_, MAIN, before, before, self.head, model=self.model, usage=usage, fidelity=Fidelity.TRANSCRIPT)
        self.calls.append(made)
        self.session.apply(CallSeen(made))
        result = {"type": "function_call_output", "call_id": "c", "output": f"{number} " * 50}
        self.add([Item(block.from_part(result), Place("messages", "tool"))])
        self.input += 45 + 60 + (reasoning if self.carried else 0)
        return made


def shown(carried: bool, spelled: Spelled = item) -> tuple[Book, list[Call]]:
    loop = Loop(carried=carried, spelled=spelled)
    for _ in range(12):
        loop.call()
    return book(loop.session, model_table()), loop.calls


@pytest.mark.parametrize("spelled", [item, signature, metadata])
def test_reasoning_counts_as_reported(spelled: Spelled) -> None:
    known, calls = shown(True, spelled)
    got = figures(known, calls[-1])
    assert got.categories["thinking"] == sum(one.usage.reasoning for one in calls[:-1] if one.usage)
    assert abs(got.residual) < 0.02 * got.context_tokens
    rows = [one for one in block_figures(known, calls[-1]) if one.category == "thinking"]
    assert [one.tokens for one in rows] == [one.usage.reasoning for one in calls[:-1] if one.usage]
    assert {one.method for one in rows} == {"reported"} and all(one.lo == one.tokens == one.hi for one in rows)


def test_reasoning_that_reports_show_to_be_gone_counts_nothing() -> None:
    known, calls = shown(False)
    got = figures(known, calls[-1])
    assert got.categories.get("thinking", 0) == 0
    assert abs(got.residual) < 0.02 * got.context_tokens
    foretold = known.forecast(calls[-1])
    assert foretold is not None and calls[-1].usage is not None
    assert abs(foretold.predicted - calls[-1].usage.input) < 50


def test_a_report_that_comes_later_counts_too() -> None:
    loop = Loop(carried=True)
    first = loop.call(told=False)
    known = book(loop.session, model_table())
    assert known.sums(MODEL, loop.head)[5] < 20
    version = known.version
    usage = Usage(fresh=FRONT, output=545, reasoning=500)
    loop.session.apply(CallSeen(replace(first, usage=usage)))
    known.advance()
    assert known.sums(MODEL, loop.head)[5] == 500
    assert known.version > version


@pytest.mark.parametrize("model", ["gpt-5.5", MODEL])
def test_thinking_of_earlier_turns_goes_where_the_provider_strips_it(model: str) -> None:
    loop = Loop(carried=True, model=model)
    for _ in range(3):
        loop.call()
    loop.add(said("user", block.text("and now?")))
    loop.call()
    known = book(loop.session, model_table())
    thought = figures(known, loop.calls[-1]).categories.get("thinking", 0)
    assert (thought == 0) == known.card(model).strips_thinking


def test_a_copy_of_it_that_was_there_before_the_book_counts_the_same() -> None:
    """A variant of the lab leaves its contexts in the session's tree; another book comes upon them. All ciphers are the
    same here, as where they were masked."""
    loop = Loop(carried=True, spelled=lambda number: item(0))
    for _ in range(8):
        loop.call()
    tree = loop.session.tree
    recorded = tree.path(loop.calls[3].response_head, loop.calls[3].raw_head)[0]
    changed = tree.extend(ROOT, said("user", block.text("go on, but shorter")))
    copy = tree.child(changed, tree[recorded].block, tree[recorded].place)
    made = book(loop.session, model_table())
    usage = loop.calls[3].usage
    assert usage is not None and made.block_tokens(MODEL, recorded) == usage.reasoning
    assert made.block_tokens(MODEL, copy) != usage.reasoning
    version = made.version
    made.copy_report(copy, recorded)
    assert made.block_tokens(MODEL, copy) == usage.reasoning and made.version > version
