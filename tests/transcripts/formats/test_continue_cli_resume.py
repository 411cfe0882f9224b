"""Continue's sessions written for its CLI to resume, held against what the client makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core.block import Item, Place, from_part
from ctxtui.core.call import IN_ALL
from ctxtui.transcripts.formats.continue_cli.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock
from tests.cases.continue_cli import answer, dump, session, shop, user
from tests.transcripts.driving import read
from tests.transcripts.resuming import NOW, changed, ids, note, order, path_of, shown, some, whole, without

OUTPUT = {"name": "Tool Result", "description": "Tool execution result"}


def made(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    return resume(order(data, sent, **more))


def history(file: ResumedFile) -> list[Any]:
    found: list[Any] = json.loads(file.data)["history"]
    return found


def request(file: ResumedFile) -> list[tuple[str, str]]:
    """(role, text) of the messages that the client makes of a history, as its `convertFromUnifiedHistory` does."""
    items, found = history(file), []
    first = next((n for n, item in enumerate(items) if "conversationSummary" in item), 0)
    for item in items[first:]:
        message = item["message"]
        attached = "".join(f"<context name={one['name']}>{one['content']}" for one in item["contextItems"])
        found.append((message["role"], attached + str(message["content"])))
        found += [("call", f"{call['id']} {call['function']['arguments']}") for call in message.get("toolCalls", [])]
        for state in item.get("toolCallStates", []):
            outputs = [one["content"] for one in state.get("output") or []]
            found.append(("tool", f"{state['toolCallId']} " + "\n".join(outputs) if outputs else "Tool cancelled"))
    return found


def test_as_it_is_only_its_id_and_the_mark_of_copies_are_new() -> None:
    value = shop()
    file = made(dump(value))
    written = json.loads(file.data)
    assert file.lost == () and file.name == f"{file.id}.json" and written["sessionId"] == file.id != value["sessionId"]
    items = [{key: part for key, part in item.items() if key != "copiedBy"} for item in written["history"]]
    assert items == value["history"] and (written["title"], written["mode"]) == ("Mend the shop", "agent")
    assert "usage" not in written, "nothing is spent in it"
    assert [item.get("copiedBy") for item in written["history"][:3]] == [None, "ctxtui", "ctxtui"]


def test_a_dropped_call_is_nowhere_and_later_answers_have_no_report() -> None:
    file = made(dump(shop()), without(dump(shop()), "do call_2"))
    assert b"call_2" not in file.data and b"output 2" not in file.data and file.lost == ()
    assert ("assistant", "I look, 2.") in request(file)
    reports = [item["message"]["usage"] for item in history(file) if item["message"]["role"] == "assistant"]
    assert [one.get("prompt_tokens") for one in reports] == [1000, 1500, 2000, None, None, None]
    calls = list(read(file.data).session.calls.values())
    assert all(call.model == "gpt-5" and call.is_copy for call in calls)
    assert [call.usage is None for call in calls] == [False, False, False, True, True, True]


def test_texts_results_arguments_and_attached_files_are_changed_where_they_are() -> None:
    data = dump(shop(1))

    def shorten(value: Any) -> Any:
        if value["type"] == "tool_use":
            return {**value, "input": {"command": "do less"}}
        if value["type"] == "tool_result":
            return {**value, "content": "short"}
        return {**value, "text": value["text"].upper()}

    file = made(data, changed(data, shorten))
    assert request(file) == [
        ("user", "<context name=0.py>FILE 1QUESTION 1"),
        ("assistant", "I LOOK, 1."),
        ("call", 'call_1 {"command":"do less"}'),
        ("tool", "call_1 short"),
        ("assistant", "IT IS 1."),
    ]
    assert history(file)[0]["editorState"] == "QUESTION 1" and file.lost == ()
    (call,), (state,) = history(file)[1]["message"]["toolCalls"], history(file)[1]["toolCallStates"]
    assert call == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "Bash", "arguments": '{"command":"do less"}'},
    }
    assert state["output"] == [{**OUTPUT, "content": "short"}] and state["status"] == "done"


def test_a_result_that_was_cancelled_is_changed_to_one_with_an_output() -> None:
    value = shop(2)
    del value["history"][1]["toolCallStates"][0]["output"]
    data = dump(value)
    later = changed(data, lambda part: {**part, "content": "late"} if part.get("content") == "Tool cancelled" else None)
    assert history(made(data, later))[1]["toolCallStates"][0]["output"] == [{**OUTPUT, "content": "late"}]


def test_a_call_that_is_put_in_has_its_result_in_its_item() -> None:
    data = dump(shop(1))
    use = {"type": "tool_use", "id": "new", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "new", "content": "no", "is_error": True}
    new = [(use, "assistant"), (result, "user"), ({**result, "tool_use_id": "gone", "content": "lost"}, "user")]
    sent = [*whole(data), *(SentBlock(Item(from_part(value), Place("messages", role))) for value, role in new)]
    *_, asked, rest = history(made(data, sent))
    call = {"id": "new", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
    state = {"toolCallId": "new", "toolCall": call, "status": "errored", "parsedArgs": {"command": "ls"}}
    state["output"] = [{**OUTPUT, "content": "no"}]
    message = {"role": "assistant", "content": "", "toolCalls": [call]}
    assert asked == {"message": message, "contextItems": [], "copiedBy": "ctxtui", "toolCallStates": [state]}
    assert rest == {"message": {"role": "user", "content": "lost"}, "contextItems": []}


def test_a_picture_stays_and_a_text_beside_it_goes() -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}]
    data = dump(session(user(parts), answer("I see.", 900)))
    assert history(made(data, without(data, "look")))[0]["message"]["content"] == parts[1:]
    moved = [one for one in whole(data) if one.item.block.kind == "image_url"]
    sent = [*(one for one in whole(data) if one not in moved), SentBlock(moved[0].item)]
    assert history(made(data, sent))[-1]["message"] == {"role": "user", "content": parts[1:]}


def test_a_note_is_an_item_of_its_own_where_it_was_put() -> None:
    data = dump(shop(2))
    sent = whole(data)
    at = next(n for n, one in enumerate(sent) if b"file 2" in one.item.block.body) - 1
    file = made(data, [*sent[:at], note("Mind the gap."), *sent[at:], note("Well.", "assistant")])
    found = request(file)
    assert found[found.index(("user", "Mind the gap.")) - 1] == ("assistant", "It is 1.")
    assert found[-1] == ("assistant", "Well.") and history(file)[-1]["copiedBy"] == "ctxtui"


def test_it_ends_after_the_last_answer() -> None:
    value = shop(2)
    value["history"].append(user("and now?"))
    data = dump(value)
    end = max(n for n, one in enumerate(whole(data)) if one.item.place.role == "assistant") + 1
    file = made(data, end=end)
    assert b"and now?" not in file.data and "after the last answer" in file.lost[0]


def test_a_rewind_ends_where_its_call_does_also_where_texts_repeat() -> None:
    turns = [[user("go on"), answer("ok", 100 * n)] for n in range(1, 4)]
    data = dump(session(*(item for turn in turns for item in turn), user("go on")))
    path = path_of(read(data).session)
    answers = [n for n, item in enumerate(path) if item.place.role == "assistant" and item.block.kind == "text"]
    for number, at in enumerate(answers, 1):
        asked = path[: at + 3]
        rewind = ResumeOrder(
            source=data,
            path=asked,
            sent=[SentBlock(item, n) for n, item in enumerate(asked[: at + 1])],
            ids=ids(),
            now=NOW,
            end=at + 1,
        )
        assert request(resume(rewind)) == [("user", "go on"), ("assistant", "ok")] * number


def test_what_a_summary_replaced_does_not_come_back() -> None:
    summary = {
        "message": {"role": "assistant", "content": "So far"},
        "contextItems": [],
        "conversationSummary": "So far",
    }
    data = dump(session(*shop(1)["history"], summary, user("On."), answer("ok", 100)))
    after = [("user", "On."), ("assistant", "ok")]
    assert request(made(data)) == [("assistant", "So far"), *after]
    assert request(made(data, without(data, "So far"))) == after
    shorter = made(
        data, changed(data, lambda value: {**value, "text": "Shorter"} if value["text"] == "So far" else None)
    )
    assert request(shorter) == [("assistant", "Shorter"), *after]


def test_a_call_without_an_output_is_one_that_was_cancelled() -> None:
    value = shop(2)
    del value["history"][1]["toolCallStates"][0]["output"]
    data = dump(value)
    assert any("Tool cancelled" in line for line in shown(path_of(read(data).session)))
    assert ("tool", "Tool cancelled") in request(made(data))


@pytest.mark.parametrize(("gone", "reported"), [("question 1", [None, None]), ("", [1000, 1500])])
def test_what_a_resumed_session_adds_is_counted_and_its_copies_are_not(gone: str, reported: list[int | None]) -> None:
    data = dump(shop(1))
    written = json.loads(made(data, without(data, gone) if gone else None).data)
    written["history"] += [user("more"), {**answer("Cut.", 0), "message": {"role": "assistant", "content": "Cut."}}]
    written["history"] += [user("more"), answer("More.", 70)]
    written["usage"] = {"totalCost": 1, "promptTokens": 90, "completionTokens": 9}
    found = read(dump(written)).session
    calls = found.thread_calls()
    assert [call.usage and call.usage.input for call in calls] == [*reported, None, 70]
    assert [call.is_copy for call in calls] == [True, True, False, False]
    assert [IN_ALL in call.extra for call in calls] == [False, False, True, False]
    (rest,) = found.thread_calls("totals")
    assert rest.usage is not None and rest.usage.input == 20


def test_a_cut_file_says_what_is_lost() -> None:
    data = dump(shop(2))
    file = made(data[: data.index(b"It is 2")])
    assert any("cut off" in line for line in file.lost) and ("assistant", "It is 1.") in request(file)


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(1, 8), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(drop: set[int], notes: set[int]) -> None:
    data = dump(shop(4))
    sent = some(data, drop, notes)
    file = made(data, sent)
    assert shown(path_of(read(file.data).session)) == shown([one.item for one in sent])
