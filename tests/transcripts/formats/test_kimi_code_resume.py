"""Sessions that Kimi Code can resume, held against a replay like the client's and against ctxtui's reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.errors import CtxtuiError
from ctxtui.transcripts.formats.kimi_code.resume import resume
from ctxtui.transcripts.formats.kimi_code.session import FAILED
from ctxtui.transcripts.kit.resume import OWN, UNANSWERED, ResumedFile, ResumeOrder, SentBlock
from tests.cases.kimi_code import Record, call, shop, state, text
from tests.transcripts.driving import read
from tests.transcripts.resuming import ids, path_of, words

STATE = "../../state.json"


def ordered(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = sent if sent is not None else [SentBlock(item, at) for at, item in enumerate(path)]
    given_ = {"beside": {STATE: state()}} | more
    return resume(ResumeOrder(source=data, path=path, sent=kept, ids=ids(), now=1e9, **given_))


def without(data: bytes, *gone: str, **more: Any) -> ResumedFile:
    path = path_of(read(data).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path) if not any(one in words(item) for one in gone)]
    return ordered(data, kept, **more)


def with_result(data: bytes, content: Any) -> ResumedFile:
    """With `content` in place of the first result's."""
    path = path_of(read(data).session)
    at = next(at for at, item in enumerate(path) if item.block.kind == "tool_result")
    new = Item(block.from_part({**path[at].block.value(), "content": content}), path[at].place)
    return ordered(data, [SentBlock(new if n == at else item, n) for n, item in enumerate(path)])


def records(made: ResumedFile) -> list[Record]:
    return [json.loads(line) for line in made.data.splitlines()]


def results(made: ResumedFile) -> list[Record]:
    return [one["event"]["result"] for one in records(made) if one.get("event", {}).get("type") == "tool.result"]


def replayed(made: ResumedFile) -> list[tuple[str, str]]:
    """(role, text) as the client makes them of the records, of messages that are not the client's own."""
    told: list[tuple[str, str]] = []
    step, pending = "", set()
    for one in records(made):
        event, message = one.get("event", {}), one.get("message")
        if message is not None:
            assert not pending, f"a message waits for results of {pending}"
            told += [("user", part["text"]) for part in message["content"]]
        match event.get("type"):
            case "step.begin":
                assert not step, "a step begins in a step"
                step = event["uuid"]
            case "step.end":
                assert event["uuid"] == step
                step = ""
            case "content.part":
                assert event["stepUuid"] == step
                told.append(("assistant", event["part"].get("text") or event["part"].get("think")))
            case "tool.call":
                assert event["stepUuid"] == step
                pending.add(event["toolCallId"])
            case "tool.result":
                pending.remove(event["toolCallId"])
                told.append(("tool", json.dumps(event["result"])))
    assert not step and not pending
    return told


def spoken(made: ResumedFile) -> list[str]:
    return [words_ for role, words_ in replayed(made) if role != "tool"]


def sent_texts(items: list[Item]) -> list[str]:
    kinds = ("text", "thinking")
    return [words(item) for item in items if item.place.section == "messages" and item.block.kind in kinds]


def shown(items: list[Item]) -> list[str]:
    return [f"{item.place.role} {words(item)}" for item in items if item.block.kind != HEADER]


def test_as_it_is_the_context_and_its_reports_are_the_same() -> None:
    data = shop().dump()
    made = ordered(data)
    before, after = read(data).session, read(made.data).session
    assert shown(path_of(after)) == shown(path_of(before)) and made.lost == ()
    assert [one.usage for one in after.calls.values()] == [one.usage for one in before.calls.values()]
    assert [one.id for one in after.calls.values()] == list(before.calls)
    assert made.name == f"{made.id}/agents/main/wire.jsonl" and made.id.startswith("session_")


