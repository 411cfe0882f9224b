"""Goose's sessions written for ``goose session import``, held against what the client takes and sends of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core.call import IN_ALL
from ctxtui.core.errors import CtxtuiError
from ctxtui.transcripts.formats.goose.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock
from tests.cases.goose import AT, HIDDEN, SESSION, asks, dump, export, gives, message, rows, shop, text, turn
from tests.transcripts.driving import read
from tests.transcripts.resuming import NOW, changed, ids, note, order, path_of, shown, some, whole, without

BOTH = pytest.mark.parametrize("written", [dump, rows], ids=["export", "database"])
NOTHING: dict[str, Any] = {"ids": ids(), "now": NOW, "session": SESSION}
Written = Callable[[dict[str, Any]], bytes]
NEEDED = ("id", "working_dir", "name", "created_at", "updated_at", "extension_data", "message_count", "conversation")
"""Members without which an import is refused, as goose 1.34 says."""


def made(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    file = resume(order(data, sent, **more))
    value = json.loads(file.data)
    assert set(NEEDED) <= value.keys() and "description" not in value, "an import refuses it"
    assert value["message_count"] == len(value["conversation"]) and value["name"] == file.id
    assert all(isinstance(one["created"], int) and one["id"].startswith("ctxtui:") for one in value["conversation"])
    return file


def parts(file: ResumedFile) -> list[Any]:
    """(role, part) of what the client sends: all messages that the agent sees."""
    found = json.loads(file.data)["conversation"]
    return [(one["role"], part) for one in found if one["metadata"]["agentVisible"] for part in one["content"]]


@BOTH
def test_as_it_is_ids_name_and_sums_are_new_and_the_size_stays(written: Written) -> None:
    value = shop()
    file = made(written(value))
    new = json.loads(file.data)
    assert (
        file.lost == ()
        and [one | {"id": one["id"].removeprefix("ctxtui:")} for one in new["conversation"]] == (value["conversation"])
    )
    assert new["name"] == "Mend the shop (curated 00000001)" and new["user_set_name"] is True
    assert (new["created_at"], new["updated_at"]) == (value["created_at"], "2026-11-22T20:15:00.000Z")
    assert (new["schedule_id"], new["archived_at"], new["session_type"]) == (None, None, "user")
    for key in ("working_dir", "extension_data", "provider_name", "model_config", "total_tokens", "input_tokens"):
        assert new[key] == value[key]
    assert {key: one for key, one in new.items() if key.startswith("accumulated_")} == dict.fromkeys(
        [f"accumulated_{name}" for name in ("total_tokens", "input_tokens", "output_tokens", "cost")]
    )


@BOTH
def test_a_dropped_call_is_nowhere_and_the_size_is_an_estimate(written: Written) -> None:
    data = written(shop())
    file = made(data, without(data, "do 2"), input_tokens=2345, answer_tokens=17)
    new = json.loads(file.data)
    assert b"call_2" not in file.data and b"output 2" not in file.data and file.lost == ()
    assert (new["total_tokens"], new["input_tokens"], new["output_tokens"]) == (2362, 2345, 17)
    calls = read(file.data).session.thread_calls()
    assert [(call.is_copy, call.usage, call.estimated_input) for call in calls[-2:]] == [
        (True, None, None),
        (True, None, 2345),
    ]
    unknown = json.loads(made(data, without(data, "do 2")).data)
    assert (unknown["total_tokens"], unknown["input_tokens"]) == (None, None)


@BOTH
def test_texts_arguments_and_results_are_changed_where_they_are(written: Written) -> None:
    def shorten(value: Any) -> Any:
        if value["type"] == "tool_use":
            return {**value, "input": {"command": "do less"}}
        if value["type"] == "tool_result":
            return {**value, "content": "short"}
        return {**value, "text": value["text"].upper()}

    data = written(shop(1))
    assert parts(made(data, changed(data, shorten))) == [
        ("user", text("QUESTION 1")),
        ("assistant", text("I LOOK, 1.")),
        ("assistant", asks("call_1", "do less")),
        ("user", {**gives("call_1", ""), "toolResult": {"status": "success", "value": _result("short")}}),
        ("assistant", text("IT IS 1.")),
    ]


def _result(words: str) -> dict[str, Any]:
    return {"content": [text(words)], "isError": False}


def test_a_pictures_result_keeps_it() -> None:
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    result = gives("c", "seen")
    result["toolResult"]["value"]["content"].append(picture)
    result["metadata"] = {"took": 5}
    first = message(1, "user", text("look"))
    data = dump(export(first, message(2, "assistant", asks("c", "see")), message(3, "user", result)))

    def shorten(value: Any) -> Any:
        if value["type"] != "tool_result":
            return None
        return {**value, "content": [{"type": "text", "text": "..."}, *value["content"][1:]]}

    _, part = parts(made(data, changed(data, shorten)))[-1]
    assert part["toolResult"]["value"]["content"] == [text("..."), picture]
    assert part["metadata"] == {"took": 5}


def test_a_text_of_a_changed_result_keeps_its_audience() -> None:
    for_user = {**text("shown to the user"), "annotations": {"audience": ["user"], "priority": 0.0}}
    result = gives("c", "read by the model")
    result["toolResult"]["value"]["content"].append(for_user)
    data = dump(
        export(message(1, "user", text("go")), message(2, "assistant", asks("c", "do")), message(3, "user", result))
    )

    def shorten(value: Any) -> Any:
        if value["type"] != "tool_result":
            return None
        return {**value, "content": [{"type": "text", "text": "..."}, *value["content"][1:]]}

    _, part = parts(made(data, changed(data, shorten)))[-1]
    assert part["toolResult"]["value"]["content"] == [text("..."), for_user]


def test_a_note_is_a_message_of_its_own_where_it_was_put() -> None:
    data = dump(shop(2))
    sent = whole(data)
    at = next(n for n, one in enumerate(sent) if b"question 2" in one.item.block.body) - 1
    file = made(data, [*sent[:at], note("Mind the gap."), *sent[at:], note("Well.", "assistant")])
    found = [one for one in json.loads(file.data)["conversation"] if one["content"][0].get("text") in NOTES]
    assert [(one["role"], one["created"] - AT) for one in found] == [("user", 20), ("assistant", 24)]
    sent_parts = parts(file)
    assert sent_parts[sent_parts.index(("user", text("Mind the gap."))) - 1] == ("assistant", text("It is 1."))
    assert sent_parts[-1] == ("assistant", text("Well."))


NOTES = ("Mind the gap.", "Well.")


def test_a_session_without_messages_gets_what_is_put_in() -> None:
    data = dump(export())
    (only,) = json.loads(resume(ResumeOrder(**NOTHING, source=data, path=[], sent=[note("Begin.")])).data)[
        "conversation"
    ]
    assert (only["role"], only["content"]) == ("user", [text("Begin.")])


def test_changed_thinking_stays_thinking() -> None:
    thinking = {"type": "thinking", "thinking": "Hm, hm.", "signature": ""}
    data = dump(export(message(1, "user", text("go")), message(2, "assistant", thinking, text("ok"))))
    shorter = changed(data, lambda value: {**value, "thinking": "Hm."} if value["type"] == "thinking" else None)
    assert parts(made(data, shorter))[1] == ("assistant", {**thinking, "thinking": "Hm."})


def test_it_ends_after_the_last_answer() -> None:
    data = dump(export(*turn(1), message(20, "user", text("and now?"))))
    end = max(n for n, one in enumerate(whole(data)) if one.item.place.role == "assistant") + 1
    file = made(data, end=end)
    assert b"and now?" not in file.data and "after the last answer" in file.lost[0]


def test_a_rewind_ends_where_its_call_does_also_where_texts_repeat() -> None:
    turns = (
        [message(2 * n, "user", text("go on")) for n in range(3)],
        [message(2 * n + 1, "assistant", text("ok")) for n in range(3)],
    )
    data = dump(export(*(one for pair in zip(*turns, strict=True) for one in pair)))
    session = read(data).session
    for number, call in enumerate(session.thread_calls(), 1):
        path = list(session.tree.items(call.response_head))
        sent = [SentBlock(item, at) for at, item in enumerate(path)]
        rewind = resume(ResumeOrder(source=data, path=path, sent=sent, ids=ids(), now=NOW, session=session.about.id))
        assert parts(rewind) == [("user", text("go on")), ("assistant", text("ok"))] * number


def test_a_result_that_seems_to_be_older_than_its_call_stays_after_it() -> None:
    value = shop(1)
    value["conversation"][3]["created"] -= 5
    made_at = [one["created"] - AT for one in json.loads(made(dump(value)).data)["conversation"]]
    assert made_at == [10, 11, 12, 12, 14], "the client orders by it"


def test_what_was_hidden_stays_hidden_and_a_rewind_before_that_shows_it_again() -> None:
    hidden = [one | {"metadata": HIDDEN} for one in turn(1)]
    summary = message(20, "user", text("So far: it is 1."))
    value = export(*hidden, summary, message(21, "assistant", text("Go on.")))
    data = dump(value)
    file = made(data)
    assert [part for _, part in parts(file)] == [text("So far: it is 1."), text("Go on.")]
    assert len(json.loads(file.data)["conversation"]) == 7
    session = read(data).session
    first = session.thread_calls()[1]
    path = list(session.tree.items(first.response_head))
    sent = [SentBlock(item, at) for at, item in enumerate(path)]
    rewind = resume(ResumeOrder(source=data, path=path, sent=sent, ids=ids(), now=NOW, session=session.about.id))
    assert parts(rewind) == [(one["role"], part) for one in turn(1) for part in one["content"]]


def test_what_a_resumed_session_adds_is_counted_and_its_copies_are_not() -> None:
    data = dump(shop(1))
    value = json.loads(made(data, without(data, "question 1"), input_tokens=900, answer_tokens=5).data)
    value["conversation"] += turn(7)
    value |= {"input_tokens": 70, "output_tokens": 7, "accumulated_input_tokens": 130, "accumulated_output_tokens": 12}
    for data in (dump(value), rows(value)):
        session = read(data).session
        used = [(call.is_copy, call.usage and call.usage.input) for call in session.thread_calls()]
        assert used == [(True, None), (True, None), (False, None), (False, 70)]
        assert [IN_ALL in call.extra for call in session.thread_calls()] == [False, False, True, False]
        (rest,) = [call for call in session.calls.values() if call.is_sum]
        assert rest.usage is not None and (rest.usage.input, rest.usage.output) == (60, 5)


def test_a_session_of_a_schedule_is_the_users_when_copied() -> None:
    value = shop(1) | {"schedule_id": "nightly", "archived_at": "2026-11-30T12:00:00Z", "session_type": "scheduled"}
    new = json.loads(made(dump(value)).data)
    assert (new["schedule_id"], new["archived_at"], new["session_type"]) == (None, None, "user")


def test_an_estimate_is_not_the_copys_where_its_size_is_unknown() -> None:
    data = dump(shop())
    first = made(data, without(data, "do 2"), input_tokens=2345).data
    assert json.loads(first)["extension_data"]["ctxtui.v0"] == {"estimated": True}
    assert "ctxtui.v0" not in json.loads(made(first, without(first, "do 1")).data)["extension_data"]


def test_a_message_without_metadata_is_seen_by_both() -> None:
    value = shop(1)
    del value["conversation"][0]["metadata"]
    (first, *_) = json.loads(made(dump(value)).data)["conversation"]
    assert first["metadata"] == {"userVisible": True, "agentVisible": True}


def test_a_copy_of_a_copy_is_marked_once() -> None:
    file = made(made(dump(shop(1))).data)
    assert json.loads(file.data)["name"] == "Mend the shop (curated 00000001)" and b"ctxtui:ctxtui:" not in file.data


def test_a_cut_file_says_what_is_lost_and_an_unknown_session_is_refused() -> None:
    data = dump(shop(2))
    file = made(data[: data.index(b"It is 2")])
    assert any("cut off" in line for line in file.lost)
    with pytest.raises(CtxtuiError, match="not in the recording"):
        resume(ResumeOrder(source=rows(shop(1)), path=[], sent=[], ids=ids(), now=NOW, session="another"))


@BOTH
@given(drop=st.sets(st.integers(0, 40)), notes=st.sets(st.integers(1, 4), max_size=3))
@settings(deadline=None, max_examples=40)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(
    written: Written, drop: set[int], notes: set[int]
) -> None:
    data = written(shop(4))
    sent = some(data, drop, notes)
    file = made(data, sent)
    assert shown(path_of(read(file.data).session)) == shown([one.item for one in sent])
