"""Qwen Code: a tree of records, compaction, subagents, branches; figures as they went over the wire."""

from __future__ import annotations

from typing import Any

from ctxtui.core.call import WINDOW
from ctxtui.core.tree import ROOT
from tests.transcripts.reading import as_lines, calls, law_2, lines_of, read, shown, survives_cuts, survives_values

NAME = "chat.jsonl"


def record(id_: str, parent: str | None, kind: str, *parts: Any, **more: Any) -> Any:
    role = "model" if kind == "assistant" else "user"
    message = {"message": {"role": role, "parts": list(parts)}} if parts else {}
    own = {"sessionId": "s-1", "cwd": "/home/dev/shop", "version": "0.24.4", "timestamp": "2026-11-28T22:04:44.648Z"}
    return {"uuid": id_, "parentUuid": parent, "type": kind, **own, **message, **more}


def used(prompt: int, said: int, read_: int = 0, thoughts: int = 0, apart: int = 0) -> dict[str, Any]:
    report = {"promptTokenCount": prompt, "candidatesTokenCount": said, "cachedContentTokenCount": read_}
    report |= {"thoughtsTokenCount": thoughts, "totalTokenCount": prompt + said + apart}
    return {"model": "qwen3-coder-plus", "usageMetadata": report, "contextWindowSize": 131072}


FAILED = {"uiEvent": {"event.name": "qwen-code.api_error", "error_message": "busy"}}


def chat() -> list[Any]:
    call = {"functionCall": {"id": "c1", "name": "ls", "args": {"path": "."}}}
    answer = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a.py"}}}
    return [
        record("r1", None, "user", {"text": "Which files?"}),
        record("r2", "r1", "system", subtype="ui_telemetry", systemPayload=FAILED),
        record("r3", "r2", "assistant", {"text": "hm", "thought": True}, call, **used(100, 9, 40, 4)),
        record("r4", "r3", "tool_result", answer),
        record("r5", "r4", "assistant", {"text": "a.py"}, **used(130, 3, 90)),
    ]


def test_calls_and_usage() -> None:
    session = read(as_lines(chat()), NAME)
    first, second = calls(session)
    assert (first.id, first.model, first.extra[WINDOW]) == ("r3", "qwen3-coder-plus", 131072)
    assert first.usage and (first.usage.fresh, first.usage.cache_read) == (60, 40)
    assert (first.usage.output, first.usage.reasoning) == (9, 4), "other makers count thoughts in the answer"
    assert second.usage and second.usage.input == 130
    kinds = ["header", "text", "header", "thinking", "tool_use", "header", "tool_result"]
    assert [kind for _, _, kind in shown(session, second.raw_head)] == kinds
    assert (session.about.id, session.about.cwd, session.about.title) == ("s-1", "/home/dev/shop", "Which files?")
    assert [(one.kind, one.text) for one in session.happenings] == [("api error", "busy")]


def test_an_error_at_the_end_names_the_call_before_it() -> None:
    failed = record("r6", "r5", "system", subtype="ui_telemetry", systemPayload=FAILED)
    assert [one.after for one in read(as_lines([*chat(), failed]), NAME).happenings] == ["", "r5"]


def test_thoughts_that_google_counts_apart() -> None:
    (call,) = calls(read(as_lines([record("r1", None, "assistant", {"text": "x"}, **used(10, 3, 0, 4, 4))]), NAME))
    assert call.usage and (call.usage.output, call.usage.reasoning) == (7, 4)


def test_a_report_of_zeros_is_none() -> None:
    (call,) = calls(read(as_lines([record("r1", None, "assistant", {"text": "x"}, **used(0, 0))]), NAME))
    assert call.usage is None and call.is_partial


def test_a_rewind_goes_on_from_an_earlier_record() -> None:
    again = [record("r6", "r1", "system", subtype="rewind"), record("r7", "r6", "user", {"text": "Stop."})]
    session = read(as_lines([*chat(), *again, record("r8", "r7", "assistant", {"text": "ok"}, **used(110, 1))]), NAME)
    last = calls(session)[-1]
    assert [kind for _, _, kind in shown(session, last.raw_head)] == ["header", "text", "header", "text"]
    anew = read(as_lines([*chat(), record("r6", None, "assistant", {"text": "hi"}, **used(9, 1))]), NAME)
    assert calls(anew)[-1].raw_head == ROOT


def test_a_compaction_begins_with_what_it_kept() -> None:
    history = [{"role": "user", "parts": [{"text": "So far: a.py"}]}, {"role": "model", "parts": [{"text": "Yes."}]}]
    packed = record("r6", "r5", "system", subtype="chat_compression", systemPayload={"compressedHistory": history})
    rest = [record("r7", "r6", "user", {"text": "On."}), record("r8", "r7", "assistant", {"text": "ok"}, **used(50, 1))]
    session = read(as_lines([*chat(), packed, *rest]), NAME)
    last = calls(session)[-1]
    assert last.epoch.start == "compaction" and last.epoch.number == 2
    assert [kind for _, _, kind in shown(session, last.raw_head)] == ["header", "text"] * 3


def test_subagents_branches_and_titles() -> None:
    agent = {"agentId": "explore-1", "agentName": "Explore", "isSidechain": True}
    copied = {"forkedFrom": {"sessionId": "s-0", "messageUuid": "p-3"}}
    more = [
        record("a1", None, "user", {"text": "Look."}, **agent),
        record("a2", "a1", "assistant", {"text": "Seen."}, **used(20, 2), **agent),
        record("r6", "r5", "assistant", {"text": "more"}, **used(140, 2), **copied),
        record("r7", "r6", "system", subtype="custom_title", systemPayload={"customTitle": "Files"}),
    ]
    session = read(as_lines([*chat(), *more]), NAME)
    assert [call.id for call in calls(session)] == ["r3", "r5", "p-3"] and session.about.title == "Files"
    assert [call.id for call in calls(session, "explore-1")] == ["a2"]
    assert session.threads["explore-1"].label == "Explore"


def test_any_chunking_any_cut_any_value() -> None:
    law_2(as_lines(chat()), NAME)
    survives_cuts(as_lines(chat()), NAME)
    survives_values(chat(), NAME, lines_of)
