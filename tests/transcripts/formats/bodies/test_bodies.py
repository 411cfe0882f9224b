"""Plain bodies: a table of files, read whole and byte by byte; exports give the bytes back."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, EpochStart, Fidelity
from ctxtui.core.session import MAIN, Session
from ctxtui.core.usage import Usage
from ctxtui.transcripts.formats.bodies.reader import BodiesReader
from ctxtui.transcripts.formats.bodies.values import JsonText, ValueStream
from ctxtui.transcripts.registry import detect
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.sampling import few
from tests.transcripts.driving import chunked, feed, state
from tests.wire.hostile import spelled
from tests.wire.talk import EVENTS, WRITERS

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted((Path(__file__).parents[3] / "cases" / "bodies").glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]


def file_of(case: dict[str, Any]) -> bytes:
    return "\n".join(case["file"]).encode()


def read(data: bytes, chunks: list[bytes] | None = None, *, often: bool = False) -> tuple[Session, Any, Any]:
    form = detect(data, "x.json")
    assert form is not None
    session = Session()
    reader = form.open(session.tree)
    events = feed(reader, [data] if chunks is None else chunks, often)
    return session.fold(events), events, reader


def kinds(session: Session, head: int, after: int = 0) -> list[str]:
    items = session.tree.items(head, after)
    return [f"{i.place.role if i.place.section == 'messages' else i.place.section} {i.block.kind}" for i in items]


def body_of(session: Session, call: Call) -> bytes:
    assert call.skeleton is not None
    return encode(Request(tuple(session.tree.items(call.raw_head)), call.skeleton))


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    data = file_of(case)
    session, _, reader = read(data)
    assert session.about.source == case["source"]
    assert session.about.title == case.get("title", session.about.title)
    in_file = sorted(session.calls.values(), key=lambda call: call.bytes_)
    assert len(in_file) == len(case["calls"])
    for call, told in zip(in_file, case["calls"], strict=True):
        check_call(session, call, told, case.get("resent", False))
    skipped = [[s.line, any(words in s.reason for _, words in case["skipped"])] for s in session.skipped]
    assert skipped == [[line, True] for line, _ in case.get("skipped", [])]
    assert (reader.tail.line if reader.tail else None) == case.get("tail")
    if "tip" in case:
        assert kinds(session, session.threads[MAIN].tip) == case["tip"]


def told(session: Session) -> Any:
    """All that a session says; a body that was shown before it was whole leaves nodes that no call uses."""
    tree = session.tree
    calls = {
        id_: replace(
            call,
            **{name: tuple(tree.items(getattr(call, name))) for name in ("raw_head", "sent_head", "response_head")},
        )
        for id_, call in session.calls.items()
    }
    threads = {id_: (one.label, one.parent, tree.items(one.tip)) for id_, one in session.threads.items()}
    return session.about, calls, threads, session.order, session.skipped


def check_call(session: Session, call: Call, told: dict[str, Any], resent: bool) -> None:
    assert call.id == told.get("id", call.id)
    assert (call.thread, call.fidelity, call.model) == (told["thread"], told["fidelity"], told["model"])
    assert kinds(session, call.raw_head) == told["context"]
    assert kinds(session, call.response_head, call.raw_head) == told["answer"]
    assert call.usage == (Usage(**told["usage"]) if told["usage"] else None)
    assert (call.stop_reason, call.error) == (told.get("stop", ""), told.get("error", ""))
    assert call.started == told.get("started")
    if "markers" in told:
        assert call.skeleton is not None
        request = Request(tuple(session.tree.items(call.raw_head)), call.skeleton)
        assert [marker.item for marker in request.markers] == told["markers"]
    order = session.order[call.thread]
    if resent and call.id != order[-1]:
        # The client sent the answer back: the next request runs through it.
        after = session.calls[order[order.index(call.id) + 1]]
        assert session.tree.holds(after.raw_head, call.response_head)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("step", [1, 0, 64])
def test_any_chunking_gives_the_same_events(case: dict[str, Any], step: int) -> None:
    data = file_of(case)
    session, events, reader = read(data)
    cut, cut_events, cut_reader = read(data, chunked(data, step))
    assert cut_events == events
    assert state(cut) == state(session)
    assert cut_reader.tail == reader.tail


@pytest.mark.parametrize("case", [c for c in CASES if "tip" not in c.values[0]])
def test_following_ends_as_a_fresh_open_and_a_copy_changes_nothing(case: dict[str, Any]) -> None:
    data = file_of(case)
    session, _, _ = read(data)
    for seed in range(3):
        assert told(read(data, chunked(data, 0, seed), often=True)[0]) == told(session)
    if "tail" not in case:
        twice, _, _ = read(data + b"\n" + data)
        if not any(call["context"] and call["model"] == "" for call in case["calls"]):
            assert {c.id for c in twice.calls.values()} == {c.id for c in session.calls.values()}


@pytest.mark.parametrize("dialect", few(sorted(WRITERS)))
@given(data=st.data())
def test_a_file_of_one_body_is_exported_byte_for_byte(dialect: str, data: st.DataObject) -> None:
    body = data.draw(spelled(dialect))
    session = Session()
    reader = BodiesReader(session.tree, dialect)
    session.fold([*reader.feed(body), *reader.settle()])
    for call in session.calls.values():
        if call.skeleton is not None and call.skeleton.dialect == dialect:
            assert body_of(session, call) == body


@pytest.mark.parametrize("dialect", few(sorted(WRITERS)))
@given(events=EVENTS, seed=st.integers(0, 99))
def test_requests_that_grow_are_one_path(dialect: str, events: list[tuple[str, ...]], seed: int) -> None:
    key = {"openai_responses": "input", "google": "contents"}.get(dialect, "messages")
    whole = WRITERS[dialect]([("user", "start"), *events])
    first = next(n for n, message in enumerate(whole[key], 1) if message["role"] == "user")
    lines = [json.dumps({**whole, key: whole[key][:n]}) for n in range(first, len(whole[key]) + 1)]
    data = "\n".join(lines).encode()
    session = Session()
    reader = BodiesReader(session.tree, dialect)
    session.fold(feed(reader, chunked(data, 0, seed)))
    calls = session.thread_calls()
    assert [body_of(session, call) for call in calls] == [line.encode() for line in lines]
    for before, after in pairwise(calls):
        assert session.tree.holds(after.raw_head, before.raw_head)
    assert set(session.threads) == {MAIN}
    assert all(call.fidelity == Fidelity.WIRE for call in calls)


def test_new_content_alone_is_digested(monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxtui.core import canonical

    digested = []
    plain = canonical.digest
    monkeypatch.setattr(canonical, "digest", lambda body: digested.append(len(body)) or plain(body))
    messages = [{"role": "user", "content": f"message {n} " * 50} for n in range(40)]
    lines = [json.dumps({"model": "m", "messages": messages[:n]}) for n in range(1, 41)]
    session = Session()
    feed(BodiesReader(session.tree, "openai_chat"), ["\n".join(lines).encode()])
    content = sum(len(block.body) for block in session.tree.blocks.values())
    requests = sum(map(len, lines))
    # Besides new blocks only the requests' names are digested, once each.
    assert sum(digested) < content + requests + 40 * 200


def test_conversations_of_one_system_prompt_are_threads_and_headers_do_not_tell_them_apart() -> None:
    def line(*texts: Any) -> str:
        messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": t} for n, t in enumerate(texts)]
        return json.dumps({"model": "claude-x", "max_tokens": 1, "system": "S", "messages": messages})

    spelled_out = [{"type": "text", "text": "a"}]
    data = "\n".join(
        [line(spelled_out), line("b"), line("a", "x", "y"), line("b", "z", "w"), line("a", "x", "y", "z", "v")]
    )
    session, _, _ = read(data.encode())
    assert [len(session.order[name]) for name in (MAIN, "thread-2")] == [3, 2]
    thread = session.threads["thread-2"]
    assert (thread.label, thread.parent) == ("b", "")
    assert session.about.title == "a"
    assert all(i.block.kind != HEADER or i.place.role for i in session.tree.items(thread.tip))


def test_a_tools_result_is_no_title() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "price = 5"}
    messages = [
        {"role": "user", "content": [picture]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]},
        {"role": "user", "content": [result, {"type": "text", "text": "What is it?"}]},
    ]
    body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": messages})
    assert read(body.encode())[0].about.title == "What is it?"


def test_damage_never_stops_the_reader() -> None:
    data = b"\n".join(file_of(case.values[0]) for case in CASES)
    for at in range(0, len(data), 211):
        torn = data[:at] + b'\xff\x00{["' + data[at + 3 :]
        session = Session()
        session.fold(feed(BodiesReader(session.tree, "anthropic"), [torn]))
        assert session.calls


@pytest.mark.parametrize("depth", [300, 800, 980, 995, 1_000, 1_100, 20_000])
def test_deep_nesting_is_skipped_and_the_rest_is_read(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for record in (
        '{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","z":%s}]}]}',
        '{"request":{"model":"m","messages":[{"role":"user","content":"x","z":%s}]},"response":{"error":1}}',
        '{"model":"m","messages":[{"role":"user","content":"x"}],"metadata":%s}',
    ):
        data = (record % deep).encode() + b'\n{"model":"n","messages":[{"role":"user","content":"y"}]}\n'
        session = Session()
        session.fold(feed(BodiesReader(session.tree, "openai_chat"), [data]))
        assert "n" in {call.model for call in session.calls.values()}
        assert len(session.calls) + len(session.skipped) == 2


def test_a_string_alone_is_a_responses_request_and_an_embedding_is_none() -> None:
    session, _, _ = read(b'{"model": "gpt-5", "input": "just a string"}')
    assert kinds(session, session.thread_calls()[-1].raw_head) == ["user header", "user text"]
    for other in ("text-embedding-3-small", "omni-moderation-latest", "tts-1"):
        assert detect(json.dumps({"model": other, "input": "just a string"}).encode(), "x.json") is None
    assert detect(b'{"model": "m", "input": "a word", "encoding_format": "float"}', "x.json") is None


def test_requests_that_a_stand_in_answers_with_one_id_are_all_told_and_copies_are_not() -> None:
    said = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    said.append({"role": "user", "content": "three"})
    answer = {"id": "chatcmpl-123", "choices": [{"message": {"role": "assistant", "content": "same"}}]}
    pairs = [{"request": {"model": "m", "messages": said[:n]}, "response": answer} for n in (1, 3)]
    data = "".join(json.dumps(pair) + "\n" for pair in [*pairs, *pairs]).encode()
    session, _, _ = read(data)
    calls = session.thread_calls()
    assert [call.id for call in calls] == ["chatcmpl-123", "chatcmpl-123~2"]
    assert [len(kinds(session, call.raw_head)) for call in calls] == [2, 6]


@pytest.mark.parametrize(("forced", "own_tool"), [(True, False), (True, True), (False, False), (False, True)])
def test_a_conversation_that_was_made_to_sum_itself_up_goes_on_from_its_summary(forced: bool, own_tool: bool) -> None:
    summary = "The hero trained for eight turns, has two friends and wants to run in the debut race."

    def line(n: int, said: list[Any], made: dict[str, Any], **asked: Any) -> str:
        request = {"model": "claude-haiku-4-5", "max_tokens": 9, "system": "You play.", "messages": said, **asked}
        answer = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use"}
        usage = {"input_tokens": 10, "output_tokens": 5}
        return json.dumps({"request": request, "response": {**answer, "content": [made], "usage": usage}})

    def use(name: str, **given: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_01{name}", "name": name, "input": given}

    choice: dict[str, Any] = {"tool_choice": {"type": "tool", "name": "sum_up"}} if forced else {}
    if own_tool:  # the tool is there only when it is to be used
        choice["tools"] = [{"name": "sum_up", "input_schema": {"type": "object"}}]
    asked = {"role": "user", "content": "Turn 1: what is pressed?"}
    begun = [{"role": "user", "content": f"What happened so far.\n\n{summary}"}]
    lines = [
        line(1, [asked], {"type": "text", "text": "Train."}),
        line(2, [asked, {"role": "assistant", "content": "Train."}, asked], use("sum_up", story=summary), **choice),
        line(3, begun, {"type": "text", "text": "Rest."}),
        line(4, [*begun, {"role": "assistant", "content": "Rest."}, asked], {"type": "text", "text": "Run."}),
    ]
    session, _, _ = read("\n".join(lines).encode())
    # The task of a subagent stands in its parent's call, too: without force it is another conversation.
    assert len(session.threads) == (1 if forced else 2)
    if forced:
        kinds_ = [call.epoch.start for call in session.thread_calls(MAIN)]
        assert kinds_ == [EpochStart.START, EpochStart.START, EpochStart.COMPACTION, EpochStart.COMPACTION]


def test_a_conversation_whose_first_message_became_another_one_goes_on() -> None:
    def pair(n: int, first: str, held: list[str], made: str) -> str:
        messages: list[Any] = [{"role": "user", "content": first}]
        for id_ in held:
            call = {"type": "tool_use", "id": id_, "name": "press", "input": {}}
            result = {"type": "tool_result", "tool_use_id": id_, "content": "ok"}
            messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        content = [{"type": "tool_use", "id": made, "name": "press", "input": {}}]
        usage = {"input_tokens": 10, "output_tokens": 5}
        answer = {
            "id": f"msg_{n}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": content,
            "usage": usage,
        }
        request = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": messages}
        return json.dumps({"request": request, "response": {**answer, "stop_reason": "tool_use"}})

    ids = [f"toolu_01abcdefgh{n}" for n in range(4)]
    lines = [
        pair(1, "turn 1 with its picture", [], ids[0]),
        pair(2, "turn 1", ids[:1], ids[1]),
        pair(3, "a summary", ids[:2], ids[2]),
        pair(4, "another task", [], ids[3]),
        pair(5, "a summary", ids[:3], "toolu_01zzzzzzzzz"),
        # Ids that every client makes tell nothing.
        pair(6, "one more", ["call_1"], "call_1"),
        pair(7, "one of another talk", ["call_1"], "call_1"),
    ]
    session, _, _ = read("\n".join(lines).encode())
    assert [call.id for call in session.thread_calls(MAIN)] == ["msg_1", "msg_2", "msg_3", "msg_5"]
    assert sorted(len(session.thread_calls(name)) for name in session.threads) == [1, 1, 1, 4]


def test_settle_gives_a_value_whose_last_line_begins_another() -> None:
    stream = ValueStream(lambda text: False)
    assert stream.feed(b'{\n"a": 1,\n') == []
    first = stream.settle() or stream.feed(b'"b": 2} {"c": ')
    assert first == []
    assert [value.value() for value in stream.settle() if isinstance(value, JsonText)] == [{"a": 1, "b": 2}]
    assert stream.rest is not None and stream.rest.data == b'{"c": '
    rest = [value for value in stream.feed(b"3}\n") if isinstance(value, JsonText)]
    assert [(value.value(), value.line, value.start) for value in rest] == [({"c": 3}, 3, 18)]
