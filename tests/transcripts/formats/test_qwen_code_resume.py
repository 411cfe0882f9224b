"""Chats that Qwen Code can resume, held against a walk like the client's and against ctxtui's reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.transcripts.formats.qwen_code.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock
from tests.cases.qwen_code import Record, Script, call, shop, text
from tests.transcripts.driving import read
from tests.transcripts.resuming import ids, path_of, shown, words

FIRST = "00000001-0000-4000-8000-000000000001"


def ordered(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = sent if sent is not None else [SentBlock(item, at) for at, item in enumerate(path)]
    made = resume(ResumeOrder(source=data, path=path, sent=kept, ids=ids(), now=1e9, **more))
    assert {one["sessionId"] for one in records(made)} == {made.id}
    return made


def without(data: bytes, *gone: str, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path) if not any(one in words(item) for one in gone)]
    return ordered(data, kept, **more)


def with_result(data: bytes, content: Any) -> ResumedFile:
    """With `content` in place of the first result's."""
    path = path_of(read(data).session)
    at = next(at for at, item in enumerate(path) if item.block.kind == "tool_result")
    value = {**path[at].block.value(), "content": content}
    new = Item(block.from_part(value), path[at].place)
    return ordered(data, [SentBlock(new if n == at else item, n) for n, item in enumerate(path)])


def records(made: ResumedFile) -> list[Record]:
    return [json.loads(line) for line in made.data.splitlines()]


def history(made: ResumedFile) -> list[Record]:
    """The contents that the client resumes with: from the last record up, a compaction's instead of those before it."""
    found = {one["uuid"]: one for one in records(made)}
    assert len(found) == len(records(made)), "a uuid stands twice"
    chain: list[Record] = []
    at: str | None = records(made)[-1]["uuid"]
    while at is not None:
        chain.insert(0, found[at])
        at = found[at]["parentUuid"]
    told: list[Record] = []
    for one in chain:
        if one.get("subtype") == "chat_compression":
            told = list(one["systemPayload"]["compressedHistory"])
        elif "message" in one:
            told.append(one["message"])
    return told


def texts(made: ResumedFile) -> list[str]:
    return [part["text"] for one in history(made) for part in one["parts"] if "text" in part]


def test_as_it_is_only_the_session_is_another() -> None:
    data = shop().dump()
    made = ordered(data)
    renamed = made.data.replace(FIRST.encode(), b"0ld").replace(b',"copiedBy":"ctxtui"', b"")
    assert [json.loads(line) for line in renamed.splitlines()] == [json.loads(line) for line in data.splitlines()]
    assert made.id == FIRST and made.name == f"{FIRST}.jsonl" and made.lost == ()


def test_what_is_dropped_is_in_no_message_and_title_and_telemetry_stay() -> None:
    made = without(shop().dump(), "question 2", "aside 2", "answer 2")
    assert texts(made) == [
        "question 1",
        "hm 1",
        "aside 1",
        "answer 1",
        "hm 2",
        "question 3",
        "hm 3",
        "aside 3",
        "answer 3",
    ]
    session = read(made.data).session
    assert session.about.title == "The shop"
    assert [one["subtype"] for one in records(made) if "subtype" in one] == ["ui_telemetry"] * 3 + ["custom_title"]


def test_what_is_put_in_is_a_record_of_its_side_with_the_members_of_its_neighbour() -> None:
    data = shop(1).dump()
    sent = [SentBlock(item, at) for at, item in enumerate(path_of(read(data).session))]
    note = SentBlock(Item(block.text("Mind the gap."), Place("messages", "user")))
    answers = [SentBlock(Item(block.text(role), Place("messages", role))) for role in ("model", "assistant")]
    made = ordered(data, [*sent, answers[0], note, answers[1]])
    new = {"timestamp": "2001-09-09T01:46:40.000Z", "cwd": "/shop", "version": "0.24.4", "sessionId": made.id}
    added = [{key: value for key, value in one.items() if "uuid" not in key.lower()} for one in records(made)[-3:]]
    assert added == [
        {**new, "type": "assistant", "message": {"role": "model", "parts": [text("model")]}, "copiedBy": "ctxtui"},
        {**new, "type": "user", "message": {"role": "user", "parts": [text("Mind the gap.")]}},
        {**new, "type": "assistant", "message": {"role": "model", "parts": [text("assistant")]}, "copiedBy": "ctxtui"},
    ]


