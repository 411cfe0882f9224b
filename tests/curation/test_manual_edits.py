"""Edits that a person asks for: made only where they change something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxtui.core import block, canonical
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.edit import Edit, make
from ctxtui.core.edit_kinds import DEDUPLICATE, DROP, HOIST, MOVE, PIN, REPLACE, SUMMARIZE, TRUNCATE
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.rewrite import cut_call, minimise_tool
from ctxtui.curation.apply.shared_text import extend_to_line_ends, find_shared_part, find_similar_texts
from ctxtui.curation.context import Context
from ctxtui.curation.manual_edits import (
    compact_blocks,
    deduplicate,
    edits_for_key,
    existing_moves,
    hoist,
    hoistable_texts,
    minimise_tools,
)
from ctxtui.curation.policies.builtin import dedupe_reads
from ctxtui.curation.policies.policy import Step, run
from ctxtui.services.recordings.open import load
from tests.curation.policies.test_policies import policy_context_of
from tests.curation.test_edits_from_selection import at, message, result, use

CODE, OTHER = "x = 1\n" * 100, "y = 2\n" * 100
FEEDBACK = r"Generation {} complete. 15 children spawned.\n\nResults:"
SAMPLE = Path(__file__).parents[2] / "sessions" / "1-pineapple-evolve.jsonl"


def of(*items: list[Item]) -> Context:
    tree = Tree()
    return Context(tree, tree.extend(ROOT, [item for each in items for item in each]), "anthropic")


def read(number: int, text: str, path: str = "a.py", tool: str = "Read", **lines: int) -> list[Item]:
    id_ = f"t{number}"
    return [*message("assistant", use(id_, tool, file_path=path, **lines)), *message("user", result(id_, text))]


def results(context: Context) -> list[int]:
    return [p for p, item in enumerate(context.items) if item.block.kind == "tool_result"]


def said(context: Context, edits: Any) -> list[str]:
    return [
        str(item.block.value()["content"]) for item in apply(context, edits).sent if item.block.kind == "tool_result"
    ]


def tool(name: str, words: str) -> Block:
    return block.make("tool", {"name": name, "description": words, "input_schema": {"type": "object"}})


def test_a_shorter_line_that_came_in_its_place_since_stays() -> None:
    """A client that clears results puts a line of its own there: an edit that names the result by its call finds it."""
    before = of(message("user", block.text("go")), *(read(n, CODE, f"{n}.py") for n in range(3)))
    edits = deduplicate(apply(before, []), results(before)).edits
    assert edits
    cleared = of(message("user", block.text("go")), *(read(n, "[cleared]" if n else CODE, f"{n}.py") for n in range(3)))
    assert said(cleared, edits) == [CODE, "[cleared]", "[cleared]"]


def test_an_equal_result_refers_to_the_one_that_stays() -> None:
    context = of(message("user", block.text("go")), *(read(n, CODE, f"{n}.py") for n in range(3)))
    first, second, third = results(context)
    plain = apply(context, [])
    assert said(context, deduplicate(plain, [third]).edits)[2] == (
        "[The same as the earlier result of Read 0.py, unchanged.]"
    )
    assert said(context, deduplicate(plain, [first]).edits)[0] == (
        "[The same as the later result of Read 1.py, unchanged.]"
    )
    found = deduplicate(plain, [first, second])
    assert [edit.kind for edit in found.edits] == [DEDUPLICATE] * 2
    assert said(context, found.edits)[2] == CODE, "the one that was not chosen stays"
    every = said(context, deduplicate(plain, [first, second, third]).edits)
    assert every[0] == CODE and all("earlier result of Read 0.py" in text for text in every[1:])


def test_a_later_read_makes_an_earlier_one_outdated() -> None:
    context = of(message("user", block.text("go")), read(1, CODE), read(2, OTHER))
    first, second = results(context)
    plain = apply(context, [])
    assert said(context, deduplicate(plain, [first]).edits) == ["[Outdated: Read a.py was read again later.]", OTHER]
    assert deduplicate(plain, [second]).why == "no other result says the same, and no later one makes it outdated"
    assert "only results" in deduplicate(plain, [at(context, "go")]).why
    cut = apply(context, [make(TRUNCATE, [context.target(first)], {"head": 3, "tail": 3})])
    assert "changed it already" in deduplicate(cut, [first]).why
    short = of(message("user", block.text("go")), read(1, "ok"), read(2, "ok"))
    assert "shorter than a reference" in deduplicate(apply(short, []), results(short)).why


OUTDATED = "[Outdated: Read a.py was read again later.]"


@pytest.mark.parametrize(
    ("reads", "outdated"),
    [
        ([{"offset": 1, "limit": 50}, {"offset": 51, "limit": 50}], []),
        ([{"offset": 1, "limit": 50}, {"offset": 1, "limit": 50}], [0]),
        ([{"offset": 10, "limit": 50}, {}], [0]),
        ([{}, {"offset": 10, "limit": 50}], []),
        ([{"offset": 1, "limit": 50}, {"offset": 51, "limit": 50}, {}], [0, 1]),
        ([{"offset": 1, "limit": 50}, {"offset": 51, "limit": 50}, {"offset": 1, "limit": 50}], [0]),
        ([{"tool": "Edit"}, {"tool": "Edit"}], []),
    ],
)
def test_only_a_read_of_the_same_lines_makes_an_earlier_one_outdated(
    reads: list[dict[str, Any]], outdated: list[int]
) -> None:
    texts = [f"{n} {CODE}" for n in range(len(reads))]
    contents = [read(n, text, **lines) for n, (text, lines) in enumerate(zip(texts, reads, strict=True))]
    context = of(message("user", block.text("go")), *contents)
    made = run(Step(dedupe_reads.POLICY, {"minimum": 1, "at_least": 1}), policy_context_of(context))
    assert said(context, made) == [OUTDATED if n in outdated else text for n, text in enumerate(texts)]


@pytest.mark.parametrize(("pattern", "outdated"), [("b", False), ("a", True)])
def test_a_search_is_outdated_only_by_the_same_search(pattern: str, outdated: bool) -> None:
    searches = (use("t1", "Grep", path="src", pattern="a"), use("t2", "Grep", path="src", pattern=pattern))
    context = of(
        message("user", block.text("go")),
        *(
            [*message("assistant", call), *message("user", result(f"t{n}", text))]
            for n, (call, text) in enumerate(zip(searches, (CODE, OTHER), strict=True), 1)
        ),
    )
    made = run(Step(dedupe_reads.POLICY, {"minimum": 1, "at_least": 1}), policy_context_of(context))
    assert said(context, made) == ["[Outdated: Grep src was read again later.]" if outdated else CODE, OTHER]


def test_what_was_read_last_is_never_lost() -> None:
    context = of(message("user", block.text("go")), read(1, CODE), read(2, OTHER), read(3, CODE))
    made = run(Step(dedupe_reads.POLICY, {"minimum": 1, "at_least": 1}), policy_context_of(context))
    assert said(context, made) == ["[Outdated: Read a.py was read again later.]"] * 2 + [CODE]
    assert said(context, deduplicate(apply(context, []), results(context)).edits)[2] == CODE


def test_json_is_compacted_by_rule_or_it_is_said_why_not() -> None:
    data = canonical.dump_text([{"name": f"button {n}", "bounds": [1, 2, 3, 4]} for n in range(9)])
    context = of(message("user", block.text(f"screen: {data} end"), block.text("no data"), block.text(data)))
    here, plain = at(context, "screen"), apply(context, [])
    (edit,) = compact_blocks(plain, [here], {"drop": ["bounds"], "rename": {"name": "n"}}).edits
    after = str(apply(context, [edit]).sent[here].block.value()["text"])
    assert after.startswith('screen: [{"n":"button 0"},') and after.endswith("] end") and "bounds" not in after
    assert compact_blocks(plain, [here], {}).why == "these rules make nothing in it smaller"
    assert (
        compact_blocks(plain, [at(context, "no data")], {}).why == "there is no JSON in it that could be made smaller"
    )
    assert (
        compact_blocks(apply(context, [make(DROP, [context.target(here)])]), [here], {"drop": ["bounds"]}).edits == ()
    )
    assert compact_blocks(apply(context, [edit]), [here], {"drop": ["bounds"]}).edits == [], "it is compact already"


def test_a_tool_and_a_call_that_are_nested_deeply_stay() -> None:
    deep = canonical.loads('{"properties":' * 600 + '"' + "x" * 900 + '"' + "}" * 600)
    for tool in (
        {"name": "f", "input_schema": deep},
        {"type": "function", "function": {"name": "f", "parameters": deep}},
    ):
        assert minimise_tool(tool, {}) == tool
    texts = {"type": "function_call", "name": "f", "call_id": "x", "arguments": canonical.dump_text(deep)}
    for call in (texts, {"type": "tool_use", "name": "f", "id": "x", "input": deep}):
        made = block.from_part(call)
        assert cut_call(made, 10, 10) == made


def test_definitions_of_tools_are_minimised_once() -> None:
    tree, place = Tree(), Place("tools")
    items = [Item(tool("read", "words " * 50), place), Item(tool("run", "short"), place)]
    context = Context(tree, tree.extend(ROOT, [*items, *message("user", block.text("go"))]), "anthropic")
    plain = apply(context, [])
    (edit,) = minimise_tools(plain, [0, 1]).edits
    assert edit.targets == (context.target(0),), "the other one has nothing to lose"
    assert minimise_tools(plain, [1]).why == "it is as small as it gets"
    assert minimise_tools(apply(context, [edit]), [0]).edits == []
    assert minimise_tools(plain, [at(context, "go")]).why == "only definitions of tools are minimised"


RULES = "".join(f"Rule {n}: always do the right thing, and never the wrong one.\n" for n in range(6))


def test_the_static_part_is_what_most_others_share() -> None:
    history = "what happened before: nothing of note, but it takes a line\n" * 9
    texts = [f"{RULES}task {n}" for n in range(5)] + [f"{RULES}{history}task {n}" for n in (5, 6)]
    found = find_shared_part([texts[5]], [*texts[:5], texts[6]])
    assert found == (RULES, 6), "not what the last two have in common beyond it"
    middle = find_shared_part([f"one\n{RULES}end"], [f"other\n{RULES}fin", "something else"])
    assert middle == (RULES, 1)
    assert find_shared_part(["short\nlines"], ["short\nlines too"]) is None
    assert find_shared_part([RULES], [f"{RULES}and more"]) != (RULES, 1), "the whole of it is no part"
    both = find_shared_part([f"{RULES}a", f"{RULES}b"], ["nothing"])
    assert both is not None and both.text == RULES, "several are held against each other"


def test_a_message_is_held_against_others_of_its_side_also_of_other_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree()
    heads = [tree.extend(ROOT, message("user", block.text(f"{RULES}task {n}"))) for n in range(3)]
    longer = tree.extend(heads[0], [*message("assistant", block.text(RULES)), *message("user", block.text("then"))])
    context = Context(tree, longer, "anthropic")
    here = at(context, "task 0")
    assert find_similar_texts(context, here, heads) == [f"{RULES}task 1", f"{RULES}task 2", "then"], (
        "not itself, sent again"
    )
    assert find_similar_texts(context, here) == ["then"]
    monkeypatch.setattr("ctxtui.curation.apply.shared_text.MAX_COMPARED_CHARS", 10)
    assert find_similar_texts(context, here, heads) == ["then"], "what is held against it has a limit"


def test_a_part_goes_with_the_line_ends_that_parted_it() -> None:
    assert extend_to_line_ends("rules", ["rules\n\ntask"]) == "rules\n\n"
    assert extend_to_line_ends("rules", ["task\nrules"]) == "\nrules"
    assert extend_to_line_ends("rules", ["task\nrules\nmore"]) == "rules"
    assert extend_to_line_ends("rules", ["rules\n\ntask", "rules\ntask"]) == "rules", "not all of them have two"


def test_what_cannot_be_hoisted_is_said() -> None:
    context = of(message("user", block.text("do this")), message("assistant", block.text("done")), read(1, CODE))
    plain, here = apply(context, []), at(context, "do this")
    assert hoistable_texts(plain, [here]) == ["do this"] and hoistable_texts(plain, [here, at(context, "done")]) == []
    assert "shorten it, do not rewrite" in hoist(plain, [here], "do that").why
    assert "shorten it, do not rewrite" in hoist(plain, [here], " ").why
    assert "move the block" in hoist(plain, [here], "do this").why
    (edit,) = hoist(plain, [here], "do ").edits
    assert edit.params == {"text": "do ", "to": "system"}
    (edit,) = hoist(plain, results(context), "x = 1\n").edits
    assert edit.params["to"] == "first", "what a tool said gets no say in the system prompt"


@pytest.fixture(scope="module")
def evolved() -> list[Context]:
    session = load(SAMPLE).session
    return [Context.of_call(session.tree, call) for call in session.thread_calls()]


def feedback(context: Context, generation: int) -> int:
    return at(context, FEEDBACK.format(generation))


def offered(context: Context, heads: list[int]) -> tuple[int, str]:
    here = feedback(context, 1)
    found = find_shared_part(hoistable_texts(apply(context, []), [here]), find_similar_texts(context, here, heads))
    assert found is not None and found.others and len(found.text) > 1_000
    return here, found.text


def test_the_static_part_of_the_sample_leaves_and_nothing_is_lost(evolved: list[Context]) -> None:
    context = evolved[-1]
    here, part = offered(context, [one.head for one in evolved])
    (edit,) = hoist(apply(context, []), [here], part).edits
    assert edit.kind == HOIST and edit.params["text"] == part
    found, before = apply(context, [edit]), context.reading(here).text
    after = next(one for one in found.items if one.node == context.nodes[here]).item.block.value()["text"]
    cut = before.index(part)
    assert after == before[:cut] + before[cut + len(part) :], "byte for byte"
    front = [one for one in found.items if one.node < 0]
    assert [one.item.block.value()["text"] for one in front] == [part]
    assert front[0].item.place.section == "system" and found.rejected == ()
    others = [one.item for one in found.items if one.node >= 0 and one.node != context.nodes[here]]
    assert others == [item for p, item in enumerate(context.items) if p != here]


def test_the_part_that_is_moved_is_the_same_from_call_to_call(evolved: list[Context]) -> None:
    later = [one for one in evolved if any(FEEDBACK.format(1) in r.block.body.decode() for r in one.items)]
    assert len(later) > 5
    here, part = offered(later[0], [one.head for one in evolved])
    (edit,) = hoist(apply(later[0], []), [here], part).edits

    def fronts(edit: Edit, context: Context) -> list[Item]:
        sent: Applied = apply(context, [edit])
        assert not sent.rejected and not sent.without_target
        return [one.item for one in sent.items if one.node < 0]

    moved = {tuple(fronts(edit, context)) for context in later}
    assert len(moved) == 1 and moved.pop(), "the state behind the system prompt is another one in each generation"
    assert {offered(context, [one.head for one in evolved])[1] for context in later} == {part}


def test_a_move_stands_where_it_moves_to() -> None:
    context = of(message("user", block.text("a")), message("assistant", block.text("b")), read(1, "ok"))
    here = at(context, '"a"')
    edit = make(MOVE, [context.target(here)], {"to": "start"})
    assert existing_moves(context, [edit], [here], "start") == [edit]
    assert existing_moves(context, [edit], [here], "end") == []
    later = make(MOVE, [context.target(here)], {})
    assert existing_moves(context, [edit, later], [here], "start") == []
    assert existing_moves(context, [edit, later], [here], "system") == [later]


@pytest.mark.parametrize("kind", ["not_recorded", "unreadable"])
def test_what_is_not_recorded_is_not_called_signed(kind: str) -> None:
    placeholder = block.make(kind, {"type": kind, "what": "system prompt", "place": "line 3", "reason": "no JSON"})
    tree = Tree()
    items = [Item(placeholder, Place("system")), *message("user", block.text("go"))]
    context = Context(tree, tree.extend(ROOT, items), "anthropic")
    for name in ("truncate", "externalize"):
        assert edits_for_key(apply(context, []), name, [0], lambda *_: None).why == "its content is not recorded"
    (rejected,) = apply(context, [make(TRUNCATE, [context.target(0)], {"head": 1, "tail": 1})]).rejected
    assert rejected.why == "its content is not recorded"


@pytest.mark.parametrize("to", ["system", "start", "end"])
def test_a_move_takes_the_block_as_earlier_edits_left_it(to: str) -> None:
    context = of(
        message("user", block.text("go")),
        message("assistant", block.text("b")),
        message("user", block.text("the secret")),
        message("assistant", block.text("c")),
        read(1, "ok"),
    )
    target = context.target(at(context, "the secret"))
    replaced = make(REPLACE, [target], {"text": "nothing of it"})
    moved, dropped = make(MOVE, [target], {"to": to}), make(DROP, [target])
    shortened = make(TRUNCATE, [target], {"head": 1, "tail": 1})

    def sent(*edits: Edit) -> str:
        return " ".join(one.item.block.body.decode() for one in apply(context, edits).items)

    assert "nothing of it" in sent(replaced, moved) and "the secret" not in sent(replaced, moved)
    assert "the secret" not in sent(dropped, moved)
    assert [one.why for one in apply(context, [dropped, moved]).rejected] == ["it is out of the context already"]
    assert [one.why for one in apply(context, [moved, shortened]).rejected] == [
        "an earlier edit moves it: take that back first"
    ]
    hoisted = make(HOIST, [target], {"text": "the", "to": "system"})
    assert [one.why for one in apply(context, [moved, hoisted]).rejected] == [
        "an earlier edit moves it: take that back first"
    ]
    assert [one.why for one in apply(context, [replaced, hoisted]).rejected] == [
        "the text to hoist is not in these blocks"
    ]
    assert "the secret" not in sent(replaced, moved, make(REPLACE, [target]))
    assert sent(moved, replaced).count("nothing of it") == 1 and "the secret" not in sent(moved, replaced)
    assert sent(moved, make(MOVE, [target], {"to": "end"})).count("the secret") == 1


def test_a_rejected_edit_leaves_the_edits_before_it_in_force() -> None:
    context = of(
        message("user", block.text("go")),
        message("assistant", block.text("the last answer")),
        message("user", block.text("the secret")),
    )
    target = context.target(at(context, "the secret"))
    pin = make(PIN, [context.target(at(context, "the last answer"))])
    replaced = make(REPLACE, [target], {"text": "nothing of it"})
    moved, dropped = make(MOVE, [target], {"to": "system"}), make(DROP, [target])
    for later in ([moved], [dropped], [moved, dropped], [dropped, make(DROP, [target], id="again")]):
        applied = apply(context, [pin, replaced, *later])
        assert (
            later[-1] in [one.edit for one in applied.rejected] and [one.edit for one in applied.items][-1] == replaced
        )
        assert "nothing of it" in str(applied.sent) and "the secret" not in str(applied.sent)


def test_a_rejected_summary_leaves_the_one_that_it_covered_in_force() -> None:
    thoughts = [
        block.make("thinking", {"type": "thinking", "thinking": words, "signature": "s"}) for words in ("hm", "so")
    ]
    answer = message("assistant", *thoughts, use("t1", "Read", file_path="a.py"))
    context = of(message("user", block.text("the secret")), answer, message("user", result("t1", "ok")))
    first, hm, so = (context.target(at(context, words)) for words in ("the secret", '"hm"', '"so"'))
    inner = make(SUMMARIZE, [first], {"text": "in short"})
    outer, outermost = (make(SUMMARIZE, [first, thinking], {"text": "shorter"}) for thinking in (so, hm))
    for rejected in ([outer], [outer, outermost]):
        applied = apply(context, [inner, *rejected])
        assert [one.edit for one in applied.rejected] == rejected
        assert "in short" in str(applied.sent) and "the secret" not in str(applied.sent)


def test_a_moved_text_can_be_moved_back() -> None:
    context = of(
        message("user", block.text("go")), message("assistant", block.text("b")), message("user", block.text("c"))
    )
    target = context.target(at(context, '"c"'))
    applied = apply(context, [make(MOVE, [target], {"to": to}) for to in ("system", "end")])
    assert not applied.rejected and applied.sent[-1].block == block.text("c")
