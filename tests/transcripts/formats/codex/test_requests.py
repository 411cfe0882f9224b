"""Every request input of a Codex session is what its rollout gives (facts §13.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.block import HEADER, TOOL
from ctxtui.core.call import EpochStart
from ctxtui.core.session import MAIN, Session
from ctxtui.wire.registry import DIALECTS, encode
from tests.cases import codex_current
from tests.cases.codex_current import BASE, META, Client, Record, child, parent, turns
from tests.corpus import ABSENT, CORPUS
from tests.transcripts.reading import read

RECORDED = CORPUS / "clients" / "codex-0.169.0"
_PLAIN = DIALECTS["openai_responses"].decode_request(
    b'{"model":"","input":[{"role":"user","content":[]},{"role":"user"}]}'
)


def inputs(session: Session) -> list[list[Record]]:
    """What the client sent in each call, as the reader has it, in the order in which the calls began."""
    found = []
    for call in sorted(session.calls.values(), key=lambda one: one.line):
        items = [one for one in session.tree.items(call.sent_head) if one.place.section == "messages"]
        found.append(json.loads(encode(_PLAIN.with_items(items)))["input"])
    return found


def exchanges(path: Path) -> Iterator[dict[str, Any]]:
    """The exchanges of a wire file; a request may name an earlier one whose beginning and end it shares."""
    sent: dict[int, str] = {}
    for line in path.read_text().splitlines():
        one = json.loads(line)
        if isinstance(one["request"], dict):
            cut = one["request"]
            like = sent[cut["like"]]
            one["request"] = like[: cut["head"]] + cut["middle"] + like[len(like) - cut["tail"] :]
        sent[one["n"]] = one["request"]
        yield one


@pytest.mark.parametrize("name", ["current-model-subagent", "default-provider-remote-compaction", "local-compaction"])
def test_recorded_inputs_are_those_of_the_rollout(name: str) -> None:
    folder = RECORDED / name
    if not folder.is_dir():
        pytest.skip(f"{ABSENT}: {name}")
    sessions = {}
    for path in folder.glob("rollout*.jsonl"):
        session = read(path.read_bytes(), path.name)
        sessions[session.about.id] = inputs(session)
    count = 0
    for one in exchanges(folder / "wire.jsonl"):
        if one["method"] != "POST":
            continue
        head = {key.lower(): value for key, value in one["request_headers"]}
        sent = json.loads(one["request"])["input"]
        told = sessions[head["thread-id"]].pop(0)
        if not any(META in item for item in sent):
            told = [{key: value for key, value in item.items() if key != META} for item in told]
        last = sent[-1]
        if last["type"] == "compaction_trigger" or "CONTEXT CHECKPOINT COMPACTION" in json.dumps(last):
            # What asks for the summary is in no record.
            sent.pop()
        if name == "local-compaction":
            # The client does not know the model: its base instructions are in no record.
            sent.pop(0)
        assert told == sent, f"line {one['n']}"
        count += 1
    assert (
        count == {"current-model-subagent": 14, "default-provider-remote-compaction": 13, "local-compaction": 16}[name]
    )
    assert not any(sessions.values())


def compacted(client: Client, here: bool) -> Client:
    turns(client)
    (client.compact_here if here else client.compact_there)(1_180)
    client.ask("go on")
    client.answer("Going on.", 700, 0)
    return client


SENT = {
    "known model": lambda: turns(Client()),
    "unknown model": lambda: turns(Client(model="gpt-6.2", known=False)),
    "compacted by the client": lambda: compacted(Client(), True),
    "compacted by the provider": lambda: compacted(Client(), False),
    "unknown model, compacted": lambda: compacted(Client(model="gpt-6.2", known=False), True),
    "root agent": parent,
    "subagent": child,
}


@pytest.mark.parametrize("name", SENT)
def test_inputs_of_look_alikes_are_those_of_the_rollout(name: str) -> None:
    client = SENT[name]()
    session = read(client.dump(), "rollout.jsonl")
    told = inputs(session)
    asks = [codex_current.CHECKPOINT, {"type": "compaction_trigger"}]
    sent = [one[:-1] if one[-1] in asks else one for one in client.requests]
    assert told == sent


def test_base_instructions_count_once() -> None:
    session = read(turns(Client()).dump(), "rollout.jsonl")
    for call in session.calls.values():
        said = [one for one in session.tree.items(call.sent_head) if BASE.encode() in one.block.body]
        assert [(one.place.section, one.place.role) for one in said] == [("messages", "developer")]


def test_base_instructions_that_were_not_sent_are_not_shown_as_sent() -> None:
    client = turns(Client(known=False))
    unknown = read(client.dump(), "rollout.jsonl")
    assert all(item.place.section == "messages" for item in unknown.tree.items(unknown.thread_calls()[0].sent_head))
    # A client from before base instructions were an item sends what `session_meta` says.
    client.records = [one for one in client.records if one["type"] != "world_state"]
    older = read(client.dump(), "rollout.jsonl")
    first = older.tree.items(older.thread_calls()[0].sent_head)[0]
    assert (first.place.section, first.block.value()["text"]) == ("system", BASE)


def test_each_tool_is_a_block_of_its_own_where_the_item_stands() -> None:
    session = read(turns(Client()).dump(), "rollout.jsonl")
    tree = session.tree
    path = tree.path(session.thread_calls()[0].sent_head)
    tools = [tree[node] for node in path if tree[node].block.kind == TOOL]
    assert path.index(tools[0].id) == 1 and tree[path[0]].block.kind == HEADER
    inner = [one.block.value().get("tools", [one.block.value()]) for one in tools]
    assert [[tool["name"] for tool in one] for one in inner] == [["exec"], ["wait"], ["sleep"], ["plain"], []]


def test_what_a_part_is_stands_in_its_kind() -> None:
    session = read(turns(Client()).dump(), "rollout.jsonl")
    marks = [
        one.place.mark for one in session.tree.items(session.thread_calls()[0].sent_head) if one.block.kind != HEADER
    ]
    assert marks[-3:] == ["memory", "meta", ""], "a person may write tags"
    assert session.about.title == "<b>list</b> the files"
    assert session.tree[session.thread_calls()[-1].sent_head].turn == 2


def test_a_compaction_is_a_call_of_its_own_thread() -> None:
    for here in (True, False):
        session = read(compacted(Client(), here).dump(), "rollout.jsonl")
        (own,) = session.thread_calls("compaction 1")
        assert session.threads["compaction 1"].label == "compaction" and session.threads["compaction 1"].parent == MAIN
        assert own.usage is not None and own.usage.input == 1_180 and own.extra["purpose"] == "compaction"
        main = session.thread_calls()
        assert [call.usage and call.usage.input for call in main] == [900, 1_000, 1_100, 700]
        assert main[-1].epoch.start is EpochStart.COMPACTION


def test_each_call_has_the_usage_of_its_record_and_no_other() -> None:
    client = compacted(Client(), True)
    session = read(client.dump(), "rollout.jsonl")
    assert len(session.calls) == len(client.requests) == 5
    ids = [call.extra["response_id"] for call in session.calls.values()]
    assert ids == [f"resp_{n:04d}" for n in range(1, 6)]


def test_a_repeated_session_meta_is_no_restart() -> None:
    client = Client()
    client.begin()
    for turn in range(3):
        client.ask(f"question {turn}")
        client.answer("Yes.", 900 + 100 * turn, 800)
        client.records.append(client.records[0])
    session = read(client.dump(), "rollout.jsonl")
    assert {(call.epoch.number, call.epoch.start) for call in session.calls.values()} == {(1, EpochStart.START)}
    client.meta(cli_version="0.170.0", session_id=codex_current.ROOT_ID)
    client.ask("another client")
    client.answer("Yes.", 1_300, 0)
    last = read(client.dump(), "rollout.jsonl").thread_calls()[-1]
    assert (last.epoch.number, last.epoch.start) == (2, EpochStart.CLIENT)


def test_a_message_of_another_agent_is_input() -> None:
    session = read(child().dump(), "rollout.jsonl")
    first = session.thread_calls()[0]
    said = [one for one in session.tree.items(first.sent_head) if one.block.kind == "encrypted_content"]
    assert [(one.place.role, one.block.value()["encrypted_content"]) for one in said] == [("user", "run wc")]
    assert session.tree[first.sent_head].turn == 1