def test_the_last_answers_size_is_an_estimate() -> None:
    made = without(shop().dump(), "question 2", input_tokens=2345, answer_tokens=17)
    calls = list(read(made.data).session.calls.values())
    assert [one.usage.input if one.usage else None for one in calls] == [900, 1000, None, None, None, None]
    assert calls[-1].estimated_input == 2345
    last = next(one for one in reversed(records(made)) if one["type"] == "assistant")
    estimate = {"promptTokenCount": 2345, "candidatesTokenCount": 40, "totalTokenCount": 2345 + 40}
    assert last["usageMetadata"] == {**estimate, "estimated_by": "ctxtui"}


def test_without_the_last_answer_the_one_before_has_the_size() -> None:
    made = without(shop().dump(), "question 2", "aside 3", "answer 3", input_tokens=2345)
    assert [call.estimated_input for call in read(made.data).session.calls.values()] == [None] * 4 + [2345]


def test_of_a_result_the_client_sends_the_text() -> None:
    made = with_result(shop(1).dump(), "output 1 ...")
    (result,) = [one for one in records(made) if one["type"] == "tool_result"]
    answer = {"id": "c1", "name": "ls", "response": {"output": "output 1 ..."}}
    assert result["message"]["parts"] == [{"functionResponse": answer}]
    assert result["toolCallResult"] == {"callId": "c1", "status": "success", "resultDisplay": "output 1 ..."}
    assert b"output 1 output 1" not in made.data
    assert "user tool_result output 1 ..." in shown(path_of(read(made.data).session))


def test_a_failed_result_with_a_picture() -> None:
    script = Script()
    script.user("look")
    script.answer(call("c1"))
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    script.result("c1", "cannot read on", key="error", parts=[picture])
    script.answer(text("seen"))
    made = ordered(script.dump())
    path = path_of(read(made.data).session)
    (result,) = [item.block.value() for item in path if item.block.kind == "tool_result"]
    assert [part["type"] for part in result["content"]] == ["text", "image"]
    shorter = with_result(script.dump(), [{"type": "text", "text": "cannot"}, result["content"][1]])
    (answer,) = [
        part["functionResponse"] for one in history(shorter) for part in one["parts"] if "functionResponse" in part
    ]
    assert answer["response"] == {"error": "cannot"} and answer["parts"] == [picture]
    gone = with_result(script.dump(), "cannot")
    assert b"inlineData" not in gone.data


@pytest.mark.parametrize("gone", ["So far", "Yes.", "question 2"])
def test_edits_of_a_compactions_history(gone: str) -> None:
    script = shop(1)
    kept = [{"role": "user", "parts": [text("So far"), text("and on")]}, {"role": "model", "parts": [text("Yes.")]}]
    script.compaction(*kept, "a bare text")
    script.user("question 2")
    script.answer(text("answer 2"))
    made = without(script.dump(), gone)
    expected = ["So far", "and on", "Yes.", "a bare text", "question 2", "answer 2"]
    told = [part["text"] for one in history(made) if isinstance(one, dict) for part in one["parts"]]
    assert told == [one for one in expected if one not in (gone, "a bare text")]
    assert shown(path_of(read(made.data).session))[-1] == "model text answer 2"


def test_an_emptied_compaction_still_replaces_what_was_before() -> None:
    script = shop(1)
    script.compaction({"role": "user", "parts": [text("So far")]})
    script.user("question 2")
    script.answer(text("answer 2"))
    made = without(script.dump(), "So far")
    assert texts(made) == ["question 2", "answer 2"]
    (compaction,) = [one["systemPayload"] for one in records(made) if one.get("subtype") == "chat_compression"]
    assert compaction == {"info": {"newTokenCount": 300}, "compressedHistory": []}


def test_it_ends_after_the_answer_and_keeps_the_title() -> None:
    script = shop()
    script.user("and now?")
    data = script.dump()
    path = path_of(read(data).session)
    end = max(at for at, item in enumerate(path) if item.place.role == "model") + 1
    made = ordered(data, end=end)
    assert b"and now?" not in made.data and "after the last answer" in made.lost[0]
    assert read(made.data).session.about.title == "The shop"


def test_the_same_words_in_a_branch_that_was_left_stay() -> None:
    script = Script()
    script.user("go on")
    first = script.answer(text("one"))
    script.user("go on")
    script.answer(text("left"))
    script.tip = first
    script.user("stop")
    script.answer(text("two"))
    made = without(script.dump(), "go on")
    assert texts(made) == ["one", "stop", "two"]


@pytest.mark.parametrize("subtype", ["session_source", "parent_session", "session_sources_snapshot", "turn_result"])
def test_what_says_where_the_session_comes_from_is_not_the_copys(subtype: str) -> None:
    script = Script()
    script.put("system", subtype=subtype, systemPayload={"sourceType": "side_task"})
    script.user("question")
    script.answer(text("answer"))
    made = ordered(script.dump())
    assert texts(made) == ["question", "answer"] and b"side_task" not in made.data
    assert records(made)[-1]["usageMetadata"]["promptTokenCount"] == 900


