"""The same bodies beside the same transcript are the same session, whichever way they came: contexts, calls, cost and
cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core import block_content
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.joined import SessionJoin
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.cases import claude_code_requests as cases
from tests.cases.claude_code_script import EPOCH, Record, dump, text, thinking, tool_use, usage
from tests.transcripts.reading import as_lines, form_of, read
from tests.transcripts.test_same_exchanges import figures

TRANSCRIPT = "5e551011-0000-4000-8000-000000000001.jsonl"
INDEX = "index.jsonl"
CHAT_NAME = ".aider.chat.history.md"
CHAT = "\n# aider chat started at {:%Y-%m-%d %H:%M:%S}\n\n> Aider v0.86.2\n> Model: gpt-5.1 with whole edit format\n"
KINDS = ("words", "tools", "parallel", "thinking", "reminder", "turn", "restart", "retry", "compaction")


@dataclass
class Exchange:
    """A request of the client's and its answer; `record` is the one that the transcript has of it."""

    body: Record
    answer: Record | None
    at: float
    record: Record


@st.composite
def clients(draw: st.DrawFn) -> cases.Client:
    """A session of several turns."""
    client = cases.opening()
    for number in range(draw(st.integers(2, 8))):
        kind = draw(st.sampled_from(KINDS))
        match kind:
            case "reminder":
                client.say(f"Question {number}?", cases.REMINDER)
            case "turn":
                client.turn(f"<total_tokens>{number} tokens left</total_tokens>")
            case "restart":
                client.restart()
                # Records of requests alone tell of a new process of the same version.
                client.script.version = f"2.2.{number}"
                client.say(f"Go on, {number}.")
            case "retry":
                client.ask()
            case "compaction" if number:
                cases.compact(client)
        tools = [tool_use(f"toolu_{number}_{n}", command=f"look {n}") for n in range(KINDS.index(kind) % 3)]
        thought = [thinking(f"I think of {number}.", f"c2ln{number:04d}")] if kind in ("thinking", "tools") else []
        read = draw(st.sampled_from([0, 0, 1000 + number]))
        spent = usage(fresh=3 + number, read=read, write=40 * number, output=5 + number)
        client.asked(f"msg_{number:04d}", *thought, text(f"Answer {number}."), *tools, use=spent)
        if tools:
            client.results(**{tool["id"]: f"result of {tool['id']}" for tool in tools})
        elif kind != "restart":
            client.say(f"And then, {number}?")
    return client


def exchanges(client: cases.Client) -> list[Exchange]:
    """What went over the wire."""
    asked = [record for record in client.script.records if record["type"] == "api-request"]
    found = []
    for body, record in zip(client.sent, asked, strict=True):
        said = [one for one in client.script.records if one.get("requestRef") == record["id"]]
        answer = None
        if said:
            content = [part for one in said for part in one["message"]["content"]]
            answer = {**said[-1]["message"], "content": content}
        found.append(Exchange(body, answer, seconds(record), said[-1] if said else record))
    return found


def seconds(record: Record) -> float:
    return float((EPOCH.fromisoformat(record["timestamp"]) - EPOCH).total_seconds()) + EPOCH.timestamp()


def alone(client: cases.Client, early: bool = False) -> bytes:
    """The transcript of a client that does not write its requests down; `early`: it has the reports of the answers'
    beginnings alone, as older versions."""
    kept = [record for record in client.script.records if not record["type"].startswith("api-request")]
    found = [{key: value for key, value in record.items() if key != "requestRef"} for record in kept]
    for record in found if early else ():
        message = record.get("message", {})
        if message.get("role") == "assistant":
            first = {**message["usage"], "output_tokens": 1}
            record["message"] = {**message, "stop_reason": None, "usage": first}
    return dump(found)


def in_records(client: cases.Client) -> Session:
    return read(client.dump(), TRANSCRIPT)


def aiders(message: Record) -> str:
    """A message as aider's log has it."""
    return "".join(f"{message['role'].upper()} {line}\n" for line in message["content"].split("\n"))


def hidden(part: Record) -> Record:
    return {**part, "thinking": "<REDACTED>"} if part.get("type") == "thinking" and "thinking" in part else part


def files_of(client: cases.Client, index: bool = True) -> Iterator[dict[str, bytes]]:
    """The files of each exchange in order of writing: request, answer, line of the index."""
    for number, one in enumerate(exchanges(client)):
        body = json.loads(json.dumps({**one.body, "betas": client.params["betas"]}), object_hook=hidden)
        files = {f"{number:08d}.request.json": json.dumps(body).encode()}
        if one.answer is not None:
            names = {"request_file": next(iter(files)), "response_file": f"{one.record['requestId']}.response.json"}
            files[names["response_file"]] = json.dumps(one.answer).encode()
            line = {
                "timestamp": one.record["timestamp"], "session_id": client.script.session, "query_source": "sdk",
                "model": one.answer["model"], "request_id": one.record["requestId"],
                "message_id": one.answer["id"], "message_uuid": one.record["uuid"], **names,
            }  # fmt: skip
            files |= {INDEX: as_lines([line])} if index else {}
        yield files


