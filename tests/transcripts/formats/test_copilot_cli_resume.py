"""Copilot CLI's sessions written for it to resume, held against what the client makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.transcripts.formats.copilot_cli.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, SentBlock
from tests.cases.copilot_cli import ID, WORKSPACE, Script, shop
from tests.transcripts.driving import read
from tests.transcripts.resuming import changed, note, order, path_of, shown, some, whole, without


def made(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    return resume(order(data, sent, **more))


def records(file: ResumedFile) -> list[Any]:
    return [json.loads(line) for line in file.data.splitlines()]


def request(file: ResumedFile) -> list[tuple[str, Any]]:
    """(role, text) of what the client sends of the records, which it reads in the file's order."""
    sent: list[tuple[str, Any]] = []
    for record in records(file):
        data = record["data"]
        match record["type"]:
            case "user.message":
                sent.append(("user", data["transformedContent"]))
            case "assistant.message":
                sent += [("thinking", one["thinking"]) for one in data.get("reasoningBlocks", {}).get("blocks", [])]
                sent += [("assistant", data["content"])] if data["content"] else []
                sent += [("call", (one["toolCallId"], one["arguments"]["command"])) for one in data["toolRequests"]]
            case "tool.execution_complete":
                text = data["result"]["content"] if data["success"] else data["error"]["message"]
                sent.append(("result", (data["toolCallId"], text)))
            case "session.compaction_complete":
                asked = [text for role, text in sent if role == "user"]
                sent = [("summary", (asked, data["summaryContent"]))]
    return sent


def linked(file: ResumedFile) -> bool:
    """Whether each record is the child of the one before."""
    found = records(file)
    ids = [record["id"] for record in found]
    return len(set(ids)) == len(ids) and [record["parentId"] for record in found] == [None, *ids[:-1]]


def test_as_it_is_only_its_id_and_the_marks_of_copies_are_new_and_sums_are_gone() -> None:
    script = shop()
    file = made(script.dump())
    assert file.lost == () and file.name == f"{file.id}/events.jsonl" and linked(file)
    script.records[0]["data"]["sessionId"] = file.id
    marked = [
        record | {"copiedBy": "ctxtui"} if record["type"] in ("assistant.message", "session.usage_record") else record
        for record in script.records[:-1]
    ]
    assert records(file) == marked


def test_its_title_says_that_it_is_a_curated_one() -> None:
    file = made(shop().dump(), beside={"workspace.yaml": WORKSPACE.encode()})
    written = yaml.safe_load(file.beside["workspace.yaml"])
    assert written == yaml.safe_load(WORKSPACE) | {"id": file.id, "name": "Mend the shop: it's broken (curated)"}


@pytest.mark.parametrize("text", [b"", b"\xff: [", b"- a", b"id: a\n", b"id: a\nname: >-\n  folded\n  name\n"])
def test_a_description_that_is_not_understood_is_left_to_the_client(text: bytes) -> None:
    assert made(shop().dump(), beside={"workspace.yaml": text}).beside == {}


def test_a_dropped_call_is_nowhere_and_neither_is_later_usage() -> None:
    data = shop().dump()
    file = made(data, without(data, '"t2"'))
    assert b'"t2"' not in file.data and b"output 2" not in file.data and file.lost == () and linked(file)
    assert ("assistant", "I look, 2.") in request(file) and ("thinking", "hm 2") in request(file)
    usage = [record["data"]["usage"]["apiCallId"] for record in records(file) if "usage_record" in record["type"]]
    assert usage == ["a1", "b1", "a2"], "the request of the changed answer was as it is"
    calls = list(read(file.data).session.calls.values())
    assert [call.id for call in calls] == ["a1", "b1", "a2", "b2", "a3", "b3"] and all(call.is_copy for call in calls)


def test_a_dropped_answer_takes_its_usage_along_and_thinking_all_of_its_forms() -> None:
    data = shop(2).dump()
    file = made(data, without(data, "It is 1."))
    assert b"b1" not in file.data
    thoughtless = made(data, without(data, "hm 1"))
    assert b"hm 1" not in thoughtless.data and ("thinking", "hm 2") in request(thoughtless)


def test_texts_results_errors_and_arguments_are_changed_where_they_are() -> None:
    script = Script()
    script.ask("Which?")
    script.answer("a", "I look.", "t1", "t2")
    script.result("t1", "a.py")
    script.add("tool.execution_complete", toolCallId="t2", success=False, error={"message": "denied", "code": "x"})
    script.answer("b", "a.py")

    def shorten(value: Any) -> Any:
        if value["type"] == "tool_use":
            return {**value, "input": {"command": "less"}}
        if value["type"] == "tool_result":
            return {**value, "content": "short"}
        return {**value, "text": value["text"].upper()} if value["text"] != "You are a CLI." else None

    file = made(script.dump(), changed(script.dump(), shorten))
    assert request(file) == [
        ("user", "<NOW/>\n\nWHICH?"),
        ("assistant", "I LOOK."),
        ("call", ("t1", "less")),
        ("call", ("t2", "less")),
        ("result", ("t1", "short")),
        ("result", ("t2", "short")),
        ("assistant", "A.PY"),
    ]
    assert b"a.py" not in file.data and file.lost == ()
    assert records(file)[-2]["data"]["error"] == {"message": "short", "code": "x"}


