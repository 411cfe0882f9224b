"""OpenCode's exports, and how its requests are built of its messages: compactions, pruned results, failed answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.core.block_content import read as content
from ctxtui.core.call import EpochStart
from ctxtui.core.session import Session
from ctxtui.transcripts.registry import describe_file, detect
from tests.transcripts.reading import as_bytes, calls, law_2, read, survives_cuts, survives_values

TOKENS = {"total": 51, "input": 10, "output": 5, "reasoning": 2, "cache": {"read": 30, "write": 4}}


def user(n: int, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return message(n, {"role": "user", "agent": "build", **info}, parts)


def answer(n: int, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    known = {"role": "assistant", "parentID": "msg_01", "modelID": "m-1", "providerID": "anthropic", "mode": "build",
             "cost": 0.25, "tokens": TOKENS, "finish": "stop"}  # fmt: skip
    return message(n, {**known, **info}, ({"type": "step-start"}, *parts, {"type": "step-finish", "tokens": TOKENS,
                                                                          "cost": 0.25, "reason": "stop"}))  # fmt: skip


def message(n: int, info: dict[str, Any], parts: Any) -> dict[str, Any]:
    ids = {"id": f"msg_{n:02}", "sessionID": "ses_1"}
    time = {"created": 1_795_000_000_000 + n * 1000, "completed": 1_795_000_000_500 + n * 1000}
    held = [{"id": f"prt_{n:02}{k:02}", "messageID": ids["id"], "sessionID": "ses_1", **p} for k, p in enumerate(parts)]
    return {"info": {**ids, "time": time, **info}, "parts": held}


def text(words: str, **rest: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **rest}


def tool(id_: str, output: str, status: str = "completed", **state: Any) -> dict[str, Any]:
    held = {"status": status, "input": {"path": "."}, "output": output, "time": {"start": 1, "end": 2}, **state}
    return {"type": "tool", "callID": id_, "tool": "ls", "state": held}


def export(*messages: dict[str, Any], **info: Any) -> bytes:
    told = {"id": "ses_1", "projectID": "p", "directory": "/w", "title": "Fix", "version": "1.18.33",
            "time": {"created": 1, "updated": 2}, **info}  # fmt: skip
    return as_bytes({"info": told, "messages": list(messages)}, indent=2)


def words(session: Session, head: int) -> list[str]:
    """The texts on a path, in order."""
    shown = (content(item.block).text for item in session.tree.items(head))
    return [one for one in shown if one]


def sample() -> bytes:
    return export(
        user(1, text("Which files?"), text("hidden", ignored=True), {"type": "agent", "name": "x"}),
        answer(2, {"type": "reasoning", "text": "look", "metadata": {"anthropic": {"signature": "s"}}},
               tool("t1", "a.py"), finish="tool-calls"),
        answer(3, text("a.py")),
        user(4, {"type": "compaction", "auto": True}),
        answer(5, text("so far: a.py"), summary=True, parentID="msg_04"),
        user(6, text("Go on")),
        answer(7, text("done")),
    )  # fmt: skip


def test_an_export_is_one_session() -> None:
    session = read(sample(), "x.json")
    assert detect(sample(), "x.json").name == "opencode export"  # type: ignore[union-attr]
    about = session.about
    assert (about.id, about.title, about.source) == ("ses_1", "Fix", "opencode")
    assert (about.cwd, about.client, about.version) == ("/w", "opencode", "1.18.33")
    first = calls(session)[0]
    assert first.usage and (first.usage.fresh, first.usage.cache_read, first.usage.write_5m) == (10, 30, 4)
    assert (first.usage.output, first.usage.reasoning, first.usage.cost) == (7, 2, 0.25)
    assert (first.id, first.model, first.provider, first.extra["mode"]) == (
        "msg_02", "m-1", "anthropic", "build")  # fmt: skip
    assert not session.skipped


def test_an_export_is_no_trajectory_of_mini_swe_agent() -> None:
    empty = export()
    assert describe_file(as_bytes({"info": {}, "messages": []})) == "JSON without any message of a model"
    assert detect(empty, "x.json").bare == "an OpenCode session without any message"  # type: ignore[union-attr]
    bare = as_bytes({"info": {"model_stats": {"api_calls": 1}}, "messages": []})
    assert detect(bare, "x.json").name == "mini-swe-agent"  # type: ignore[union-attr]


def test_after_a_compaction_its_question_and_summary_stand_first() -> None:
    session = read(sample(), "x.json")
    *_, summary, last = calls(session)
    assert words(session, summary.raw_head)[-1] == "What did we do so far?"
    assert words(session, last.raw_head) == ["What did we do so far?", "so far: a.py", "Go on"]
    assert last.epoch.start is EpochStart.COMPACTION


def test_a_compaction_spares_its_tail() -> None:
    session = read(
        export(
            user(1, text("one")),
            answer(2, text("two")),
            user(3, text("three")),
            answer(4, text("four")),
            user(5, {"type": "compaction", "auto": True, "tail_start_id": "msg_03"}),
            answer(6, text("sum"), summary=True, parentID="msg_05"),
            user(7, text("five")),
            answer(8, text("six")),
        ),
        "x.json",
    )
    expected = ["What did we do so far?", "sum", "three", "four", "five"]
    assert words(session, calls(session)[-1].raw_head) == expected
    assert words(session, session.threads["main"].tip) == [*expected, "six"]


def test_a_pruned_result_stands_until_it_was_pruned() -> None:
    session = read(
        export(
            user(1, text("go")),
            answer(2, tool("t1", "long text", time={"compacted": 1_795_000_003_500})),
            answer(3, text("seen")),
            answer(4, text("forgotten")),
        ),
        "x.json",
    )
    _, before, after = calls(session)
    assert "long text" in words(session, before.raw_head)
    assert "long text" not in words(session, after.raw_head)
    assert "[Old tool result content cleared]" in words(session, after.raw_head)
    assert after.epoch.start is EpochStart.MICROCOMPACTION


def test_a_failed_answer_is_a_call_that_no_later_request_has() -> None:
    failed = {"name": "APIError", "data": {"message": "overloaded"}}
    stopped = {"name": "MessageAbortedError", "data": {"message": "aborted"}}
    session = read(
        export(
            user(1, text("go")),
            answer(2, text("half"), error=failed),
            answer(3, text("quarter"), error=stopped),
            answer(4, text("whole")),
        ),
        "x.json",
    )
    one, two, three = calls(session)
    assert (one.error, two.error, three.error) == ("overloaded", "aborted", "")
    assert words(session, one.response_head) == ["go", "half"]
    assert words(session, three.raw_head) == ["go", "quarter"]


def test_a_call_that_was_cut_off_has_its_words_in_the_next_request() -> None:
    messages = [user(1, text("go")), answer(2, tool("t1", "", "running"))]
    running = read(export(*messages), "x.json")
    assert not any("interrupted" in one for one in words(running, running.threads["main"].tip))
    cut = read(export(*messages, user(3, text("again")), answer(4, text("ok"))), "x.json")
    assert "[Tool execution was interrupted]" in words(cut, calls(cut)[-1].raw_head)


def test_what_a_user_ran_is_no_call() -> None:
    ran = message(2, {"role": "assistant", "tokens": {"input": 0, "output": 0}, "cost": 0}, [tool("t1", "a.py")])
    session = read(export(user(1, text("!ls")), ran, user(3, text("so?")), answer(4, text("ok"))), "x.json")
    (only,) = calls(session)
    assert only.id == "msg_04" and "a.py" in words(session, only.raw_head)


def test_pictures_are_pictures_and_texts_of_files_stand_once() -> None:
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGk=", "filename": "a.png"}
    note = {"type": "file", "mime": "text/plain", "url": "file:///a.txt", "filename": "a.txt"}
    shot = tool("t1", "shot", attachments=[picture])
    session = read(export(user(1, text("see"), picture, note), answer(2, shot), answer(3, text("ok"))), "x.json")
    kinds = [item.block.kind for item in session.tree.items(calls(session)[-1].raw_head)]
    assert kinds == ["header", "text", "image", "header", "tool_use", "header", "tool_result"]


def test_attempts_and_unknown_parts_are_told() -> None:
    attempt = {"type": "retry", "attempt": 1, "error": {"name": "APIError", "data": {"message": "busy"}},
               "time": {"created": 1_795_000_000_000}}  # fmt: skip
    session = read(export(user(1, text("go")), answer(2, attempt, {"type": "hologram"}, text("ok"))), "x.json")
    assert [(h.kind, h.text) for h in session.happenings] == [("retry", "busy")]
    assert [one.reason for one in session.skipped] == ["a part of an unknown kind, hologram, in msg_02"]


def test_a_shared_session_is_put_together() -> None:
    whole = json.loads(sample())
    records: list[dict[str, Any]] = [{"type": "session", "data": whole["info"]}]
    for one in reversed(whole["messages"]):
        records += [{"type": "part", "data": part} for part in reversed(one["parts"])]
        records.append({"type": "message", "data": one["info"]})
    apart, put_together = read(sample(), "x.json"), read(as_bytes(records), "x.json")
    assert put_together.calls == apart.calls and put_together.about == apart.about


def test_laws() -> None:
    law_2(sample(), "x.json")
    survives_cuts(sample(), "x.json")
    survives_values(json.loads(sample()), "x.json")


@pytest.mark.parametrize("odd", [{"info": None}, {"messages": [1, {"info": 3, "parts": [{}, 4]}, {"parts": None}]}])
def test_odd_exports_are_read_as_far_as_they_go(odd: dict[str, Any]) -> None:
    whole = {**json.loads(sample()), **odd}
    whole["messages"] += json.loads(sample())["messages"][:3]
    session = read(as_bytes(whole), "x.json")
    assert session.calls
