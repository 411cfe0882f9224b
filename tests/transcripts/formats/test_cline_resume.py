"""Cline's sessions written for it to resume, held against what the client makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.editing.exporting import copy_session, prepare_path
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.formats.cline.resume import resume
from ctxtui.transcripts.kit.resume import ResumedFile, ResumeOrder, SentBlock
from tests.cases.cline import ID, asked, details, dump, result, said, session, shop, text, use
from tests.transcripts.driving import read
from tests.transcripts.resuming import NOW, changed, ids, note, order, path_of, shown, some, whole, without

BESIDE = {f"{ID}.json": dump(details())}


def made(data: bytes, sent: list[SentBlock] | None = None, **more: Any) -> ResumedFile:
    return resume(order(data, sent, **{"beside": BESIDE, **more}))


def messages(file: ResumedFile) -> list[Any]:
    found: list[Any] = json.loads(file.data)["messages"]
    return found


def test_as_it_is_only_its_ids_and_the_marks_of_copies_are_new() -> None:
    value = shop()
    file = made(dump(value))
    written = json.loads(file.data)
    assert (
        file.lost == () and file.name == f"{file.id}/{file.id}.messages.json" and file.id.startswith("1795378500000_")
    )
    assert written["sessionId"] == written["origin"]["sessionId"] == file.id
    marked = [m | {"metadata": {"copiedBy": "ctxtui"}} if m["role"] == "assistant" else m for m in value["messages"]]
    assert written["origin"] == {"sessionId": file.id, "version": "3.0.65"}
    assert written["updated_at"] == "2026-11-22T20:15:00.000Z"
    assert written["messages"] == marked and written["system_prompt"] == value["system_prompt"]


def test_its_details_name_its_messages_and_leave_the_cost_to_the_client() -> None:
    file = made(dump(shop()))
    assert list(file.beside) == [f"{file.id}.json"]
    written = json.loads(file.beside[f"{file.id}.json"])
    assert written["messages_path"] == f"/home/a/.cline/data/sessions/{file.id}/{file.id}.messages.json"
    assert (written["session_id"], written["status"], written["cwd"]) == (file.id, "completed", "/shop")
    assert written["metadata"] == {"title": "Mend the shop (curated)"}


@pytest.mark.parametrize("beside", [{}, {f"{ID}.json": b"{"}, {f"{ID}.json": b'{"messages_path": 7}'}])
def test_without_details_it_says_what_is_missing(beside: dict[str, bytes]) -> None:
    with pytest.raises(CtxtuiError, match=f"details are missing, by which Cline finds it @ {ID}.json"):
        made(dump(shop()), beside=beside)


def test_a_dropped_call_is_nowhere_and_later_answers_have_no_report_but_the_last_ones_size() -> None:
    data = dump(shop())
    file = made(data, without(data, '"t2"'), input_tokens=2100, answer_tokens=7)
    assert b'"t2"' not in file.data and b"output 2" not in file.data and file.lost == ()
    answers = [message for message in messages(file) if message["role"] == "assistant"]
    assert [part["text"] for part in answers[2]["content"]] == ["I look, 2."]
    reports = [answer["metrics"].get("inputTokens") for answer in answers]
    assert reports == [1000, 1500, 2000, None, None, 2100], "the second question's request is as it was"
    figures = {"inputTokens": 2100, "outputTokens": 7, "cacheReadTokens": 0, "cacheWriteTokens": 0, "cost": 0}
    assert answers[-1]["metrics"] == figures, "the client adds all of them up"
    calls = list(read(file.data).session.calls.values())
    assert all(call.is_copy for call in calls)
    assert calls[-1].usage is None and calls[-1].estimated_input == 2100


def test_without_the_last_answer_the_one_before_has_the_size() -> None:
    data = dump(shop())
    file = made(data, without(data, '"t2"', "It is 3."), input_tokens=2100)
    assert [message["metrics"].get("inputTokens") for message in messages(file) if "metrics" in message][-1] == 2100


def test_texts_results_pictures_and_arguments_are_changed_where_they_are() -> None:
    picture = {"type": "image", "data": "iVBORw0K", "mediaType": "image/png"}
    sent = (asked("Which?"), said("m1", use("t1")), result("t1", [text("a"), picture]), said("m2", text("b")))
    data = dump(session(*sent))

    def shorten(value: Any) -> Any:
        if value["type"] == "tool_use":
            return {**value, "input": {"files": []}}
        if value["type"] == "tool_result":
            return {**value, "content": [text("short"), *value["content"][1:]]}
        return {**value, "text": value["text"].upper()} if value["text"] != "You are Cline." else None

    file = made(data, changed(data, shorten))
    assert [message["content"] for message in messages(file)] == [
        [text("WHICH?")],
        [{**use("t1"), "input": {"files": []}}],
        [{**result("t1", [text("short"), picture])["content"][0]}],
        [text("B")],
    ]
    assert file.lost == ()


def test_a_result_that_the_client_will_cut_is_named() -> None:
    data = dump(shop(1))
    grown = changed(data, lambda v: {**v, "content": "x" * 9000} if v["type"] == "tool_result" else None)
    assert made(data, grown).lost == ("a changed result of more than 8,000 characters: the client cuts its middle",)


def test_a_note_is_a_message_of_its_own_where_it_was_put() -> None:
    data = dump(shop(2))
    sent = whole(data)
    at = next(n for n, one in enumerate(sent) if b"question 2" in one.item.block.body) - 1
    file = made(data, [*sent[:at], note("Mind the gap."), *sent[at:], note("Well.", "assistant")])
    (before, noted) = messages(file)[3:5]
    assert before["id"] == "n1" and (noted["role"], noted["content"]) == ("user", [text("Mind the gap.")])
    assert noted["ts"] == messages(file)[5]["ts"] != before["ts"]
    last = messages(file)[-1]
    assert last["ts"] == messages(file)[-2]["ts"]
    assert last["content"] == [text("Well.")] and last["modelInfo"]["provider"] == "anthropic"
    assert all(call.is_copy for call in read(file.data).session.calls.values())


def test_thinking_that_no_request_holds_stays_with_its_answer_and_goes_with_it() -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    sent = (asked("1"), said("m1", thought, text("a")), asked("2"), said("m2", thought, text("b")))
    data = dump(session(*sent))
    file = made(data, without(data, '"a"'))
    assert [message["id"] for message in messages(file)] == ["u", "u", "m2"] and file.lost == ()
    assert messages(file)[-1]["content"] == [thought, text("b")]


def test_a_rewind_ends_where_its_call_does_also_after_thinking_that_no_request_holds() -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    turns = [(asked("go on"), said(f"m{n}", thought, text("ok"))) for n in range(1, 4)]
    data = dump(session(*(message for turn in turns for message in turn)))
    recorded = read(data).session
    for number, call in enumerate(recorded.thread_calls(), 1):
        path = list(recorded.tree.items(call.response_head))
        sent = [SentBlock(item, at) for at, item in enumerate(path)]
        rewind = ResumeOrder(
            source=data, path=path, sent=sent, ids=ids(), now=NOW, session=ID, beside=BESIDE, end=len(path)
        )
        assert [m["id"] for m in messages(resume(rewind)) if m["id"] != "u"] == [f"m{n}" for n in range(1, number + 1)]


def test_what_is_only_displayed_travels_along_and_what_follows_the_last_answer_does_not() -> None:
    error = said("e1", text("Cannot connect")) | {"metadata": {"displayOnly": True, "displayRole": "error"}}
    data = dump(session(asked("Hi"), error, said("m1", text("a")), asked("and now?")))
    end = max(n for n, one in enumerate(whole(data)) if one.item.place.role == "assistant") + 1
    file = made(data, end=end)
    assert messages(file)[1] == error and len(messages(file)) == 3
    assert "after the last answer" in file.lost[0]


def test_a_rewind_ends_where_its_call_does_also_where_texts_repeat() -> None:
    turns = [(asked("go on"), said(f"m{n}", text("ok"))) for n in range(1, 4)]
    data = dump(session(*(message for turn in turns for message in turn), asked("go on")))
    path = path_of(read(data).session)
    answers = [n for n, item in enumerate(path) if item.place.role == "assistant" and item.block.kind == "text"]
    for number, at in enumerate(answers, 1):
        asked_path = path[: at + 3]
        rewind = ResumeOrder(
            source=data,
            path=asked_path,
            sent=[SentBlock(item, n) for n, item in enumerate(asked_path[: at + 1])],
            ids=ids(),
            now=NOW,
            end=at + 1,
            session=ID,
            beside=BESIDE,
        )
        assert [m["id"] for m in messages(resume(rewind))] == [
            id_ for n in range(1, number + 1) for id_ in ("u", f"m{n}")
        ]


def test_a_compacted_session_is_written_as_its_compacted_context(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / ID
    folder.mkdir(parents=True)
    summary = {"role": "user", "content": [text("So far: 1")], "metadata": {"kind": "compaction_summary"}}
    value = shop(2)
    compacted = {"conversation_id": ID, "source_message_count": 4, "messages": [summary, value["messages"][3]]}
    path = folder / f"{ID}.messages.json"
    path.write_bytes(dump(value))
    (folder / f"{ID}.json").write_bytes(dump(details(compaction_path="/gone")))
    (folder / f"{ID}.compaction.json").write_bytes(dump(compacted))
    loaded = load(path).session
    file = copy_session(loaded, choose_call(loaded), "cline", path)
    new = [message.get("id") for message in json.loads(file.data)["messages"]]
    assert file.lost == () and new == [None, "n1", "u", "m2", "rt2", "n2"]
    assert "compaction_path" not in json.loads(file.beside[f"{file.id}.json"])
    first = choose_call(loaded, "", 1)
    before = json.loads(copy_session(loaded, first, "cline", path).data)["messages"]
    assert [message["id"] for message in before] == ["u", "m1", "rt1"], "a call before it has the messages themselves"
    where = prepare_path(tmp_path / "sessions", file)
    assert where == tmp_path / "sessions" / file.id / f"{file.id}.messages.json" and where.parent.is_dir()


def test_a_changed_summary_is_also_the_one_that_the_next_compaction_begins_with() -> None:
    notes = {"kind": "compaction_summary", "userRunSpan": 1, "summary": "1, 2"}
    summary = {"role": "user", "content": [text("Context summary:\n\n1, 2")], "metadata": notes}
    data = dump(session(summary, asked("On."), said("m1", text("Well."))))
    short = changed(data, lambda v: {**v, "text": "Context summary:\n\n1"} if "1, 2" in v["text"] else None)
    assert messages(made(data, short))[0]["metadata"] == {**notes, "summary": "1"}
    assert messages(made(data))[0] == summary


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(1, 8), max_size=3))
@settings(deadline=None, max_examples=60)
def test_whatever_is_dropped_and_put_in_is_what_a_reader_finds(drop: set[int], notes: set[int]) -> None:
    data = dump(shop(4))
    sent = some(data, drop, notes)
    file = made(data, sent)
    # The client writes the system prompt itself.
    assert shown(path_of(read(file.data).session))[1:] == shown([one.item for one in sent if one.at != 0])
