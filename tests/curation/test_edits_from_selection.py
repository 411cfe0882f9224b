"""From chosen blocks to the edits that a key asks for, and facts drawn from a record."""

from __future__ import annotations

import pytest

from ctxtui.core import block
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import DROP, SUMMARIZE
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.context import Context
from ctxtui.curation.edits_from_selection import (
    SummaryTerms,
    blocks_between,
    breakpoint_steps,
    covering_edits,
    make_edits,
    rewrite_text,
    runs,
    summarize_run,
    text_at,
    widen_selection,
)


def message(role: str, *parts: Block) -> list[Item]:
    place = Place("messages", role)
    return [Item(block.header(role), place), *(Item(part, place) for part in parts)]


def use(id_: str, name: str, **given: object) -> Block:
    return block.from_part({"type": "tool_use", "id": id_, "name": name, "input": given})


def result(id_: str, text: str) -> Block:
    return block.from_part({"type": "tool_result", "tool_use_id": id_, "content": text})


@pytest.fixture
def context() -> Context:
    tree = Tree()
    items = [
        *message("user", block.text("make the cart faster")),
        *message("assistant", use("t1", "Read", file_path="src/cart.py"), use("t2", "Read", file_path="src/shop.py")),
        *message("user", result("t1", "x = 1\n" * 400), result("t2", "y = 2")),
        *message("assistant", use("t3", "Edit", file_path="src/cart.py", new_string="x = 2")),
        *message("user", result("t3", "ok")),
        *message("assistant", use("t4", "Bash", command="pytest && git commit -m 'faster cart'")),
        *message("user", result("t4", "E  ValueError: bad\n==== 3 passed, 1 failed in 2s ====")),
        *message("assistant", block.text("The cart is faster now.")),
        *message("user", block.text("thanks")),
    ]
    return Context(tree, tree.extend(ROOT, items))


def at(context: Context, words: str) -> int:
    return next(n for n, item in enumerate(context.items) if words.encode() in item.block.body)


def nothing(name: str, data: bytes) -> None:
    raise AssertionError("nothing is kept outside")


def test_a_range_leaves_headers_out_and_runs_are_cut_where_something_is_left(context: Context) -> None:
    first, last = at(context, "make the cart"), at(context, "y = 2")
    chosen = blocks_between(context, last, first)
    assert all(context.items[p].block.kind != "header" for p in chosen)
    assert runs(context, chosen) == [chosen]
    assert [len(run) for run in runs(context, [chosen[0], chosen[-1]])] == [1, 1]
    edit = summarize_run(context, chosen, SummaryTerms())
    assert edit is not None and edit.kind == SUMMARIZE and len(edit.targets) == last - first + 1


def test_widening_goes_round(context: Context) -> None:
    here = at(context, "y = 2")
    chosen, names = frozenset([here]), []
    for _ in range(5):
        wider, name = widen_selection(context, here, chosen)
        chosen = frozenset(wider)
        names.append(name)
    assert names == ["this message", "turn 1", "all of its category", "this block", "this message"]


def test_the_results_of_a_tool_are_chosen_in_chat_too() -> None:
    place = Place("messages", "tool")

    def answered(id_: str, name: str, text: str) -> list[Item]:
        call = block.make("tool_call", {"id": id_, "type": "function", "function": {"name": name, "arguments": "{}"}})
        head = block.header("tool", {"tool_call_id": id_, "content": "string"})
        return [*message("assistant", call), Item(head, place), Item(block.text(text), place)]

    tree = Tree()
    items = [*message("user", block.text("go")), *answered("1", "ls", "a"), *answered("2", "cat", "b")]
    context = Context(tree, tree.extend(ROOT, [*items, *answered("3", "ls", "c")]), "openai_chat")
    first, last = at(context, '"text":"a"'), at(context, '"text":"c"')
    turn = frozenset(p for p, item in enumerate(context.items) if item.block.kind != "header")
    assert widen_selection(context, last, turn) == ([first, last], "all results of ls")


def test_a_key_takes_back_what_stands(context: Context) -> None:
    here = at(context, "y = 2")
    drop = make(DROP, [context.target(here)])
    assert covering_edits(context, [drop], DROP, [here]) == [drop]
    assert covering_edits(context, [drop], DROP, [here, here + 1]) == [], "one of them is not dropped yet"


def test_truncating_and_externalizing_skip_what_would_gain_nothing(context: Context) -> None:
    long, short = at(context, "x = 1"), at(context, "y = 2")
    assert [edit.targets for edit in make_edits(context, "truncate", [long, short], nothing)] == [
        (context.target(long),)
    ]
    kept: dict[str, bytes] = {}
    (edit,) = make_edits(context, "externalize", [long], kept.__setitem__)
    assert kept[str(edit.params["name"])].startswith(b"x = 1") and str(edit.params["name"]).startswith("Read_")


def test_a_summary_is_worded_anew_in_its_own_place(context: Context) -> None:
    chosen = blocks_between(context, at(context, "make the cart"), at(context, "y = 2"))
    summary = summarize_run(context, chosen, SummaryTerms())
    assert summary is not None
    assert text_at(context, [summary], chosen[1]) == summary.params["text"]
    assert rewrite_text(context, [summary], chosen[1], "shorter").targets == summary.targets
    plain = at(context, "thanks")
    assert rewrite_text(context, [summary], plain, "bye").kind == "replace"


def test_a_call_whose_value_was_replaced_has_no_text_to_edit(context: Context) -> None:
    call = next(position for position, item in enumerate(context.items) if item.block.kind == "tool_use")
    masked = make("replace", [context.target(call)], {"value": context.items[call].block.value()})
    assert text_at(context, [], call) is text_at(context, [masked], call) is None


def test_a_breakpoint_steps_through_its_lifetimes(context: Context) -> None:
    for dialect, lives in (("anthropic", ["5m", "1h"]), ("openai_responses", ["30m", "12h"])):
        there = Context(context.tree, context.head, dialect)
        log, here, offered = list[Edit](), at(context, "thanks"), []
        for _ in range(4):
            steps = breakpoint_steps(there, log, here)
            offered.append([edit.params.get("ttl") for edit in steps])
            log.append(steps[0])
        # Behind a breakpoint a longer one may be impossible: then none is next.
        assert offered == [lives[:1], [lives[1], None], [None], lives[:1]]


def test_what_stands_is_found_by_what_an_edit_is_about_wherever_that_is() -> None:
    tree = Tree()
    place = [message("user", block.text("again")), message("assistant", use("t1", "Read", file_path="a"))]
    known = [
        *place[0],
        *place[1],
        *message("user", result("t1", "one")),
        *place[0],
        *message("user", result("t2", "x")),
    ]
    context = Context(tree, tree.extend(ROOT, known))
    blocks = [n for n, item in enumerate(known) if item.block.kind != "header"]
    in_force = [make(DROP, [context.target(n)], id=f"e{n}") for n in blocks[1:]]
    # The same result in other words is the same to an edit.
    other = [*known[:5], *message("user", result("t1", "else"))[1:], *known[6:]]
    for here in (context, Context(tree, tree.extend(ROOT, other))):
        for wanted in ([one] for one in blocks):
            every = {here.find(target): edit for edit in in_force for target in edit.targets}
            there = [every[n] for n in wanted if n in every]
            assert covering_edits(here, in_force, DROP, wanted) == there
    assert [one.id for one in covering_edits(context, in_force, DROP, blocks[1:3])] == [f"e{n}" for n in blocks[1:3]]