def test_what_is_dropped_is_nowhere_and_an_unchanged_block_has_its_record() -> None:
    data = shop().dump()
    made = without(data, "question 2", "aside 2", "answer 2")
    assert b"question 2" not in made.data and b"answer 2" not in made.data
    turn = ("question", "hm", "aside", "answer")
    expected = [f"{one} {n}" for n in (1, 2, 3) for one in turn if n != 2 or one == "hm"]
    assert [one for one in spoken(made) if not one.startswith("<")] == expected
    old = [json.loads(line) for line in data.splitlines()]
    changed = ("turnId", "step", "stepUuid")
    kept = [
        ({key: value for key, value in one["event"].items() if key not in changed}, one["time"])
        for source in (old, records(made))
        for one in source
        if one.get("event", {}).get("type") in ("tool.call", "tool.result")
    ]
    assert kept[:6] == kept[6:]
    origins = [one["message"]["origin"]["kind"] for one in records(made) if "message" in one]
    assert origins == ["user", "injection", "user"]


def test_the_size_is_said_for_as_many_messages_as_there_are() -> None:
    made = without(shop().dump(), "question 2", input_tokens=2345, answer_tokens=17)
    calls = list(read(made.data).session.calls.values())
    assert [one.usage.input if one.usage else None for one in calls] == [900, 1800, None, None, None, None]
    assert calls[-1].estimated_input == 2345
    last = records(made)[-1]
    # Two prompts, a reminder, six answers, three results.
    assert (last["type"], last["length"], last["tokens"]) == ("token_counting.measured", 12, 2345 + 17)


def test_the_state_is_the_copys() -> None:
    made = ordered(shop(1).dump())
    told = json.loads(made.beside[STATE])
    assert told["id"] == made.id
    assert told["agents"] == {"main": {"type": "main"}}
    assert (told["cwd"], told["title"], told["custom"]) == ("/shop", "The shop", {"a": 1})


def test_without_a_state_it_says_that_the_client_does_not_find_the_copy() -> None:
    made = ordered(shop(1).dump(), beside={})
    assert made.beside == {} and "state.json" in made.lost[0]
    for damaged in (b"{", b"[" * 100_000):
        with pytest.raises(CtxtuiError, match=r"state\.json"):
            ordered(shop(1).dump(), beside={STATE: damaged})


def test_pictures_travel_along_and_those_that_are_dropped_do_not() -> None:
    script = shop(1)
    picture = {"type": "image_url", "imageUrl": {"url": "blobref:image/png;abc"}}
    script.user("look")
    script.answer(call("c9", [text("<image>"), picture]))
    script.answer(text("seen"))
    beside = {STATE: state(), "blobs/abc": b"png", "blobs/other": b"png"}
    assert set(ordered(script.dump(), beside=beside).beside) == {STATE, "blobs/abc"}
    assert set(without(script.dump(), "<image>", beside=beside).beside) == {STATE}


def test_a_shortened_result_is_sent_as_it_is() -> None:
    made = with_result(shop(1).dump(), "Wall time: 0.250 seconds\noutput 1 ...")
    assert results(made) == [{"output": "Wall time: 0.250 seconds\noutput 1 ..."}]
    assert "user Wall time: 0.250 seconds\noutput 1 ..." in shown(path_of(read(made.data).session))


def test_a_failed_result_stays_one() -> None:
    script = shop(1)
    script.user("again")
    script.answer(call("c9", "no such file", isError=True, durationMs=None))
    script.answer(text("it failed"))
    data = script.dump()
    path = path_of(read(data).session)
    at = next(at for at, item in enumerate(path) if "no such file" in words(item))
    short = {**path[at].block.value(), "content": "<system>ERROR: Tool execution failed.</system>\nno"}
    new = Item(block.from_part(short), path[at].place)
    made = ordered(data, [SentBlock(new if n == at else item, n) for n, item in enumerate(path)])
    assert results(made)[-1] == {"output": "no", "isError": True}
    assert f"user {short['content']}" in shown(path_of(read(made.data).session))