def in_files(client: cases.Client, index: bool = True, early: bool = False) -> Session:
    data = alone(client, early)
    session = Session()
    reader = form_of(data, TRANSCRIPT).open(session.tree)
    session.fold([*reader.feed(data), *reader.settle()])
    lines = reader.part(INDEX)
    for name, content in (one for files in files_of(client, index) for one in files.items()):
        part = lines if name == INDEX else reader.part(name)
        session.fold([*part.feed(content), *part.settle()])
    return session.fold(reader.settle())


def by_relay(client: cases.Client, early: bool = False) -> Session:
    lines: list[Any] = [{"ctxtui_attached": 1, "session": client.script.session, "program": "claude"}]
    for number, one in enumerate(exchanges(client)):
        body = json.dumps(one.body)
        asked = {
            "method": "POST", "url": "https://api.anthropic.com/v1/messages",
            "headers": [["anthropic-beta", ",".join(client.params["betas"])]],
            "body": {"size": len(body), "text": body},
        }  # fmt: skip
        named = {"x": f"run.{number}", "at": one.at}
        refused = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        lines += [
            {**named, "asked": asked},
            {**named, "answered": {"status": 200 if one.answer else 529, "headers": []}},
            {**named, "data": json.dumps(one.answer or refused)},
            {"x": named["x"], "at": seconds(one.record), "ended": True},
        ]
    return SessionJoin(read(as_lines(lines), "a.jsonl"), read(alone(client, early), TRANSCRIPT)).join()


WAYS: dict[str, Callable[[cases.Client], Session]] = {
    "records": in_records,
    "files": in_files,
    "files without an index": lambda client: in_files(client, index=False),
    "relay": by_relay,
}


def body_of(session: Session, call: Call) -> Any:
    assert call.skeleton is not None
    request = Request(tuple(session.tree.items(call.sent_head)), call.skeleton)
    return json.loads(encode(request))


def said(session: Session, head: int, after: int) -> list[tuple[str, str]]:
    items = session.tree.items(head, after)
    parts = [(one.block.kind, block_content.read(one.block).text) for one in items if one.block.kind != HEADER]
    # A transcript may say again what it said: of two parts that are the same it has one.
    return list(dict.fromkeys(parts))


def told(session: Session) -> dict[str, Any]:
    """Each thread's parent and calls: what each used and why its epoch began, its context, body and answer."""
    tree = session.tree
    return {
        id_: (
            thread.parent,
            [
                {
                    "id": call.id if not call.error else "", "usage": call.usage, "stop": call.stop_reason,
                    "model": call.model, "fidelity": call.fidelity, "error": bool(call.error),
                    "betas": call.extra.get("betas"),
                    "context": [
                        (tree[n].place.section, tree[n].place.role, tree[n].category, tree.digest(n))
                        for n in tree.path(call.raw_head)
                        if tree[n].kind != HEADER
                    ],
                    "body": body_of(session, call), "answer": said(session, call.response_head, call.raw_head),
                }
                for call in session.thread_calls(id_)
            ],
        )
        for id_, thread in session.threads.items()
    }  # fmt: skip


def come_to(session: Session) -> dict[str, Any]:
    """What a session comes to and what its cache did. What was foreseen is left out: forecasts also learn from how
    clients spell messages (as a string, as a list), which records of requests do not say."""
    found = figures(session)
    return {**found, "cache": found["cache"][:3]}


def same(sessions: dict[str, Session]) -> None:
    first = next(iter(sessions.values()))
    for name, session in sessions.items():
        assert told(session) == told(first), name
        assert come_to(session) == come_to(first), name


def every_way(client: cases.Client) -> dict[str, Session]:
    # Versions without an index do not record the answer that a compaction keeps, by which its request is known.
    compacted = any(record.get("isCompactSummary") for record in client.script.records)
    return {name: way(client) for name, way in WAYS.items() if not (compacted and "without" in name)}


@pytest.mark.parametrize("name", cases.CASES)
def test_bodies_are_joined_alike_in_every_case(name: str) -> None:
    same(every_way(cases.CASES[name]()))


