"""Figures and requests in a resumed Claude Code session: those that still hold stay, the others go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core.block import Item
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.claude_code.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock
from tests.cases.claude_code import Script, generate, text, tool_result, tool_use, usage
from tests.transcripts.driving import read
from tests.transcripts.resumable import claude_code_context, claude_code_faults

NEW = "0f0f0f0f-1111-4222-8333-444455556666"


def ids() -> Iterator[str]:
    return chain([NEW], (f"00000000-0000-4000-8000-{n:012d}" for n in count()))


def path_of(session: Session) -> list[Item]:
    return list(session.tree.items(session.threads["main"].tip))


def without(data: bytes, *gone: str, **more: Any) -> ResumedFile:
    """`data` without the blocks that say one of `gone`."""
    path = path_of(read(data).session)
    sent = [SentBlock(item, at) for at, item in enumerate(path) if not any(w in str(item.block.value()) for w in gone)]
    made = resume(ResumeOrder(source=data, path=path, sent=sent, ids=ids(), now=0.0, **more))
    assert claude_code_faults(made.data, data, NEW) == []
    return made


def records(made: ResumedFile, type_: str) -> list[dict[str, Any]]:
    return [one for one in map(json.loads, made.data.splitlines()) if one["type"] == type_]


def reports(made: ResumedFile) -> list[int]:
    """What the records of answers report, in order."""
    usages = [one["message"]["usage"] for one in records(made, "assistant")]
    return [sum(n for key, n in one.items() if key.endswith("input_tokens")) for one in usages]


def three_turns() -> Script:
    script = Script(version="2.1.330")
    for n in range(1, 4):
        script.user(f"question {n}")
        script.loose("api-request", id=f"r{n}", keep=0, tail=[], shapeHash="s")
        uses = usage(fresh=0, read=1000 * n, write=100, output=20)
        script.assistant(text(f"aside {n}"), text(f"answer {n}"), id=f"msg_{n}", use=uses, requestRef=f"r{n}")
    script.loose("cost-state", totalCostUSD=0.5)
    return script


def test_an_answer_before_the_change_keeps_its_report_and_a_later_one_has_none() -> None:
    made = without(three_turns().dump(), "question 2")
    assert reports(made) == [1100, 1100, 0, 0, 0, 0]
    assert [one.get("requestRef") for one in records(made, "assistant")] == ["r1", "r1", None, None, None, None]
    assert [one["id"] for one in records(made, "api-request")] == ["r1"]


def test_the_last_answer_has_the_size_that_was_worked_out_and_says_who_did() -> None:
    made = without(three_turns().dump(), "question 2", input_tokens=2345, answer_tokens=7)
    usages = [one["message"]["usage"] for one in records(made, "assistant")][-2:]
    assert usages == [{"input_tokens": 2345, "output_tokens": 20, "estimated_by": "ctxtui"}] * 2
    last = read(made.data).session.calls["msg_3"]
    assert last.usage is None and last.estimated_input == 2345


def test_a_last_answer_that_is_shortened_itself_is_counted_anew() -> None:
    made = without(three_turns().dump(), "aside 3", input_tokens=3100, answer_tokens=7)
    (last,) = [one["message"]["usage"] for one in records(made, "assistant")][-1:]
    assert last == {"input_tokens": 3100, "output_tokens": 7, "estimated_by": "ctxtui"}
    assert reports(made)[:4] == [1100, 1100, 2100, 2100]
    assert [one["id"] for one in records(made, "api-request")] == ["r1", "r2", "r3"]


def test_what_the_original_has_cost_is_no_cost_of_the_copy() -> None:
    assert records(without(three_turns().dump()), "cost-state") == []


def test_the_session_ends_behind_the_last_answer_and_says_what_it_left_out() -> None:
    script = three_turns()
    script.user("and now?")
    script.put("attachment", attachment={"type": "date", "rendered": []})
    script.loose("api-request", id="r4", keep=0, tail=[], shapeHash="s")
    script.loose("last-prompt", lastPrompt="and now?", leafUuid=script.tip)
    script.loose("ai-title", aiTitle="Three turns")
    data = script.dump()
    path = path_of(read(data).session)
    end = next(at for at, item in enumerate(path) if "and now?" in str(item.block.value())) - 1
    made = without(data, end=end)
    assert b"and now?" not in made.data and reports(made) == [1100, 1100, 2100, 2100, 3100, 3100]
    assert records(made, "attachment") == [] and records(made, "ai-title")
    assert [one["id"] for one in records(made, "api-request")] == ["r1", "r2", "r3"]
    assert len(made.lost) == 1 and "after the last answer" in made.lost[0]


def test_a_result_that_was_changed_is_not_replaced_by_the_client_again() -> None:
    script = Script()
    script.user("read both")
    first, second = script.assistant(tool_use("t1"), tool_use("t2"), id="msg_1")
    script.put("user", message={"role": "user", "content": [tool_result("t1", "one " * 9)]}, parentUuid=first)
    script.put("user", message={"role": "user", "content": [tool_result("t2", "two " * 9)]}, parentUuid=second)
    kept = [{"kind": "tool-result", "toolUseId": name, "replacement": f"{name} is in a file"} for name in ("t1", "t2")]
    script.loose("content-replacement", replacements=kept)
    script.assistant(text("Read."), id="msg_2", stop="end_turn")
    data = script.dump()
    made = without(data, "t1 is in a file", "'t1'")
    assert [one["replacements"] for one in records(made, "content-replacement")] == [kept[1:]]
    assert "t1" not in str(claude_code_context(made.data))


@given(st.integers(0, 6), st.integers(0, 80))
@settings(deadline=None, max_examples=40)
def test_a_report_that_stays_is_that_of_the_same_context(seed: int, gone: int) -> None:
    """Whatever goes: an answer that still has a report stands behind the very blocks that it stood behind."""
    data = generate(30, seed, bytes_per_message=200)
    session = read(data).session
    path = path_of(session)
    dropped = [at for at, item in enumerate(path) if item.block.kind == "text"]
    sent = [SentBlock(item, at) for at, item in enumerate(path) if at != dropped[gone % len(dropped)]]
    made = resume(ResumeOrder(source=data, path=path, sent=sent, ids=ids(), now=0.0))
    copy = read(made.data).session
    for call in copy.calls.values():
        old = session.calls[call.id]
        same = copy.tree.items(call.raw_head) == session.tree.items(old.raw_head)
        assert (call.usage is not None) == same
        assert call.usage is None or call.usage.input == (old.usage.input if old.usage else 0)