@pytest.mark.parametrize(
    ("output", "told", "content", "expected"),
    [
        ("", {}, "cleared", {"output": "cleared", "isError": True}),
        ([text("a"), text("b")], {}, None, {"output": [text("a")], "isError": True}),
        (
            "no such file",
            {"durationMs": 250},
            f"Wall time: 0.250 seconds\n{FAILED}\nno",
            {"output": "no", "isError": True, "durationMs": 250},
        ),
    ],
)
def test_a_changed_failed_result_stays_one(output: Any, told: Record, content: Any, expected: Record) -> None:
    script = shop(1)
    script.user("again")
    script.answer(call("c9", output, **{"isError": True, "durationMs": None} | told))
    script.answer(text("it failed"))
    path = path_of(read(script.dump()).session)
    at = max(at for at, item in enumerate(path) if item.block.kind == "tool_result")
    value = path[at].block.value()
    new = Item(block.from_part({**value, "content": content or value["content"][:-1]}), path[at].place)
    made = ordered(script.dump(), [SentBlock(new if n == at else item, n) for n, item in enumerate(path)])
    assert results(made)[-1] == expected
    copied = path_of(read(made.data).session)[at].block.value()
    assert copied["is_error"] is True and str(content or "a") in str(copied["content"])


def test_an_answer_before_the_only_change_keeps_its_report() -> None:
    script = shop(1)
    script.user("again")
    script.answer(call("c9", "a long result"))
    path = path_of(read(script.dump()).session)
    at = max(at for at, item in enumerate(path) if item.block.kind == "tool_result")
    new = Item(block.from_part({**path[at].block.value(), "content": "short"}), path[at].place)
    made = ordered(
        script.dump(), [SentBlock(new if n == at else item, n) for n, item in enumerate(path)], input_tokens=2345
    )
    before, after = read(script.dump()).session, read(made.data).session
    assert [one.usage for one in after.calls.values()] == [one.usage for one in before.calls.values()]


def test_a_message_without_its_first_part_keeps_its_record() -> None:
    script = shop(1)
    message = {"role": "user", "content": [text("first"), text("second")], "toolCalls": [], "origin": {"kind": "user"}}
    script.put("context.append_message", message=message)
    script.answer(text("seen"))
    made = without(script.dump(), "first")
    times = [
        one["time"]
        for source in (script.dump(), made.data)
        for one in map(json.loads, source.splitlines())
        if one["type"] == "context.append_message" and "second" in json.dumps(one)
    ]
    assert times[0] == times[1]


def test_a_compaction_and_an_undo_are_not_repeated() -> None:
    script = shop(2)
    script.put(
        "context.apply_compaction",
        contextSummary="So far.",
        summary="So far.",
        compactedCount=9,
        keptUserMessageCount=2,
    )
    script.user("question 3")
    script.answer(text("left"))
    script.put("agent.switched", base={"branch": "main", "line": 9}, branch="b1")
    script.put("context.undo", count=1)
    script.user("question 4")
    script.answer(text("answer 4"))
    made = without(script.dump(), "question 1")
    assert spoken(made) == ["question 2", "So far.", "question 4", "answer 4"]
    origins = [one["message"]["origin"]["kind"] for one in records(made) if "message" in one]
    assert origins == ["user", "compaction_summary", "user"]
    assert not any(one["type"].startswith(("context.apply", "context.undo", "agent.")) for one in records(made))


def test_a_text_of_the_responses_api_is_a_text() -> None:
    data = shop(1).dump()
    path = path_of(read(data).session)
    new = Item(block.from_part({"type": "input_text", "text": "Summary."}), Place("messages", "user"))
    made = ordered(data, [*(SentBlock(item, at) for at, item in enumerate(path)), SentBlock(new)])
    (message,) = [one["message"] for one in records(made) if b"Summary." in json.dumps(one).encode()]
    assert message["content"] == [text("Summary.")]


