"""Loops: the same calls with the same answers in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.repeated_calls import find_loops, longest_loop
from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import Context


def context(text: str, dialect: str = "anthropic") -> Context:
    """A letter is a call of that name with its own answer, a digit the same call with another one, `.` a person."""
    tree, items = Tree(), []
    for n, letter in enumerate(text):
        if letter == ".":
            items += _message("user", blocks.text("go on"), dialect)
        else:
            items += _call(n, "A" if letter.isdigit() else letter, f"says {letter}", dialect)
    return Context(tree, tree.extend(ROOT, items), dialect)


def _message(role: str, part: blocks.Block, dialect: str) -> list[Item]:
    head = blocks.header(role) if dialect == "anthropic" else blocks.make("header", {"role": role, "content": "string"})
    return [Item(head, Place("messages", role)), Item(part, Place("messages", role))]


def _call(n: int, name: str, answer: str, dialect: str) -> list[Item]:
    if dialect == "anthropic":
        use = {"type": "tool_use", "id": f"t{n}", "name": name, "input": {"x": 1}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": answer}
        return [
            *_message("assistant", blocks.from_part(use), dialect),
            *_message("user", blocks.from_part(result), dialect),
        ]
    call = {"type": "function_call", "call_id": f"c{n}", "id": f"fc_{n}", "name": name, "arguments": '{"x":1}'}
    output = {"type": "function_call_output", "call_id": f"c{n}", "output": answer}
    return [Item(blocks.from_part(part), Place("messages", role)) for part, role in ((call, "assistant"), (output, ""))]


@pytest.mark.parametrize("dialect", ["anthropic", "responses"])
@pytest.mark.parametrize(
    ("story", "loops"),
    [
        ("AAA", [(1, 3)]),
        ("AAAAAAA", [(1, 7)]),
        ("ABABAB", [(2, 3)]),
        ("ABCABCABC", [(3, 3)]),
        ("XAAAYBBBB", [(1, 3), (1, 4)]),
        ("AA", []),
        ("ABAB", []),
        ("AA.A", []),
        ("A1A2A3", []),
        ("ABCDABCDABCD", []),
    ],
)
def test_loops(story: str, loops: list[tuple[int, int]], dialect: str) -> None:
    here = context(story, dialect)
    found = find_loops(here)
    assert [(loop.period, loop.repeats) for loop in found] == loops
    for loop in found:
        assert len(loop.middle) == loop.period * (loop.repeats - 2)
        assert longest_loop(here) >= loop.repeats


def test_an_unanswered_call_repeats_nothing_and_no_call_is_no_loop() -> None:
    assert longest_loop(context("")) == 0 and longest_loop(context("AB")) == 1
    tree = Tree()
    items = [item for n in range(4) for item in _call(n, "A", "x", "anthropic")[:2]]
    assert find_loops(Context(tree, tree.extend(ROOT, items), "anthropic")) == []


@given(st.text("AB1.", max_size=14))
def test_a_loop_repeats_what_it_says(story: str) -> None:
    for loop in find_loops(context(story), 2):
        said = [exchange.said for exchange in loop.exchanges]
        assert len(said) == loop.period * loop.repeats and said == said[: loop.period] * loop.repeats
