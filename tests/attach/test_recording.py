"""What is recorded of requests and answers is what went, and is read back as that."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.attach.exchange_events import AnswerBegun, AnswerBytes, ExchangeEnded, RequestBegun, RequestBytes
from ctxtui.attach.lines import RecordedBodies, common_head, common_tail, find_most_similar
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun, session_of
from ctxtui.core.call import Fidelity
from ctxtui.core.session import MAIN
from ctxtui.services.recordings.open import load
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.attach.raw import ended
from tests.transcripts.reading import law_2, read, survives_cuts

URL = "https://api.anthropic.com/v1/messages"
STREAM = (
    'event: message_start\ndata: {"type":"message_start","message":{"id":"%s","type":"message","role":"assistant",'
    '"model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    '"content_block":{"type":"text","text":""}}\n\n'
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
    '"text":"grüezi"}}\n\nevent: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":'
    '{"output_tokens":3}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)


def body(*said: str, **more: object) -> bytes:
    messages = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(said)]
    return json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages, **more}).encode()


def exchange(
    put: Callable[[object], None], x: str, asked: bytes, answer: bytes, headers: dict[str, str] | None = None
) -> None:
    fields = [("content-type", "application/json"), *(headers or {}).items()]
    put(RequestBegun(exchange_id=x, at=100.0, method="POST", url=URL, fields=fields))
    put(RequestBytes(x, asked[:30]))
    put(RequestBytes(x, asked[30:], last=True))
    put(AnswerBegun(x, 101.0, 200, [("content-type", "text/event-stream")]))
    for n in range(0, len(answer), 37):
        put(AnswerBytes(x, 101.5 + n / 1000, answer[n : n + 37]))
    put(ExchangeEnded(x, 103.0))


def test_calls_are_read_as_they_went(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    bodies = [body("hoi"), body("hoi", "grüezi", "und?"), body("hoi", "grüezi", "und?", "ja", "dann ade")]
    for n, one in enumerate(bodies):
        exchange(recorder.put, f"r.{n}", one, (STREAM % f"msg_{n}").encode())
    recorder.close()
    assert recorder.troubles == []
    session = load(tmp_path / "talk.jsonl").session
    calls = session.thread_calls(MAIN)
    assert [call.id for call in calls] == ["msg_0", "msg_1", "msg_2"]
    assert {call.fidelity for call in calls} == {Fidelity.WIRE}
    assert (calls[0].started, calls[0].first_byte, calls[0].ended, calls[0].stop_reason) == (
        100.0,
        101.5,
        103.0,
        "end_turn",
    )
    assert session.tree.holds(calls[2].raw_head, calls[1].raw_head)
    assert session.about.id == "talk" and session.about.title == "hoi"
    data = (tmp_path / "talk.jsonl").read_bytes()
    law_2(data, "talk.jsonl")
    survives_cuts(data, "talk.jsonl")


def test_a_probe_makes_no_recording_and_is_in_that_of_the_calls_after_it(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    for x in ("r.1", "r.2"):
        recorder.put(RequestBegun(exchange_id=x, at=99.0, method="HEAD", url=f"{URL}/hello", fields=[]))
        recorder.put(RequestBytes(x, b"", last=True))
        recorder.put(AnswerBegun(x, 99.5, 404, []))
        recorder.put(ExchangeEnded(x, 99.5))
        assert recorder.flush() and not recorder.files and not list(tmp_path.iterdir())
    exchange(recorder.put, "r.3", body("hoi"), (STREAM % "msg_1").encode())
    recorder.close()
    lines = [json.loads(line) for line in (tmp_path / "talk.jsonl").read_text().splitlines()]
    assert list(dict.fromkeys(line["x"] for line in lines[1:])) == ["r.1", "r.2", "r.3"]
    assert load(tmp_path / "talk.jsonl").session.calls.keys() == {"msg_1"}


def test_the_request_is_written_again_byte_for_byte(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    odd = b'{ "model":"claude-sonnet-4-5","max_tokens":1e2,  "messages":[{"content":"h\\u00f6i","role":"user"}]}'
    exchange(recorder.put, "r.1", odd, (STREAM % "msg").encode())
    recorder.close()
    session = load(tmp_path / "talk.jsonl").session
    (call,) = session.calls.values()
    assert call.skeleton is not None
    assert encode(Request(tuple(session.tree.items(call.sent_head)), call.skeleton)) == odd


def test_sessions_and_threads_are_told_apart_by_the_clients_headers(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "run-r"))
    sent = {"X-Claude-Code-Session-Id": "sess-1", "User-Agent": "claude-cli/2.1.330 (external, cli)"}
    tools = [{"name": "t", "input_schema": {"type": "object"}}]
    exchange(recorder.put, "r.1", body("hoi", tools=tools), (STREAM % "msg_1").encode(), sent)
    agent = {**sent, "x-claude-code-agent-id": "a7"}
    exchange(recorder.put, "r.2", body("such", tools=tools), (STREAM % "msg_2").encode(), agent)
    shape = {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}}
    exchange(recorder.put, "r.3", body("hoi", tools=[], output_config=shape), (STREAM % "msg_3").encode(), sent)
    # A compaction: the same line of context begins with other words.
    exchange(recorder.put, "r.4", body("summary", tools=tools), (STREAM % "msg_4").encode(), sent)
    exchange(recorder.put, "r.5", body("anything"), (STREAM % "msg_5").encode())
    recorder.close()
    session = load(tmp_path / "sess-1.jsonl").session
    assert {name: [c.id for c in session.thread_calls(name)] for name in session.order} == {
        MAIN: ["msg_1", "msg_4"],
        "a7": ["msg_2"],
        "title": ["msg_3"],
    }
    assert session.threads["a7"].parent == MAIN
    assert [c.epoch.start for c in session.thread_calls(MAIN)][-1] == "compaction"
    assert (session.about.client, session.about.version) == ("claude code", "2.1.330")
    assert load(tmp_path / "run-r.jsonl").session.calls.keys() == {"msg_5"}


KIMI_ID = "e6547af1-af46-4b6b-aa58-7d8e5933931e"
KIMI_BODIES = {
    "anthropic": ("kimi-code-cli/2.1.0", {"metadata": {"user_id": f"session_{KIMI_ID}"}}, KIMI_ID),
    "openai": ("kimi-code-cli/2.1.0", {"prompt_cache_key": f"session_{KIMI_ID}"}, KIMI_ID),
    "no session": ("kimi-code-cli/2.1.0", {"metadata": {"user_id": "me"}}, "run-r"),
    "a path": ("kimi-code-cli/2.1.0", {"metadata": {"user_id": "session_../../x"}}, "run-r"),
    "not text": ("kimi-code-cli/2.1.0", {"metadata": {"user_id": [1]}}, "run-r"),
    "another program": ("node-fetch", {"metadata": {"user_id": f"session_{KIMI_ID}"}}, "run-r"),
}


@pytest.mark.parametrize("name", KIMI_BODIES)
def test_kimi_code_names_its_session_in_the_body(tmp_path: Path, name: str) -> None:
    agent, more, session = KIMI_BODIES[name]
    recorder = Recorder(RecordedRun(tmp_path, "r", "run-r"))
    exchange(recorder.put, "r.1", body("hoi", **more), (STREAM % "msg").encode(), {"User-Agent": agent})
    recorder.close()
    assert [path.stem for path in recorder.files] == [session]


def test_a_subagent_of_opencode_is_a_thread_of_the_session_that_started_it(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "run-r"))
    agent = {"User-Agent": "opencode/1.18.33 ai-sdk/4", "x-session-affinity": "ses_1", "x-session-id": "ses_1"}
    child = {**agent, "x-session-affinity": "ses_2", "x-session-id": "ses_2", "x-parent-session-id": "ses_1"}
    exchange(recorder.put, "r.1", body("hoi"), (STREAM % "msg_1").encode(), agent)
    exchange(recorder.put, "r.2", body("look"), (STREAM % "msg_2").encode(), child)
    recorder.close()
    session = load(tmp_path / "ses_1.jsonl").session
    calls = {name: [call.id for call in session.thread_calls(name)] for name in session.order}
    assert calls == {MAIN: ["msg_1"], "ses_2": ["msg_2"]}
    assert session.threads["ses_2"].parent == MAIN


def test_without_a_session_of_its_own_a_conversation_is_one_by_its_beginning(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r"))
    part = {"type": "text", "text": "hoi", "cache_control": {"type": "ephemeral"}}
    marked = json.dumps({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [part]}]}).encode()
    plain = marked.replace(b', "cache_control": {"type": "ephemeral"}', b"")
    for n, one in enumerate((marked, plain, body("other"))):
        exchange(recorder.put, f"r.{n}", one, (STREAM % f"msg_{n}").encode())
    recorder.close()
    assert sorted(len(load(path).session.calls) for path in tmp_path.iterdir()) == [1, 2]


def google(*contents: object) -> bytes:
    return json.dumps({"contents": contents}).encode()


GOOGLE_URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent?key=AIza0123456789"
)


def google_content(text: str, role: str = "user") -> dict[str, object]:
    return {**({"role": role} if role else {}), "parts": [{"text": text}]}


def test_googles_conversations_are_told_apart_by_their_beginning() -> None:
    hoi, sali = google_content("hoi"), google_content("sali")
    name = session_of(GOOGLE_URL, google(hoi, google_content("ja", "model"), google_content("und")))
    assert name.startswith("talk-")
    # All of these begin with the same words of the user.
    for same in (
        google(hoi),
        google(google_content("hoi", "")),
        google(hoi | {"parts": {"text": "hoi"}}),
        json.dumps({"contents": hoi}).encode(),
        google(google_content("a preset", "model"), hoi),
        json.dumps({"model": "m", "project": "p", "request": {"contents": [hoi]}}).encode(),
    ):
        assert session_of(GOOGLE_URL, same) == name
    assert session_of(GOOGLE_URL.replace("0123456789", "9876543210"), google(hoi)) == name
    others = [session_of(GOOGLE_URL, one) for one in (google(sali), b'{"contents":"ciao"}', b'{"contents":null}')]
    assert len({name, *others}) == 4
    assert session_of("https://vertex.test/v1", google(hoi)) not in {name, *others}


def test_unnamed_sessions_of_google_are_files_of_their_own(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r"))
    answer = b'{"candidates":[{"content":{"role":"model","parts":[{"text":"ja"}]},"finishReason":"STOP"}]}'
    for n, words in enumerate(("hoi", "sali", "hoi")):
        recorder.put(RequestBegun(exchange_id=f"r.{n}", at=100.0 + n, method="POST", url=GOOGLE_URL, fields=[]))
        recorder.put(RequestBytes(f"r.{n}", google(google_content(words)), last=True))
        recorder.put(AnswerBegun(f"r.{n}", 101.0 + n, 200, [("content-type", "application/json")]))
        recorder.put(AnswerBytes(f"r.{n}", 101.0 + n, answer))
        recorder.put(ExchangeEnded(f"r.{n}", 102.0 + n))
    recorder.close()
    assert sorted(len(load(path).session.calls) for path in tmp_path.iterdir()) == [1, 2]


def test_a_users_name_and_password_are_in_no_sessions_name() -> None:
    assert session_of("https://me:secret@x.test:8080/v1/models", b"") == "other-x.test-8080"


def test_a_long_session_takes_what_is_new_in_it(tmp_path: Path) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    said: list[str] = []
    whole = 0
    for n in range(40):
        said += [f"{n} " + "x" * 1000]
        whole += len(body(*said, tools=[]))
        exchange(recorder.put, f"r.{n}", body(*said, tools=[]), (STREAM % f"msg_{n}").encode())
    recorder.close()
    path = tmp_path / "talk.jsonl"
    assert path.stat().st_size < whole / 4
    assert len(load(path).session.thread_calls(MAIN)) == 40
    assert path.stat().st_mode & 0o777 == 0o600


@given(st.lists(st.text("abü{", min_size=1, max_size=30).map(str.encode), min_size=1, max_size=12))
def test_bodies_told_by_others_are_read_as_they_were(given_: list[bytes]) -> None:
    bodies = RecordedBodies()
    lines = [b'{"ctxtui_attached":1,"session":"s"}']
    for n, one in enumerate(given_):
        data = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":%b}]}'
        full = data % json.dumps(one.decode(), ensure_ascii=False).encode()
        told = bodies.encode(f"r.{n}", full, full, "")
        lines.append(json.dumps({"x": f"r.{n}", "at": 1.0, "asked": {"url": URL, "body": told}}).encode())
        lines.append(json.dumps({"x": f"r.{n}", "at": 2.0, "answered": {"status": 200}}).encode())
        lines.append(json.dumps({"x": f"r.{n}", "at": 2.0, "ended": True}).encode())
    session = read(b"\n".join(lines), "s.jsonl")
    assert session.skipped == []
    said = [session.tree[call.raw_head].block.body for call in session.calls.values()]
    assert [json.loads(one)["text"] for one in said] == [one.decode() for one in given_]


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_what_two_bodies_share(head: bytes, one: bytes, other: bytes) -> None:
    a, b = head + one, head + other
    n = common_head(a, b)
    assert a[:n] == b[:n] and (n in (len(a), len(b)) or a[n] != b[n])
    m = common_tail(a, b, 10**9)
    assert a[len(a) - m :] == b[len(b) - m :]
    assert m in (len(a), len(b)) or a[len(a) - m - 1] != b[len(b) - m - 1]
    found = find_most_similar(a, [b])
    assert found is None or found.head + found.tail <= min(len(a), len(b))


def test_a_disk_that_refuses_is_told_and_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    real, full = os.write, threading.Event()

    def write(file: int, data: bytes) -> int:
        if full.is_set():
            raise OSError(28, "No space left on device")
        return real(file, data)

    monkeypatch.setattr("ctxtui.attach.tape.os.write", write)
    exchange(recorder.put, "r.1", body("hoi"), (STREAM % "msg_1").encode())
    assert recorder.flush()
    full.set()
    exchange(recorder.put, "r.2", body("hoi", "ja", "und"), (STREAM % "msg_2").encode())
    assert recorder.flush()
    full.clear()
    exchange(recorder.put, "r.3", body("hoi", "ja", "und", "so", "dann"), (STREAM % "msg_3").encode())
    recorder.close()
    assert "No space left on device" in recorder.troubles[0]
    session = load(tmp_path / "talk.jsonl").session
    assert list(session.calls) == ["msg_1", "msg_3"]
    assert "No space left" in session.skipped[0].reason
    assert len(session.tree.items(session.calls["msg_3"].raw_head)) == 10


def test_a_fault_in_the_recorder_reaches_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    with monkeypatch.context() as patched:
        patched.setattr("ctxtui.attach.recorder.identify_sender", lambda headers: 1 / 0)
        exchange(recorder.put, "r.1", body("hoi"), b"")
        assert recorder.flush()
    exchange(recorder.put, "r.2", body("hoi"), (STREAM % "msg").encode())
    recorder.close()
    assert any("ZeroDivisionError" in trouble for trouble in recorder.troubles)
    assert list(load(tmp_path / "talk.jsonl").session.calls) == ["msg"]


def test_a_run_goes_on_where_a_killed_one_left_a_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b'{"ctxtui_attached":1,"session":"talk"}\n{"x":"a.1","at":1,"as')
    recorder = Recorder(RecordedRun(tmp_path, "b", "talk"))
    exchange(recorder.put, "b.1", body("hoi"), (STREAM % "msg").encode())
    recorder.close()
    session = load(path).session
    assert list(session.calls) == ["msg"] and len(session.skipped) == 1


def test_a_disk_that_is_full_in_the_middle_of_a_line_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    real, room = os.write, [1 << 30]

    def write(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        done = real(file, data[: room[0]])
        room[0] -= done
        return done

    monkeypatch.setattr("ctxtui.attach.tape.os.write", write)
    exchange(recorder.put, "r.1", body("hoi"), (STREAM % "msg_1").encode())
    assert recorder.flush()
    room[0] = 700
    exchange(recorder.put, "r.2", body("hoi", "ja", "und"), (STREAM % "msg_2").encode())
    assert recorder.flush()
    room[0] = 1 << 30
    exchange(recorder.put, "r.3", body("hoi", "ja", "und", "so", "dann"), (STREAM % "msg_3").encode())
    recorder.close()
    lines = (tmp_path / "talk.jsonl").read_bytes().splitlines()
    cut = [line for line in lines if not line.endswith(b"}")]
    assert len(cut) == 1
    (told,) = [json.loads(line) for line in lines if b'"lost"' in line]
    # The cut line is one of those that are lost.
    whole = [json.loads(line)["x"] for line in lines if line.startswith(b'{"x"') and line not in cut]
    every = 4 + -(-len((STREAM % "msg_2").encode()) // 37) - 1
    assert whole.count("r.2") + told["lost"] == every
    assert {"msg_1", "msg_3"} <= load(tmp_path / "talk.jsonl").session.calls.keys()


def test_it_records_after_a_long_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.attach.recorder._MAX_EMPTY_POLLS", 0)
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    for n in range(3):
        limit = time.monotonic() + 60
        while not recorder._asleep:
            assert time.monotonic() < limit
            time.sleep(0.005)
        exchange(recorder.put, f"r.{n}", body("hoi", *("ja", "so") * n), (STREAM % f"msg_{n}").encode())
        while ended(tmp_path) != n + 1:
            assert time.monotonic() < limit
            time.sleep(0.005)
    assert len(load(tmp_path / "talk.jsonl").session.calls) == 3
    recorder.close()


def test_many_sessions_leave_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.attach.recorder._MAX_OPEN_FILES", 3)
    recorder = Recorder(RecordedRun(tmp_path, "r"))
    for n in range(24):
        sent = {"X-Claude-Code-Session-Id": f"sess-{n % 8}", "User-Agent": "claude-cli/2.1.330 (external, cli)"}
        said = ["ja", "so"] * (n // 8)
        exchange(recorder.put, f"r.{n}", body(f"hoi {n % 8}", *said), (STREAM % f"msg_{n}").encode(), sent)
    assert recorder.flush()
    assert sum(tape._file >= 0 for tape in recorder._tapes._tapes.values()) <= 3
    recorder.close()
    assert not recorder.troubles and len(recorder.files) == 8
    assert [len(load(path).session.calls) for path in recorder.files] == [3] * 8


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_killed_thread_costs_what_it_had_in_hand_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(RecordedRun(tmp_path, "r", "talk"))
    exchange(recorder.put, "r.1", body("hoi"), (STREAM % "msg_1").encode())
    assert recorder.flush()
    with monkeypatch.context() as patched:
        patched.setattr("ctxtui.attach.recorder.Tapes.flush", lambda self: sys.exit())
        exchange(recorder.put, "r.2", body("hoi", "ja", "und"), (STREAM % "msg_2").encode())
        recorder._thread.join(60)
    exchange(recorder.put, "r.3", body("hoi", "ja", "und", "so", "dann"), (STREAM % "msg_3").encode())
    assert recorder.flush(60)
    recorder.close()
    assert any("thread ended" in one for one in recorder.troubles) and recorder.faults == 1
    assert list(load(tmp_path / "talk.jsonl").session.calls) == ["msg_1", "msg_3"]


def test_a_text_that_becomes_a_list_for_a_cache_breakpoint_stays_in_its_session() -> None:
    url = "http://127.0.0.1:1/v1/messages"
    plain = {"messages": [{"role": "user", "content": "look"}]}
    part = {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}}
    marked = {"messages": [{"role": "user", "content": [part]}]}
    other = {"messages": [{"role": "user", "content": "look again"}]}
    first, second, third = (session_of(url, json.dumps(body).encode()) for body in (plain, marked, other))
    assert first == second != third