def test_what_is_put_in_is_written_as_the_client_writes_it() -> None:
    data = shop(1).dump()
    use = {"type": "tool_use", "id": "new", "name": "Bash", "input": {"command": "ls"}}
    answer = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "I look."}, use]
    result = {"type": "tool_result", "tool_use_id": "new", "content": [text("a.py")]}
    new = [SentBlock(Item(block.text("And now?"), Place("messages", "user")))]
    new += [SentBlock(Item(block.from_part(value), Place("messages", "assistant"))) for value in answer]
    new.append(SentBlock(Item(block.from_part(result), Place("messages", "user"))))
    made = ordered(data, [*(SentBlock(item, at) for at, item in enumerate(path_of(read(data).session))), *new])
    added = [one for one in records(made) if one.get("time") == 1e12 and one["type"] == "context.append_loop_event"]
    assert all(one["agentId"] == "main" for one in added)
    events = [one["event"] for one in added]
    assert [event["type"] for event in events] == [
        "step.begin",
        *["content.part"] * 2,
        "tool.call",
        "tool.result",
        "step.end",
    ]
    assert [event["part"] for event in events[1:3]] == [
        {"type": "think", "think": "hm", "encrypted": "c2ln"},
        text("I look."),
    ]
    called = {key: events[3][key] for key in ("toolCallId", "name", "args")}
    assert called == {"toolCallId": "new", "name": "Bash", "args": {"command": "ls"}}
    assert (events[4]["toolCallId"], events[4]["result"]) == ("new", {"output": [text("a.py")]})
    assert {event["uuid"] for event in (events[0], events[5])} == {event["stepUuid"] for event in events[1:4]}
    assert events[5]["finishReason"] == "end_turn" and (events[5]["turnId"], events[5]["step"]) == (
        events[0]["turnId"],
        events[0]["step"],
    )


def test_it_ends_after_the_answer() -> None:
    script = shop()
    script.user("and now?")
    data = script.dump()
    path = path_of(read(data).session)
    end = max(at for at, item in enumerate(path) if item.place.role == "assistant") + 1
    made = ordered(data, end=end)
    assert b"and now?" not in made.data and made.lost == (UNANSWERED,)


def test_a_rewind_ends_before_the_next_answer() -> None:
    data = shop().dump()
    session = read(data).session
    second = session.thread_calls()[2]
    path = list(session.tree.items(second.raw_head))
    sent = [SentBlock(item, at) for at, item in enumerate(path)]
    end = max(at for at, item in enumerate(path) if item.place.role == "assistant") + 1
    order = ResumeOrder(source=data, path=path, sent=sent, ids=ids(), now=1e9, until=second.line, end=end)
    assert [one for one in spoken(resume(order)) if not one.startswith("<")] == [
        "question 1",
        "hm 1",
        "aside 1",
        "answer 1",
    ]


def test_system_prompt_and_tools_are_the_clients() -> None:
    data = shop(1).dump()
    path = path_of(read(data).session)
    kept = [SentBlock(item, at) for at, item in enumerate(path) if item.place.section != "tools"]
    assert ordered(data, kept).lost == (OWN,)
    assert [item.place.section for item in path[:2]] == ["tools", "system"]


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(1, 4), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(drop: set[int], notes: set[int]) -> None:
    data = shop(5).dump()
    path = path_of(read(data).session)
    sent: list[SentBlock] = []
    turns = 0
    for at, item in enumerate(path):
        asked = item.block.kind == "text" and item.place == Place("messages", "user")
        turns += asked
        if asked and turns in notes:
            sent.append(SentBlock(Item(block.text(f"note {at}"), Place("messages", "user"))))
        if at not in drop or item.place.section != "messages" or item.block.kind in (HEADER, "tool_use", "tool_result"):
            sent.append(SentBlock(item, at))
    made = ordered(data, sent, input_tokens=777)
    assert shown(path_of(read(made.data).session)) == shown([one.item for one in sent])
    assert spoken(made) == sent_texts([one.item for one in sent])
