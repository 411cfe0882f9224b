"""Twelve injected faults, twelve right names; and what cannot be known is said to be unknown."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.cache import explain
from ctxtui.cache.explain import MissExplanation, SentRequest, explain_miss, first_difference, matches_diagnosis
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.core.block import Place
from ctxtui.core.block import text as text_block
from ctxtui.core.tree import ROOT
from tests.cache.bodies import Desk, assistant, marked, text, user

TOOL: dict[str, Any] = {"name": "read", "description": "reads", "input_schema": {"type": "object"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
CALL = {"type": "tool_use", "id": "t", "name": "read", "input": {}}


class Session:
    """Two requests: the first is sent at 0, the second asked about later."""

    def __init__(self, model: str = "claude-opus-5") -> None:
        self.desk = Desk(model=model)

    def sent(self, body: dict[str, Any]) -> SentRequest:
        made, refused = self.desk.prompt(body["messages"], **{k: v for k, v in body.items() if k != "messages"})
        assert not refused
        params = {k: v for k, v in body.items() if k not in ("messages", "tools", "system", "model")}
        return SentRequest(made, self.head(made), "anthropic", body.get("model", self.desk.model), params)

    def head(self, made: Any) -> int:
        return int(made.last.node)

    def why(
        self, first: dict[str, Any], second: dict[str, Any], at: float = 10, began: float = 0
    ) -> MissExplanation | None:
        before = self.sent(first)
        left = self.desk.simulator.send(before.prompt, 0, began)
        now = self.sent(second)
        return explain_miss(self.desk.prefixes.tree, before, now, left, self.desk.simulator.predict(now.prompt, at))


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    """A request with one tool, a system prompt and messages; the last block is marked."""
    return {"tools": [dict(TOOL)], "system": [text("sys#3000")], "messages": list(messages), **more}


START = body(user(text("go#3000", "")))
GROWN = (user(text("go#3000")), assistant(text("a")), user(text("b", "")))


def told(found: MissExplanation, diagnosis: str) -> bool | None:
    return matches_diagnosis(found.cause, found.section, diagnosis)


def named(found: MissExplanation | None) -> tuple[str, str, float]:
    assert found is not None
    return found.cause, found.what, found.by


def test_a_hit_needs_no_reason() -> None:
    assert Session().why(START, body(*GROWN)) is None


def test_content() -> None:
    session = Session()
    found = session.why(START, body(user(text("stop#3000")), assistant(text("a")), user(text("b", ""))))
    assert named(found) == (explain.CONTENT, "", 0)
    tree = session.desk.prefixes.tree
    assert found is not None and found.section == "messages" and found.lost == 6100
    assert [tree[n].block.value()["text"] for n in (found.before, found.now)] == ["go#3000", "stop#3000"]


def test_system() -> None:
    found = Session().why(START, {**body(*GROWN), "system": [text("other#3000")]})
    assert found is not None and (found.cause, found.section) == (explain.CONTENT, "system")
    assert told(found, "system_changed") and told(found, "messages_changed") is False


@pytest.mark.parametrize(
    ("tools", "which"),
    [
        ([TOOL, {**TOOL, "name": "grep"}], "grep added"),
        ([], "read removed"),
        ([{**TOOL, "description": "edited"}], "read changed"),
    ],
)
def test_tools(tools: list[Any], which: str) -> None:
    found = Session().why(START, {**body(*GROWN), "tools": tools})
    assert named(found) == (explain.TOOLS, which, 0)
    assert found is not None and told(found, "tools_changed")


def test_order_of_tools() -> None:
    two = [dict(TOOL), {**TOOL, "name": "grep"}]
    found = Session().why({**START, "tools": two}, {**body(*GROWN), "tools": two[::-1]})
    assert named(found) == (explain.TOOLS, "order changed", 0)


def test_model() -> None:
    found = Session().why(START, body(*GROWN, model="claude-opus-4-8"))
    assert named(found) == (explain.MODEL, "claude-opus-5 → claude-opus-4-8", 0)
    assert found is not None and told(found, "model_changed")


@pytest.mark.parametrize(
    ("more", "which"),
    [
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"thinking": {"type": "adaptive"}}, "thinking"),
        ({"speed": "fast"}, "speed"),
        ({"output_config": {"effort": "low"}}, "output_config.effort"),
    ],
)
def test_parameter(more: dict[str, Any], which: str) -> None:
    assert named(Session().why(START, body(*GROWN, **more))) == (explain.PARAMETER, which, 0)


def test_lifetime() -> None:
    assert named(Session().why(START, body(*GROWN), at=341)) == (explain.EXPIRED, "", 41)


def test_lookback() -> None:
    far = [user(text("go#3000")), assistant(*(text(f"{n}") for n in range(24))), user(text("b", ""))]
    assert named(Session().why(START, body(*far))) == (explain.LOOKBACK, "", 6)


def test_below_minimum() -> None:
    small = {"messages": [user(text("go#100", ""))]}
    assert named(Session().why(small, small)) == (explain.MINIMUM, "", 412)


def test_marker_moved() -> None:
    moved = [user(text("go#3000")), assistant(text("a")), user(text("b"))]
    found = Session().why({**START, "system": [text("sys#3000")]}, {**body(*moved), "system": [text("sys#3000", "")]})
    assert named(found) == (explain.MARKER_MOVED, "", 1)


def test_marker_missing() -> None:
    plain = [user(text("go#3000")), assistant(text("a")), user(text("b"))]
    assert named(Session().why(START, body(*plain))) == (explain.MARKER_MISSING, "", 0)


def test_not_yet_readable() -> None:
    assert named(Session().why(START, body(*GROWN), at=1, began=3)) == (explain.NOT_YET, "", 2)


def gpt_miss(first: list[Any], second: list[Any], at: float, began: float, **members: Any) -> MissExplanation | None:
    """Explain the second of two requests to a model of OpenAI whose cache has breakpoints."""
    desk = Desk("openai_responses", "gpt-5.6-sol", "openai")
    before, now = (
        SentRequest(made, int(made.last.node), "openai_responses", desk.model, members)
        for made, _ in (desk.prompt(messages, **members) for messages in (first, second))
    )
    left = desk.simulator.send(before.prompt, 0, began)
    return explain_miss(desk.prefixes.tree, before, now, left, desk.simulator.predict(now.prompt, at))


def said(words: str, *, mark: bool = False) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "input_text", "text": words}
    return {"role": "user", "content": [part | {"prompt_cache_breakpoint": {"mode": "explicit"}} if mark else part]}


EXPLICIT = {"prompt_cache_options": {"mode": "explicit"}}


def test_not_yet_readable_at_an_explicit_breakpoint() -> None:
    first = [said("go#3000", mark=True)]
    assert named(gpt_miss(first, [*first, said("b", mark=True)], 1, 3, **EXPLICIT)) == (explain.NOT_YET, "", 2)
    # With the implicit breakpoint at the end of the last message as well.
    assert named(gpt_miss(first, [*first, said("b", mark=True)], 1, 3)) == (explain.NOT_YET, "", 2)


def test_content_after_an_explicit_breakpoint() -> None:
    rules = said("rules#3000", mark=True)
    found = gpt_miss([rules, said("go#3000")], [rules, said("stop#3000")], 10, 0)
    assert named(found) == (explain.CONTENT, "", 0) and found is not None and found.lost == 3000


def test_an_explicit_breakpoint_moved() -> None:
    first, second = [said("rules#3000"), said("go#3000", mark=True)], [said("rules#3000", mark=True), said("go#3000")]
    assert named(gpt_miss(first, second, 10, 0, **EXPLICIT)) == (explain.MARKER_MOVED, "", 2)


def test_a_message_that_grew_moves_no_marker() -> None:
    rules, longer = said("rules#3000", mark=True), said("go#3000")
    longer["content"].append({"type": "input_text", "text": "b"})
    found = gpt_miss([rules, said("go#3000")], [rules, longer], 10, 0)
    assert named(found) == (explain.NOT_IN_RECORD, "", 0)


def test_thinking_stripped() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    loop = [user(text("go#9000")), assistant(thought, dict(CALL)), user(marked(dict(RESULT), ""))]
    spoken = [*loop[:2], user(dict(RESULT)), assistant(text("a")), user(text("and now?", ""))]
    found = Session("claude-sonnet-4-5").why(body(*loop), body(*spoken))
    assert named(found) == (explain.STRIPPED, "", 0)
    # A model that keeps thinking reads it all.
    assert Session("claude-opus-5").why(body(*loop), body(*spoken)) is None


def test_compaction() -> None:
    session = Session()
    tree = session.desk.prefixes.tree
    before = session.sent(START)
    left = session.desk.simulator.send(before.prompt, 0)
    now = session.sent(body(user(text("summary of what was said", ""))))
    summary = tree.child(tree[now.head].parent, text_block("summary"), Place("messages", "user", "summary"))
    marked_ = now._replace(head=summary)
    found = explain_miss(tree, before, marked_, left, session.desk.simulator.predict(now.prompt, 10))
    assert named(found) == (explain.COMPACTION, "", 0)


def test_what_nothing_explains_is_not_in_the_record() -> None:
    session = Session()
    before, now = session.sent(START), session.sent(body(*GROWN))
    left = session.desk.simulator.send(before.prompt, 0)
    # The provider read nothing, although the entry was there: another machine, perhaps.
    reported = CacheOutcome(now.prompt, 10.0, read=0, hit=None, life=300.0)
    assert named(explain_miss(session.desk.prefixes.tree, before, now, left, reported)) == (
        explain.NOT_IN_RECORD,
        "",
        0,
    )


def test_where_two_contexts_part() -> None:
    session = Session()
    first, second = session.sent(START), session.sent(body(*GROWN))
    tree = session.desk.prefixes.tree
    assert first_difference(tree, first.head, second.head)[0] == ROOT
    assert tree[first_difference(tree, first.head, second.head)[1]].place.role == "assistant"


def test_diagnoses_that_say_nothing() -> None:
    assert matches_diagnosis(explain.TOOLS, "tools", "previous_message_not_found") is None
    assert matches_diagnosis(explain.EXPIRED, "", "messages_changed") is None
    assert matches_diagnosis(explain.PARAMETER, "", "reasoning_effort_changed")


def test_a_server_that_holds_its_last_prompt() -> None:
    def why(first: str, second: str) -> MissExplanation | None:
        desk = Desk("openai_chat", "qwen2.5-coder:7b", "llama.cpp")
        before, now = (
            SentRequest(made, int(made.last.node), "openai_chat", desk.model)
            for made, _ in (desk.prompt([{"role": "user", "content": words}]) for words in (first, second))
        )
        left = desk.simulator.send(before.prompt, 0)
        return explain_miss(desk.prefixes.tree, before, now, left, desk.simulator.predict(now.prompt, 1e9))

    assert why("go#700", "go#700") is None
    assert named(why("go#700", "stop#700")) == (explain.CONTENT, "", 0)
