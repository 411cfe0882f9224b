"""Summaries without a model: never longer than asked, in the record's own words, the same of every dialect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from ctxtui.core import block, canonical
from ctxtui.core.block import HEADER, Block, Item, Place
from ctxtui.core.block_content import arguments_value
from ctxtui.core.canonical import Json
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation import record_summary
from ctxtui.curation.context import Context
from ctxtui.curation.edits_from_selection import SummaryTerms, summarize_run
from ctxtui.curation.record_summary import error_lines, lines_about_tests
from ctxtui.services.recordings.open import load
from tests.corpus import need_corpus
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES
from tests.sampling import few

LINES = (
    "12 passed in 3.1s",
    "== 3 failed, 2 passed ==",
    "test result: ok. 4 passed",
    "ok   shop/cart 0.3s",
    "FAIL shop/vat",
    "TypeError: no",
    "error[E0308]: mismatched",
    "panic: nil",
    "Traceback (most recent call last):",
    "fatal: not a repo",
    "a token of the books",
    "nothing here",
    "  ok then",
    "an error of mine",
    "FAILURE",
    "1 failure",
    "",
)


def test_looking_for_words_first_leaves_nothing_out() -> None:
    found = 0
    for number in range(400):
        rng = Random(f"lines {number}")
        text = "\n".join(rng.choices(LINES, k=rng.randint(1, 4)))
        tests = [record_summary._BORDER.sub("", one[0])[:120] for one in record_summary._TEST_LINE.finditer(text)]
        errors = [one[0].strip()[:160] for one in record_summary._ERROR_LINE.finditer(text)]
        assert lines_about_tests(text) == tests and error_lines(text) == errors[: record_summary.MAX_ERROR_LINES]
        found += bool(tests) + bool(errors)
    assert found > 200


# Laws of the summary


def count(block: Block) -> int:
    return 1 + len(block.body) // 4


def drawn(context: Context, run: Sequence[int], limit: int, keep: Sequence[str] = ()) -> str:
    return record_summary.summarize(context, run, limit, count, "turns 1-2", keep)


def stretches(dialect: str, number: int) -> Iterator[tuple[Random, Context, list[int]]]:
    """Random stretches of conversations that are shaped like recorded ones."""
    for seed in range(number):
        rng = Random(f"summary {dialect} {seed}")
        context, _ = context_of(SHAPES[dialect](rng), dialect)
        blocks = [p for p, item in enumerate(context.items) if item.place.section == "messages"]
        start = rng.randrange(len(blocks))
        yield rng, context, blocks[start : start + rng.randint(1, 60)]


def words_of(context: Context, run: Sequence[int]) -> str:
    """All that the blocks say, with what calls give to tools, each white space one blank."""
    said = []
    for at in run:
        got = context.reading(at)
        value = arguments_value(got) if got.arguments else ""
        said += [got.text, got.name, got.arguments, value if isinstance(value, str) else " ".join(strings(value))]
    return " ".join(" ".join(said).split())


def strings(value: Json) -> Iterator[str]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def assert_true(context: Context, run: Sequence[int], text: str) -> None:
    """Every path and quoted sentence of a summary stands in the blocks word for word."""
    words, section = words_of(context, run), ""
    for line in text.splitlines():
        section = line[3:] if line.startswith("## ") else section
        item = line.removeprefix("- ")
        if item.startswith("(") and item.endswith(")") and " more " in item:
            continue
        if line.startswith("- “"):
            assert item[1:-1].removesuffix("…").rstrip() in words, item
        elif line.startswith("- ") and section.startswith("Files"):
            for path in item.split(", "):
                path = re.sub(r" \(\d+x\)$", "", path)
                assert path in words or path.startswith("("), path
        elif line.startswith("- ") and section == "Asked":
            assert item.removesuffix("…").rstrip() in words, item


@pytest.mark.parametrize("dialect", sorted(SHAPES))
def test_it_is_never_longer_than_asked_and_says_what_the_blocks_say(dialect: str) -> None:
    said = 0
    for rng, context, run in stretches(dialect, 80):
        for limit in (0, 40, rng.randint(20, 300), 3_000):
            text = drawn(context, run, limit)
            assert not text or count(block.text(text)) <= limit
            assert text == drawn(context, run, limit), "the same record gives the same words"
            assert_true(context, run, text)
            said += bool(text)
        edit = summarize_run(context, run, SummaryTerms(count, rng.choice([0, 50, 10_000])))
        size = sum(count(context.items[p].block) for p in run if context.items[p].block.kind != HEADER)
        assert edit is None or count(block.text(str(edit.params["text"]))) < size, "it is shorter than what it replaces"
    assert said > 80


@pytest.mark.parametrize("name", few([
    "claude_code/happy-cli__400429ba.jsonl", "codex/agentv__8d_1ecb6dc628_0.rollout.jsonl", "pi/large-session.jsonl",
    "mini_swe_agent/django__django-11099.traj.json", "gemini_cli/entire-cli__51_3fab7adf0b_0.jsonl",
    "copilot_cli/agentv__26_9e1b9e5502_0.events.jsonl", "tau_bench/gpt-4o-airline.first30.json",
]))  # fmt: skip
def test_a_recorded_session_is_told_in_its_own_words(name: str) -> None:
    (path,) = need_corpus(*name.split("/"))
    session = load(path).session
    call = max(session.calls.values(), key=lambda call: session.tree[call.sent_head].depth)
    context = Context.of_call(session.tree, call)
    blocks = [p for p, item in enumerate(context.items) if item.place.section == "messages"]
    run = blocks[: len(blocks) // 2]
    for limit in (150, 800, 5_000):
        text = drawn(context, run, limit)
        assert "## " in text and count(block.text(text)) <= limit
        assert_true(context, run, text)


# One of each kind


TALK: Any = [
    ("user", "<system-reminder>Mind the date.</system-reminder>Make the cart faster. Keep its interface."),
    ("call", "Read", {"file_path": "/home/ann/shop/src/cart.py"}, "x = 1\n" * 200),
    ("call", "mcp__files__read_file", {"path": "/home/ann/shop/src/vat.py"}, "y = 2\n" * 50),
    ("call", "TodoWrite", {"todos": [
        {"content": "Cache the prices", "status": "completed"}, {"content": "Write the tests", "status": "pending"},
    ]}, "ok"),
    ("said", "Prices are read for every line of the cart. I decided to cache them per request.\n```\nx = 1\n```\nNow:"),
    ("call", "Edit", {"file_path": "/home/ann/shop/src/cart.py", "new_string": "x = 2"}, "ok"),
    ("call", "exec_command", {"cmd": "cat > /home/ann/shop/notes.md <<'EOF'\nhello\nEOF"}, ""),
    ("call", "Bash", {"command": "pytest -q"}, "E   KeyError: 'price'\n1 failed, 3 passed in 2s"),
    ("call", "Edit", {"file_path": "/home/ann/shop/src/cart.py", "new_string": "x = 3"}, "ok"),
    ("call", "Bash", {"command": "cd /home/ann/shop && pytest -q tests"}, "4 passed in 2s"),
    ("call", "Bash", {"command": "make lint"}, "Exit code: 2\nmake: *** No rule to make target 'lint'"),
    ("call", "Bash", {"command": "git commit -m 'Cache prices'"}, "done"),
    ("said", "The cart takes 40 ms now instead of 900. 价格现在按请求缓存，购物车的接口没有变化。"
             "第二句话说明测试已经全部通过。\nShall I write more tests?"),
    ("user", "yes"),
]  # fmt: skip
TOLD = """[Summary of turns 1-2, drawn from the record]
Paths are below /home/ann/shop/
## Asked
- Make the cart faster. Keep its interface.
- yes
## Files changed
- src/cart.py (2x)
- notes.md
## Files read
- src/vat.py
## Decisions and results
- “Prices are read for every line of the cart.”
- “I decided to cache them per request.”
- “The cart takes 40 ms now instead of 900.”
- “价格现在按请求缓存，购物车的接口没有变化。”
- “第二句话说明测试已经全部通过。”
- “Shall I write more tests?”
## Tests and commits
- tests: 4 passed in 2s
- committed: Cache prices
## Errors since solved
- `pytest -q`: E KeyError: 'price'
## Still open
- the last request has no answer yet
- to do: Write the tests
- `make lint`: make: *** No rule to make target 'lint'
## Other calls
- cd /home/ann/shop && pytest -q tests
- git commit -m 'Cache prices'"""


def anthropic(talk: Any = TALK) -> dict[str, Any]:
    messages: list[Any] = []
    for n, (kind, *words) in enumerate(talk):
        if kind == "call":
            use = {"type": "tool_use", "id": f"t{n}", "name": words[0], "input": words[1]}
            messages.append({"role": "assistant", "content": [use]})
            result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": words[2]}
            messages.append({"role": "user", "content": [result]})
        else:
            messages.append({"role": "user" if kind == "user" else "assistant", "content": words[0]})
    return {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": messages}


def openai_chat() -> dict[str, Any]:
    messages: list[Any] = []
    for n, (kind, *words) in enumerate(TALK):
        if kind == "call":
            inner = {"name": words[0], "arguments": canonical.dump_text(words[1])}
            call = {"id": f"t{n}", "type": "function", "function": inner}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"t{n}", "content": words[2]})
        else:
            messages.append({"role": "user" if kind == "user" else "assistant", "content": words[0]})
    return {"model": "gpt-4o", "messages": messages}


def openai_responses() -> dict[str, Any]:
    items: list[Any] = []
    for n, (kind, *words) in enumerate(TALK):
        if kind == "call":
            given = canonical.dump_text(words[1])
            items.append({"type": "function_call", "call_id": f"t{n}", "name": words[0], "arguments": given})
            items.append({"type": "function_call_output", "call_id": f"t{n}", "output": words[2]})
        else:
            items.append({"role": "user" if kind == "user" else "assistant", "content": words[0]})
    return {"model": "gpt-5.5", "input": items}


@pytest.mark.parametrize("body", [anthropic, openai_chat, openai_responses])
def test_each_dialect_and_tool_says_the_same(body: Callable[[], dict[str, Any]]) -> None:
    context, _ = context_of(body(), body.__name__)
    run = [p for p, item in enumerate(context.items) if item.place.section == "messages"]
    assert drawn(context, run, 5_000) == TOLD


def test_a_summary_that_stood_there_goes_on_with_its_end_and_its_beginning() -> None:
    tree = Tree()
    lines = ["Work so far:", *(f"- Line {n} of the summary before." for n in range(30))]
    head, place = Item(block.header("user"), Place("messages", "user")), Place("messages", "user", "summary")
    context = Context(tree, tree.extend(ROOT, [head, Item(block.text("\n".join(lines)), place)]))
    text = drawn(context, [0, 1], 80)
    assert "## From the summary before" in text and "- Line 0 of" in text and "- Line 29 of" in text
    assert "- Line 14 of" not in text and " more lines)" in text and "so far" not in text


def test_what_a_shell_printed_is_no_request() -> None:
    talk = [
        ("user", "Fix the price.\nbash-$"),
        ("said", "I look at the file that computes it first."),
        ("user", "def price(): ...\n(Open file: a.py)\nbash-$ "),
        ("said", "Its tests say more about the error."),
        ("user", "<returncode>1</returncode>\n<output>\nKeyError: 'price'\n</output>"),
    ]
    found = record_summary.collect_facts(context_of(anthropic(talk), "anthropic")[0], range(10))
    assert found.requests == ["Fix the price. bash-$"] and not found.answered
    assert [one.line for one in found.failures.values()] == ["KeyError: 'price'"]


def test_what_does_not_fit_is_counted_and_what_tells_most_stays() -> None:
    context, _ = context_of(anthropic(), "anthropic")
    run = [p for p, item in enumerate(context.items) if item.place.section == "messages"]
    text = drawn(context, run, 120)
    assert "src/cart.py (2x)" in text and "yes" in text and " more " in text and "Other calls" not in text
    assert "price_4711" in drawn(context, run, 5_000, ["price_4711"]).splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (
            "TodoWrite",
            {"todos": [{"content": "ab", "status": "completed"}, {"content": "cd", "status": "pending"}]},
        ),
        ("update_plan", {"plan": [{"step": "ab", "status": "completed"}, {"step": "cd", "status": "pending"}]}),
        (
            "write_todos",
            {"todos": [{"description": "cd", "status": "new"}, {"description": "x", "status": "done"}]},
        ),
        ("task_tracker", {"command": "plan", "task_list": [{"title": "cd", "status": "todo", "notes": ""}]}),
        ("update_todo_list", {"todos": "[x] ab\n[-] cd\n[x] ef"}),
        ("TaskCreate", {"subject": "cd", "description": "long words"}),
    ],
)
def test_lists_of_all_clients_are_read(name: str, given: dict[str, Any]) -> None:
    context, _ = context_of(anthropic([("call", name, given, "Task #7 created")]), "anthropic")
    assert list(record_summary.collect_facts(context, range(len(context))).todos.values()) == ["cd"]


def test_a_task_that_is_ticked_off_is_not_open() -> None:
    talk = [
        ("call", "TaskCreate", {"subject": "first thing"}, "Task #1 created successfully"),
        ("call", "TaskCreate", {"subject": "second thing"}, "Task #2 created successfully"),
        ("call", "TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1"),
    ]
    context, _ = context_of(anthropic(talk), "anthropic")
    assert record_summary.collect_facts(context, range(len(context))).todos == {"2": "second thing"}


def test_a_list_that_was_emptied_has_no_open_tasks() -> None:
    talk = [
        ("call", "TodoWrite", {"todos": [{"content": "ab", "status": "pending"}]}, "ok"),
        ("call", "TodoWrite", {"todos": []}, "ok"),
    ]
    context, _ = context_of(anthropic(talk), "anthropic")
    assert record_summary.collect_facts(context, range(len(context))).todos == {}


def test_an_editors_change_that_failed_is_solved_by_a_later_change_of_the_file() -> None:
    change = {"command": "str_replace", "path": "a.py"}
    talk = [
        ("call", "str_replace_editor", {**change, "old_str": "x"}, "Error: no match in a.py"),
        ("call", "str_replace_editor", {"command": "view", "path": "a.py"}, "y = 1"),
        ("call", "Edit", {"file_path": "a.py", "old_string": "y", "new_string": "z"}, "done"),
    ]
    body = anthropic(talk)
    body["messages"][1]["content"][0]["is_error"] = True
    context, _ = context_of(body, "anthropic")
    (failure,) = record_summary.collect_facts(context, range(len(context))).failures.values()
    assert failure.solved


@pytest.mark.parametrize(("text", "cells", "short"), [
    ("One two three. Four five six seven.", 22, "One two three. …"),
    ("One two three four five six", 14, "One two three…"),
    ("价格现在按请求缓存。购物车的接口没有变化", 24, "价格现在按请求缓存。 …"),
    ("abc", 3, "abc"),
])  # fmt: skip
def test_texts_end_behind_a_sentence_or_a_word(text: str, cells: int, short: str) -> None:
    assert record_summary.short(text, cells) == short and record_summary.width(short) <= cells + 1
