"""Loops: the same calls with the same answers in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.repeated_calls import find_loops, longest_loop, loops_by_call
from ctxtui.analysis.session_events import list_events
from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.session import MAIN, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import Context
from tests.cases.sessions import Story, use


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
    if dialect == "google":
        called = blocks.make("function_call", {"functionCall": {"id": f"g{n}", "name": name, "args": {"x": 1}}})
        response = {"id": f"g{n}", "name": name, "response": {"output": answer}}
        answered = blocks.make("function_response", {"functionResponse": response})
        return [*_message("model", called, dialect), *_message("user", answered, dialect)]
    call = {"type": "function_call", "call_id": f"c{n}", "id": f"fc_{n}", "name": name, "arguments": '{"x":1}'}
    output = {"type": "function_call_output", "call_id": f"c{n}", "output": answer}
    return [Item(blocks.from_part(part), Place("messages", role)) for part, role in ((call, "assistant"), (output, ""))]


@pytest.mark.parametrize("dialect", ["anthropic", "responses", "google"])
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


HEADS = [
    "Chunk ID: {0}fa2c1\nWall time: 0.0{0}12 seconds\nProcess exited with code 0\nOutput:\nok",
    "Wall time: 0.0{0}7 seconds\n334",
    "Script completed\nWall time 0.{0} seconds\nOutput:\nok",
]


@pytest.mark.parametrize("head", HEADS, ids=["codex", "kimi", "codex-exec"])
def test_what_a_client_measures_anew_does_not_end_a_loop(head: str) -> None:
    tree = Tree()

    def looped(*heads: str) -> list[tuple[int, int]]:
        items: list[Item] = []
        for n, text in enumerate(heads):
            call, output = _call(n, "exec", text, "responses")
            passed = {"turn_id": f"t{n}", "create_time": 1796013283.5 + n}
            value = {**output.block.value(), "internal_chat_message_metadata_passthrough": passed}
            items += [call, Item(blocks.make(output.block.kind, value), output.place)]
        found = find_loops(Context(tree, tree.extend(ROOT, items), "responses"))
        return [(loop.period, loop.repeats) for loop in found]

    same = [head.format(n) for n in range(3)]
    assert looped(*same) == [(1, 3)]
    assert looped(*same[:2], f"{same[2]} and more") == []


def test_waiting_for_a_program_that_runs_is_no_loop() -> None:
    tree = Tree()
    polled = "Chunk ID: {}fa2c1\nWall time: 30.00{} seconds\nProcess running with session ID 69172\nOutput:\n"
    items = [item for n in range(5) for item in _call(n, "write_stdin", polled.format(n, n), "responses")]
    here = Context(tree, tree.extend(ROOT, items), "responses")
    assert find_loops(here) == [] and longest_loop(here) == 0


def test_an_unanswered_call_repeats_nothing_and_no_call_is_no_loop() -> None:
    assert longest_loop(context("")) == 0 and longest_loop(context("AB")) == 1
    tree = Tree()
    items = [item for n in range(4) for item in _call(n, "A", "x", "anthropic")[:2]]
    assert find_loops(Context(tree, tree.extend(ROOT, items), "anthropic")) == []


@given(st.text("AB1.", max_size=14))
def test_a_loop_repeats_what_it_says(story: str) -> None:
    for loop in find_loops(context(story), 2):
        said = [exchange.content for exchange in loop.exchanges]
        assert len(said) == loop.period * loop.repeats and said == said[: loop.period] * loop.repeats


def test_the_calls_that_sent_a_loops_results_are_named() -> None:
    """Before a compaction too, and once each."""
    story = Story()
    story.user("look at it").call(use("a", "Read", file_path="x"))
    for n in range(4):
        story.results((f"b{n - 1}" if n else "a", "the same" if n else "other"))
        story.call(use(f"b{n}", "Bash", command="make"))
    story.results(("b3", "the same")).call("I see.")
    assert loops_by_call(story.session, MAIN) == dict.fromkeys((3, 4, 5, 6), "Bash x4")
    story.head, story.cached, story.epoch = ROOT, 0, Epoch(2, EpochStart.COMPACTION)
    story.user("so far", "summary").call("done")
    assert loops_by_call(story.session, MAIN) == dict.fromkeys((3, 4, 5, 6), "Bash x4")
    events = list_events(story.session, MAIN, (), loops_by_call(story.session, MAIN))
    assert [event.number for event in events if event.kind == "loop"] == [3, 4, 5, 6]


def test_a_thread_without_calls_has_no_loops() -> None:
    assert loops_by_call(Session(), MAIN) == {}


@pytest.mark.parametrize(
    ("story", "runs"), [("XAXAAAA", 4), ("AAABCABCABCABC", 4), ("XAXAXAAA", 3), ("ABCAB", 1), ("AAA.AAAA", 4)]
)
def test_the_longest_loop_may_begin_in_another(story: str, runs: int) -> None:
    assert longest_loop(context(story)) == runs
