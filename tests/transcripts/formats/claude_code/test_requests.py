"""Claude Code's records of its requests: every request is rebuilt from the transcript alone, as it was sent."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core import canonical
from ctxtui.core.call import FRONT_RECORDED, Call, EpochStart, Fidelity
from ctxtui.core.session import MAIN, Session
from ctxtui.services.editing.exporting import curl_command
from ctxtui.transcripts.registry import detect
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.cases import claude_code_requests as cases
from tests.cases.claude_code_script import Record, dump, text
from tests.corpus import CORPUS, need_corpus
from tests.sampling import few
from tests.transcripts.reading import as_lines, law_2, read, survives_cuts, survives_values

NAME = "5e551011-0000-4000-8000-000000000001.jsonl"


def body(session: Session, call: Call) -> Record:
    assert call.skeleton is not None
    made = encode(Request(tuple(session.tree.items(call.sent_head)), call.skeleton))
    value = canonical.loads(made)
    assert isinstance(value, dict)
    return value


def rebuilt(session: Session) -> list[Record]:
    """The bodies of all requests, in the order in which they were sent."""
    calls = sorted(session.calls.values(), key=lambda call: (call.started or 0.0, call.line))
    return [body(session, call) for call in calls if call.skeleton is not None]


def opened(path: Path) -> Session:
    """A recording with the files of its subagents."""
    form = detect(path.read_bytes()[:65536], path.name)
    assert form is not None
    session = Session()
    reader = form.open(session.tree)
    session.fold([*reader.feed(path.read_bytes()), *reader.settle()])
    for file in sorted(path.with_suffix("").glob("subagents/*.jsonl")):
        part = reader.part(str(file))
        session.fold([*part.feed(file.read_bytes()), *part.settle()])
    return session


@pytest.mark.parametrize("name", cases.CASES)
def test_every_request_is_the_one_that_was_sent(name: str) -> None:
    client = cases.CASES[name]()
    session = read(client.dump(), NAME)
    assert session.skipped == []
    assert [json.dumps(one) for one in rebuilt(session)] == [json.dumps(one) for one in client.sent]
    assert {call.fidelity for call in session.calls.values()} == {Fidelity.WIRE}
    assert all(call.extra["betas"] == cases.PARAMS["betas"] for call in session.calls.values())


@pytest.mark.parametrize("name", few(cases.CASES))
def test_any_chunking_and_any_cut(name: str) -> None:
    data = cases.CASES[name]().dump()
    law_2(data, NAME)
    survives_cuts(data, NAME, 25)
    survives_values([json.loads(line) for line in data.splitlines()], NAME, as_lines, most=120)


def test_requests_of_a_session_share_their_beginning() -> None:
    session = read(cases.parallel().dump(), NAME)
    first, second, third = session.thread_calls(MAIN)
    assert session.tree.holds(second.sent_head, first.response_head)
    assert session.tree.holds(third.sent_head, second.response_head)
    assert session.threads[MAIN].tip == third.response_head


@pytest.mark.slow
def test_reading_takes_time_by_what_is_new() -> None:
    few, many = (read(cases.long_session(calls), NAME) for calls in (20, 200))
    assert len(many.tree) < 11 * len(few.tree)
    sizes = [len(str(call.skeleton)) for call in many.calls.values()]
    assert max(sizes) < 1.1 * min(sizes)


def test_an_answer_that_names_its_request_was_asked_when_that_was_sent() -> None:
    client = cases.parallel()
    call = read(client.dump(), NAME).thread_calls(MAIN)[0]
    record = next(one for one in client.script.records if one["type"] == "api-request")
    assert call.started is not None and record["timestamp"].endswith(".500Z") and call.started % 1 == 0.5
    assert call.extra["querySource"] == "sdk" and call.extra["requestId"] == "req_m1"


def test_a_process_that_has_the_context_of_the_last_resumes() -> None:
    epochs = [call.epoch.start for call in read(cases.resumed().dump(), NAME).thread_calls(MAIN)]
    assert epochs == [EpochStart.START] * 3 + [EpochStart.RESUME] * 2


def test_an_attempt_without_an_answer_is_no_call_of_the_conversation() -> None:
    session = read(cases.retried().dump(), NAME)
    assert [call.id for call in session.thread_calls(MAIN)] == ["m1", "m2", "m3", "m4"]
    attempts = session.thread_calls("unanswered")
    assert [call.usage for call in attempts] == [None, None]
    assert all("no recorded answer" in call.error for call in attempts)
    assert attempts[0].sent_head == session.calls["m4"].sent_head
    assert [(one.kind, one.after) for one in session.happenings] == [("unanswered", "m3")] * 2


def test_a_request_is_exported_with_its_betas() -> None:
    session = read(cases.parallel().dump(), NAME)
    call = session.thread_calls(MAIN)[0]
    text = curl_command("anthropic", b"{}", call.extra["betas"]).decode()
    assert '-H "anthropic-beta: claude-code-20250219,effort-2025-11-24"' in text
    assert "beta" not in curl_command("anthropic", b"{}", ['x"; rm -rf /', 7]).decode()


def test_a_compaction_starts_from_the_summary_and_says_it_once() -> None:
    session = read(cases.compacted().dump(), NAME)
    last = session.calls["m4"]
    assert last.epoch.start == EpochStart.COMPACTION
    marks = [item.place.mark for item in session.tree.items(last.sent_head)]
    assert marks.count("summary") == 1


def _lost(kind: str, number: int) -> tuple[Session, cases.Client]:
    client = cases.two_shapes()
    return read(cases.without(client, kind, number), NAME), client


def _texts(session: Session, head: int) -> list[str]:
    items = session.tree.items(head)
    return [str(item.block.value().get("text", "")) for item in items if item.place.section == "messages"]


@pytest.mark.parametrize(
    ("kind", "number", "whole"),
    [
        ("api-request-blob", 0, 0),
        ("api-request-blob", 2, 1),
        ("api-request-shape", 0, 2),
        ("api-request-shape", 1, 3),
        ("api-request", 0, 0),
        ("api-request", 2, 2),
    ],
)
def test_what_is_not_in_the_file_is_said_and_the_rest_is_kept(kind: str, number: int, whole: int) -> None:
    session, client = _lost(kind, number)
    calls = session.thread_calls(MAIN)
    assert [call.id for call in calls] == ["m1", "m2", "m3", "m4", "m5"]
    wire = [call for call in calls if call.fidelity == Fidelity.WIRE]
    assert len(wire) == whole
    sent = {json.dumps(one) for one in client.sent}
    assert all(json.dumps(body(session, call)) in sent for call in wire)
    assert sum("cannot be rebuilt" in one.reason for one in session.skipped) == 1
    for call in calls:
        if call.fidelity == Fidelity.TRANSCRIPT:
            assert call.skeleton is None and "Check the shop." in _texts(session, call.sent_head)
            assert _texts(session, call.sent_head).count("Check the shop.") == 1
    known = [call for call in calls if call.extra.get(FRONT_RECORDED)]
    tools = {item.block.kind for call in known for item in session.tree.items(call.sent_head)}
    assert not known or "tool" in tools


@pytest.mark.parametrize(
    "change",
    [
        {"tail": "x"}, {"tail": [1]}, {"keep": -3}, {"keep": 99}, {"keep": "1"}, {"params": None}, {"params": [1]},
        {"cacheControl": None}, {"cacheControl": [{"path": ["messages", 99, "content", 9]}, 3, {"path": "x"}]},
        {"shapeHash": None}, {"base": 7}, {"base": "nobody"}, {"tail": []}, {"id": None}, {"timestamp": []},
    ],
)  # fmt: skip
@pytest.mark.parametrize("number", [0, 1])
def test_a_request_of_another_form_loses_nothing(change: Record, number: int) -> None:
    client = cases.parallel()
    [record for record in client.script.records if record["type"] == "api-request"][number].update(change)
    session = read(client.dump(), NAME)
    assert [call.id for call in session.thread_calls(MAIN)] == ["m1", "m2", "m3"]
    assert all("Check the shop." in _texts(session, call.sent_head) for call in session.calls.values())


@pytest.mark.parametrize("kind", ["api-request-shape", "api-request-blob"])
@pytest.mark.parametrize("value", [None, [], "x", 7, {}, {"role": 3}, {"system": 3, "tools": {}}, {"tools": [1, None]}])
def test_a_shape_or_message_of_another_form_loses_nothing(kind: str, value: Any) -> None:
    client = cases.parallel()
    record = next(one for one in client.script.records if one["type"] == kind)
    record["shape" if kind.endswith("shape") else "message"] = value
    session = read(client.dump(), NAME)
    assert [call.id for call in session.thread_calls(MAIN)] == ["m1", "m2", "m3"]


def test_what_the_client_cut_out_of_its_record_is_not_called_whole() -> None:
    client = cases.opening()
    client.answer("m1", text("ok"), ref=client.ask(extra={"cut": {"kind": "tool-mark-address", "cuts": 1}}))
    client.answer("m2", text("ok"), ref=client.ask(extra={"withheld": ["top_k"]}))
    first, second = read(client.dump(), NAME).thread_calls(MAIN)
    assert first.fidelity == second.fidelity == Fidelity.TRANSCRIPT
    assert first.extra[FRONT_RECORDED] and first.extra["cut"] and second.extra["withheld"] == ["top_k"]


@pytest.mark.parametrize("depth", [400, 900, 20_000])
@pytest.mark.parametrize("kind", ["api-request", "api-request-blob", "api-request-shape", "user"])
def test_what_is_nested_too_deeply_stops_no_reader(kind: str, depth: int) -> None:
    where = {"api-request": "params", "api-request-blob": "message", "api-request-shape": "shape", "user": "message"}
    client = cases.parallel()
    record = [one for one in client.script.records if one["type"] == kind][-1 if kind == "user" else 0]
    record[where[kind]] = {**record[where[kind]], "tools": ["DEEP"], "more": "DEEP"}
    if kind == "user":
        record["message"]["content"] = [{"type": "text", "text": "x", "more": "DEEP"}]
    session = read(client.dump().replace(b'"DEEP"', b"[" * depth + b"]" * depth), NAME)
    assert {"m1", "m2", "m3"} <= session.calls.keys()


def test_a_record_by_itself_may_be_a_message_too() -> None:
    client = cases.parallel()
    client.script.user("Not this.")
    prompt = "But this."
    client.script.tip = None
    client.say(prompt)
    client._notice()
    client.on_file.add(cases.digest({"role": "user", "content": [text(prompt)]}))
    client.asked("m4", text("Fine."))
    session = read(client.dump(), NAME)
    assert session.skipped == [] and body(session, session.calls["m4"]) == client.sent[-1]


def test_a_broken_record_of_a_request_is_no_message() -> None:
    client = cases.parallel()
    lines = client.dump().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"api-request-blob"' in line)
    session = read(b"".join([*lines[:at], lines[at][: len(lines[at]) // 2] + b"\n", *lines[at + 1 :]]), NAME)
    kinds = {item.block.kind for call in session.calls.values() for item in session.tree.items(call.sent_head)}
    assert "unreadable" not in kinds and len(session.calls) == 3 and len(session.skipped) == 2


def test_what_the_terminal_showed_is_no_context() -> None:
    client = cases.parallel()
    for words in ("<command-name>/context</command-name>", "<local-command-stdout>\x1b[1mContext usage"):
        client.script.put("system", subtype="local_command", content=words)
    session = read(client.dump(), NAME)
    told = " ".join(_texts(session, session.threads[MAIN].tip))
    assert "/context" in told and "usage" not in told


def test_a_subagents_file_has_requests_of_its_own() -> None:
    main, agent = cases.parallel(), cases.Client(agent="a1", shape=cases.OTHER_SHAPE)
    agent.say("Review the stock code.", cases.REMINDER)
    agent.asked("a-m1", text("Reviewed."))
    form = detect(main.dump(), NAME)
    assert form is not None
    session = Session()
    reader = form.open(session.tree)
    session.fold(reader.feed(main.dump()))
    part = reader.part("x/subagents/agent-a1.jsonl")
    session.fold([*part.feed(agent.dump()), *part.settle()])
    call = session.thread_calls("a1")[0]
    assert call.fidelity == Fidelity.WIRE and body(session, call) == agent.sent[0]
    assert session.happenings == [] and session.skipped == []


def test_a_file_of_an_older_client_keeps_no_messages_for_requests() -> None:
    client = cases.parallel()
    old = [{**r, "version": "2.1.280"} for r in client.script.records if not r["type"].startswith("api-")]
    session = read(dump(old), NAME)
    assert {call.fidelity for call in session.calls.values()} == {Fidelity.TRANSCRIPT}
    assert session.skipped == []


# The recordings of the real client, with what it sent.

TOOLS = "clients/tools"
NOT_IN_RECORDS = frozenset({"metadata", "stream", "safeguards"})


def exchanges(path: Path) -> Iterator[Record]:
    """What went over the wire: a line may name an earlier one, with which it shares its beginning and its end."""
    sent: dict[int, str] = {}
    for line in path.read_text().splitlines():
        one = json.loads(line)
        asked = one["request"]
        if isinstance(asked, dict):
            like = sent[asked["like"]]
            asked = like[: asked["head"]] + asked["middle"] + like[len(like) - asked["tail"] :]
        sent[one["n"]] = asked
        if one["path"].startswith("/v1/messages?"):
            yield json.loads(asked)


def _wired() -> list[Path]:
    files = need_corpus("clients", "claude-code-2.1.3*/*/*.jsonl")
    return [file for file in files if file.name != "wire.jsonl"]


def test_every_request_of_the_recordings_is_the_one_that_went_over_the_wire() -> None:
    number = 0
    for file in _wired():
        wire = []
        for sent in exchanges(file.parent / "wire.jsonl"):
            kept = {key: value for key, value in sent.items() if key not in NOT_IN_RECORDS}
            wire.append(json.dumps({**kept, "system": sent["system"][1:]}))
        session = opened(file)
        requests = [call for call in session.calls.values() if call.fidelity is not Fidelity.TOTALS]
        for call in requests:
            made = json.dumps(body(session, call))
            assert made in wire, f"{file}: {call.id}"
            wire.remove(made)
            number += 1
        written = [r for part in [file, *file.with_suffix("").glob("subagents/*.jsonl")] for r in _requests(part)]
        assert len(written) == len(requests), file
    assert number >= 91


def _requests(path: Path) -> list[Record]:
    return [r for r in map(json.loads, path.read_text().splitlines()) if r["type"] == "api-request"]


def test_the_clients_own_digest_of_each_request_is_that_of_the_rebuilt_one() -> None:
    for file in _wired():
        session = opened(file)
        for call in session.calls.values():
            if call.fidelity is Fidelity.TOTALS:
                continue
            value = {**body(session, call), "betas": call.extra["betas"]}
            for message in value["messages"]:
                if isinstance(message["content"], str):
                    message["content"] = [text(message["content"])]
            spelled = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
            assert hashlib.sha256(spelled.encode()).hexdigest() == call.extra["requestDigest"], call.id


def test_the_rebuilt_requests_are_those_of_an_independent_reading() -> None:
    file = need_corpus(TOOLS, "rebuild.py")[0]
    sys.path.insert(0, str(file.parent))
    try:
        import rebuild  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(CORPUS / TOOLS))
    for path in _wired():
        messages = [rebuild.listed(m) for _, found, _, _ in rebuild.requests(path) for m in found]
        session = opened(path)
        own = [call for call in session.calls.values() if call.thread in (MAIN, "unanswered")]
        mine = [rebuild.listed(m) for call in own for m in body(session, call)["messages"]]
        assert sorted(map(rebuild.digest, messages)) == sorted(map(rebuild.digest, mine))
