"""Kimi Code: steps, requests without an end, compaction, subagents' files; figures as they went over the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.recordings.open import load
from tests.transcripts.reading import as_lines, calls, law_2, lines_of, read, shown, survives_cuts, survives_values

NAME = "wire.jsonl"
HEAD = {"type": "metadata", "protocol_version": "1.5", "created_at": 1}
Record = Any


def record(kind: str, /, **more: Any) -> Record:
    return {"type": kind, "agentId": "main", "time": 1_795_904_576_601, **more}


def event(kind: str, /, **more: Any) -> Record:
    return record("context.append_loop_event", event={"type": kind, **more})


def said(words: str, origin: str = "user") -> Record:
    message = {"role": "user", "content": [{"type": "text", "text": words}], "origin": {"kind": origin}}
    return record("context.append_message", message=message)


def usage(fresh: int, read_: int, write: int, output: int) -> Record:
    return {"inputOther": fresh, "inputCacheRead": read_, "inputCacheCreation": write, "output": output}


def request(step: str, kind: str = "loop") -> Record:
    asked = {"kind": kind, "provider": "anthropic", "model": "claude-opus-5-5", "toolsHash": "h", "turnStep": step}
    return record("llm.request", **asked)


def end(id_: str, *used: int) -> Record:
    return event("step.end", messageId=id_, usage=usage(*used), rawFinishReason="tool_use")


def session() -> list[Any]:
    return [
        HEAD,
        record("profile.bind", systemPrompt="You are a CLI."),
        said("Which files?"),
        said("<system-reminder>auto</system-reminder>", "injection"),
        record("llm.tools_snapshot", hash="h", tools=[{"name": "Bash", "description": "runs", "parameters": {}}]),
        request("0.1"),
        record("usage.record", usage=usage(5, 40, 60, 9)),
        event("content.part", part={"type": "think", "think": "hm", "encrypted": "gAAA"}),
        event("tool.call", toolCallId="t1", name="Bash", args={"command": "ls"}),
        event("tool.result", toolCallId="t1", result={"output": "a.py\n"}),
        end("m-1", 5, 40, 60, 9),
        request("0.2"),
        event("content.part", part={"type": "text", "text": "a.py"}),
        end("m-2", 0, 105, 20, 3),
    ]


def test_calls_and_usage() -> None:
    found = read(as_lines(session()), NAME)
    first, second = calls(found)
    assert (first.id, first.model, first.provider) == ("m-1", "claude-opus-5-5", "anthropic")
    assert first.usage and (first.usage.fresh, first.usage.cache_read, first.usage.write_5m) == (5, 40, 60)
    assert first.usage.output == 9 and first.stop_reason == "tool_use" and first.started == 1_795_904_576.601
    front = ["tool", "text", "header", "text", "header", "text"]
    assert [kind for _, _, kind in shown(found, first.raw_head)] == front
    answered = ["header", "thinking", "tool_use", "header", "tool_result"]
    assert [kind for _, _, kind in shown(found, second.raw_head)] == [*front, *answered]
    assert found.about.title == "Which files?" and len(found.calls) == 2


def test_tools_are_spelled_as_their_calls() -> None:
    found = read(as_lines(session()), NAME)
    first = found.tree.items(calls(found)[0].raw_head)[0].block
    assert first.value() == {"name": "Bash", "description": "runs", "input_schema": {}}


def test_a_request_without_an_end_used_what_nobody_knows() -> None:
    begun = [request("0.3"), record("turn.prompt"), said("And now?"), request("1.1"), end("m-3", 0, 125, 9, 2)]
    found = read(as_lines([*session(), *begun]), NAME)
    lost, last = calls(found)[2:]
    assert lost.usage is None and lost.is_partial and (last.id, last.is_partial) == ("m-3", False)
    assert len(calls(read(as_lines([*session(), request("0.3")]), NAME))) == 2, "it may still be under way"
    over = read(as_lines([*session(), request("0.3"), record("turn.ended", reason="cancelled")]), NAME)
    assert len(calls(over)) == 3 and calls(over)[-1].is_partial, "the turn is over"
    again = [request("0.3"), request("0.3"), end("m-3", 0, 125, 9, 2)]
    assert len(calls(read(as_lines([*session(), *again]), NAME))) == 3, "asked again, it is the same step"


def test_a_compaction_keeps_what_it_does_not_stand_for() -> None:
    packed = record("context.apply_compaction", summary="Files: a.py", compactedCount=4)
    asked = [request("0.9", "compaction"), record("usage.record", usage=usage(9, 0, 0, 4)), packed]
    found = read(as_lines([*session(), *asked, said("On."), request("1.1"), end("m-3", 50, 0, 0, 1)]), NAME)
    last = calls(found)[-1]
    assert last.epoch.start == "compaction"
    kinds = ["tool", "text", *["header", "text"] * 3]
    assert [kind for _, _, kind in shown(found, last.raw_head)] == kinds, "the summary, the last answer, what was said"
    (beside,) = calls(found, "main compaction")
    assert beside.usage and beside.usage.input == 9 and beside.extra["purpose"] == "compaction"


def test_what_is_undone_is_out() -> None:
    undone = [said("Wrong."), record("context.undo", count=1), said("Right."), request("1.1"), end("m-3", 9, 0, 0, 1)]
    found = read(as_lines([*session(), *undone]), NAME)
    bodies = b"".join(item.block.body for item in found.tree.items(calls(found)[-1].raw_head))
    assert b"Wrong." not in bodies and b"Right." in bodies and b"a.py" in bodies


def said_last(found: Any) -> list[bytes]:
    """The bodies of what the last call was asked with, headers and front left out."""
    items = found.tree.items(calls(found)[-1].raw_head)
    return [i.block.body for i in items if i.place.section == "messages" and i.block.kind != "header"]


def asked_after(*more: Any) -> list[bytes]:
    """What a last call is asked with after the session and `more`."""
    return said_last(read(as_lines([*session(), *more, said("On."), request("9.1"), end("m-9", 9, 0, 0, 1)]), NAME))


def two_results() -> list[Any]:
    calls_ = [event("tool.call", toolCallId=f"p{n}", name="Read", args={}) for n in (1, 2)]
    results = [event("tool.result", toolCallId=f"p{n}", result={"output": f"out {n}"}) for n in (1, 2)]
    return [said("Read both."), request("1.1"), *calls_, *results, end("m-3", 0, 9, 9, 9)]


def test_an_undo_goes_back_to_what_the_user_said() -> None:
    gone = asked_after(*two_results(), said("auto", "injection"), record("context.undo", count=1))
    assert not any(b"out 1" in body or b"Read both." in body or body == b"auto" for body in gone)
    assert any(b"a.py" in body for body in gone) and b"On." in gone[-1]
    kept = asked_after(record("context.undo", count=10**15))
    assert any(b"Which files?" in body for body in kept), "more than there is: nothing is undone"
    packed = record("context.apply_compaction", summary="So far", compactedCount=99)
    assert b"So far" in asked_after(packed, record("context.undo", count=1))[0], "never across a compaction"
    packed["keptUserMessageCount"] = 1
    assert len(asked_after(packed, record("context.undo", count=1))) == 3, "nor into what it kept"
    command = {"role": "user", "content": [{"type": "text", "text": "/review"}]}
    command["origin"] = {"kind": "skill_activation", "trigger": "user-slash"}
    typed = record("context.append_message", message=command)
    bodies = asked_after(typed, record("context.undo", count=1))
    assert any(b"Which files?" in body for body in bodies) and not any(b"/review" in body for body in bodies)


def test_each_result_is_a_message_that_a_compaction_counts() -> None:
    # Five messages of the session; then what was said, the answer, the first result.
    bodies = asked_after(*two_results(), record("context.apply_compaction", summary="So far", compactedCount=8))
    assert len(bodies) == 3 and b"out 2" in bodies[1]


def test_a_newer_compaction_keeps_what_the_user_said_before_its_summary() -> None:
    said_again = [said(f"Word {n}") for n in range(4)]
    shape = {"summary": "raw", "contextSummary": "So far", "compactedCount": 99, "keptUserMessageCount": 3}
    bodies = asked_after(*said_again, record("context.apply_compaction", **shape))
    assert [b"Word 1" in bodies[0], b"Word 3" in bodies[2], b"So far" in bodies[3]] == [True] * 3 and len(bodies) == 5
    bodies = asked_after(*said_again, record("context.apply_compaction", **shape, keptHeadUserMessageCount=1))
    assert [b"Which files?" in bodies[0], b"Word 2" in bodies[1], b"Word 3" in bodies[2]] == [True] * 3


def test_what_comes_during_a_step_stands_behind_its_answer() -> None:
    late = event("tool.result", toolCallId="t2", result={"output": "late", "note": "<system>cut</system>"})
    use = event("tool.call", toolCallId="t2", name="Bash", args={})
    bodies = asked_after(request("1.1"), use, said("Steer."), end("m-3", 0, 9, 9, 9), late)
    assert [b'"t2"' in bodies[-4], b"Steer." in bodies[-3], b"On." in bodies[-1]] == [True] * 3
    assert b"late\\n<system>cut</system>" in bodies[-2], "the note is sent with the result"


def test_older_files_have_no_requests() -> None:
    steps = [one for one in session() if one["type"] != "llm.request"]
    beside = record("usage.record", model="k2", usageScope="session", usage=usage(7, 0, 0, 1))
    spent = record("usage.record", model="k2", usageScope="turn", usage=usage(1, 2, 3, 4))
    cut = [spent, event("step.begin"), spent, record("turn.prompt")]
    found = read(as_lines([*steps, beside, *cut]), NAME)
    told = [(call.id[:2], call.usage.input if call.usage else None) for call in calls(found)]
    assert told == [("m-", 105), ("m-", 125), ("ca", 6), ("ca", 6)] and calls(found)[-1].model == "k2"
    (other,) = calls(found, "main other")
    assert other.usage and other.usage.input == 7


def test_subagents_have_files_of_their_own(tmp_path: Path) -> None:
    for name in ("main", "agent-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "main/wire.jsonl").write_bytes(as_lines(session()))
    own = [{**one, "agentId": "agent-1"} for one in (said("Look."), request("0.1"), end("m-9", 7, 0, 0, 1))]
    nobody = {"type": "agent.turn.started", "kind": "event"}
    (tmp_path / "agent-1/wire.jsonl").write_bytes(as_lines([HEAD, nobody, *own]))
    found = load(tmp_path / "main/wire.jsonl").session
    assert [call.id for call in calls(found, "agent-1")] == ["m-9"] and len(found.calls) == 3
    assert list(found.threads) == ["main", "agent-1"], "records of no agent make none"
    bare = [{key: item for key, item in one.items() if key != "agentId"} for one in own]
    (tmp_path / "agent-1/wire.jsonl").write_bytes(as_lines([HEAD, *bare]))
    assert len(load(tmp_path / "main/wire.jsonl").session.threads) == 2, "older ones do not say whose they are"


def test_any_chunking_any_cut_any_value() -> None:
    law_2(as_lines(session()), NAME)
    survives_cuts(as_lines(session()), NAME)
    survives_values(session(), NAME, lines_of)


@pytest.mark.parametrize(
    ("result", "sent"),
    [
        ({"output": "334\n", "durationMs": 27}, "Wall time: 0.027 seconds\n334\n"),
        ({"output": "no", "isError": True}, "<system>ERROR: Tool execution failed.</system>\nno"),
        ({"output": " ", "durationMs": 1500}, "Wall time: 1.500 seconds\n<system>Tool output is empty.</system>"),
        ({"output": [{"type": "text", "text": "a"}], "note": "n"}, "a\nn"),
        (
            {"output": [], "isError": True, "note": "n"},
            "<system>ERROR: Tool execution failed. Tool output is empty.</system>\nn",
        ),
    ],
)
def test_a_result_has_the_client_s_words_on_status_and_time(result: dict[str, Any], sent: str) -> None:
    late = event("tool.result", toolCallId="t2", result=result)
    use = event("tool.call", toolCallId="t2", name="Bash", args={})
    bodies = asked_after(request("1.1"), use, end("m-3", 0, 9, 9, 9), late)
    assert [json.loads(body)["content"] for body in bodies if b"tool_result" in body][-1] == sent


def test_the_time_of_other_tools_is_not_sent() -> None:
    late = event("tool.result", toolCallId="t2", result={"output": "x", "durationMs": 27})
    bodies = asked_after(
        request("1.1"), event("tool.call", toolCallId="t2", name="Read", args={}), end("m-3", 0, 9, 9, 9), late
    )
    assert [json.loads(body)["content"] for body in bodies if b"tool_result" in body][-1] == "x"


def test_parts_of_a_result_stay_parts() -> None:
    picture = {"type": "image_url", "imageUrl": {"url": "x"}}
    for result, texts in (
        ({"output": [picture], "isError": True}, ["<system>ERROR: Tool execution failed.</system>", None]),
        ({"output": [picture], "durationMs": 10, "note": "n"}, ["Wall time: 0.010 seconds", None, "n"]),
    ):
        late = event("tool.result", toolCallId="t2", result=result)
        use = event("tool.call", toolCallId="t2", name="Bash", args={})
        bodies = asked_after(request("1.1"), use, end("m-3", 0, 9, 9, 9), late)
        content = [json.loads(body)["content"] for body in bodies if b"tool_result" in body][-1]
        assert [part.get("text") for part in content] == texts