def test_an_agents_records_are_not_the_sessions() -> None:
    script = shop(1)
    tip = script.tip
    script.tip = None
    own = script.put("user", message={"role": "user", "parts": [text("question 1")]}, agentId="explore-1")
    script.tip = tip
    found = records(without(script.dump(), "question 1"))
    assert [one["uuid"] for one in found if b"question 1" in json.dumps(one).encode()] == [own]


def test_a_result_names_its_tool_as_the_api_requires() -> None:
    data = shop(1).dump()
    sent = [SentBlock(item, at) for at, item in enumerate(path_of(read(data).session))]
    (at,) = [at for at, (item, _) in enumerate(sent) if item.block.kind == "tool_result"]
    shorter = block.from_part({"type": "tool_result", "tool_use_id": "c1", "content": "short"})
    sent[at] = SentBlock(Item(shorter, sent[at].item.place), at)
    use = {"type": "tool_use", "id": "new", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "new", "content": "seen"}
    for value, role in ((use, "assistant"), (result, "user")):
        sent.append(SentBlock(Item(block.from_part(value), Place("messages", role))))
    parts = [part for one in records(ordered(data, sent)) for part in one.get("message", {}).get("parts", ())]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    named, given = ({one["id"]: one["name"] for one in side} for side in (calls, results))
    assert given == named == {**named, "new": "look"}


def test_an_agents_answer_at_the_end_is_not_the_sessions_last() -> None:
    script = shop(2)
    tip, script.tip = script.tip, None
    side = script.put("user", message={"role": "user", "parts": [text("agent q")]}, agentId="explore-1")
    script.answer(text("agent a"), prompt=70)
    script.records[-1]["agentId"] = "explore-1"
    data = script.dump()
    path = path_of(read(data).session)
    note = SentBlock(Item(block.text("note"), Place("messages", "user")))
    kept = [SentBlock(item, at) for at, item in enumerate(path) if "question 1" not in words(item)]
    made = ordered(data, [*kept, note], input_tokens=777)
    assert texts(made)[-2:] == ["answer 2", "note"] and "agent q" not in texts(made)
    found = {one["uuid"]: one for one in records(made)}
    assert records(made)[-1]["parentUuid"] == tip
    prompts = [one["usageMetadata"].get("promptTokenCount") for one in records(made) if "usageMetadata" in one]
    assert prompts == [None, None, None, 777, 70] and found[side]["parentUuid"] is None


def test_a_text_appended_to_a_shortened_branch_does_not_continue_the_one_that_was_left() -> None:
    script = Script()
    script.user("go on")
    first = script.answer(text("one"))
    script.user("left")
    script.tip = first
    script.user("stop")
    data = script.dump()
    path = path_of(read(data).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path) if words(item) != "stop"]
    made = ordered(data, [*kept, SentBlock(Item(block.text("note"), Place("messages", "user")))])
    assert texts(made) == ["go on", "one", "note"]
    assert texts(ordered(data, kept)) == ["go on", "one"]


def test_a_session_that_ends_before_its_last_prompt_does_not_continue_the_branch_that_was_left() -> None:
    script = Script()
    script.user("go on")
    first = script.answer(text("one"))
    script.user("left")
    script.answer(text("left, too"))
    script.tip = first
    script.user("and now?")
    script.tip = None
    script.put("user", message={"role": "user", "parts": [text("agent q")]}, agentId="explore-1")
    data = script.dump()
    made = ordered(data, end=len(path_of(read(data).session)) - 1)
    told = [one["message"]["parts"][0]["text"] for one in records(made) if not one.get("agentId")]
    assert told == ["go on", "one"] and b"agent q" in made.data
    (lost,) = made.lost
    assert "after the last answer" in lost and "times" not in lost


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(1, 4), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(drop: set[int], notes: set[int]) -> None:
    data = shop(5).dump()
    path = path_of(read(data).session)
    sent: list[SentBlock] = []
    turns = 0
    for at, item in enumerate(path):
        asked = item.block.kind == "text" and item.place.role == "user"
        turns += asked
        if asked and turns in notes:
            sent.append(SentBlock(Item(block.text(f"note {at}"), Place("messages", "user"))))
        if at not in drop or item.block.kind in (HEADER, "tool_use", "tool_result"):
            sent.append(SentBlock(item, at))
    made = ordered(data, sent, input_tokens=777)
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in sent])
    assert texts(made) == [words(item) for item, _ in sent if item.block.kind in ("text", "thinking")]