def test_a_picture_in_a_changed_result_is_named() -> None:
    data = shop(1).dump()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
    shown_ = changed(data, lambda v: {**v, "content": [picture]} if v["type"] == "tool_result" else None)
    assert made(data, shown_).lost == ("an image or a document in a new or changed block",)


def test_a_note_is_a_record_of_its_own_where_it_was_put() -> None:
    data = shop(2).dump()
    sent = whole(data)
    at = next(n for n, one in enumerate(sent) if b"question 2" in one.item.block.body) - 1
    file = made(data, [*sent[:at], note("Mind the gap."), *sent[at:], note("Well.", "assistant")])
    found = request(file)
    assert found[found.index(("user", "Mind the gap.")) - 1] == ("assistant", "It is 1.") and linked(file)
    assert found[-1] == ("assistant", "Well.") and records(file)[-1]["data"]["model"] == "gpt-5"
    assert all(call.is_copy for call in read(file.data).session.calls.values())


def test_it_ends_after_the_last_answer_and_keeps_its_title() -> None:
    script = shop(1)
    script.ask("and now?")
    script.add("session.title_changed", title="Mend")
    data = script.dump()
    end = max(n for n, one in enumerate(whole(data)) if one.item.place.role == "assistant") + 1
    file = made(data, end=end)
    assert b"and now?" not in file.data and "after the last answer" in file.lost[0]
    assert records(file)[-1]["type"] == "session.title_changed" and linked(file)


def compacted() -> bytes:
    script = shop(1)
    script.add("session.compaction_complete", success=True, summaryContent="so far: 1", preCompactionTokens=9000)
    script.ask("On.")
    script.answer("c", "Well.")
    return script.dump()


def test_a_summary_is_changed_in_its_record_and_what_it_replaced_does_not_come_back() -> None:
    data = compacted()
    after = [("user", "<now/>\n\nOn."), ("assistant", "Well.")]
    assert request(made(data)) == [("summary", (["<now/>\n\nquestion 1"], "so far: 1")), *after]
    shorter = made(data, changed(data, lambda v: {**v, "text": "short"} if v["text"] == "so far: 1" else None))
    assert request(shorter) == [("summary", (["<now/>\n\nquestion 1"], "short")), *after]
    gone = made(data, without(data, "so far"))
    assert request(gone) == after and b"output 1" not in gone.data and linked(gone)


def test_a_subagents_records_go_with_its_call_and_are_no_part_of_the_context() -> None:
    script = Script()
    script.ask("Find it.")
    script.answer("a", "I send somebody.", "t1")
    script.add("subagent.started", toolCallId="t1", agentName="explore")
    script.answer("s", "It is 1.", parentToolCallId="t1")
    script.result("t1", "found")
    script.answer("b", "It is 1.")
    data = script.dump()
    assert b'"s"' in made(data).data
    gone = made(data, without(data, '"t1"'))
    assert b"explore" not in gone.data and b'"apiCallId":"s"' not in gone.data
    assert request(gone) == [
        ("user", "<now/>\n\nFind it."),
        ("assistant", "I send somebody."),
        ("assistant", "It is 1."),
    ]


def test_what_a_resumed_session_adds_is_counted_and_its_copies_are_not() -> None:
    data = shop(1).dump()
    written = records(made(data, without(data, "question 1")))
    more = Script()
    more.answer("z", "More.", used=70)
    # The client's sums are of all usage records in the file.
    usage = {"inputTokens": 70, "outputTokens": 9, "cacheReadTokens": 0, "cacheWriteTokens": 0}
    more.add("session.shutdown", modelMetrics={"gpt-5": {"requests": {"count": 1}, "usage": usage}})
    lines = [json.dumps(record).encode() for record in [*written, *more.records[2:]]]
    found = read(b"\n".join(lines) + b"\n").session
    assert [(call.id, call.is_copy, call.usage and call.usage.input) for call in found.calls.values()] == [
        ("a1", True, None),
        ("b1", True, None),
        ("z", False, 70),
    ]


def test_a_cut_file_says_what_is_lost() -> None:
    data = shop(2).dump()
    file = made(data[: data.index(b"It is 2")])
    assert any("cut last line" in line for line in file.lost) and ("assistant", "It is 1.") in request(file)
    assert ID.encode() not in file.data


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(1, 8), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(drop: set[int], notes: set[int]) -> None:
    data = shop(4).dump()
    sent = some(data, drop, notes)
    file = made(data, sent)
    # The client writes the system prompt itself.
    assert shown(path_of(read(file.data).session))[1:] == shown([one.item for one in sent if one.at != 0])
    assert linked(file)