@settings(max_examples=settings().max_examples // 5)
@given(clients())
def test_bodies_are_joined_alike_whichever_way_they_came(client: cases.Client) -> None:
    same(every_way(client))


@settings(max_examples=settings().max_examples // 5)
@given(clients(), st.randoms(use_true_random=False))
def test_a_session_that_grows_with_its_bodies_is_the_same(client: cases.Client, chance: Random) -> None:
    """A request is written before its answer stands in the transcript; the answer and its line of the index come some
    records earlier or later."""
    data = alone(client)
    records = [json.loads(line) for line in data.splitlines()]
    steps = [(float(at), TRANSCRIPT, line) for at, line in enumerate(data.splitlines(keepends=True))]
    answered = -0.5
    for one, files in zip(exchanges(client), files_of(client), strict=True):
        own = [
            float(at) for at, record in enumerate(records) if one.answer and record.get("uuid") == one.record["uuid"]
        ]
        answered = (own or [answered])[0]
        first = answered - (0 if not one.answer else len(one.answer["content"]) - 0.4)
        late = answered + chance.choice([-0.4, 0.3, 1.6])
        steps += [(max(late, first) if n else first, name, files[name]) for n, name in enumerate(files)]
    session = Session()
    reader = form_of(data, TRANSCRIPT).open(session.tree)
    lines = reader.part(INDEX)
    for _, name, content in sorted(steps, key=lambda step: step[0]):
        part = {TRANSCRIPT: reader, INDEX: lines}.get(name) or reader.part(name)
        session.fold(part.feed(content))
        session.fold(part.settle() if name != TRANSCRIPT else [])
        session.fold(reader.settle() if chance.random() < 0.8 else [])
    session.fold(reader.settle())
    same({"whole": in_files(client), "grown": session})


@pytest.mark.parametrize("name", ["parallel", "retried"])
def test_the_report_in_an_answers_body_counts_where_the_transcript_has_one_of_its_beginning(name: str) -> None:
    client = cases.CASES[name]()
    whole = in_records(client)
    same({"whole": whole, "files": in_files(client, early=True), "relay": by_relay(client, early=True)})


def test_aiders_messages_are_joined_alike_from_its_log_and_from_a_relay() -> None:
    chat, log, lines = CHAT.format(EPOCH), "", list[Any]([{"ctxtui_attached": 1, "session": "s", "program": "aider"}])
    messages = [{"role": "system", "content": "Be brief.\n\n# Rules"}]
    for number in range(4):
        asked, answer = f"Question {number}?\nPlease.", f"Answer {number}:\n# a heading\nand more words than forty." * 2
        messages = [*messages, {"role": "user", "content": asked}]
        at = EPOCH + timedelta(minutes=number)
        log += f"TO LLM {at:%Y-%m-%dT%H:%M:%S}\n" + "".join("-------\n" + aiders(one) for one in messages)
        messages.append({"role": "assistant", "content": answer})
        log += f"LLM RESPONSE {at:%Y-%m-%dT%H:%M:%S}\n{aiders(messages[-1])}"
        typed = "".join(f"#### {line}  \n" for line in asked.split("\n"))
        chat += f"\n{typed}\n{answer}\n\n> Tokens: 1.{number}k sent, 40 received. Cost: $0.02 message, $0.1 session.\n"
        body = json.dumps({"model": "gpt-5.1", "messages": messages[:-1]})
        choice = {"index": 0, "message": messages[-1], "finish_reason": "stop"}
        reply = {"id": f"c{number}", "object": "chat.completion", "model": "gpt-5.1", "choices": [choice]}
        named = {"x": f"run.{number}", "at": at.replace(tzinfo=None).timestamp()}
        url = "https://api.openai.com/v1/chat/completions"
        lines += [
            {**named, "asked": {"method": "POST", "url": url, "headers": [], "body": {"text": body}}},
            {**named, "answered": {"status": 200, "headers": []}},
            {**named, "data": json.dumps(reply)},
            {**named, "ended": True},
        ]
    session = Session()
    reader = form_of(chat.encode(), CHAT_NAME).open(session.tree)
    session.fold([*reader.feed(chat.encode()), *reader.settle()])
    part = reader.part(".aider.llm.history")
    session.fold([*part.feed(log.encode()), *part.settle(), *reader.settle()])
    relayed = SessionJoin(read(as_lines(lines), "a.jsonl"), read(chat.encode(), CHAT_NAME)).join()
    for one in session, relayed:
        assert [len(said(one, call.raw_head, ROOT)) for call in one.calls.values()] == [2, 4, 6, 8]
    for call, other in zip(session.calls.values(), relayed.calls.values(), strict=True):
        assert said(session, call.response_head, ROOT) == said(relayed, other.response_head, ROOT)
        assert (call.at, call.usage, call.model) == (other.at, other.usage, other.model)
    assert come_to(session) == come_to(relayed)
